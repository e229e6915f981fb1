// SPDX-License-Identifier: BSD-3-Clause
// Most fragments follow another one of the same hosts, whose decision holds for them as well. It is
// kept for a pass only: the configuration is the same in all of it, and a change by another thread
// meanwhile may as well have come after the pass.
#include "frag_origin.h"

#include "policy.h"

#define REST_KNOWN (1ull << 32) // so that it is not 0

// The fields that the decision about a fragment depends on, beside its ends and its SA.
static uint64_t rest_of(const struct pkt *p)
{
	return REST_KNOWN | (uint64_t)p->ip.v4 << 24 | (uint64_t)p->ip.proto << 16 | p->iface;
}

static bool is_as_before(const struct admitted *a, const struct pkt *p, const struct ip_addr *src,
	const struct ip_addr *dst)
{
	return a->rest == rest_of(p) && a->sa_in == p->sa_in && ip_addr_equal(&a->src, src) &&
	       ip_addr_equal(&a->dst, dst);
}

static __rte_noinline enum drop decide(
	struct worker *w, struct pkt *p, const struct ip_addr *src, const struct ip_addr *dst)
{
	const bool clear = p->sa_in == NULL;
	const enum drop d = clear ? policy_check_clear_fragment(w, p) : policy_check_fragment(w, p);

	if (d == DROP_NONE)
		w->admitted = (struct admitted){.rest = rest_of(p),
			.sa_in = p->sa_in,
			.src = *src,
			.dst = *dst,
			.nexthop = p->nexthop,
			.origin = clear ? p->iface
					: snapshot_policy(w->snapshot, p->in_by)->name_hash,
			.in_by = p->in_by};
	return d;
}

enum drop frag_origin_find(struct worker *w, struct pkt *p, const struct ip_addr *src,
	const struct ip_addr *dst, uint64_t *origin)
{
	const struct admitted *a = &w->admitted;

	if (unlikely(!is_as_before(a, p, src, dst))) {
		const enum drop d = decide(w, p, src, dst);

		if (d != DROP_NONE)
			return d;
	}
	if (p->sa_in != NULL)
		p->in_by = a->in_by;
	else
		p->nexthop = a->nexthop;
	*origin = a->origin;
	return DROP_NONE;
}
