// SPDX-License-Identifier: BSD-3-Clause
// The daemon's loops of two workers of a gateway, on devices that receive their own frames. Only
// the first worker has a queue of the port LAN.
#pragma once

#include "loop.h"
#include "peer.h"
#include "site.h"

#define LOOP_PAIR_DEADLINE_S 20

struct pair {
	struct gateway *g[2];
	struct worker *w[2];
	struct loop *loop[2];
	struct port ports[DMZ + 1];
	struct rte_rcu_qsbr *qsbr;
	pthread_t thread[2];
};

// Ethdevs: of all ports; and of a member.
extern uint16_t loop_device, loop_member;

// Setup and teardown of a program.
int loop_pair_begin(void **state);
int loop_pair_end(void **state);

void pair_start(struct pair *p);
void pair_stop(struct pair *p); // frees frames left in rings

// Runs loop i in a thread of its own; ends it, after work that it has.
void loop_start(struct pair *p, unsigned int i);
void loop_end(struct pair *p, unsigned int i);

void await_buffers_in_use(unsigned int n);

// A frame to be dropped without a policy, by either worker.
struct rte_mbuf *frame_of_flow(uint32_t flow);

// Lets the device receive it.
void send_to(uint16_t id, struct rte_mbuf *m);
