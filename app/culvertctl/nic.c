// SPDX-License-Identifier: BSD-3-Clause
#include "nic.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device_lock.h"
#include "sysfs.h"

const char *nic_state_name(enum nic_state state)
{
	static const char *const names[] = {[NIC_READY] = "ready",
		[NIC_OPEN] = "in use",
		[NIC_KERNEL] = "kernel",
		[NIC_NEEDED] = "needed",
		[NIC_BLOCKED] = "blocked"};

	return names[state];
}

__attribute__((format(printf, 2, 3))) static struct nic_use use(
	enum nic_state state, const char *format, ...)
{
	struct nic_use u = {.state = state};
	va_list args;

	va_start(args, format);
	vsnprintf(u.why, sizeof(u.why), format, args);
	va_end(args);
	return u;
}

// --- routes ---

enum routes { ROUTES_NONE, ROUTES_SOME, ROUTES_DEFAULT };

// A line of net/route is: interface, destination, gateway, flags, ...; numbers are hexadecimal.
static enum routes route_ipv4(const char *line, const char *interface)
{
	char name[PCI_NIC_NAME_MAX];
	unsigned int to;

	if (sscanf(line, "%31s %x", name, &to) != 2 || strcmp(name, interface) != 0)
		return ROUTES_NONE;
	return to == 0 ? ROUTES_DEFAULT : ROUTES_SOME;
}

// A line of net/ipv6_route is: destination, prefix length, 7 others, interface. The kernel has
// routes to link-local and multicast addresses for every interface.
static enum routes route_ipv6(const char *line, const char *interface)
{
	char to[33], name[PCI_NIC_NAME_MAX];
	unsigned int len;

	if (sscanf(line, "%32s %x %*s %*s %*s %*s %*s %*s %*s %31s", to, &len, name) != 3 ||
		strcmp(name, interface) != 0)
		return ROUTES_NONE;
	if (len == 0)
		return ROUTES_DEFAULT;
	return strncmp(to, "fe80", 4) == 0 || strncmp(to, "ff", 2) == 0 ? ROUTES_NONE : ROUTES_SOME;
}

static enum routes routes_in(const char *proc, const char *file, const char *interface,
	enum routes (*read)(const char *line, const char *interface))
{
	char path[PATH_MAX], line[512];
	enum routes most = ROUTES_NONE;
	FILE *f;

	snprintf(path, sizeof(path), "%s/net/%s", proc, file);
	f = fopen(path, "re");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		enum routes r = read(line, interface);

		if (r > most)
			most = r;
	}
	if (f != NULL)
		fclose(f);
	return most;
}

// The interface that is made of this one: a bond, a bridge, a VLAN, a VRF. False if there is none.
static bool upper_of(char upper[PCI_NIC_NAME_MAX], const char *sys, const char *interface)
{
	char path[PATH_MAX];
	const struct dirent *d;
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/class/net/%s", sys, interface);
	dir = opendir(path);
	while (dir != NULL && !found && (d = readdir(dir)) != NULL)
		found = sscanf(d->d_name, "upper_%31s", upper) == 1;
	if (dir != NULL)
		closedir(dir);
	return found;
}

// --- vfio ---

// Whether a program has opened the device: only one at a time can, or a culvertd holds its lock.
static bool is_open(const struct pci_nic *nic)
{
	char path[64];
	int fd;

	fd = device_lock(DEVICE_LOCK_PCI, nic->name);
	if (fd == -EADDRINUSE)
		return true;
	if (fd >= 0)
		close(fd);
	if (nic->iommu_group[0] == '\0')
		return false;
	snprintf(path, sizeof(path), "/dev/vfio/%s", nic->iommu_group);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd < 0 && errno == EBUSY;
}

// vfio gives away whole IOMMU groups: the kernel must have no device of the group, except bridges
// to which the others are attached. The name of one that it has; false if there is none.
static bool group_other(char other[PCI_NIC_NAME_MAX], const struct pci_nic *nic, const char *sys)
{
	char *folder = pci_nic_path(sys, nic->name, "iommu_group/devices");
	DIR *dir = folder != NULL ? opendir(folder) : NULL;
	const struct dirent *d;
	bool found = false;

	free(folder);
	while (dir != NULL && !found && (d = readdir(dir)) != NULL) {
		char class[16] = "", driver[PCI_NIC_NAME_MAX] = "";
		char *path;

		if (d->d_name[0] == '.' || strcmp(d->d_name, nic->name) == 0)
			continue;
		path = pci_nic_path(sys, d->d_name, "class");
		if (path != NULL)
			sysfs_line(class, sizeof(class), path);
		free(path);
		path = pci_nic_path(sys, d->d_name, "driver");
		found = strncmp(class, "0x06", 4) != 0 && path != NULL &&
			sysfs_link(driver, sizeof(driver), path) && !pci_driver_is_vfio(driver);
		free(path);
		if (found)
			snprintf(other, PCI_NIC_NAME_MAX, "%.*s", PCI_NIC_NAME_MAX - 1, d->d_name);
	}
	if (dir != NULL)
		closedir(dir);
	return found;
}

static struct nic_use use_bound(const struct pci_nic *nic, const char *sys)
{
	char other[PCI_NIC_NAME_MAX];

	if (is_open(nic))
		return use(NIC_OPEN, "a program uses it");
	if (!pci_driver_is_vfio(nic->driver))
		return use(NIC_READY, "no IOMMU protects memory: memory.hugepages = true");
	if (nic->iommu_group[0] != '\0' && group_other(other, nic, sys))
		return use(NIC_BLOCKED, "%s is in the same IOMMU group: bind it, too", other);
	if (nic->iommu_group[0] != '\0')
		return use(NIC_READY, "%s", "");
	if (pci_vfio_without_iommu(sys))
		return use(NIC_READY, "no IOMMU protects memory: memory.hugepages = true");
	return use(NIC_BLOCKED, "no IOMMU");
}

static struct nic_use use_interface(const char *interface, const char *sys, const char *proc)
{
	enum routes ipv4 = routes_in(proc, "route", interface, route_ipv4);
	enum routes ipv6 = routes_in(proc, "ipv6_route", interface, route_ipv6);
	char upper[PCI_NIC_NAME_MAX];

	if (ipv4 == ROUTES_DEFAULT || ipv6 == ROUTES_DEFAULT)
		return use(NIC_NEEDED, "%s has the default route", interface);
	if (ipv4 == ROUTES_SOME || ipv6 == ROUTES_SOME)
		return use(NIC_NEEDED, "%s has routes", interface);
	if (upper_of(upper, sys, interface))
		return use(NIC_NEEDED, "%s is part of %s", interface, upper);
	return use(NIC_KERNEL, "%s", "");
}

static struct nic_use use_kernel(const struct pci_nic *nic, const char *sys, const char *proc)
{
	struct nic_use u = use_interface(nic->interface, sys, proc);

	if (u.state == NIC_NEEDED)
		return u;
	if (nic->functions > 0)
		return use(NIC_NEEDED, "%u virtual functions are made of it", nic->functions);
	if (nic->iommu_group[0] == '\0' && !pci_vfio_without_iommu(sys))
		return use(NIC_BLOCKED, "no IOMMU");
	return use(NIC_KERNEL, "culvertctl bind %s", nic->name);
}

struct nic_use nic_use_read(const struct pci_nic *nic, const char *sys, const char *proc)
{
	if (pci_driver_is_shared(nic->driver))
		return is_open(nic) ? use(NIC_OPEN, "a program uses it")
				    : use(NIC_READY, "shared with the kernel");
	if (pci_driver_is_for_dpdk(nic->driver))
		return use_bound(nic, sys);
	return use_kernel(nic, sys, proc);
}

// --- drivers ---

static int write_attribute(
	const struct pci_nic *nic, const char *sys, const char *attribute, const char *text)
{
	char *path = pci_nic_path(sys, nic->name, attribute);
	int rc = path != NULL ? sysfs_write(path, text) : -ENOMEM;

	free(path);
	return rc;
}

// driver_override names the only driver that may take the device; "\n": any that knows it.
static int move(const struct pci_nic *nic, const char *sys, const char *driver)
{
	char path[PATH_MAX];
	int rc = write_attribute(nic, sys, "driver_override", driver != NULL ? driver : "\n");

	if (rc == 0 && nic->driver[0] != '\0')
		rc = write_attribute(nic, sys, "driver/unbind", nic->name);
	if (rc < 0)
		return rc;
	snprintf(path, sizeof(path), "%s/bus/pci/drivers_probe", sys);
	return sysfs_write(path, nic->name);
}

int nic_bind(struct pci_nic *nic, const char *sys, const char *driver)
{
	const struct pci_nic before = *nic;
	int rc = move(nic, sys, driver);

	if (pci_nic_read(nic, sys, before.name) < 0)
		return -ENODEV;
	if (rc == 0 && driver != NULL && strcmp(nic->driver, driver) != 0)
		rc = -ENODEV;
	if (rc < 0 && driver != NULL) {
		move(nic, sys, NULL);
		pci_nic_read(nic, sys, before.name);
	}
	return rc;
}
