// SPDX-License-Identifier: BSD-3-Clause
#include "objects.h"

#include <stdlib.h>

#include "line_memory.h"

#define SAD_ROOM 64 // SAs for which a table has room at first

struct objects *objects_new(unsigned int n_workers)
{
	struct objects *o = calloc(1, sizeof(*o));
	bool complete = true;

	if (o == NULL)
		return NULL;
	o->users = 1;
	o->last_iface = IFACE_TUNNEL_MIN - 1;
	o->ledger = sa_ledger_new();
	o->sad_in = sad_new(0);
	o->sad_out = sad_new(0);
	o->sa_out_by_udp = sa_udp_index_new(0);
	o->routes = route_table_new();
	o->policies = spd_table_new(SPD_TABLE_MAX);
	o->listed = calloc(SPD_TABLE_MAX, sizeof(o->listed[0]));
	o->policy = calloc(SPD_NUMBERS, sizeof(o->policy[0]));
	o->policy_out = line_calloc(SPD_NUMBERS, sizeof(o->policy_out[0]));
	for (unsigned int i = 0; i < DECIDERS; i++) {
		o->decisions[i] = decisions_new(decider_numbers[i], n_workers);
		complete = complete && o->decisions[i] != NULL;
	}
	if (complete && o->ledger != NULL && o->sad_in != NULL && o->sad_out != NULL &&
		o->sa_out_by_udp != NULL && o->routes != NULL && o->policies != NULL &&
		o->listed != NULL && o->policy != NULL && o->policy_out != NULL)
		return o;
	objects_free(o);
	return NULL;
}

struct objects *objects_share(struct objects *o)
{
	o->users++;
	return o;
}

void objects_free(struct objects *o)
{
	if (o == NULL || --o->users > 0)
		return;
	sad_free(o->sad_in);
	sad_free(o->sad_out);
	line_free(o->sa_out_by_udp);
	route_table_free(o->routes);
	spd_table_free(o->policies);
	for (unsigned int i = 0; i < DECIDERS; i++)
		decisions_free(o->decisions[i]);
	line_free(o->policy_out);
	free(o->policy);
	sa_list_free(&o->sas);
	free(o->listed);
	sa_ledger_free(o->ledger);
	free(o);
}

void objects_out_set(struct objects *o, uint16_t number, struct sa_out *sa)
{
	atomic_store_explicit(&o->policy_out[number], sa, memory_order_release);
}

static bool is_down(const struct objects *o, uint16_t number, const struct spd_policy *policy)
{
	return spd_policy_is_routed(policy) && o->policy[number] != NULL &&
	       objects_out(o, number) == NULL;
}

void objects_policy_set(struct objects *o, uint16_t number, const struct spd_policy *policy)
{
	if (policy == NULL)
		decisions_reset(o->decisions[DECIDER_POLICY], number);
	else if (!is_down(o, number, policy))
		objects_out_set(o, number, policy->out);
	atomic_store_explicit(&o->policy[number], policy, memory_order_release);
}

bool objects_sad_grow(
	const struct objects *o, enum sa_direction direction, unsigned int n, struct sad **grown)
{
	const struct sa_list *l = &o->sas;
	unsigned int n_now = direction == SA_OUT ? l->n_out : l->n_in;

	*grown = NULL;
	if ((direction == SA_OUT ? o->sad_out : o->sad_in)->room >= n)
		return true;
	*grown = sad_new(2 * n_now + n + SAD_ROOM);
	for (unsigned int i = 0; *grown != NULL && i < n_now; i++)
		sad_add(*grown, direction == SA_OUT ? &l->out[i]->sa : &l->in[i]->sa);
	return *grown != NULL;
}

struct sad *objects_sad_replace(struct objects *o, enum sa_direction direction, struct sad *grown)
{
	return grown == NULL ? NULL
			     : atomic_exchange_explicit(
				       objects_sad(o, direction), grown, memory_order_release);
}
