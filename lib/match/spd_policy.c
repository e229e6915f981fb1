// SPDX-License-Identifier: BSD-3-Clause
#include "spd_policy.h"

#include <rte_jhash.h>

void spd_policy_set_hashes(struct spd_policy *p)
{
	p->name_hash = rte_jhash(p->name, (uint32_t)strlen(p->name), 0);
	if (p->peer_id != 0)
		p->peer_hash = rte_jhash_1word(p->peer_id, 0);
	else if (!ip_addr_is_none(&p->peer))
		p->peer_hash = rte_jhash(&p->peer, sizeof(p->peer), 0);
	else
		p->peer_hash = p->name_hash;
}

bool spd_policy_same_selectors(const struct spd_policy *a, const struct spd_policy *b)
{
	return a->family == b->family && a->proto == b->proto &&
	       classifier_prefixes_equal(&a->local, &b->local) &&
	       classifier_prefixes_equal(&a->remote, &b->remote) &&
	       classifier_ports_equal(&a->local_port, &b->local_port) &&
	       classifier_ports_equal(&a->remote_port, &b->remote_port) &&
	       classifier_lists_equal(a->more, b->more);
}

// Whether a prefix of a list of n has the address; without a list, whether the only one has.
static const struct ip_prefix *find(const struct ip_prefix *first, const struct ip_prefix *more,
	unsigned int n, const struct ip_addr *a)
{
	const enum ip_family family = ip_addr_family(a);

	if (ip_prefix_contains(first, a) && (n == 0 || ip_addr_family(&first->addr) == family))
		return first;
	for (unsigned int i = 0; i < n; i++)
		if (ip_addr_family(&more[i].addr) == family && ip_prefix_contains(&more[i], a))
			return &more[i];
	return NULL;
}

const struct ip_prefix *spd_policy_local_of(const struct spd_policy *p, const struct ip_addr *local)
{
	return p->more == NULL ? find(&p->local, NULL, 0, local)
			       : find(&p->local, p->more->source, p->more->n_source, local);
}

const struct ip_prefix *spd_policy_remote_of(
	const struct spd_policy *p, const struct ip_addr *remote)
{
	return p->more == NULL
		       ? find(&p->remote, NULL, 0, remote)
		       : find(&p->remote, p->more->destination, p->more->n_destination, remote);
}

// Both ends have prefixes of the same families.
bool spd_policy_lists_have(const struct spd_policy *p, enum ip_family family)
{
	bool found = ip_addr_family(&p->local.addr) == family;

	if (p->family != IP_ANY || p->more->n_source == 0)
		return classifier_has_family(p->family, &p->local, &p->remote, family);
	for (unsigned int i = 0; i < p->more->n_source; i++)
		found |= ip_addr_family(&p->more->source[i].addr) == family;
	return found;
}

static bool may_be_proto(const struct spd_policy *p, uint8_t proto)
{
	bool found = p->proto == PROTO_ANY || p->proto == proto;

	for (unsigned int i = 0; i < p->more->n_proto; i++)
		found |= p->more->proto[i] == proto;
	return found;
}

bool spd_policy_lists_match(const struct spd_policy *p, const struct ip_view *fragment,
	const struct ip_addr *local, const struct ip_addr *remote)
{
	const enum ip_family family = ip_addr_family(local);

	return spd_policy_lists_have(p, family) && spd_policy_local_of(p, local) != NULL &&
	       spd_policy_remote_of(p, remote) != NULL &&
	       (family == IP_V6 || may_be_proto(p, fragment->proto));
}
