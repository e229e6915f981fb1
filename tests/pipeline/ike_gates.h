// SPDX-License-Identifier: BSD-3-Clause
// Two gateways whose tunnels requests of an IKE daemon add while they run:
//
//   10.1.0.0/24 --[LAN] A [WAN]-- 192.0.2.0/24 --[WAN] B [LAN]-- 10.2.0.0/24
//
// Of the configuration are a policy "first" for UDP port 9, which bypasses, before all of IKE's;
// and "rest", which discards, after them.
#pragma once

#include "conf_ike.h"
#include "control.h"
#include "peer.h"
#include "site.h"

struct daemon {
	struct control c;
	struct gateway *g;
};

extern struct daemon ike_a, ike_b;
extern const struct ipv4 ike_there, ike_back; // from A's host to B's, and its answer

int ike_gate_begin(void **state);
int ike_gate_end(void **state);

#define ike_gate_test(f) cmocka_unit_test_setup_teardown(f, ike_gate_begin, ike_gate_end)

// Objects that workers may use are freed a pass later; here there is none meanwhile.
void ike_gate_settle(struct daemon *d);

// Work of the control thread: frees objects that no worker can use any more.
void ike_gate_tick(struct daemon *d);

// Makes a request, which must be done. The names of SAs are ike.DIRECTION.SPI.
void __attribute__((format(printf, 2, 3))) ike_gate_ask(struct daemon *d, const char *fmt, ...);
void ike_gate_sa_ask(
	char *text, size_t size, const char *direction, uint32_t spi, uint32_t reqid); // of A
void ike_gate_sa(struct daemon *d, const char *direction, uint32_t spi, uint32_t reqid);
void ike_gate_sa_with(struct daemon *d, const char *direction, uint32_t spi, uint32_t reqid,
	const char *more); // settings
void ike_gate_policy(struct daemon *d, const char *name, uint32_t reqid, const char *more);

// SAs of both: A sends with spi, B with spi + 1.
void ike_gate_sas(uint32_t reqid, uint32_t spi);
void ike_gate_sas_delete(uint32_t spi);

// A policy and SAs of both.
void ike_gate_tunnel(const char *name, uint32_t reqid, uint32_t spi, const char *more);

// The peer of an inbound SA of A. The caller frees both.
struct peer ike_gate_peer(uint32_t spi, uint32_t reqid, struct conf_ike **ike);

// The packet comes through the tunnel, by the SA.
void ike_gate_through(struct daemon *from, struct ipv4 ip, uint32_t spi);

// The packet is dropped; nothing is sent outside.
void ike_gate_dropped(struct daemon *from, struct ipv4 ip, enum drop reason);
