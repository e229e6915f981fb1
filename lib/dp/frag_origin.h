// SPDX-License-Identifier: BSD-3-Clause
// Origin that the fragments of a datagram have in common: fragments of different ones are never
// joined. Workers.
#pragma once

#include "worker.h"

// Checks a fragment between these ends by policy_check_fragment(), or in clear by
// policy_check_clear_fragment(), and returns their result. If DROP_NONE, *origin is the policy that
// has admitted it, because SAs change with a rekey, or the interface that it came by.
enum drop frag_origin_find(struct worker *w, struct pkt *p, const struct ip_addr *src,
	const struct ip_addr *dst, uint64_t *origin);
