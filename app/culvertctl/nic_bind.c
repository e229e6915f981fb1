// SPDX-License-Identifier: BSD-3-Clause
#include "nic_bind.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sysfs.h"

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
