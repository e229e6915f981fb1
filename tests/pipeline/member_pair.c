// SPDX-License-Identifier: BSD-3-Clause
#include "member_pair.h"

#include "flow_adopt.h"
#include "flow_line.h"
#include "group.h"
#include "member_flows.h"

#define GROUP  "groups = ( { name = \"main\"; addresses = [ \"192.0.2.1\", \"10.1.0.1\" ]; } );"
#define MAPPED ",{ name = \"mapped\"; local = \"172.16.1.0/24\"; action = \"bypass\"; }"

struct member a, b;

uint64_t pair_now(void)
{
	return a.g->now / 1000;
}

static const struct control_io io = {.now_ms = pair_now};

static void member_begin(struct member *m, unsigned int id, const char *more)
{
	char conf[8192], all[8192], more_too[1024];
	const char *flows;

	snprintf(more_too, sizeof(more_too), "pair = { member = %u; }; %s %s", id + 1, GROUP, more);
	site_a_conf(
		conf, sizeof(conf), (struct site){.policies = POLICIES MAPPED, .more = more_too});
	flows = strstr(conf, "flows = {") + strlen("flows = {");
	snprintf(all, sizeof(all), "%.*s timeouts = { udp = 600; }; %s", (int)(flows - conf), conf,
		flows);
	m->g = gateway_new(id, all);
	m->c = (struct control){
		.io = &io, .conf = m->g->conf, .snapshot = m->g->snapshot, .flows = m->g->flows};
	assert_int_equal(flow_inbox_new(m->g->flows), 0);
	groups_follow(&m->c, m->c.conf);
}

void roles_set(struct member *active, struct member *standby)
{
	struct owned_group *g = &active->c.groups.item[0], *s = &standby->c.groups.item[0];

	g->other_known = s->other_known = true;
	g->role = s->other = CONF_ACTIVE;
	s->role = g->other = CONF_STANDBY;
}

void pair_begin(const char *more)
{
	member_begin(&a, 0, more);
	member_begin(&b, 1, more);
	roles_set(&a, &b);
}

void pair_end(void)
{
	gateway_free(a.g);
	gateway_free(b.g);
}

// The workers of the table adopt waiting flows, and remove flows that are gone.
void worker_ticks(struct member *m)
{
	for (unsigned int i = 0; i < 40; i++)
		flow_tick(m->g->flows, i % m->g->conf->n_workers, m->g->w->now_ms, UINT16_MAX);
}

void both_wait(unsigned int seconds)
{
	gateway_wait(a.g, seconds * UINT64_C(1000000));
	gateway_wait(b.g, seconds * UINT64_C(1000000));
}

static bool carry(void *to, const char *line, size_t len)
{
	struct member *m = to;

	assert_true(len == strlen(line) && len < FLOW_LINE_MAX);
	assert_true(member_flows_learn(&m->c, line));
	return true;
}

// Reports all flows of one to the other, which adopts them.
void report(struct member *from, struct member *to)
{
	member_flows_begin(&from->c);
	do
		member_flows_send(&from->c, pair_now(), ROOM, carry, to);
	while (from->c.member.scan.position != 0);
	worker_ticks(to);
}

void take_over(struct member *m, struct member *other)
{
	roles_set(m, other);
	flow_adopted_keep(m->g->flows);
	flow_table_take_over(m->g->flows, true);
}
