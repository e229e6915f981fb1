// SPDX-License-Identifier: BSD-3-Clause
// The kernel's use of a network card, obstacles for DPDK, and its move from one driver of the
// kernel to another. The functions take the folders where sysfs and proc are mounted. One thread.
#pragma once

#include "pci_nic.h"

enum nic_state {
	NIC_READY,   // a gateway can use it
	NIC_OPEN,    // a program uses it through vfio
	NIC_KERNEL,  // the kernel has it, for nothing important
	NIC_NEEDED,  // the machine would lose something: routes, an interface, virtual functions
	NIC_BLOCKED, // it cannot be used before something else is done
};

struct nic_use {
	enum nic_state state;
	char why[256]; // the missing part, or the user of the card; "": nothing
};

// The name of a state, for users and programs.
const char *nic_state_name(enum nic_state state);

// Looks at one card. No error: a file that cannot be read means not in use.
struct nic_use nic_use_read(const struct pci_nic *nic, const char *sys, const char *proc);

// Gives a card to the driver of that name, or with NULL to the one that the kernel chooses. The
// driver is loaded already. Returns 0 with nic read again; or -errno, and then the card is back
// at the kernel's choice if that was possible: -ENODEV if the driver did not take it.
int nic_bind(struct pci_nic *nic, const char *sys, const char *driver);
