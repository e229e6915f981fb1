// SPDX-License-Identifier: BSD-3-Clause
#include "trace.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <rte_common.h>

static_assert(TRACE_PACKETS_MAX < TRACE_LOGGED, "numbers of packets");

// A packet of the pass.
struct packet {
	unsigned int hold; // keys of the filter that have held
	uint32_t logged;   // its number in the log; 0: none
};

// State of one worker, written by it alone.
struct trace_pass {
	uint32_t trace; // that these belong to
	uint32_t n_packets, n_steps;
	uint32_t held; // packets in the log that the worker has, and is not done with
	struct packet *packet;
	struct trace_step step[TRACE_PASS_MAX]; // .packet is the index of the packet
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
	uint32_t packets_max;     // of a pass
	struct trace_pass **pass; // by worker
	// Written by workers.
	_Atomic uint32_t packets;  // chosen
	_Atomic uint32_t finished; // of these, completely in the log
	_Atomic uint32_t steps;    // in the log; continues after its end
	_Atomic uint32_t lost;
	struct log_entry log[TRACE_STEPS_MAX];
};

static struct trace_pass *pass_new(uint32_t packets_max)
{
	struct trace_pass *pass = calloc(1, sizeof(*pass));

	if (pass == NULL)
		return NULL;
	pass->packet = calloc(packets_max, sizeof(pass->packet[0]));
	if (pass->packet != NULL)
		return pass;
	free(pass);
	return NULL;
}

struct trace *trace_new(unsigned int n_workers, uint32_t packets_max)
{
	struct trace *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->n_workers = n_workers;
	t->packets_max = packets_max;
	t->pass = calloc(n_workers, sizeof(struct trace_pass *));
	for (unsigned int i = 0; t->pass != NULL && i < n_workers; i++)
		t->pass[i] = pass_new(packets_max);
	if (t->pass != NULL && t->pass[n_workers - 1] != NULL)
		return t;
	trace_free(t);
	errno = ENOMEM;
	return NULL;
}

static void pass_free(struct trace_pass *pass)
{
	if (pass == NULL)
		return;
	free(pass->packet);
	free(pass);
}

void trace_free(struct trace *t)
{
	if (t == NULL)
		return;
	for (unsigned int i = 0; t->pass != NULL && i < t->n_workers; i++)
		pass_free(t->pass[i]);
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

// Reserves places for n steps that follow on each other. Returns the first.
static uint32_t steps_reserve(struct trace *t, uint32_t n)
{
	return atomic_fetch_add_explicit(&t->steps, n, memory_order_acq_rel);
}

bool trace_pass_start(struct trace *t, unsigned int worker)
{
	struct trace_pass *pass = t->pass[worker];
	bool first = pass->trace != t->number;

	pass->trace = t->number;
	pass->n_packets = pass->n_steps = 0;
	if (first)
		pass->held = 0;
	return first;
}

// Once there are enough packets, the trace only continues for held ones.
uint16_t trace_packet_add(struct trace *t, unsigned int worker)
{
	struct trace_pass *pass = t->pass[worker];

	if (trace_packets(t) == t->max || pass->n_packets == t->packets_max)
		return 0;
	pass->packet[pass->n_packets] = (struct packet){0};
	return (uint16_t)++pass->n_packets;
}

void trace_step_add(
	struct trace *t, unsigned int worker, uint16_t id, const struct trace_step *step)
{
	struct trace_pass *pass = t->pass[worker];
	struct trace_step *s = &pass->step[pass->n_steps];

	if ((id & TRACE_LOGGED) != 0) {
		step_publish(t, steps_reserve(t, 1), step, id & (TRACE_LOGGED - 1u));
		return;
	}
	if (pass->n_steps == TRACE_PASS_MAX) {
		step_lost(t);
		return;
	}
	*s = *step;
	s->packet = id - 1u;
	pass->packet[s->packet].hold |= trace_filter_match(&t->filter, s);
	pass->n_steps++;
}

// Gives a packet its number in the log, if it matches and is wanted.
static bool packet_choose(struct trace *t, struct packet *packet)
{
	uint32_t before;

	if (packet->hold != t->filter.keys)
		return false;
	before = atomic_fetch_add_explicit(&t->packets, 1, memory_order_acq_rel);
	if (before >= t->max) {
		atomic_fetch_sub_explicit(&t->packets, 1, memory_order_acq_rel);
		return false;
	}
	packet->logged = before + 1;
	return true;
}

static void packet_log(struct trace *t, const struct trace_pass *pass, uint32_t packet)
{
	uint32_t n = 0, at;

	for (uint32_t i = 0; i < pass->n_steps; i++)
		n += pass->step[i].packet == packet;
	at = steps_reserve(t, n);
	for (uint32_t i = 0; i < pass->n_steps; i++)
		if (pass->step[i].packet == packet)
			step_publish(t, at++, &pass->step[i], pass->packet[packet].logged);
}

void trace_pass_log(struct trace *t, unsigned int worker)
{
	struct trace_pass *pass = t->pass[worker];

	for (uint32_t i = 0; i < pass->n_packets; i++)
		if (pass->packet[i].logged == 0 && packet_choose(t, &pass->packet[i])) {
			packet_log(t, pass, i);
			pass->held++;
		}
}

uint16_t trace_packet_after(const struct trace *t, unsigned int worker, uint16_t id)
{
	uint32_t logged;

	if (id == 0 || (id & TRACE_LOGGED) != 0)
		return id;
	logged = t->pass[worker]->packet[id - 1u].logged;
	return logged != 0 ? (uint16_t)(logged | TRACE_LOGGED) : 0;
}

uint16_t trace_packet_hand(
	struct trace *t, unsigned int worker, uint16_t id, uint32_t *trace, uint8_t *keys)
{
	struct trace_pass *pass = t->pass[worker];
	struct packet *packet = &pass->packet[id - 1u];

	*trace = t->number;
	*keys = 0;
	if ((id & TRACE_LOGGED) != 0) {
		pass->held--;
		return id;
	}
	*keys = (uint8_t)packet->hold;
	if (!packet_choose(t, packet))
		return 0;
	packet_log(t, pass, id - 1u);
	return (uint16_t)(packet->logged | TRACE_LOGGED);
}

uint16_t trace_packet_take(
	struct trace *t, unsigned int worker, uint16_t id, uint32_t trace, uint8_t keys)
{
	struct trace_pass *pass = t->pass[worker];

	if (trace == t->number && (id & TRACE_LOGGED) != 0) {
		pass->held++;
		return id;
	}
	id = trace_packet_add(t, worker);
	if (id != 0 && trace == t->number)
		pass->packet[id - 1u].hold = keys;
	return id;
}

void trace_packet_abandon(struct trace *t, uint16_t id, uint32_t trace)
{
	if (trace == t->number && (id & TRACE_LOGGED) != 0)
		atomic_fetch_add_explicit(&t->finished, 1, memory_order_acq_rel);
}

void trace_pass_finish(struct trace *t, unsigned int worker, uint32_t held)
{
	struct trace_pass *pass = t->pass[worker];

	atomic_fetch_add_explicit(&t->finished, pass->held - held, memory_order_acq_rel);
	pass->held = held;
}
