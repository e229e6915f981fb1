// SPDX-License-Identifier: BSD-3-Clause
// The group of gateway A of site.h: its address on the WAN, and the SAs between that and B. The
// test plays the control thread.
#pragma once

#include "dad.h"
#include "peer.h"
#include "site.h"

#define GROUP_ADDRESS "192.0.2.1"

// Sets the state of an own address, and whether the SAs may be used.
void group_address_set(uint16_t port, const char *addr, enum dad_state state);
void group_sas_set(struct gateway *g, const char *out, const char *in, bool standby);

// Changes the role of the group: to active (DAD_ASSIGNED), standby or expected.
void group_set(struct gateway *g, enum dad_state state);

// These addresses of both ports are of no group any more.
void group_addresses_end(const char *const own[], unsigned int n);

// A UDP packet with its number in the identification of its IP header; the number of a packet.
struct ipv4 numbered(unsigned int i, const char *src, const char *dst);
unsigned int number_of(const uint8_t *packet);

// n packets with numbers from 0 on, from 10.2.0.5 to 10.1.0.5 out of the tunnel of A and B; and
// from 10.1.0.5 to 10.2.0.5, in clear.
void esp_in(struct frame f[], const struct peer *b, unsigned int n);
void esp_out(struct frame f[], unsigned int n);

// Nothing is sent or dropped: n more packets are held.
void expect_held(struct gateway *g, const struct frame *f, unsigned int n);

// Nothing is sent or dropped for some milliseconds.
void expect_idle(struct gateway *g);

// Teardown of a test: its addresses, and 10.1.0.1 and 2001:db8:1::1 of LAN, are of no group.
int group_test_end(void **state);

#define group_test(f) cmocka_unit_test_setup_teardown(f, harness_test_begin, group_test_end)
