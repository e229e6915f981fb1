// SPDX-License-Identifier: BSD-3-Clause
#include "pci_nic.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sysfs.h"

char *pci_nic_path(const char *sys, const char *name, const char *attribute)
{
	char *path;

	return asprintf(&path, "%s/bus/pci/devices/%s/%s", sys, name, attribute) >= 0 ? path : NULL;
}

static bool attribute_line(
	char *line, size_t size, const char *sys, const char *name, const char *attribute)
{
	char *path = pci_nic_path(sys, name, attribute);
	bool ok = path != NULL && sysfs_line(line, size, path);

	free(path);
	return ok;
}

static void attribute_link(
	char *target, size_t size, const char *sys, const char *name, const char *attribute)
{
	char *path = pci_nic_path(sys, name, attribute);

	if (path == NULL || !sysfs_link(target, size, path))
		target[0] = '\0';
	free(path);
}

static int attribute_number(const char *sys, const char *name, const char *attribute, int none)
{
	char line[16];

	return attribute_line(line, sizeof(line), sys, name, attribute) ? atoi(line) : none;
}

// The first name in a folder that matches the pattern. False if there is none.
static bool folder_first(char *name, size_t size, const char *folder, const char *pattern)
{
	DIR *dir = opendir(folder);
	const struct dirent *d;
	bool found = false;

	while (dir != NULL && !found && (d = readdir(dir)) != NULL) {
		size_t len = strlen(d->d_name);

		found = d->d_name[0] != '.' && len < size && fnmatch(pattern, d->d_name, 0) == 0;
		if (found)
			memcpy(name, d->d_name, len + 1);
	}
	if (dir != NULL)
		closedir(dir);
	return found;
}

// Interfaces of a virtio card belong to the virtio device below it.
static void interface_read(struct pci_nic *nic, const char *sys)
{
	char virtio[PCI_NIC_NAME_MAX], sub[PCI_NIC_NAME_MAX + 8] = "net";
	char *path = pci_nic_path(sys, nic->name, "");

	if (path != NULL && folder_first(virtio, sizeof(virtio), path, "virtio[0-9]*"))
		snprintf(sub, sizeof(sub), "%s/net", virtio);
	free(path);
	path = pci_nic_path(sys, nic->name, sub);
	if (path == NULL || !folder_first(nic->interface, sizeof(nic->interface), path, "*"))
		nic->interface[0] = '\0';
	free(path);
}

// vfio makes a group for a card that no IOMMU confines, when it is bound all the same.
static void iommu_group_read(struct pci_nic *nic, const char *sys)
{
	char name[16];

	attribute_link(nic->iommu_group, sizeof(nic->iommu_group), sys, nic->name, "iommu_group");
	if (attribute_line(name, sizeof(name), sys, nic->name, "iommu_group/name") &&
		strcmp(name, "vfio-noiommu") == 0)
		nic->iommu_group[0] = '\0';
}

int pci_nic_read(struct pci_nic *nic, const char *sys, const char *name)
{
	char class[16], vendor[8] = "", device[8] = "";

	*nic = (struct pci_nic){0};
	if (strlen(name) >= sizeof(nic->name) || strchr(name, '/') != NULL ||
		!attribute_line(class, sizeof(class), sys, name, "class"))
		return -ENOENT;
	if (strncmp(class, "0x02", 4) != 0)
		return -ENODEV;
	snprintf(nic->name, sizeof(nic->name), "%s", name);
	attribute_line(vendor, sizeof(vendor), sys, name, "vendor");
	attribute_line(device, sizeof(device), sys, name, "device");
	if (strlen(vendor) == 6 && strlen(device) == 6) // 0x8086
		snprintf(nic->id, sizeof(nic->id), "%s:%s", vendor + 2, device + 2);
	attribute_link(nic->driver, sizeof(nic->driver), sys, name, "driver");
	iommu_group_read(nic, sys);
	nic->numa_node = attribute_number(sys, name, "numa_node", -1);
	nic->functions = (unsigned int)attribute_number(sys, name, "sriov_numvfs", 0);
	interface_read(nic, sys);
	return 0;
}

static int nics_fill(struct pci_nic *nics, const char *sys, struct dirent **found, int n)
{
	int kept = 0;

	for (int i = 0; i < n; i++)
		if (pci_nic_read(&nics[kept], sys, found[i]->d_name) == 0)
			kept++;
	return kept;
}

int pci_nics_read(struct pci_nic **nics, const char *sys)
{
	char *folder = pci_nic_path(sys, "", "");
	struct dirent **found = NULL;
	int n = folder != NULL ? scandir(folder, &found, NULL, alphasort) : -1;
	int rc = n < 0 ? -errno : 0;

	free(folder);
	*nics = calloc(n > 0 ? (size_t)n : 1, sizeof(**nics));
	if (*nics == NULL)
		rc = -ENOMEM;
	if (rc == 0)
		rc = nics_fill(*nics, sys, found, n);
	for (int i = 0; i < n; i++)
		free(found[i]);
	free(found);
	return rc == -ENOENT ? 0 : rc;
}

bool pci_driver_is_vfio(const char *driver)
{
	return strstr(driver, "vfio") != NULL;
}

bool pci_driver_is_shared(const char *driver)
{
	static const char *const drivers[] = {"mlx4_core", "mlx5_core", "mana", "nfb"};

	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)
		if (strcmp(driver, drivers[i]) == 0)
			return true;
	return false;
}

bool pci_driver_is_for_dpdk(const char *driver)
{
	return pci_driver_is_vfio(driver) || pci_driver_is_shared(driver) ||
	       strcmp(driver, "uio_pci_generic") == 0 || strcmp(driver, "igb_uio") == 0;
}

bool pci_nic_is_confined(const struct pci_nic *nic)
{
	return pci_driver_is_shared(nic->driver) ||
	       (pci_driver_is_vfio(nic->driver) && nic->iommu_group[0] != '\0');
}

bool pci_vfio_without_iommu(const char *sys)
{
	char path[256], line[8];

	snprintf(path, sizeof(path), "%s/module/vfio/parameters/enable_unsafe_noiommu_mode", sys);
	return sysfs_line(line, sizeof(line), path) && line[0] == 'Y';
}
