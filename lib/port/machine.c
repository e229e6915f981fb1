// SPDX-License-Identifier: BSD-3-Clause
#include "machine.h"

#include <errno.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device_bus.h"
#include "device_lock.h"
#include "iface.h"
#include "iface_check.h"
#include "pci_nic.h"
#include "port_log.h"
#include "sysfs.h"
#include "text_list.h"

// By number of the port: the lock of its last device. 0: there is none.
static int locks[CONF_PORTS_MAX];

static int take(const struct conf_port *c, unsigned int port, const char *kind, const char *name)
{
	int fd = device_lock(kind, name);

	if (fd >= 0) {
		locks[port] = fd;
		return 0;
	}
	if (fd == -EADDRINUSE)
		port_error(c,
			"another culvertd uses %s %s: stop that one ('pgrep -a culvertd' lists "
			"them), or give this port another device",
			kind, name);
	else
		port_error(c, "cannot lock %s %s: %s", kind, name, strerror(-fd));
	return -EIO;
}

static int device_take(const struct conf_port *c, unsigned int port)
{
	char name[IFNAMSIZ], pci[CONF_PCI_NAME_MAX];

	if (conf_device_is_representor(c->device))
		return 0; // of a port's device
	if (conf_device_pci(pci, c->device))
		return take(c, port, DEVICE_LOCK_PCI, pci);
	return iface_name(name, c->device) ? take(c, port, DEVICE_LOCK_INTERFACE, name) : 0;
}

int port_devices_take(const struct conf *conf, unsigned int port)
{
	const struct conf_port *p = &conf->ports[port];
	int rc = 0;

	for (unsigned int i = 0; i < conf_port_n_devices(p); i++)
		rc |= device_take(&conf->devices[p->devices + i], port);
	return rc < 0 ? -EIO : 0;
}

void port_device_release(unsigned int port)
{
	if (locks[port] > 0)
		close(locks[port]);
	locks[port] = 0;
}

int devices_take(const struct conf *conf)
{
	int rc = 0;

	for (unsigned int i = 0; i < conf->n_ports; i++)
		rc |= port_devices_take(conf, i);
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

// Logs a missing device: of a member that is dispensable as a warning. Returns 0 or -EIO.
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

// A device of the auxiliary bus or VMBus.
static int bus_check(const struct device_need *d, const char *bus, const char *name)
{
	if (device_is_on_bus(d->c->device))
		return 0;
	return missing(d, "there is no device %s: 'ls " SYSFS "/bus/%s/devices'", name, bus);
}

static int device_check(const struct conf *conf, const struct device_need *d)
{
	char id[CONF_BUS_NAME_MAX];
	const struct conf_port *c = d->c;
	const char *bus = conf_device_bus(id, c->device);

	if (conf_device_is_pci(c->device))
		return pci_check(conf, d, id);
	if (bus != NULL)
		return bus_check(d, bus, id);
	return iface_check(conf, c);
}

int machine_port_check(const struct conf *conf, const struct conf_port *c)
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
		rc |= machine_port_check(conf, &conf->ports[i]);
	return rc;
}
