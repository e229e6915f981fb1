// SPDX-License-Identifier: BSD-3-Clause
#include "listener.h"

#include <errno.h>
#include <stdlib.h>

#include <rte_common.h>
#include <rte_random.h>

#define TICK_MS      100
#define ROBUSTNESS   2     // (RFC 3810 9.1)
#define INTERVAL_S   125   // of queries, by default (RFC 3810 9.2)
#define REPEAT_MS    1000  // Unsolicited Report Interval (RFC 3810 9.11)
#define REPEAT_V1_MS 10000 // the same (RFC 2710 7.10)
#define NEVER        UINT64_MAX

struct membership {
	struct ip_addr addr;
	uint64_t answer_at; // when a query is answered; NEVER: none waits
};

struct link {
	unsigned int n;
	struct membership group[LISTENER_GROUPS_MAX];
	unsigned int reports_left; // to come, the next one at report_at
	uint64_t report_at;
	uint32_t interval_s; // of queries
	uint64_t v1_until;   // a router that speaks version 1 is there; 0: none (RFC 3810 8.2.1)
};

struct listener {
	struct listener_params p;
	struct link link[];
};

struct listener *listener_new(const struct listener_params *p)
{
	struct listener *l = calloc(1, sizeof(*l) + p->n_ports * sizeof(l->link[0]));

	if (l == NULL)
		return NULL;
	l->p = *p;
	for (unsigned int i = 0; i < p->n_ports; i++)
		l->link[i].interval_s = INTERVAL_S;
	return l;
}

void listener_free(struct listener *l)
{
	free(l);
}

int listener_add(struct listener *l, uint16_t port, const struct ip_addr *group)
{
	struct link *k = &l->link[port];

	for (unsigned int i = 0; i < k->n; i++)
		if (ip_addr_equal(&k->group[i].addr, group))
			return 0;
	if (k->n == LISTENER_GROUPS_MAX)
		return -ENOSPC;
	k->group[k->n++] = (struct membership){.addr = *group, .answer_at = NEVER};
	return 0;
}

static bool is_among(const struct ip_addr *group, const struct ip_addr of[], unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (ip_addr_equal(group, &of[i]))
			return true;
	return false;
}

void listener_keep(struct listener *l, uint16_t port, const struct ip_addr group[], unsigned int n)
{
	struct link *k = &l->link[port];
	struct ip_addr left[LISTENER_GROUPS_MAX];
	unsigned int n_left = 0, kept = 0;

	for (unsigned int i = 0; i < k->n; i++)
		if (is_among(&k->group[i].addr, group, n))
			k->group[kept++] = k->group[i];
		else
			left[n_left++] = k->group[i].addr;
	k->n = kept;
	if (n_left > 0)
		l->p.report(l->p.arg, port, k->v1_until != 0, MLD_LEAVES, left, n_left);
}

void listener_report_all(struct listener *l, uint16_t port)
{
	l->link[port].reports_left = ROBUSTNESS;
	l->link[port].report_at = 0;
}

// RFC 3810 8.2.1: reports that are pending in the other version are not sent.
static void v1_until_set(struct link *k, uint64_t time)
{
	if ((k->v1_until == 0) != (time == 0)) {
		k->reports_left = 0;
		for (unsigned int i = 0; i < k->n; i++)
			k->group[i].answer_at = NEVER;
	}
	k->v1_until = time;
}

void listener_restart(struct listener *l, uint16_t port)
{
	v1_until_set(&l->link[port], 0);
	l->link[port].interval_s = INTERVAL_S;
	listener_report_all(l, port);
}

// A random moment within that many milliseconds, early enough for a late tick.
static uint64_t random_within(uint64_t now, uint32_t ms)
{
	return now + (ms > TICK_MS ? rte_rand_max(ms - TICK_MS + 1) : 0);
}

// RFC 3810 6.2. That the earlier of two answers is enough holds for a group that both queries are
// about, be they general or not. In version 1 each group has its own delay (RFC 2710 4).
static void answer_schedule(struct link *k, const struct mld_query *q, uint64_t now)
{
	uint64_t at = random_within(now, q->delay_ms);

	for (unsigned int i = 0; i < k->n; i++) {
		struct membership *m = &k->group[i];

		if (!ip_addr_is_none(&q->group) && !ip_addr_equal(&q->group, &m->addr))
			continue;
		m->answer_at = RTE_MIN(m->answer_at, at);
		if (k->v1_until != 0)
			at = random_within(now, q->delay_ms);
	}
}

void listener_query(struct listener *l, uint16_t port, const struct mld_query *q, uint64_t now)
{
	struct link *k = &l->link[port];

	if (q->v1) // RFC 3810 9.12
		v1_until_set(k, now + ROBUSTNESS * k->interval_s * UINT64_C(1000) + q->delay_ms);
	else if (q->interval_s != 0)
		k->interval_s = q->interval_s;
	answer_schedule(k, q, now);
}

static void groups_report(const struct listener *l, uint16_t port, enum mld_record record)
{
	const struct link *k = &l->link[port];
	struct ip_addr group[LISTENER_GROUPS_MAX];

	for (unsigned int i = 0; i < k->n; i++)
		group[i] = k->group[i].addr;
	if (k->n > 0)
		l->p.report(l->p.arg, port, k->v1_until != 0, record, group, k->n);
}

static void report_due(const struct listener *l, uint16_t port, struct link *k, uint64_t now)
{
	if (k->reports_left == 0 || now < k->report_at)
		return;
	k->reports_left--;
	k->report_at = random_within(now, k->v1_until != 0 ? REPEAT_V1_MS : REPEAT_MS);
	groups_report(l, port, MLD_JOINS);
}

static void answers_due(const struct listener *l, uint16_t port, struct link *k, uint64_t now)
{
	struct ip_addr group[LISTENER_GROUPS_MAX];
	unsigned int n = 0;

	for (unsigned int i = 0; i < k->n; i++) {
		if (now < k->group[i].answer_at)
			continue;
		k->group[i].answer_at = NEVER;
		group[n++] = k->group[i].addr;
	}
	if (n > 0)
		l->p.report(l->p.arg, port, k->v1_until != 0, MLD_LISTENS, group, n);
}

void listener_tick(struct listener *l, uint64_t now)
{
	for (unsigned int port = 0; port < l->p.n_ports; port++) {
		struct link *k = &l->link[port];

		if (k->v1_until != 0 && now >= k->v1_until)
			v1_until_set(k, 0);
		report_due(l, (uint16_t)port, k, now);
		answers_due(l, (uint16_t)port, k, now);
	}
}

void listener_leave(const struct listener *l)
{
	for (unsigned int port = 0; port < l->p.n_ports; port++)
		groups_report(l, (uint16_t)port, MLD_LEAVES);
}
