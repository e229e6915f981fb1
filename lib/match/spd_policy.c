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
	       classifier_ports_equal(&a->remote_port, &b->remote_port);
}
