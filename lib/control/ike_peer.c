// SPDX-License-Identifier: BSD-3-Clause
#include <search.h>
#include <stdlib.h>

#include "ike_group.h"

static int compare_peers(const void *a, const void *b)
{
	const struct ike_peer *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

bool ike_peer_get(struct control *c, uint32_t id, struct ike_peer **peer)
{
	*peer = ike_find(&c->ike.peers, &(struct ike_peer){.id = id}, compare_peers);
	if (*peer != NULL || id == 0)
		return true;
	*peer = calloc(1, sizeof(**peer));
	if (*peer == NULL)
		return false;
	(*peer)->id = id;
	if (tsearch(*peer, &c->ike.peers, compare_peers) != NULL)
		return true;
	free(*peer);
	*peer = NULL;
	return false;
}

void ike_peer_drop_empty(struct control *c, struct ike_peer *peer)
{
	if (peer == NULL || peer->sas > 0 || peer->policies.policies > 0)
		return;
	tdelete(peer, &c->ike.peers, compare_peers);
	free(peer);
}

bool ike_peer_has_room(const struct control *c, const struct ike_peer *peer)
{
	return peer == NULL || peer->sas * SPD_TABLE_SHARE < IKE_SAS_MAX - c->ike.n_sas;
}
