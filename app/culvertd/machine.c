// SPDX-License-Identifier: BSD-3-Clause
#include "machine.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "device_lock.h"
#include "iface_share.h"
#include "log.h"
#include "pci_nic.h"
#include "sysfs.h"
#include "text_list.h"

// --- interfaces ---

bool device_arg(char *value, size_t size, const char *device, const char *name)
{
	const size_t n = strlen(name);

	while ((device = strchr(device, ',')) != NULL) {
		device++;
		if (strncmp(device, name, n) != 0 || device[n] != '=')
			continue;
		device += n + 1;

		size_t len = strcspn(device, ",");

		if (len >= size)
			return false;
		snprintf(value, size, "%.*s", (int)len, device);
		return true;
	}
	return false;
}

bool device_makes_interface(const char *device)
{
	char path[16];

	return strncmp(device, "net_tap", 7) == 0 || strncmp(device, "net_tun", 7) == 0 ||
	       strncmp(device, "eth_tap", 7) == 0 ||
	       (device_arg(path, sizeof(path), device, "path") &&
		       strcmp(path, "/dev/vhost-net") == 0);
}

bool iface_name(char *name, const char *device)
{
	return device_arg(name, IFNAMSIZ, device, "iface") && name[0] != '\0' &&
	       strchr(name, '/') == NULL;
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
	ioctl(fd, SIOCETHTOOL, &ask); // fails for devices without a link state: up
	close(fd);
	return rc == 0 && (flags.ifr_flags & IFF_UP) != 0 && link.data != 0;
}

// The lock is kept until the process ends.
static int take(const struct conf_port *c, const char *kind, const char *name)
{
	int fd = device_lock(kind, name);

	if (fd >= 0)
		return 0;
	if (fd == -EADDRINUSE)
		port_error(c,
			"another culvertd uses %s %s: stop that one ('pgrep -a culvertd' lists "
			"them), or give this port another device",
			kind, name);
	else
		port_error(c, "cannot lock %s %s: %s", kind, name, strerror(-fd));
	return -EIO;
}

// Packet sockets truncate what is longer than a frame of their ring. Returns 0 or, after a message,
// -EIO.
static int frame_check(const struct conf_port *c)
{
	const unsigned int head = 80; // the kernel's header in front of an IP packet
	char text[16] = "2048";       // the driver's default
	unsigned int frame, needed = (c->mtu + head + 15) & ~15u;

	if (strncmp(c->device, "net_af_packet", 13) != 0)
		return 0;
	device_arg(text, sizeof(text), c->device, "framesz");
	frame = (unsigned int)strtoul(text, NULL, 10);
	if (frame >= needed)
		return 0;
	port_error(c,
		"framesz=%s of the device is too small for mtu %u: write framesz=%u,blocksz=%u",
		text, c->mtu, needed, (needed * 32 + 4095) & ~4095u);
	return -EIO;
}

unsigned int iface_mtu(const char *device)
{
	struct ifreq ask = {0};
	int fd, rc;

	if (!iface_name(ask.ifr_name, device))
		return 0;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	rc = ioctl(fd, SIOCGIFMTU, &ask);
	close(fd);
	return rc == 0 ? (unsigned int)ask.ifr_mtu : 0;
}

// AF_XDP counts the queues that receive and send ("combined"); an interface without any has one.
// Returns 0 or, after a message, -EIO.
static int channels_check(const struct conf_port *c, const char *name)
{
	struct ethtool_channels has = {.cmd = ETHTOOL_GCHANNELS};
	struct ifreq ask = {.ifr_data = (char *)&has};
	char first[8] = "0", count[8] = "1"; // the driver's defaults
	unsigned long wanted;
	int fd, rc;

	if (!conf_device_is_xdp(c->device))
		return 0;
	snprintf(ask.ifr_name, sizeof(ask.ifr_name), "%s", name);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	rc = ioctl(fd, SIOCETHTOOL, &ask);
	close(fd);
	if (rc < 0 || has.combined_count == 0)
		has.combined_count = 1;
	device_arg(first, sizeof(first), c->device, "start_queue");
	device_arg(count, sizeof(count), c->device, "queue_count");
	wanted = strtoul(first, NULL, 10) + strtoul(count, NULL, 10);
	if (wanted <= has.combined_count)
		return 0;
	port_error(c,
		"start_queue and queue_count need %lu queues, but interface %s has %u ('combined' "
		"of 'ethtool -l %s')",
		wanted, name, has.combined_count, name);
	return -EIO;
}

// Checks the mtu of the existing interface that a port attaches to, and warns if it is down: both
// are its owner's to change. Returns 0 or, after a message, -EIO.
static int iface_check(const struct conf_port *c, const char *name)
{
	struct ifreq flags = {0};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	unsigned int mtu = iface_mtu(c->device);
	int rc;

	snprintf(flags.ifr_name, sizeof(flags.ifr_name), "%s", name);
	rc = ioctl(fd, SIOCGIFFLAGS, &flags);
	close(fd);
	if (rc < 0 || mtu == 0)
		return 0; // then DPDK finds out
	if ((flags.ifr_flags & IFF_UP) == 0)
		port_warn(c, "interface %s is down: 'ip link set %s up'", name, name);
	if (mtu >= c->mtu)
		return 0;
	port_error(c, "interface %s has mtu %u: set mtu = %u, or 'ip link set %s mtu %u'", name,
		mtu, mtu, name, c->mtu);
	return -EIO;
}

static int device_take(const struct conf_port *c)
{
	char name[IFNAMSIZ], pci[CONF_PCI_NAME_MAX];

	if (conf_device_is_representor(c->device))
		return 0; // of a port's device
	if (conf_device_pci(pci, c->device))
		return take(c, DEVICE_LOCK_PCI, pci);
	return iface_name(name, c->device) ? take(c, DEVICE_LOCK_INTERFACE, name) : 0;
}

int iface_take(const struct conf *conf)
{
	int rc = 0;

	for (unsigned int i = 0; i < conf->n_devices; i++)
		rc |= device_take(&conf->devices[i]);
	return rc < 0 ? -EIO : 0;
}

// --- CPUs ---

// A list like "0-3,8".
static bool list_has(const char *list, unsigned int cpu)
{
	unsigned int first, last;
	int n;

	for (; sscanf(list, "%u%n", &first, &n) == 1; list += *list == ',') {
		list += n;
		last = first;
		if (sscanf(list, "-%u%n", &last, &n) == 1)
			list += n;
		if (cpu >= first && cpu <= last)
			return true;
	}
	return false;
}

static int cpu_check(
	const struct conf_where *where, const char *setting, unsigned int cpu, const char *online)
{
	if (list_has(online, cpu))
		return 0;
	log_error("%s:%u: cpus.%s: there is no CPU %u: this machine has CPUs %s", where->file,
		where->line, setting, cpu, online);
	return -EIO;
}

static int cpus_check(const struct conf *conf)
{
	char online[TEXT_LIST_SIZE];
	int rc;

	if (!sysfs_line(online, sizeof(online), SYSFS "/devices/system/cpu/online"))
		return 0; // then DPDK finds out
	rc = cpu_check(&conf->control_cpu_where, "control", conf->control_cpu, online);
	for (unsigned int i = 0; i < conf->n_workers; i++)
		rc |= cpu_check(&conf->worker_cpus_where, "workers", conf->worker_cpus[i], online);
	return rc;
}

// --- devices ---

static void interfaces_list(char list[TEXT_LIST_SIZE])
{
	struct if_nameindex *all = if_nameindex();

	for (struct if_nameindex *i = all; i != NULL && i->if_name != NULL; i++)
		if (strcmp(i->if_name, "lo") != 0)
			text_list_add(list, ", ", i->if_name);
	if (all != NULL)
		if_freenameindex(all);
}

// False after a message.
static bool interface_check(const struct conf_port *c, const char *name)
{
	char list[TEXT_LIST_SIZE] = "";

	if (if_nametoindex(name) != 0)
		return true;
	interfaces_list(list);
	port_error(c,
		"device \"%s\": there is no network interface \"%s\", existing ones: %s (see 'ip "
		"link')",
		c->device, name, list[0] != '\0' ? list : "none");
	return false;
}

static void cards_list(char list[TEXT_LIST_SIZE])
{
	struct pci_nic *nics;
	int n = pci_nics_read(&nics, SYSFS);

	for (int i = 0; i < n; i++)
		text_list_add(list, ", ", nics[i].name);
	free(nics);
}

// A device as its port needs it.
struct device_need {
	const struct conf_port *c;
	bool is_member;
	bool is_dispensable; // it is a member, and there is another one
};

// Logs what is missing: of a member that is dispensable as a warning. Returns 0 or -EIO.
static __attribute__((format(printf, 2, 3))) int missing(
	const struct device_need *d, const char *fmt, ...)
{
	char text[2 * TEXT_LIST_SIZE];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!d->is_dispensable) {
		port_error(d->c, "%s%s", text,
			d->is_member ? "; one member is enough, this port has none" : "");
		return -EIO;
	}
	port_warn(d->c, "%s; the port is opened without this member, which joins when it is there",
		text);
	return 0;
}

// Without an IOMMU a device accesses memory by physical addresses, which only hugepages have.
static int iommu_check(
	const struct conf *conf, const struct conf_port *c, const struct pci_nic *nic)
{
	if (pci_nic_is_confined(nic))
		return 0;
	if (pci_driver_is_vfio(nic->driver) && !pci_vfio_without_iommu(SYSFS)) {
		port_error(c,
			"PCI device %s has no IOMMU: turn it on in the firmware and with "
			"'intel_iommu=on' on the kernel's command line, or do without its "
			"protection: 'echo 1 > "
			"/sys/module/vfio/parameters/enable_unsafe_noiommu_mode', then bind it "
			"again",
			nic->name);
		return -EIO;
	}
	if (conf->hugepages)
		return 0;
	port_error(c,
		"PCI device %s is used without an IOMMU and needs physical addresses: set "
		"memory.hugepages = true",
		nic->name);
	return -EIO;
}

static int pci_missing(const struct device_need *d, const char *name)
{
	char list[TEXT_LIST_SIZE] = "";

	cards_list(list);
	return missing(d,
		"there is no PCI device %s, existing network cards: %s (see 'culvertctl "
		"devices')%s",
		name, list[0] != '\0' ? list : "none",
		d->is_member ? ""
			     : "; for a kernel interface write device = "
			       "\"net_af_packet0,iface=eth1\"");
}

static int pci_check(const struct conf *conf, const struct device_need *d, const char *name)
{
	struct pci_nic nic;
	int rc = pci_nic_read(&nic, SYSFS, name);

	if (rc == -ENOENT)
		return pci_missing(d, name);
	if (rc < 0 || nic.driver[0] == '\0')
		return 0; // then DPDK finds out: it opens some of another class, or without a
			  // driver
	if (pci_driver_is_for_dpdk(nic.driver))
		return iommu_check(conf, d->c, &nic);
	return missing(d,
		"PCI device %s is bound to the kernel's driver %s: 'culvertctl bind %s', "
		"which takes its interface from the kernel",
		name, nic.driver, name);
}

bool device_is_on_bus(const char *device)
{
	char name[CONF_BUS_NAME_MAX], path[128];
	const char *bus = conf_device_bus(name, device);

	if (bus == NULL)
		return true;
	snprintf(path, sizeof(path), SYSFS "/bus/%s/devices/%s", bus, name);
	return access(path, F_OK) == 0;
}

bool device_is_bound(const char *device)
{
	char name[CONF_PCI_NAME_MAX];
	struct pci_nic nic;
	int rc;

	if (!conf_device_pci(name, device))
		return true;
	rc = pci_nic_read(&nic, SYSFS, name);
	return rc < 0 ? rc != -ENOENT : pci_driver_is_for_dpdk(nic.driver);
}

bool device_is_confined(const char *device)
{
	char name[CONF_PCI_NAME_MAX];
	struct pci_nic nic;

	return !conf_device_pci(name, device) || pci_nic_read(&nic, SYSFS, name) < 0 ||
	       pci_nic_is_confined(&nic);
}

// A device of the auxiliary bus or VMBus.
static int bus_check(const struct device_need *d, const char *bus, const char *name)
{
	if (device_is_on_bus(d->c->device))
		return 0;
	return missing(d, "there is no device %s: 'ls " SYSFS "/bus/%s/devices'", name, bus);
}

static int device_check(const struct conf *conf, const struct device_need *d)
{
	char name[IFNAMSIZ], id[CONF_BUS_NAME_MAX];
	const struct conf_port *c = d->c;
	const char *bus = conf_device_bus(id, c->device);

	if (conf_device_is_pci(c->device))
		return pci_check(conf, d, id);
	if (bus != NULL)
		return bus_check(d, bus, id);
	if (!conf_device_is_attached(c->device) || !iface_name(name, c->device))
		return 0;
	if (!interface_check(c, name))
		return -EIO;
	iface_share_warn(conf, c, name);
	return iface_check(c, name) | frame_check(c) | channels_check(c, name);
}

static int port_check(const struct conf *conf, const struct conf_port *c)
{
	const struct conf_port *devices = &conf->devices[c->devices];
	bool has_member = false;
	int rc = 0;

	for (unsigned int i = 0; i < c->n_members; i++)
		has_member |=
			device_is_on_bus(devices[i].device) && device_is_bound(devices[i].device);
	for (unsigned int i = 0; i < conf_port_n_devices(c); i++)
		rc |= device_check(
			conf, &(struct device_need){&devices[i], c->n_members > 0, has_member});
	return rc;
}

int machine_check(const struct conf *conf)
{
	int rc = cpus_check(conf);

	for (unsigned int i = 0; i < conf->n_ports; i++)
		rc |= port_check(conf, &conf->ports[i]);
	return rc;
}
