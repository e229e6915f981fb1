// SPDX-License-Identifier: BSD-3-Clause
#include "tap.h"

#include <dirent.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include <linux/if_tun.h>

// Whether the descriptor is of a TAP that exists. Files of other kinds do not know the request.
static bool interface_of(struct ifreq *interface, int fd)
{
	*interface = (struct ifreq){0};
	return ioctl(fd, TUNGETIFF, interface) == 0;
}

static bool is_tap(int fd, const char *name)
{
	struct ifreq interface;

	return interface_of(&interface, fd) && strcmp(interface.ifr_name, name) == 0;
}

int tap_find(const char *name)
{
	DIR *dir = opendir("/proc/self/fd");
	int found = -1;

	if (dir == NULL)
		return -1;
	for (struct dirent *d = readdir(dir); d != NULL && found < 0; d = readdir(dir))
		if (d->d_name[0] != '.' && is_tap(atoi(d->d_name), name))
			found = atoi(d->d_name);
	closedir(dir);
	return found;
}

bool tap_exists(int fd)
{
	struct ifreq interface;

	return interface_of(&interface, fd);
}
