// SPDX-License-Identifier: BSD-3-Clause
#include "policy_search.h"

#include "policy_find.h"
#include "translate.h"

static_assert(POLICY_KEYS_MAX <= CLASSIFIER_KEYS_MAX, "both directions of a burst at once");

// Where the caller writes the key.
static struct classifier_key *search_key(struct policy_search *s, const struct spd_policy **found)
{
	s->found[s->n] = found;
	return &s->key[s->n++];
}

void policy_search_add(const struct worker *w, const struct pkt *p, const struct nexthop *back,
	struct policy_search *s, struct policies *found)
{
	*found = (struct policies){.back = back};
	if (p->sa_in != NULL)
		found->in = spd_find_tunnel(w->snapshot->spd, p->sa_in);
	if (found->in == NULL && policy_is_inbound(w, p)) {
		const struct ip_view v = pkt_view(p);

		*search_key(s, &found->in) = classifier_key_of_reverse(&v);
	}
	if (pkt_goes_into_tunnel(p)) {
		found->out = snapshot_tunnel(w->snapshot, p->nexthop);
	} else if (policy_is_outbound(w, p)) {
		const struct ip_view v = translate_view_wire(w, p);

		*search_key(s, &found->out) = classifier_key_of(&v);
	}
}

void policy_search_end(const struct snapshot *snapshot, const struct policy_search *s)
{
	const struct spd_policy *policy[POLICY_KEYS_MAX];

	if (s->n > 0)
		policy_find_each(snapshot, s->key, s->n, policy);
	for (unsigned int i = 0; i < s->n; i++)
		*s->found[i] = policy[i];
}

static const struct nexthop *route_back(const struct worker *w, const struct pkt *p)
{
	const struct ip_addr src = pkt_src(p);

	return policy_is_inbound(w, p) ? route_find(w->snapshot->routes, &src) : NULL;
}

void policy_find(
	const struct worker *w, struct pkt *const p[], unsigned int n, struct policies found[])
{
	struct policy_search s;

	s.n = 0;
	for (unsigned int i = 0; i < n; i++)
		policy_search_add(w, p[i], route_back(w, p[i]), &s, &found[i]);
	policy_search_end(w->snapshot, &s);
}
