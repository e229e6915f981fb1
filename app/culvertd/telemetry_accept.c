// SPDX-License-Identifier: BSD-3-Clause
// In the place of the C library's accept(), by which librte_telemetry takes its clients: it serves
// ten at a time, and waits for their questions without end. So members of show_group could keep
// everybody else out. Clients of other sockets are taken as usual. Any thread.
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "access.h"

#define SOCKET     "/dpdk_telemetry.v2"
#define READERS    6  // of the ten: the others are for root and control_group
#define QUESTION_S 90 // a collector that asks once a minute keeps its connection
#define ANSWER_S   2

struct reader {
	int fd;
	ino_t socket; // 0: none
};

static struct reader readers[READERS]; // of the thread that takes clients

static bool is_telemetry(int fd)
{
	struct sockaddr_un addr = {0};
	socklen_t size = sizeof(addr) - 1;
	size_t len, end = strlen(SOCKET);

	if (getsockname(fd, (struct sockaddr *)&addr, &size) < 0 || addr.sun_family != AF_UNIX)
		return false;
	len = strlen(addr.sun_path);
	return len > end && strcmp(addr.sun_path + len - end, SOCKET) == 0;
}

static ino_t socket_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? st.st_ino : 0;
}

// False: all places of readers are taken. A place is free when its descriptor is closed, or has
// become another one's.
static bool place_take(int fd)
{
	for (unsigned int i = 0; i < READERS; i++) {
		struct reader *r = &readers[i];

		if (r->socket != 0 && r->fd != fd && socket_of(r->fd) == r->socket)
			continue;
		*r = (struct reader){fd, socket_of(fd)};
		return true;
	}
	return false;
}

static bool is_admitted(int fd)
{
	const struct timeval question = {.tv_sec = QUESTION_S}, answer = {.tv_sec = ANSWER_S};

	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &question, sizeof(question)) < 0 ||
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &answer, sizeof(answer)) < 0)
		return false;
	return access_may_change(fd) || place_take(fd);
}

int accept(int s, struct sockaddr *restrict addr, socklen_t *restrict size)
{
	bool telemetry = is_telemetry(s);
	int fd = accept4(s, addr, size, 0);

	while (telemetry && fd >= 0 && !is_admitted(fd)) {
		close(fd);
		fd = accept4(s, addr, size, 0);
	}
	return fd;
}
