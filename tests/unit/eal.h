// SPDX-License-Identifier: BSD-3-Clause
// DPDK's environment for a test program: no hugepages, no devices, nothing left behind, any number
// of programs at the same time.
#pragma once

// Once, before anything of DPDK. Ends the program if it fails.
void eal_start(void);

// At the end.
void eal_stop(void);

// The same as fixtures of a group of tests.
int eal_group_start(void **state);
int eal_group_stop(void **state);
