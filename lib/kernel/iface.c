// SPDX-License-Identifier: BSD-3-Clause
#include "iface.h"

#include <dirent.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/if_tun.h>

#include "conf.h"

bool iface_name(char *name, const char *device)
{
	return conf_device_arg(name, IFNAMSIZ, device, "iface") && name[0] != '\0' &&
	       strchr(name, '/') == NULL;
}

// False if the kernel has no answer.
static bool ask(struct ifreq *r, const char *name, unsigned long request)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc;

	snprintf(r->ifr_name, sizeof(r->ifr_name), "%s", name);
	rc = ioctl(fd, request, r);
	close(fd);
	return rc == 0;
}

bool iface_ethtool(const char *name, void *command)
{
	struct ifreq r = {.ifr_data = command};

	return ask(&r, name, SIOCETHTOOL);
}

bool iface_has_driver(const char *name, const char *driver)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};

	return iface_ethtool(name, &info) && strcmp(info.driver, driver) == 0;
}

bool iface_flags(unsigned int *flags, const char *name)
{
	struct ifreq r = {0};
	bool known = ask(&r, name, SIOCGIFFLAGS);

	*flags = (unsigned short)r.ifr_flags;
	return known;
}

// IFF_RUNNING would be up to a second late.
bool iface_has_link(const char *device)
{
	struct ethtool_value link = {.cmd = ETHTOOL_GLINK, .data = 1};
	char name[IFNAMSIZ];
	unsigned int flags;

	if (!iface_name(name, device) || !iface_flags(&flags, name) || (flags & IFF_UP) == 0)
		return false;
	iface_ethtool(name, &link); // fails for devices without a link state: up
	return link.data != 0;
}

unsigned int iface_mtu(const char *device)
{
	struct ifreq r = {0};
	char name[IFNAMSIZ];

	return iface_name(name, device) && ask(&r, name, SIOCGIFMTU) ? (unsigned int)r.ifr_mtu : 0;
}

// --- TAPs ---

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
