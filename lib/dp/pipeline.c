// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline.h"

#include <rte_cycles.h>

#include "decap.h"
#include "dummy.h"
#include "early.h"
#include "encap.h"
#include "forward.h"
#include "fragment.h"
#include "handover.h"
#include "hold.h"
#include "host.h"
#include "input.h"
#include "local.h"
#include "output.h"
#include "pkt_drop.h"
#include "reassemble.h"
#include "sort.h"
#include "tracepoint.h"
#include "transit.h"

#define HOST_PART 16 // packets of the host in a pass

// The functions of pipeline.h, compiled with TRACED.
void pipeline_pass_traced(struct worker *w, struct rte_mbuf *const m[], uint16_t n, uint64_t now);
bool pipeline_help_traced(struct worker *w, uint64_t now);
unsigned int pipeline_keep_traced(struct worker *w, uint64_t now);

static __rte_always_inline void pipeline_forward(struct worker *w)
{
	struct burst *b = &w->forward;
	uint16_t n = b->n;

	forward_burst(w, b);
	stage_end(&w->stages, STAGE_FIT, n);
	n = b->n;
	do {
		if (TRACED)
			trace_burst(w, b, TRACE_FORWARD);
		output_burst(w, b);
	} while (fragments_drain(w, FRAG_BEFORE_ESP, b));
	stage_end(&w->stages, STAGE_OUTPUT, n);
}

static void sort_all(struct worker *w, struct pkt *const p[], uint16_t n)
{
	for (uint16_t i = 0; i < n; i++) {
		enum drop d = sort_packet(w, p[i]);

		if (unlikely(d != DROP_NONE))
			pkt_drop(w, p[i], d);
	}
}

// Packets that other workers have decapsulated, n at most.
static void handed_input(struct worker *w, uint16_t n)
{
	struct pkt *p[RX_BURST_MAX];

	sort_all(w, p, handover_dequeue(w, p, n));
}

// Packets that were held until roles have changed. Returns how many.
static uint16_t held_input(struct worker *w)
{
	struct pkt *p[RX_BURST_MAX];
	const uint16_t n = hold_dequeue(w, p);

	sort_all(w, p, n);
	return n;
}

// Packets of other threads, as far as the pass has room beside n received packets. A part of the
// room is reserved for the host, whatever other workers hand over.
static void rings_input(struct worker *w, uint16_t n)
{
	uint16_t room = (uint16_t)(RX_BURST_MAX - n), host = 0;

	if (unlikely(w->hold.left > 0)) // which were there before
		return;
	if (host_pending(w)) {
		host = (uint16_t)RTE_MIN(room, HOST_PART);
		host_input(w, host);
	}
	if (handover_pending(w))
		handed_input(w, (uint16_t)(room - host));
}

static __rte_always_inline void pass_begin(struct worker *w, uint64_t now)
{
	w->snapshot = atomic_load_explicit(w->published, memory_order_acquire);
	w->now = now;
	w->now_ms = (uint32_t)(now / (w->tsc_hz / 1000));
	w->n_pkts = FRAGMENTS_MAX;
	w->n_large = 0;
	w->natt = w->snapshot->udp_ports != NULL;
	w->n_udp = 0;
	w->admitted.rest = 0;
}

static __rte_always_inline void pass_end(struct worker *w)
{
	if (unlikely(w->punted))
		host_wake(w);
	worker_mbufs_free(w);
	if (TRACED)
		trace_pass_end(w);
}

// From the lookup of flows on: packets that the stages before have added to w->transit and
// w->local.
static __rte_always_inline void pipeline_through(struct worker *w)
{
	uint16_t n = w->transit.n;

	transit_burst(w);
	stage_end(&w->stages, STAGE_TRANSIT, n);
	n = w->local.n;
	if (TRACED)
		trace_burst(w, &w->local, TRACE_LOCAL);
	local_burst(w);
	stage_end(&w->stages, STAGE_LOCAL, n);
	encap_burst(w);
	pipeline_forward(w);
}

// Packets that the gateway originates. No errors are sent about them, so once is enough.
static __rte_always_inline void pipeline_own(struct worker *w)
{
	if (w->own.n == 0)
		return;
	if (TRACED)
		trace_burst(w, &w->own, TRACE_MADE);
	local_output(w);
	encap_burst(w);
	pipeline_forward(w);
}

// Work that is due with time. Returns with how many packets that were held the pass begins; n:
// received packets that follow.
static uint16_t tick_work(struct worker *w, uint16_t n)
{
	if (unlikely(w->hold.left > 0))
		return held_input(w);
	if (w->now < w->next_timers)
		return 0;
	w->next_timers = w->now + w->tsc_hz / 1000;
	if (likely(w->hold.n == 0))
		w->next_tick = w->next_timers;
	output_held(w, early_still_held, (uint16_t)(RX_BURST_MAX - n));
	reassembly_expire(w);
	flow_tick(w->flows, w->id, w->now_ms,
		atomic_load_explicit(&w->flow_slice, memory_order_relaxed));
	dummies_add(w);
	if (TRACED)
		trace_originated(w, &w->protect);
	return w->esp.n;
}

static void send_all(struct worker *w)
{
	for (uint16_t p = 0; w->send != NULL && p < w->snapshot->n_ports; p++)
		if (w->tx[p].n > 0)
			w->send(w->sender, p);
}

// Roles have changed: the packets that wait for that come first. A worker that is frozen meanwhile
// sends no more than the rest of a burst. False: it was, and has dropped the n received packets.
static __rte_cold __rte_noinline bool pass_held(
	struct worker *w, struct rte_mbuf *const m[], uint16_t n, uint64_t now)
{
	for (hold_begin(w, now);; send_all(w)) {
		if (deadline_is_past(&w->deadline, rte_rdtsc())) {
			hold_pause(w);
			w->counters.rx += n;
			for (uint16_t i = 0; i < n; i++)
				pkt_drop_left(w, m[i]);
			worker_mbufs_free(w);
			return false;
		}
		if (w->hold.left == 0)
			return true;
		pipeline_pass(w, NULL, 0, now);
	}
}

void pipeline_pass(struct worker *w, struct rte_mbuf *const m[], uint16_t n, uint64_t now)
{
	const bool tick = now >= w->next_tick;
	uint16_t early = 0;

	if (unlikely(tick) && !TRACED && w->hold.left == 0 && hold_is_due(w, now) &&
		!pass_held(w, m, n, now))
		return;
	if (trace_begins(w)) {
		pipeline_pass_traced(w, m, n, now);
		return;
	}
	pass_begin(w, now);
	if (tick)
		early = tick_work(w, n);
	if (n > 0 || early > 0 || handover_pending(w) || host_pending(w)) {
		w->counters.passes++;
		stages_begin(&w->stages);
		if (n > 0) // m may be NULL
			input_burst(w, m, n);
		stage_end(&w->stages, STAGE_INPUT, n);
		if (unlikely(tick) && w->hold.changing)
			hold_followers(w, &w->esp, w->spi);
		decap_burst(w);
		if (unlikely(handover_pending(w) || host_pending(w)))
			rings_input(w, (uint16_t)(n + early));
		if (unlikely(tick) && w->hold.changing)
			hold_followers(w, &w->transit, NULL);
		pipeline_through(w);
	} else if (w->protect.n > 0) { // dummies
		stages_begin(&w->stages);
		encap_burst(w);
	}
	pipeline_own(w);
	pass_end(w);
	if (tick && !TRACED) // from the next pass on
		w->tracing = atomic_load_explicit(&w->trace, memory_order_acquire);
}

// Decapsulates a burst. Packets that belong to no SA continue here.
static __rte_always_inline void open_for(struct worker *w, struct fan_burst *b)
{
	input_burst(w, b->frame, b->n);
	stage_end(&w->stages, STAGE_INPUT, b->n);
	decap_open(w, b);
	pipeline_through(w);
	pipeline_own(w);
}

// Claims a burst that a worker has put into a lane, and processes it.
static __rte_always_inline bool lane_work(struct worker *w, struct worker *keeper)
{
	struct fanout *f = keeper->fanout;
	uint32_t index = lane_claim(&f->seal);

	if (index != LANE_NONE) {
		encap_seal(w, &f->sealing[index]);
		lane_done(&f->seal, index);
		return true;
	}
	index = lane_claim(&f->open);
	if (index == LANE_NONE)
		return false;
	open_for(w, &f->opening[index]);
	lane_done(&f->open, index);
	return true;
}

static __rte_always_inline bool lane_work_any(struct worker *w)
{
	// Each begins with its own lanes.
	for (unsigned int i = 0; i < w->n_workers; i++)
		if (lane_work(w, w->peers[(w->id + i) % w->n_workers]))
			return true;
	return false;
}

bool pipeline_help(struct worker *w, uint64_t now)
{
	bool helped;

	if (trace_begins(w))
		return pipeline_help_traced(w, now);
	pass_begin(w, now);
	w->counters.passes++;
	stages_begin(&w->stages);
	helped = lane_work_any(w);
	pass_end(w);
	return helped;
}

static unsigned int lanes_accept(struct worker *w, struct fanout *f)
{
	unsigned int n = 0;

	for (uint32_t i = lane_first(&f->open); i != LANE_NONE; i = lane_first(&f->open), n++) {
		decap_accept(w, &f->opening[i]);
		lane_remove(&f->open);
	}
	return n;
}

static unsigned int lanes_send(struct worker *w, struct fanout *f)
{
	unsigned int n = 0;

	for (uint32_t i = lane_first(&f->seal); i != LANE_NONE; i = lane_first(&f->seal), n++) {
		const bool large = f->sealing[i].large;

		if (unlikely(large))
			encap_seal_large(w, &f->sealing[i]);
		else
			encap_send(w, &f->sealing[i]);
		lane_remove(&f->seal);
		if (unlikely(large)) // a pass has room for the packets of one
			return n + 1;
	}
	return n;
}

unsigned int pipeline_keep(struct worker *w, uint64_t now)
{
	unsigned int n;

	if (trace_begins(w))
		return pipeline_keep_traced(w, now);
	pass_begin(w, now);
	n = lanes_accept(w, w->fanout) + lanes_send(w, w->fanout);
	while (encap_number(w) > 0)
		n++;
	fanout_update(w);
	pass_end(w);
	return n;
}

void pipeline_stop(struct worker *w)
{
	for (uint32_t i = 0; i < w->n_held; i++)
		pkt_drop_left(w, w->held[i].p.m);
	w->n_held = 0;
	hold_stop(w);
	if (w->fanout != NULL)
		fanout_stop(w);
	handover_stop(w);
	host_stop(w);
	reassembly_stop(w);
	worker_mbufs_free(w);
}
