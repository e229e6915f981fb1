// SPDX-License-Identifier: BSD-3-Clause
#include "policy_find.h"

static const struct spd_policy *of_ike(const struct snapshot *s, uint32_t found)
{
	return found != 0 ? spd_table_at(s->objects->policies, found - 1) : NULL;
}

// Whether the configuration's policy, if any, comes before those of IKE.
static bool is_before(const struct snapshot *s, const struct spd_policy *configured)
{
	return configured != NULL && spd_place(s->spd, configured) < s->ike_before;
}

static const struct spd_policy *first_of(
	const struct snapshot *s, const struct spd_policy *configured, const struct spd_policy *ike)
{
	return ike == NULL || is_before(s, configured) ? configured : ike;
}

void policy_find_each(const struct snapshot *s, const struct classifier_key key[], unsigned int n,
	const struct spd_policy *found[])
{
	uint32_t ike[CLASSIFIER_KEYS_MAX];

	spd_find(s->spd, key, n, found);
	if (spd_table_is_empty(s->objects->policies))
		return;
	spd_table_find(s->objects->policies, key, n, ike);
	for (unsigned int i = 0; i < n; i++)
		found[i] = first_of(s, found[i], of_ike(s, ike[i]));
}

const struct spd_policy *policy_find_outbound(
	const struct snapshot *s, const struct ip_view *packet)
{
	const struct classifier_key key = classifier_key_of(packet);
	const struct spd_policy *found;

	policy_find_each(s, &key, 1, &found);
	return found;
}

const struct spd_policy *policy_find_inbound(const struct snapshot *s, const struct ip_view *packet)
{
	const struct classifier_key key = classifier_key_of_reverse(packet);
	const struct spd_policy *found;

	policy_find_each(s, &key, 1, &found);
	return found;
}

const struct spd_policy *policy_find_receiver(
	const struct snapshot *s, const struct sa_in *sa, const struct ip_view *fragment)
{
	const struct spd_policy *tunnel = spd_find_tunnel(s->spd, sa);

	if (tunnel != NULL)
		return tunnel;
	return sa_options_group(&sa->sa.opt) != 0
		       ? of_ike(s, spd_table_find_receiver(s->objects->policies, sa, fragment))
		       : spd_find_receiver(s->spd, sa, fragment);
}

// Of a tunnel that routes lead into: its own address; none: it has none of the family.
static struct ip_addr tunnel_source(
	const struct snapshot *s, const struct spd_policy *policy, enum ip_family family)
{
	const struct iface *iface = &s->iface[policy->iface];

	for (unsigned int i = 0; spd_policy_is_routed(policy) && i < iface->n_addrs; i++)
		if (ip_addr_family(&iface->addrs[i]) == family &&
			!ip_addr_is_link_local(&iface->addrs[i]))
			return iface->addrs[i];
	return (struct ip_addr){0};
}

struct ip_addr policy_source(
	const struct snapshot *s, const struct spd_policy *policy, enum ip_family family)
{
	const struct sa_out *out = policy->out;
	bool transport = out != NULL && out->sa.opt.mode == SA_TRANSPORT;
	struct ip_addr source = tunnel_source(s, policy, family);
	unsigned int best = transport ? 2 : 0;

	if (!ip_addr_is_none(&source))
		return source;
	for (unsigned int i = 0; i < s->n_ports; i++)
		for (unsigned int a = 0; a < s->port[i].n_addrs; a++) {
			const struct ip_addr *own = &s->port[i].addrs[a];
			unsigned int rank =
				policy->iface == 0 && spd_policy_local_of(policy, own) != NULL ? 3
				: s->iface[i].unprotected                                      ? 1
											       : 2;

			if (ip_addr_family(own) != family || ip_addr_is_link_local(own) ||
				rank <= best)
				continue;
			best = rank;
			source = *own;
		}
	return source;
}

bool policy_decides_fragment(const struct snapshot *s, const struct ip_view *fragment, bool inbound,
	const struct spd_policy **policy)
{
	bool decides = spd_decides_fragment(s->spd, fragment, inbound, policy);
	uint32_t ike;

	if (spd_table_is_empty(s->objects->policies) || (decides && is_before(s, *policy)))
		return decides;
	// A policy of either may be the first for the rest of the datagram.
	if (!decides || !spd_table_decides_fragment(s->objects->policies, fragment, inbound, &ike))
		return false;
	*policy = first_of(s, *policy, of_ike(s, ike));
	return true;
}
