// SPDX-License-Identifier: BSD-3-Clause
// A change against workers that look up: the control thread prepares an object and commits it, or
// unlinks one, and frees it after a grace period, with lib/control/retire.c and DPDK's QSBR as they
// are. An object is found by an index; a flow keeps the found object, for the generation of the
// snapshot. Proves for all interleavings: a worker never uses an object or a snapshot that was
// freed or is not complete, and everything that leaves is freed once, as soon as no worker uses it.
#include <stdlib.h>

#include <rte_atomic.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "explore.h"

// The operations of QSBR are steps, too.
#define __atomic_load_n(p, order)     EXPLORE_LOAD(p)
#define __atomic_store_n(p, v, order) EXPLORE_STORE(p, v)
#define __atomic_add_fetch(p, v, order)                                                            \
	(explore_step(p), __atomic_add_fetch((p), (v), __ATOMIC_SEQ_CST))
#include <rte_rcu_qsbr.h>
#undef __atomic_load_n
#undef __atomic_store_n
#undef __atomic_add_fetch

#define malloc(size) explore_alloc(size)
#define free(memory) ((void)(memory))
#include "retire.c"

#include "snapshot.h"

#define WORKERS   2
#define PASSES    3
#define COMPLETE  0x600d
#define FREED     0xdead
#define FIRST_GEN 7
// The fields of struct control that retire.c uses, from the first to the last.
#define PART_BEGIN offsetof(struct control, qsbr)
#define PART_LEN   (offsetof(struct control, loading) + sizeof(bool) - PART_BEGIN)

enum scenario { ADD, DELETE, REPLACE, SCENARIOS };

struct object {
	uint32_t state; // COMPLETE, FREED or not prepared yet
};

// A flow that a worker has decided: as struct flow_decision does, for a generation.
struct remembered {
	uint32_t generation;
	struct object *object;
};

static struct model {
	struct object *_Atomic slot; // of the index
	struct snapshot *_Atomic published;
	struct remembered flow[WORKERS];
	uint8_t n_freed, n_left; // objects and snapshots
} * model;

static struct control *control;

void line_free(void *memory)
{
	struct snapshot *s = memory;

	explore_assert(s->pmtu_min == COMPLETE);
	s->pmtu_min = FREED;
	model->n_freed++;
}

void rte_rcu_qsbr_synchronize(struct rte_rcu_qsbr *v, unsigned int thread)
{
	(void)v;
	(void)thread;
	explore_assert(false); // memory is never short
}

unsigned int model_scenarios(void)
{
	return SCENARIOS;
}

unsigned int model_threads(unsigned int scenario)
{
	(void)scenario;
	return 1 + WORKERS;
}

bool model_matters(const volatile void *p)
{
	(void)p;
	return true;
}

// As rte_rcu_qsbr_init() and rte_rcu_qsbr_thread_register(): all workers are registered, and
// online.
static struct rte_rcu_qsbr *qsbr_new(void)
{
	struct rte_rcu_qsbr *v = explore_alloc(sizeof(*v) + WORKERS * sizeof(v->qsbr_cnt[0]) + 64);

	v->max_threads = v->num_threads = WORKERS;
	v->num_elems = 1;
	v->token = __RTE_QSBR_CNT_INIT;
	v->acked_token = __RTE_QSBR_CNT_INIT - 1;
	*__RTE_QSBR_THRID_ARRAY_ELM(v, 0) = (1 << WORKERS) - 1;
	for (unsigned int i = 0; i < WORKERS; i++)
		v->qsbr_cnt[i].cnt = __RTE_QSBR_CNT_INIT;
	return v;
}

static struct object *object_prepare(void)
{
	struct object *o = explore_alloc(sizeof(*o));

	o->state = COMPLETE;
	return o;
}

void model_setup(unsigned int scenario)
{
	struct snapshot *s = explore_alloc(sizeof(*s));

	model = explore_alloc(sizeof(*model));
	control = (struct control *)((uint8_t *)explore_alloc(PART_LEN) - PART_BEGIN);
	control->qsbr = qsbr_new();
	*s = (struct snapshot){
		.generation = FIRST_GEN, .flow_generation = FIRST_GEN, .pmtu_min = COMPLETE};
	model->published = s;
	model->slot = scenario == ADD ? NULL : object_prepare();
	for (unsigned int i = 0; i < WORKERS; i++)
		model->flow[i] = (struct remembered){FIRST_GEN, model->slot};
}

static void object_release(struct control *c, void *object)
{
	struct object *o = object;

	(void)c;
	explore_assert(o->state == COMPLETE);
	o->state = FREED;
	model->n_freed++;
}

// Cached decisions of the previous generation are not used any more.
static void generation_renew(void)
{
	struct snapshot *old = model->published, *next = explore_alloc(sizeof(*next));

	*next = *old;
	next->flow_generation = next->generation = snapshot_generation_next(old->generation);
	atomic_store_explicit(&model->published, next, memory_order_release);
	retire(control, old);
	model->n_left++;
}

static void change(enum scenario scenario)
{
	struct object *old = model->slot, *next = scenario == DELETE ? NULL : object_prepare();

	atomic_store_explicit(&model->slot, next, memory_order_release);
	generation_renew();
	if (old != NULL) {
		retire_call(control, object_release, old);
		model->n_left++;
	}
	retire_tick(control);
	retire_tick(control);
}

static void worker_pass(struct remembered *flow)
{
	const struct snapshot *s = atomic_load_explicit(&model->published, memory_order_acquire);

	if (flow->generation != s->flow_generation) {
		*flow = (struct remembered){s->flow_generation,
			atomic_load_explicit(&model->slot, memory_order_acquire)};
	}
	explore_step(model); // others may run while the packet is processed
	explore_assert(s->pmtu_min == COMPLETE);
	explore_assert(flow->object == NULL || flow->object->state == COMPLETE);
}

static void worker_run(unsigned int id)
{
	for (unsigned int i = 0; i < PASSES; i++) {
		worker_pass(&model->flow[id]);
		rte_rcu_qsbr_quiescent(control->qsbr, id);
	}
	rte_rcu_qsbr_thread_offline(control->qsbr, id);
}

void model_thread(unsigned int scenario, unsigned int thread)
{
	if (thread == 0)
		change(scenario);
	else
		worker_run(thread - 1);
}

void model_end(unsigned int scenario)
{
	(void)scenario;
	retire_tick(control);
	explore_assert(model->n_freed == model->n_left && control->retired_memory == NULL);
}
