// SPDX-License-Identifier: BSD-3-Clause
#include "device_bus.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "conf.h"
#include "pci_nic.h"
#include "sysfs.h"

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
