// SPDX-License-Identifier: BSD-3-Clause
// Network cards on the PCI bus, as the kernel reports them. The functions take the folder where
// sysfs is mounted, /sys. Any thread; not for workers.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define PCI_NIC_NAME_MAX 32 // of a PCI address, an interface or a driver, with the final null

struct pci_nic {
	char name[PCI_NIC_NAME_MAX];      // PCI address: 0000:00:05.0
	char id[12];                      // vendor and device: 8086:1572
	char driver[PCI_NIC_NAME_MAX];    // of the kernel; "": none
	char interface[PCI_NIC_NAME_MAX]; // the first of the kernel's; "": none
	char iommu_group[12];             // its number; "": there is no IOMMU
	int numa_node;                    // -1: the machine has one only
	unsigned int functions;           // virtual functions that exist
};

// Path of an attribute of a device, in new memory that the caller frees, or NULL without memory.
char *pci_nic_path(const char *sys, const char *name, const char *attribute);

// Returns 0, -ENOENT (there is no such PCI device), or -ENODEV (it is not a network card).
int pci_nic_read(struct pci_nic *nic, const char *sys, const char *name);

// All network cards in order of their addresses: their number, and an array to be freed. Returns
// -errno if the bus cannot be read, or memory is short; 0 if there is no PCI bus.
int pci_nics_read(struct pci_nic **nics, const char *sys);

// Whether a driver lets programs such as DPDK's use its devices: instead of the kernel (vfio, uio),
// or together with it.
bool pci_driver_is_for_dpdk(const char *driver);
bool pci_driver_is_shared(const char *driver);
bool pci_driver_is_vfio(const char *driver);

// Whether a card of a program can access only the program's memory: by an IOMMU, or because the
// kernel shares it. Otherwise it works with physical addresses.
bool pci_nic_is_confined(const struct pci_nic *nic);

// Whether vfio lets programs use devices that no IOMMU confines.
bool pci_vfio_without_iommu(const char *sys);
