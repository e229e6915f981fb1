// SPDX-License-Identifier: BSD-3-Clause
#include "trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "policy.h"

const struct trace_info trace_info[TRACE_KINDS] = {
#define TRACE(id, text, what, why)                                                                 \
	[TRACE_##id] = {.stage = #text, .decision = why, .names = TRACE_NAMES_##what},
#include "trace.def"
#undef TRACE
};

// In pkt.trace: the number of a packet of this pass, from 1; or with this, of one that is in the
// log already.
#define LOGGED 0x8000u

static_assert(PKTS_MAX < LOGGED && TRACE_PACKETS_MAX < LOGGED, "numbers of packets");

// A packet of the pass.
struct story {
	unsigned int hold; // keys of the filter that have held
	uint32_t packet;   // its number in the log; 0: none
};

// Of one worker.
struct trace_pass {
	uint32_t trace; // that these belong to
	uint32_t n_stories, n_steps;
	uint32_t waiting; // packets in the log that are held
	struct story story[PKTS_MAX];
	struct trace_step step[TRACE_PASS_MAX]; // .packet is the index of the story
};

struct log_entry {
	struct trace_step step;
	_Atomic bool there; // written by a worker, when the step is
};

struct trace {
	// Written when no worker uses it.
	struct trace_filter filter;
	uint32_t number; // 1, 2, 3, ...
	uint32_t max;    // packets
	unsigned int n_workers;
	struct trace_pass **pass; // by worker
	// Written by workers.
	_Atomic uint32_t packets;  // chosen
	_Atomic uint32_t finished; // of which everything is in the log
	_Atomic uint32_t steps;    // of the log; counts on behind its end
	_Atomic uint32_t lost;
	struct log_entry log[TRACE_STEPS_MAX];
};

struct trace *trace_new(unsigned int n_workers)
{
	struct trace *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->n_workers = n_workers;
	t->pass = calloc(n_workers, sizeof(struct trace_pass *));
	for (unsigned int i = 0; t->pass != NULL && i < n_workers; i++)
		t->pass[i] = calloc(1, sizeof(struct trace_pass));
	if (t->pass != NULL && t->pass[n_workers - 1] != NULL)
		return t;
	trace_free(t);
	errno = ENOMEM;
	return NULL;
}

void trace_free(struct trace *t)
{
	if (t == NULL)
		return;
	for (unsigned int i = 0; t->pass != NULL && i < t->n_workers; i++)
		free(t->pass[i]);
	free(t->pass);
	free(t);
}

void trace_begin(struct trace *t, const struct trace_filter *filter, uint32_t packets)
{
	t->filter = *filter;
	t->max = packets;
	t->number++;
	t->packets = t->finished = t->steps = t->lost = 0;
	for (unsigned int i = 0; i < TRACE_STEPS_MAX; i++)
		t->log[i].there = false;
}

uint32_t trace_packets(const struct trace *t)
{
	return RTE_MIN(atomic_load_explicit(&t->packets, memory_order_acquire), t->max);
}

bool trace_done(const struct trace *t)
{
	return atomic_load_explicit(&t->finished, memory_order_acquire) == t->max;
}

uint32_t trace_lost(const struct trace *t)
{
	return atomic_load_explicit(&t->lost, memory_order_relaxed);
}

const struct trace_step *trace_step_at(const struct trace *t, uint32_t i)
{
	const struct log_entry *e = &t->log[i];

	return i < TRACE_STEPS_MAX && atomic_load_explicit(&e->there, memory_order_acquire)
		       ? &e->step
		       : NULL;
}

static void step_lost(struct trace *t)
{
	atomic_fetch_add_explicit(&t->lost, 1, memory_order_relaxed);
}

static void step_publish(
	struct trace *t, uint32_t i, const struct trace_step *step, uint32_t packet)
{
	if (i >= TRACE_STEPS_MAX) {
		step_lost(t);
		return;
	}
	t->log[i].step = *step;
	t->log[i].step.packet = packet;
	atomic_store_explicit(&t->log[i].there, true, memory_order_release);
}

// Places for n steps that follow on each other.
static uint32_t places_take(struct trace *t, uint32_t n)
{
	return atomic_fetch_add_explicit(&t->steps, n, memory_order_acq_rel);
}

static void buffer_read(struct trace_step *s, const struct pkt *p)
{
	const uint8_t *data = rte_pktmbuf_mtod(p->m, const uint8_t *);
	struct rte_ether_hdr eth;

	switch ((enum trace_kind)s->kind) {
	case TRACE_INPUT:
		trace_header_read_frame(&s->header, data, rte_pktmbuf_data_len(p->m));
		break;
	case TRACE_SENT:
	case TRACE_ANSWERED:
		memcpy(&eth, data, sizeof(eth));
		s->mac = eth.dst_addr;
		break;
	case TRACE_TAKEN:
	case TRACE_HELD:
	case TRACE_DROPPED: // it may be anything by now
		break;
	default:
		trace_header_read_ip(&s->header, data, rte_pktmbuf_data_len(p->m));
	}
}

static const char *name_of(const struct pkt *p, const struct trace_fact *fact)
{
	if (fact->name != NULL)
		return fact->name;
	if (drop_info[fact->reason].scope != DROP_SCOPE_SA)
		return "";
	if (p->sa_out != NULL)
		return p->sa_out->sa.live.name;
	return p->sa_in != NULL ? p->sa_in->sa.live.name : "";
}

static void step_fill(struct trace_step *s, const struct worker *w, const struct pkt *p,
	enum trace_kind kind, const struct trace_fact *fact)
{
	*s = (struct trace_step){
		.tsc = rte_rdtsc(),
		.worker = (uint8_t)w->id,
		.kind = (uint8_t)kind,
		.reason = (uint8_t)fact->reason,
		.len = (uint16_t)RTE_MIN(rte_pktmbuf_pkt_len(p->m), (uint32_t)UINT16_MAX),
		.before = fact->before,
		.port = fact->port != 0 ? (uint16_t)(fact->port - 1) : PORTS_MAX,
		.mtu = fact->mtu,
		.pieces = fact->pieces,
		.seq = fact->seq,
	};
	if (fact->next != NULL)
		s->next = *fact->next;
	snprintf(s->name, sizeof(s->name), "%s", name_of(p, fact));
	buffer_read(s, p);
}

// The packet that a frame was, which its port has not taken.
static uint16_t unsent(const struct worker *w, const struct pkt *p, const struct trace_fact *fact)
{
	for (unsigned int i = 0; fact->reason == DROP_TX_FULL && i < w->n_pkts; i++)
		if (w->pkt[i].m == p->m)
			return w->pkt[i].trace;
	return 0;
}

static void story_add_step(
	struct trace *t, struct trace_pass *pass, uint16_t id, const struct trace_step *step)
{
	struct trace_step *s = &pass->step[pass->n_steps];

	if (pass->n_steps == TRACE_PASS_MAX) {
		step_lost(t);
		return;
	}
	*s = *step;
	s->packet = id - 1u;
	pass->story[s->packet].hold |= trace_filter_match(&t->filter, s);
	pass->n_steps++;
}

void trace_record(
	struct worker *w, const struct pkt *p, enum trace_kind kind, const struct trace_fact *fact)
{
	struct trace *t = w->tracing;
	uint16_t id = p->trace != 0 ? p->trace : unsent(w, p, fact);
	struct trace_step s;

	if (id == 0)
		return;
	step_fill(&s, w, p, kind, fact);
	if ((id & LOGGED) == 0) {
		story_add_step(t, t->pass[w->id], id, &s);
		return;
	}
	step_publish(t, places_take(t, 1), &s, id & (LOGGED - 1u));
}

bool trace_pass_begin(struct worker *w)
{
	struct trace_pass *pass;

	w->tracing = atomic_load_explicit(&w->trace, memory_order_acquire);
	if (w->tracing == NULL)
		return false;
	pass = w->tracing->pass[w->id];
	if (pass->trace != w->tracing->number) {
		pass->trace = w->tracing->number;
		for (uint32_t i = 0; i < w->n_held; i++) // of the trace before
			w->held[i].p.trace = 0;
		pass->waiting = 0;
	}
	pass->n_stories = pass->n_steps = 0;
	memset(w->pkt, 0, FRAGMENTS_MAX * sizeof(w->pkt[0])); // no fragments yet
	return true;
}

// Whether there are packets to come: when there are enough of them, the trace only waits for those
// that wait.
static bool story_begin(struct worker *w, struct pkt *p)
{
	struct trace *t = w->tracing;
	struct trace_pass *pass = t->pass[w->id];

	p->trace = 0;
	if (trace_packets(t) == t->max || pass->n_stories == PKTS_MAX)
		return false;
	pass->story[pass->n_stories] = (struct story){0};
	p->trace = (uint16_t)++pass->n_stories;
	return true;
}

void trace_came_in(struct worker *w, struct pkt *p)
{
	if (story_begin(w, p))
		trace_record(w, p, TRACE_INPUT, &(struct trace_fact){.port = p->port + 1});
}

void trace_made(struct worker *w, struct burst *b)
{
	for (uint16_t i = 0; i < b->n; i++)
		if (story_begin(w, b->p[i]))
			trace_record(w, b->p[i], TRACE_MADE, &(struct trace_fact){0});
}

void trace_burst(struct worker *w, const struct burst *b, enum trace_kind kind)
{
	for (uint16_t i = 0; i < b->n; i++) {
		const struct pkt *p = b->p[i];
		const char *sa = kind == TRACE_SA_FOUND ? p->sa_in->sa.live.name : NULL;

		trace_record(w, p, kind, &(struct trace_fact){.name = sa});
	}
}

void trace_policy(struct worker *w, const struct pkt *p, const struct spd_policy *policy)
{
	static const enum trace_kind kind[] = {
		[SPD_PROTECT] = TRACE_POLICY_PROTECT,
		[SPD_BYPASS] = TRACE_POLICY_BYPASS,
		[SPD_DISCARD] = TRACE_POLICY_DISCARD,
	};

	if (policy == NULL)
		trace_record(w, p, TRACE_POLICY_NONE, &(struct trace_fact){0});
	else
		trace_record(
			w, p, kind[policy->action], &(struct trace_fact){.name = policy->name});
}

void trace_flow(struct worker *w, const struct pkt *p, const struct flow *f)
{
	const struct snapshot *s = w->snapshot;
	bool inbound = p->sa_in != NULL || s->port[p->port].unprotected;
	struct ip_view v;

	trace_record(w, p, TRACE_FLOW_KNOWN,
		&(struct trace_fact){.name = flow_state_info[flow_word_state(flow_word(f))].name});
	ip_view_read(&v, pkt_ip(p));
	if (inbound)
		trace_policy(w, p, p->in_by != NULL ? p->in_by : spd_find_inbound(s->spd, &v));
	if (!inbound || p->sa_out != NULL)
		trace_policy(w, p, spd_find_outbound(s->spd, &v));
}

void trace_opened(struct worker *w, const struct pkt *p, uint64_t seq)
{
	trace_record(w, p, TRACE_OPENED,
		&(struct trace_fact){.name = p->sa_in->sa.live.name, .seq = seq});
}

void trace_sealed(struct worker *w, const struct pkt *p, uint64_t seq, uint16_t before)
{
	trace_record(w, p, TRACE_SEALED,
		&(struct trace_fact){
			.name = p->sa_out->sa.live.name, .seq = seq, .before = before});
}

static bool was_sent(const struct worker *w, const struct pkt *p, uint16_t port)
{
	const struct tx_buffer *tx = &w->tx[port];

	for (uint16_t i = tx->n; i > 0; i--)
		if (tx->m[i - 1] == p->m)
			return true;
	return false;
}

static const struct held *was_held(const struct worker *w, const struct pkt *p)
{
	for (uint32_t i = w->n_held; i > 0; i--)
		if (w->held[i - 1].p.m == p->m)
			return &w->held[i - 1];
	return NULL;
}

void trace_output(struct worker *w, const struct burst *b, uint16_t n)
{
	for (uint16_t i = 0; i < n; i++) {
		const struct pkt *p = b->p[i];
		const struct held *held = was_held(w, p);
		struct trace_fact fact = {.port = p->nexthop->port + 1};

		if (held != NULL)
			fact.next = &held->next;
		else if (p->nexthop->kind == NEXTHOP_GATEWAY)
			fact.next = &p->nexthop->gateway;
		if (held != NULL || was_sent(w, p, p->nexthop->port))
			trace_record(w, p, held != NULL ? TRACE_HELD : TRACE_SENT, &fact);
	}
}

// Gives a packet its number, if it is one of those that are wanted.
static bool story_choose(struct trace *t, struct story *story)
{
	uint32_t before;

	if (story->hold != t->filter.keys)
		return false;
	before = atomic_fetch_add_explicit(&t->packets, 1, memory_order_acq_rel);
	if (before >= t->max) {
		atomic_fetch_sub_explicit(&t->packets, 1, memory_order_acq_rel);
		return false;
	}
	story->packet = before + 1;
	return true;
}

static void story_log(struct trace *t, const struct trace_pass *pass, uint32_t story)
{
	uint32_t n = 0, at;

	for (uint32_t i = 0; i < pass->n_steps; i++)
		n += pass->step[i].packet == story;
	at = places_take(t, n);
	for (uint32_t i = 0; i < pass->n_steps; i++)
		if (pass->step[i].packet == story)
			step_publish(t, at++, &pass->step[i], pass->story[story].packet);
}

// What the number of a packet of this pass becomes when the pass is over.
static uint16_t id_after(const struct trace_pass *pass, uint16_t id)
{
	if (id == 0 || (id & LOGGED) != 0)
		return id;
	return pass->story[id - 1u].packet != 0 ? (uint16_t)(pass->story[id - 1u].packet | LOGGED)
						: 0;
}

void trace_pass_end(struct worker *w)
{
	struct trace *t = w->tracing;
	struct trace_pass *pass = t->pass[w->id];

	uint32_t finished = pass->waiting;

	for (uint32_t i = 0; i < pass->n_stories; i++)
		if (story_choose(t, &pass->story[i])) {
			story_log(t, pass, i);
			finished++;
		}
	for (uint32_t i = 0; i < w->n_pkts; i++)
		w->pkt[i].trace = id_after(pass, w->pkt[i].trace);
	pass->waiting = 0;
	for (uint32_t i = 0; i < w->n_held; i++) {
		w->held[i].p.trace = id_after(pass, w->held[i].p.trace);
		pass->waiting += w->held[i].p.trace != 0;
	}
	atomic_fetch_add_explicit(&t->finished, finished - pass->waiting, memory_order_acq_rel);
}
