// SPDX-License-Identifier: BSD-3-Clause
#include "ranking.h"

#include "ike_tables.h"

static void ranking_add(struct ranking *r, unsigned int number, uint64_t weight)
{
	unsigned int at;

	if (r->n == RANKING_MAX && weight <= r->weight[r->n - 1])
		return;
	r->n += r->n < RANKING_MAX;
	for (at = r->n - 1; at > 0 && weight > r->weight[at - 1]; at--) {
		r->number[at] = r->number[at - 1];
		r->weight[at] = r->weight[at - 1];
	}
	r->number[at] = number;
	r->weight[at] = weight;
}

void ranking_busiest_sas(struct ranking *r, const struct control *c)
{
	const struct sa_list *sas = &c->snapshot->objects->sas;
	const struct sa *sa;

	r->n = 0;
	for (unsigned int i = 0; (sa = sa_list_at(sas, i)) != NULL; i++)
		ranking_add(r, i, sa->rate);
}

static uint64_t tunnel_rate(const struct control *c, const struct spd_policy *p)
{
	const struct sa_in *in = policy_receiver(c, p, 0);

	return (p->out != NULL ? p->out->sa.rate : 0) + (in != NULL ? in->sa.rate : 0);
}

void ranking_busiest_tunnels(struct ranking *r, const struct control *c)
{
	const struct spd_policy *p;

	r->n = 0;
	for (unsigned int i = 0; collect_tunnel(c, i, &p) != NULL; i++)
		ranking_add(r, i, tunnel_rate(c, p));
}

// States are in order of severity but for up; beside them 32 bits of seconds.
static uint64_t badness(const struct tunnel *t, uint64_t now_ms)
{
	uint64_t unanswered_ms = t->life.unanswered_ms;
	uint64_t silent_s = unanswered_ms != 0 ? (now_ms - unanswered_ms) / 1000 : 0;

	return (uint64_t)t->state << 32 | (uint32_t)silent_s;
}

void ranking_worst_tunnels(struct ranking *r, const struct control *c)
{
	const struct spd_policy *p;
	const struct tunnel *t;

	r->n = 0;
	for (unsigned int i = 0; (t = collect_tunnel(c, i, &p)) != NULL; i++)
		if (t->state != TUNNEL_UP && t->state != TUNNEL_STANDBY)
			ranking_add(r, i, badness(t, c->io->now_ms()));
}
