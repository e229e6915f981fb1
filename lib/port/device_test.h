// SPDX-License-Identifier: BSD-3-Clause
// Tests features of one or two devices as ports, one by one: 'culvertctl devices --test'. A process
// of its own, which has no gateway.
#pragma once

// Starts DPDK, opens the devices, prints a line for each check, and closes them. Two of them that
// are connected by a cable, or one that receives its own frames, also pass frames. Returns 0, or
// -EIO if a check failed or the devices cannot be opened, which is logged.
int device_test(const char *version, char *const device[], unsigned int n);
