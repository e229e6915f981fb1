// SPDX-License-Identifier: BSD-3-Clause
#include "machine.h"

#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <linux/capability.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "log.h"

#define PCI_DIR   "/sys/bus/pci/devices"
#define LIST_SIZE 256 // octets of a list in a message

// --- interfaces ---

bool iface_not_permitted(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3] = {0};
	const uint32_t wanted = 1u << CAP_NET_ADMIN | 1u << CAP_NET_RAW;

	return syscall(SYS_capget, &head, has) == 0 && (has[0].effective & wanted) != wanted;
}

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

// Checks the mtu of the existing interface that a port attaches to, and warns if it is down: both
// are its owner's to change. Returns 0 or, after a message, -EIO.
static int iface_check(const struct conf_port *c, const char *name)
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

// --- files of the kernel ---

// The first line of a file of the kernel's, without its newline. False if there is none.
static bool line_read(char *line, size_t size, const char *path)
{
	FILE *f = fopen(path, "re");
	bool ok = f != NULL && fgets(line, (int)size, f) != NULL;

	if (f != NULL)
		fclose(f);
	if (ok)
		line[strcspn(line, "\n")] = '\0';
	return ok;
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
	char online[LIST_SIZE];
	int rc;

	if (!line_read(online, sizeof(online), "/sys/devices/system/cpu/online"))
		return 0; // then DPDK finds out
	rc = cpu_check(&conf->control_cpu_where, "control", conf->control_cpu, online);
	for (unsigned int i = 0; i < conf->n_workers; i++)
		rc |= cpu_check(&conf->worker_cpus_where, "workers", conf->worker_cpus[i], online);
	return rc;
}

// --- devices ---

static void list_add(char list[LIST_SIZE], const char *word)
{
	if (strlen(list) + strlen(word) + 3 > LIST_SIZE)
		return;
	if (list[0] != '\0')
		strcat(list, ", ");
	strcat(list, word);
}

static void interfaces_list(char list[LIST_SIZE])
{
	struct if_nameindex *all = if_nameindex();

	for (struct if_nameindex *i = all; i != NULL && i->if_name != NULL; i++)
		if (strcmp(i->if_name, "lo") != 0)
			list_add(list, i->if_name);
	if (all != NULL)
		if_freenameindex(all);
}

// False after a message.
static bool interface_check(const struct conf_port *c, const char *name)
{
	char list[LIST_SIZE] = "";

	if (if_nametoindex(name) != 0)
		return true;
	interfaces_list(list);
	port_error(c,
		"device \"%s\": there is no network interface \"%s\", existing ones: %s (see 'ip "
		"link')",
		c->device, name, list[0] != '\0' ? list : "none");
	return false;
}

// Class 2: network cards.
static bool is_card(const char *name)
{
	char path[512], class[32];

	snprintf(path, sizeof(path), PCI_DIR "/%s/class", name);
	return name[0] != '.' && line_read(class, sizeof(class), path) &&
	       strncmp(class, "0x02", 4) == 0;
}

static void cards_list(char list[LIST_SIZE])
{
	DIR *dir = opendir(PCI_DIR);
	struct dirent *d;

	while (dir != NULL && (d = readdir(dir)) != NULL)
		if (is_card(d->d_name))
			list_add(list, d->d_name);
	if (dir != NULL)
		closedir(dir);
}

// The last part of the link's target. False if there is no link.
static bool link_read(char *name, size_t size, const char *path)
{
	char target[512];
	ssize_t n = readlink(path, target, sizeof(target) - 1);

	if (n < 0)
		return false;
	target[n] = '\0';
	snprintf(name, size, "%s", basename(target));
	return true;
}

// Whether the devices of a kernel's driver are DPDK's to open. Some vendors' drivers share them.
static bool is_for_dpdk(const char *driver)
{
	static const char *const drivers[] = {
		"uio_pci_generic", "igb_uio", "mlx4_core", "mlx5_core", "mana", "nfb"};

	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)
		if (strcmp(driver, drivers[i]) == 0)
			return true;
	return strstr(driver, "vfio") != NULL;
}

// Without an IOMMU a device accesses memory by physical addresses, which only hugepages have.
static int iommu_check(
	const struct conf *conf, const struct conf_port *c, const char *name, const char *driver)
{
	bool vfio = strstr(driver, "vfio") != NULL;
	char path[512], group[64], unsafe[8] = "";

	snprintf(path, sizeof(path), PCI_DIR "/%s/iommu_group", name);
	line_read(unsafe, sizeof(unsafe), "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode");
	if (vfio && !link_read(group, sizeof(group), path) && unsafe[0] != 'Y') {
		port_error(c,
			"PCI device %s has no IOMMU: turn it on in the firmware and with "
			"'intel_iommu=on' on the kernel's command line, or do without its "
			"protection: 'echo 1 > "
			"/sys/module/vfio/parameters/enable_unsafe_noiommu_mode', then bind it "
			"again",
			name);
		return -EIO;
	}
	if ((strstr(driver, "uio") == NULL && unsafe[0] != 'Y') || conf->hugepages)
		return 0;
	port_error(c,
		"PCI device %s is used without an IOMMU and needs physical addresses: set "
		"memory.hugepages = true",
		name);
	return -EIO;
}

static int pci_check(const struct conf *conf, const struct conf_port *c, const char *name)
{
	char path[512], list[LIST_SIZE] = "", driver[64];

	snprintf(path, sizeof(path), PCI_DIR "/%s", name);
	if (access(path, F_OK) < 0) {
		cards_list(list);
		port_error(c,
			"there is no PCI device %s, existing network cards: %s (see "
			"'dpdk-devbind.py --status'); for a kernel interface write device = "
			"\"net_af_packet0,iface=eth1\"",
			name, list[0] != '\0' ? list : "none");
		return -EIO;
	}
	snprintf(path, sizeof(path), PCI_DIR "/%s/driver", name);
	if (!link_read(driver, sizeof(driver), path))
		return 0; // then DPDK finds out: it opens some without
	if (is_for_dpdk(driver))
		return iommu_check(conf, c, name, driver);
	port_error(c,
		"PCI device %s is bound to the kernel's driver %s: 'dpdk-devbind.py "
		"--bind=vfio-pci %s', which takes its interface from the kernel",
		name, driver, name);
	return -EIO;
}

static int device_check(const struct conf *conf, const struct conf_port *c)
{
	char name[IFNAMSIZ], pci[CONF_PCI_NAME_MAX];

	if (conf_device_pci(pci, c->device))
		return pci_check(conf, c, pci);
	if (!conf_device_is_attached(c->device) || !iface_name(name, c->device))
		return 0;
	return interface_check(c, name) ? iface_check(c, name) | frame_check(c) : -EIO;
}

int machine_check(const struct conf *conf)
{
	int rc = cpus_check(conf);

	for (unsigned int i = 0; i < conf->n_ports; i++)
		rc |= device_check(conf, &conf->ports[i]);
	return rc;
}
