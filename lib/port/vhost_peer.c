// SPDX-License-Identifier: BSD-3-Clause
#include "vhost_peer.h"

#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define WAIT_MS 1

// Of the vhost-user protocol.
#define GET_FEATURES          1u
#define GET_VRING_BASE        11u
#define GET_PROTOCOL_FEATURES 15u
#define GET_QUEUE_NUM         17u
#define VERSION               1u
#define REPLY                 4u
#define PAYLOAD_MAX           512u

// Features that every current vhost backend has. The driver keeps them as long as it runs, and
// would not work with a peer that lacks one; it uses no others, so that it works with each peer.
#define NET_MRG_RXBUF     (1ull << 15)
#define NET_MQ            (1ull << 22)
#define PROTOCOL_FEATURES (1ull << 30)
#define VERSION_1         (1ull << 32)
#define RING_PACKED       (1ull << 34) // if the device asks for it
#define FEATURES          (NET_MRG_RXBUF | NET_MQ | PROTOCOL_FEATURES | VERSION_1 | RING_PACKED)

#define PROTOCOL_MQ     1ull
#define QUEUE_PAIRS_MAX 128u

struct header {
	uint32_t request, flags, size; // of the payload that follows, in octets
};

static int peer_connect(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

// The answer to a request that came with a value. False if the driver waits for none.
static bool answer_to(uint64_t *value, uint32_t request)
{
	switch (request) {
	case GET_FEATURES:
		*value = FEATURES;
		return true;
	case GET_PROTOCOL_FEATURES:
		*value = PROTOCOL_MQ;
		return true;
	case GET_QUEUE_NUM:
		*value = QUEUE_PAIRS_MAX;
		return true;
	case GET_VRING_BASE: // the ring that the lower half names begins at 0
		*value = (uint32_t)*value;
		return true;
	default:
		return false;
	}
}

// Reads a message and answers if the driver waits for that. File descriptors that came with it are
// closed by the kernel, as there is no room for them. False when there will be no more messages.
static bool answer(int fd)
{
	struct __attribute__((packed)) {
		struct header h;
		uint64_t value;
	} reply = {.h = {.flags = VERSION | REPLY, .size = sizeof(reply.value)}};
	uint8_t payload[PAYLOAD_MAX] = {0};
	struct header h;

	if (recv(fd, &h, sizeof(h), MSG_WAITALL) != sizeof(h) || h.size > sizeof(payload))
		return false;
	if (h.size > 0 && recv(fd, payload, h.size, MSG_WAITALL) != (ssize_t)h.size)
		return false;
	memcpy(&reply.value, payload, sizeof(reply.value));
	if (!answer_to(&reply.value, h.request))
		return true;
	reply.h.request = h.request;
	return send(fd, &reply, sizeof(reply), MSG_NOSIGNAL) == sizeof(reply);
}

static void *peer_run(void *arg)
{
	struct vhost_peer *v = arg;
	struct pollfd p = {.fd = -1, .events = POLLIN};

	while (!atomic_load_explicit(&v->stop, memory_order_acquire)) {
		if (p.fd < 0)
			p.fd = peer_connect(v->path);
		if (poll(&p, 1, WAIT_MS) > 0 && !answer(p.fd))
			break;
	}
	if (p.fd >= 0)
		close(p.fd);
	return NULL;
}

int vhost_peer_start(struct vhost_peer *v, const char *path)
{
	v->stop = false;
	snprintf(v->path, sizeof(v->path), "%s", path);
	return -pthread_create(&v->thread, NULL, peer_run, v);
}

void vhost_peer_stop(struct vhost_peer *v)
{
	atomic_store_explicit(&v->stop, true, memory_order_release);
	pthread_join(v->thread, NULL);
}
