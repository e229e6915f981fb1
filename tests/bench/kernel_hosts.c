// SPDX-License-Identifier: BSD-3-Clause
#include "kernel_hosts.h"

#include <fcntl.h>
#include <net/if.h>
#include <netpacket/packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "die.h"

#define TRIES 100 // without a new arrival

struct kernel_hosts {
	int socket[KERNEL_HOSTS];
	int received[KERNEL_HOSTS]; // files with the frames that the interfaces have received
	uint64_t first;             // of these, when it began
	uint64_t sent, lost;
};

static uint64_t arrived(const struct kernel_hosts *h)
{
	uint64_t sum = 0;

	for (enum kernel_host i = HOST_LAN; i <= HOST_WAN; i++) {
		char text[32];
		ssize_t len = pread(h->received[i], text, sizeof(text) - 1, 0);

		if (len <= 0)
			die("an interface does not count");
		text[len] = '\0';
		sum += strtoull(text, NULL, 10);
	}
	return sum - h->first;
}

static void open_one(struct kernel_hosts *h, enum kernel_host i, const char *name)
{
	const struct sockaddr_ll at = {
		.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex(name)};
	char path[64 + IFNAMSIZ];

	// It receives nothing: no protocol.
	h->socket[i] = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (h->socket[i] < 0 || bind(h->socket[i], (const struct sockaddr *)&at, sizeof(at)) < 0)
		die("%s: no packet socket", name);
	snprintf(path, sizeof(path), "/sys/class/net/%.*s/statistics/rx_packets", IFNAMSIZ, name);
	h->received[i] = open(path, O_RDONLY | O_CLOEXEC);
	if (h->received[i] < 0)
		die("%s cannot be read", path);
}

struct kernel_hosts *kernel_hosts_new(const char *names)
{
	struct kernel_hosts *h = calloc(1, sizeof(*h));
	char *text = strdup(names), *rest = text;

	if (h == NULL || text == NULL)
		die("no memory");
	for (enum kernel_host i = 0; i < KERNEL_HOSTS; i++) {
		const char *name = strsep(&rest, ",");

		if (name == NULL)
			die("hosts: not %u interfaces", KERNEL_HOSTS);
		open_one(h, i, name);
	}
	free(text);
	h->first = arrived(h);
	return h;
}

void kernel_hosts_free(struct kernel_hosts *h)
{
	if (h == NULL)
		return;
	for (enum kernel_host i = 0; i < KERNEL_HOSTS; i++) {
		close(h->socket[i]);
		close(h->received[i]);
	}
	free(h);
}

void kernel_hosts_send(
	struct kernel_hosts *h, enum kernel_host host, const struct batch *b, unsigned int first)
{
	struct iovec at[KERNEL_HOSTS_BURST];
	struct mmsghdr message[KERNEL_HOSTS_BURST] = {0};

	for (unsigned int i = 0; i < KERNEL_HOSTS_BURST; i++) {
		at[i] = (struct iovec){batch_frame(b, first + i), b->len[first + i]};
		message[i].msg_hdr.msg_iov = &at[i];
		message[i].msg_hdr.msg_iovlen = 1;
	}
	if (sendmmsg(h->socket[host], message, KERNEL_HOSTS_BURST, 0) != KERNEL_HOSTS_BURST)
		die("the kernel sends nothing");
	if (host != HOST_NOWHERE)
		h->sent += KERNEL_HOSTS_BURST;
}

void kernel_hosts_wait(struct kernel_hosts *h)
{
	uint64_t before = 0;

	for (unsigned int i = 0; i < TRIES; i++) {
		const uint64_t now = arrived(h);

		if (now + h->lost >= h->sent)
			return;
		if (now != before)
			i = 0;
		before = now;
	}
	h->lost = h->sent - before;
}

uint64_t kernel_hosts_lost(struct kernel_hosts *h)
{
	return h->lost;
}
