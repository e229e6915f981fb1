// SPDX-License-Identifier: BSD-3-Clause
#include "control_parts.h"

#include "address.h"
#include "build_flow.h"
#include "configure.h"
#include "harness.h"
#include "hash_key.h"
#include "links.h"
#include "originate.h"
#include "path_mtu.h"
#include "retire.h"

struct snapshot *control_parts_snapshot(const struct control *c, const struct conf *conf)
{
	char why[256];
	struct snapshot *s = configure_build(c, conf, why, sizeof(why));

	assert_non_null(s);
	return s;
}

static void qsbr_start(struct control *c)
{
	size_t size = RTE_ALIGN_CEIL(rte_rcu_qsbr_get_memsize(2), RTE_CACHE_LINE_SIZE);

	c->qsbr = aligned_alloc(RTE_CACHE_LINE_SIZE, size);
	assert_int_equal(rte_rcu_qsbr_init(c->qsbr, 2), 0);
}

static void tables_start(struct control *c)
{
	struct flow_config flows = build_flow_config(c->conf);

	c->neigh = neigh_table_new(&(struct neigh_params){.max = 64,
		.n_ports = c->conf->n_ports,
		.reachable_s = 30,
		.qsbr = c->qsbr,
		.solicit = originate_solicitation,
		.arg = c});
	c->flows = flow_table_new(
		&(struct flow_params){
			.capacity = c->conf->flows_max, .workers = 1, .qsbr = c->qsbr, .reader = 1},
		&flows);
	assert_non_null(c->neigh);
	assert_non_null(c->flows);
	while (flow_table_fill(c->flows))
		;
}

static void worker_start(struct control *c)
{
	c->workers[0] = worker_new(&(struct worker_params){.pool = harness_pool,
		.large_pool = harness_large_pool,
		.neigh = c->neigh,
		.dad = c->dad,
		.flows = c->flows,
		.flow_slice = 64,
		.published = &c->snapshot,
		.tsc_hz = TSC_HZ,
		.hash_key = test_hash_key,
		.held_max = 16,
		.reassembly_max = 16,
		.reassembly_s = 15});
	assert_non_null(c->workers[0]);
	c->deadlines.of[0] = &c->workers[0]->deadline;
	c->deadlines.n = 1;
}

void control_parts_start(struct control *c)
{
	qsbr_start(c);
	tables_start(c);
	assert_int_equal(address_init(c), 0);
	assert_int_equal(configure_start(c, control_parts_snapshot(c, c->conf)), 0);
	address_start(c);
	links_start(c);
	worker_start(c);
}

void control_parts_stop(struct control *c)
{
	worker_free(c->workers[0]);
	retire_all(c);
	configure_stop(c);
	path_mtus_free(&c->path_mtus);
	flow_table_free(c->flows);
	neigh_table_free(c->neigh);
	dad_free(c->dad);
	listener_free(c->listener);
	free(c->qsbr);
}
