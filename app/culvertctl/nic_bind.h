// SPDX-License-Identifier: BSD-3-Clause
// Moves a network card from one driver of the kernel to another, by sysfs. One thread.
#pragma once

#include "pci_nic.h"

// Gives a card to the driver of that name, or with NULL to the one that the kernel chooses. The
// driver is loaded already. Returns 0 with nic read again; or -errno, and then the card is back
// at the kernel's choice if that was possible: -ENODEV if the driver did not take it.
int nic_bind(struct pci_nic *nic, const char *sys, const char *driver);
