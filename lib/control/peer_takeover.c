// SPDX-License-Identifier: BSD-3-Clause
#include "peer_takeover.h"

#include <rte_common.h>

#include "esp_probe.h"
#include "ike_tables.h"
#include "numbers.h"
#include "originate.h"

#define DUMMY_SIZE 128 // octets of IP packet
// Of the packets that the SA may still send this part is left out at most, and the block of the
// other member if this one ends.
#define LIFE_PART 16

// After a failure at least a block is left out: far more than any traffic uses between two looks. A
// pair that begins its next block leaps, too, for which numbers are left out in vain. Returns when
// the last leap was: policies share SAs, and each of their outbound SAs leaves numbers out once.
static uint64_t last_leap_ms(struct sa_in *in, uint64_t now_ms)
{
	const uint64_t noticed = in->sa.opt.esn ? NUMBER_NOTICED_ESN : NUMBER_NOTICED;
	uint64_t before = in->looked_top, top = replay_top(&in->sa.per_packet.replay);

	in->looked_top = top;
	if (before > 0 && top > before && top - before > noticed)
		in->leapt_ms = now_ms;
	return in->leapt_ms;
}

// False: they are not reserved, or in a fleet not granted yet, for which wanted is.
static bool leave_out(struct sa_out *sa)
{
	uint64_t at = sa_out_seq(sa), end = sa_out_life_end(sa);
	const uint64_t leap = sa->sa.opt.esn ? NUMBER_LEAP_ESN : NUMBER_LEAP;
	uint64_t next = at + RTE_MIN(leap, (end - at) / LIFE_PART);

	if (number_own_from(&sa->blocks, next + 1) > end)
		return true; // it has no others
	if (number_own_from(&sa->blocks, next + 1) > numbers_end(sa)) {
		sa->wanted = next;
		return false;
	}
	sa_out_block_set(sa, next);
	sa->sa.record->before += sa_out_seq(sa) - at; // they were not used
	return true;
}

static bool dummy_make(struct sa_out *sa, struct rte_mbuf *m, void *arg)
{
	(void)arg;
	return esp_probe_make(sa, m, DUMMY_SIZE, 0);
}

void peer_takeover_tick(struct control *c, const struct spd_policy *p, uint64_t now_ms)
{
	struct sa_in *in;
	uint64_t leapt_ms = 0;

	for (unsigned int i = 0; (in = policy_receiver(c, p, i)) != NULL; i++)
		leapt_ms = RTE_MAX(leapt_ms, last_leap_ms(in, now_ms));
	if (p->out == NULL || sa_stop_reason(&p->out->sa) != DROP_NONE)
		return;
	if (leapt_ms > p->out->leapt_ms && leave_out(p->out))
		p->out->leapt_ms = leapt_ms;
	if (p->out->has_taken_over && c->tunnels.dummies > 0) {
		p->out->has_taken_over = !originate_by_sa(c, p->out, dummy_make, NULL, now_ms);
		c->tunnels.dummies--;
	}
}
