// SPDX-License-Identifier: BSD-3-Clause
// Which sequence numbers an SA has used, and which it may use.
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

uint64_t sa_in_above_end(const struct sa *sa)
{
	uint64_t highest = 0;

	for (unsigned int i = 0; i < sa->n_workers; i++)
		highest = RTE_MAX(highest, sa->per_worker[i].above_end);
	return highest;
}

uint64_t sa_granted(const struct sa *sa)
{
	return sa->opt.direction == SA_IN ? replay_end(&sa->per_packet.replay)
					  : sa_out_of(sa)->seq_granted;
}

void sa_used(struct sa *sa, uint64_t now_ms, uint64_t used[LIFETIME_UNITS])
{
	used[LIFETIME_BYTES] = used[LIFETIME_PACKETS] = 0;
	for (unsigned int i = 0; i < sa->n_workers; i++) {
		used[LIFETIME_BYTES] += sa->per_worker[i].bytes;
		used[LIFETIME_PACKETS] += sa->per_worker[i].packets;
	}
	// A worker may subtract a packet that another one counted, which this sum may lack
	// (decap.c).
	if ((int64_t)used[LIFETIME_BYTES] < 0 || (int64_t)used[LIFETIME_PACKETS] < 0)
		used[LIFETIME_BYTES] = used[LIFETIME_PACKETS] = 0;
	used[LIFETIME_SECONDS] = lifetime_age(&sa->lifetime, now_ms);
	if (sa->opt.direction == SA_OUT)
		used[LIFETIME_PACKETS] = sa_out_seq(sa_out_of(sa));
	else
		used[LIFETIME_PACKETS] =
			RTE_MAX(used[LIFETIME_PACKETS], replay_top(&sa->per_packet.replay));
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
