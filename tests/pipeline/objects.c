// SPDX-License-Identifier: BSD-3-Clause
// Objects of the configuration that a gateway runs, see harness.h.
#include "harness.h"

#include "sas.h"

void gateway_publish(struct gateway *g, struct snapshot *s)
{
	g->published = g->snapshot = s;
}

struct sa_in *gateway_sa_in(const struct gateway *g, const char *name)
{
	return running_sa_in(g->first->snapshot, name);
}

struct sa_out *gateway_sa_out(const struct gateway *g, const char *name)
{
	return running_sa_out(g->first->snapshot, name);
}

const struct spd_policy *gateway_policy(const struct gateway *g, const char *name)
{
	return running_policy(g->first->snapshot, name);
}

struct decided gateway_policy_decided(const struct gateway *g, const char *name)
{
	return running_policy_decided(g->first->snapshot, name, g->w->id);
}

struct decided gateway_rule_decided(const struct gateway *g, const char *name)
{
	return running_rule_decided(g->first->snapshot, name, g->w->id);
}

const struct sa_per_worker *gateway_sa_counted(const struct gateway *g, const char *name)
{
	return sas_counted(running_sa(g->first->snapshot, name), g->w->id);
}

uint64_t gateway_lookups(const struct gateway *g)
{
	return running_lookups(g->first->snapshot, g->w->id);
}

const struct nexthop *gateway_route(const struct gateway *g, const struct ip_addr *to)
{
	return running_route(g->first->snapshot, to);
}

uint32_t gateway_generation(const struct gateway *g)
{
	return g->first->snapshot->generation;
}

uint32_t gateway_flow_generation(const struct gateway *g)
{
	return g->first->snapshot->flow_generation;
}

void gateway_generation_next(struct gateway *g)
{
	g->first->snapshot->generation++;
}
