// SPDX-License-Identifier: BSD-3-Clause
#include "notify.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "log.h"

static int fd = -1;
static uint32_t watchdog_ms;

// A path, or the name of an abstract socket after "@".
static int open_socket(const char *name)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	size_t len = strlen(name);
	int s;

	if (len < 2 || len >= sizeof(addr.sun_path) || (name[0] != '/' && name[0] != '@')) {
		errno = EINVAL;
		return -1;
	}
	memcpy(addr.sun_path, name, len);
	if (name[0] == '@')
		addr.sun_path[0] = '\0';
	s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (s >= 0 && connect(s, (const struct sockaddr *)&addr,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) == 0)
		return s;
	if (s >= 0)
		close(s);
	return -1;
}

// WATCHDOG_USEC is for this process only if WATCHDOG_PID is absent or its own.
static uint32_t watchdog_wanted(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");

	if (usec == NULL || (pid != NULL && strtol(pid, NULL, 10) != getpid()))
		return 0;
	return (uint32_t)(strtoull(usec, NULL, 10) / 2000);
}

void notify_start(void)
{
	const char *name = getenv("NOTIFY_SOCKET");

	if (name == NULL)
		return;
	fd = open_socket(name);
	if (fd < 0)
		log_warn("NOTIFY_SOCKET=%s: cannot connect to the service manager: %s", name,
			strerror(errno));
	else
		watchdog_ms = watchdog_wanted();
}

static void tell(const char *text)
{
	if (fd >= 0 && send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		log_warn("cannot send \"%s\" to the service manager: %s", text, strerror(errno));
}

void notify_ready(void)
{
	tell("READY=1");
}

void notify_reloading(void)
{
	struct timespec now;
	char text[64];

	clock_gettime(CLOCK_MONOTONIC, &now);
	snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
		(uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000);
	tell(text);
}

void notify_stopping(void)
{
	tell("STOPPING=1");
}

void notify_watchdog(void)
{
	tell("WATCHDOG=1");
}

uint32_t notify_watchdog_ms(void)
{
	return watchdog_ms;
}
