// SPDX-License-Identifier: BSD-3-Clause
// The control thread of a gateway made by the harness: lib/control, with the test instead of ports.
#pragma once

#include "conf.h"
#include "dad.h"
#include "event.h"
#include "neigh.h"
#include "snapshot.h"
#include "worker.h"

struct control_thread {
	struct conf *conf; // the first configuration
	struct rte_mempool *pool;
	// A frame that the control thread sends.
	void (*sent)(uint16_t port, const uint8_t *frame, uint16_t len);
};

// Times are in milliseconds.

// Called before a gateway is made. The caller owns the returned table of own addresses.
struct dad *control_thread_init(const struct control_thread *c);

// Called with the first snapshot of that configuration, the neighbours and the workers of the
// gateway.
void control_thread_start(struct snapshot *s, struct neigh_table *neigh,
	struct worker *const workers[], unsigned int n);

// Another configuration is in use.
void control_thread_reloaded(struct conf *conf, struct snapshot *s);

// A neighbour is solicited, as in struct neigh_params.
void control_thread_solicit(
	uint16_t port, const struct ip_addr *addr, const struct rte_ether_addr *to);

// A port's link was down and is up again.
void control_thread_link_up(uint16_t port);

void control_thread_event(const struct event *e, uint64_t now);
void control_thread_tick(uint64_t now);
void control_thread_stop(void);
