// SPDX-License-Identifier: BSD-3-Clause
// Which sequence numbers an SA has used.
#include <rte_common.h>

#include "sa.h"

uint64_t sa_out_seq(const struct sa_out *sa)
{
	return RTE_MIN(atomic_load_explicit(&sa->seq, memory_order_relaxed), sa_out_life_end(sa));
}

uint64_t sa_numbers_used(const struct sa *sa)
{
	const struct sa_out *out = sa_out_of(sa);

	return sa->opt.direction == SA_IN
		       ? replay_top(&sa->per_packet.replay)
		       : RTE_MIN(out->seq, RTE_MIN(out->seq_max, out->seq_reserved));
}

void sa_out_sample(struct sa_out *sa, uint64_t now_ms)
{
	if (now_ms < sa->sampled_ms + SA_RECENT_MS)
		return;
	atomic_store_explicit(&sa->seq_recent, sa->sampled_seq, memory_order_relaxed);
	sa->sampled_seq = sa_out_seq(sa);
	sa->sampled_ms = now_ms;
}

bool sa_out_is_recent(const struct sa_out *sa, uint32_t seq)
{
	uint64_t last = sa_out_seq(sa);
	uint64_t recent = atomic_load_explicit(&sa->seq_recent, memory_order_relaxed);

	return last > recent && (uint32_t)last - seq < last - recent;
}
