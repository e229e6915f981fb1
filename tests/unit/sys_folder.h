// SPDX-License-Identifier: BSD-3-Clause
// A folder with files of sysfs about network cards and CPUs, for one test.
#pragma once

extern char sys[]; // its path

// Setup and teardown of cmocka: make and remove it.
int sys_begin(void **state);
int sys_end(void **state);

// Writes a file; its path below the folder is as of printf(3).
__attribute__((format(printf, 2, 3))) void sys_file(const char *text, const char *format, ...);

// A PCI device of a class ("0x020000\n": a network card) on NUMA node 1. driver, group: of an
// IOMMU; NULL: it has none.
void sys_card(const char *card, const char *class, const char *driver, const char *group);
