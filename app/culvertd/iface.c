// SPDX-License-Identifier: BSD-3-Clause
#include "iface.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "log.h"
#include "port_error.h"

bool iface_not_permitted(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3] = {0};
	const uint32_t wanted = 1u << CAP_NET_ADMIN | 1u << CAP_NET_RAW;

	return syscall(SYS_capget, &head, has) == 0 && (has[0].effective & wanted) != wanted;
}

bool iface_name(char *name, const char *device)
{
	const char *arg = strstr(device, ",iface=");
	size_t len;

	if (arg == NULL)
		return false;
	arg += strlen(",iface=");
	len = strcspn(arg, ",");
	if (len == 0 || len >= IFNAMSIZ || memchr(arg, '/', len) != NULL)
		return false;
	snprintf(name, IFNAMSIZ, "%.*s", (int)len, arg);
	return true;
}

// IFF_RUNNING would lag behind by up to a second.
bool iface_has_link(const char *device)
{
	struct ethtool_value link = {.cmd = ETHTOOL_GLINK, .data = 1};
	struct ifreq flags = {0}, ask = {.ifr_data = (char *)&link};
	int fd, rc;

	if (!iface_name(flags.ifr_name, device))
		return false;
	memcpy(ask.ifr_name, flags.ifr_name, sizeof(ask.ifr_name));
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	rc = ioctl(fd, SIOCGIFFLAGS, &flags);
	ioctl(fd, SIOCETHTOOL, &ask); // some have no link to tell of
	close(fd);
	return rc == 0 && (flags.ifr_flags & IFF_UP) != 0 && link.data != 0;
}

// An abstract socket of this name, as only one process in a network namespace can have. It is
// never closed: the kernel does that when the process ends.
static int take(const struct conf_port *c, const char *what, const char *name)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1, "culvert/%s/%s", what, name);
	if (fd >= 0 && bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return 0;
	if (errno == EADDRINUSE)
		port_error(c,
			"another culvertd uses %s %s: stop that one ('pgrep -a culvertd' lists "
			"them), or give this port another device",
			what, name);
	else
		port_error(c, "cannot lock %s %s: %s", what, name, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -EIO;
}

int iface_check(const struct conf_port *c, const char *name)
{
	struct ifreq flags = {0}, mtu = {0};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int rc;

	snprintf(flags.ifr_name, sizeof(flags.ifr_name), "%s", name);
	snprintf(mtu.ifr_name, sizeof(mtu.ifr_name), "%s", name);
	rc = ioctl(fd, SIOCGIFFLAGS, &flags) | ioctl(fd, SIOCGIFMTU, &mtu);
	close(fd);
	if (rc < 0)
		return 0; // then DPDK finds out
	if ((flags.ifr_flags & IFF_UP) == 0)
		log_warn("%s:%u: port \"%s\": interface %s is down: 'ip link set %s up'",
			c->where.file, c->where.line, c->name, name, name);
	if (mtu.ifr_mtu >= c->mtu)
		return 0;
	port_error(c, "interface %s has mtu %d: set mtu = %d, or 'ip link set %s mtu %u'", name,
		mtu.ifr_mtu, mtu.ifr_mtu, name, c->mtu);
	return -EIO;
}

static int port_take(const struct conf_port *c)
{
	char name[IFNAMSIZ], pci[CONF_PCI_NAME_MAX];

	if (conf_device_pci(pci, c->device))
		return take(c, "PCI device", pci);
	return iface_name(name, c->device) ? take(c, "interface", name) : 0;
}

int iface_take(const struct conf *conf)
{
	int rc = 0;

	for (unsigned int i = 0; i < conf->n_ports; i++)
		rc |= port_take(&conf->ports[i]);
	return rc < 0 ? -EIO : 0;
}
