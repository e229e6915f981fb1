// SPDX-License-Identifier: BSD-3-Clause
// The group of gateway A of site.h: its address on the WAN, and the SAs between that and B. The
// test plays the control thread.
#pragma once

#include "dad.h"
#include "site.h"

#define GROUP_ADDRESS "192.0.2.1"

// Sets the state of an own address, and whether the SAs may be used.
void group_address_set(uint16_t port, const char *addr, enum dad_state state);
void group_sas_set(struct gateway *g, const char *out, const char *in, bool standby);

// Changes the role of the group: to active (DAD_ASSIGNED), standby or expected.
void group_set(struct gateway *g, enum dad_state state);

// These addresses of both ports are of no group any more.
void group_addresses_end(const char *const own[], unsigned int n);

// Teardown of a test: its addresses, and 10.1.0.1 and 2001:db8:1::1 of LAN, are of no group.
int group_test_end(void **state);

#define group_test(f) cmocka_unit_test_setup_teardown(f, harness_test_begin, group_test_end)
