// SPDX-License-Identifier: BSD-3-Clause
#include "fleet_numbers.h"

#include <string.h>

#include <rte_common.h>

#include "fleet_parts.h"
#include "fleet_value.h"
#include "frozen.h"
#include "ike_tables.h"
#include "numbers.h"

// How far ahead of the traffic bounds are: outbound whole blocks, for a quarter of an hour without
// etcd, as far as a peer can follow the next owner (RFC 4303 A2.2). Inbound fewer than a peer that
// notices a takeover leaves out.
#define AHEAD_S_OUT    900
#define AHEAD_MAX_OUT  (16 * NUMBER_BLOCK_FLEET)
#define AHEAD_PART_OUT 2 // of the block, when that is all
#define AHEAD_IN       (NUMBER_LEAP_ESN / 4)

const char fleet_numbers_lack[] = "it has an SA that this gateway lacks";
const char fleet_numbers_fewer[] = "it lacks an SA that it had";

// Own numbers.
static uint64_t out_ahead(const struct sa *sa)
{
	uint64_t rate = RTE_MIN(sa->record->rate, AHEAD_MAX_OUT / AHEAD_S_OUT);

	return RTE_MAX(rate * AHEAD_S_OUT, NUMBER_BLOCK_FLEET / AHEAD_PART_OUT);
}

static bool is_owner(const struct sa *sa)
{
	return sa->local_unusable == DROP_NONE;
}

// The last number that there is.
static uint64_t end_of(const struct sa *sa)
{
	return sa->opt.direction == SA_OUT ? sa_out_of(sa)->seq_max
	       : sa->opt.esn               ? SA_ESN_MAX
					   : SA_SEQ_MAX;
}

// The number after which an outbound SA would begin. After a failure the peer has to notice that;
// after a move it must not.
static uint64_t beyond(const struct sa *sa)
{
	uint64_t from = sa->record->left_out, end = end_of(sa);

	if (from == 0 || !sa_out_of(sa)->has_taken_over)
		return from;
	return from + RTE_MIN(NUMBER_NOTICED_ESN, end - RTE_MIN(from, end));
}

// The number that an SA is at, or above which it begins: an owner may not have been able to do that
// yet.
static uint64_t at(const struct sa *sa)
{
	const bool out = sa->opt.direction == SA_OUT;
	uint64_t used =
		RTE_MAX(sa_numbers_used(sa), out ? sa_out_of(sa)->wanted : sa_in_above_end(sa));

	return RTE_MAX(used, out ? beyond(sa) : sa->record->left_out);
}

// Whether an SA that continues after a move is further ahead than a peer takes for the next block:
// this member was killed before, and leaves out all numbers that it had reserved. The peer then
// leaps.
static bool seems_to_take_over(const struct sa_out *sa)
{
	uint64_t from = sa->sa.record->left_out, at = sa_out_seq(sa);

	return from > 0 && !sa->has_taken_over && at > from && at - from > NUMBER_NOTICED_ESN;
}

// The number to which bounds have to reach, if this part of the numbers ahead is left: 1 is all.
static uint64_t reach(const struct sa *sa, unsigned int part)
{
	const struct sa_out *out = sa_out_of(sa);
	uint64_t end = end_of(sa), from = RTE_MIN(at(sa), end), number;

	if (sa->opt.direction == SA_IN)
		return from + RTE_MIN(AHEAD_IN / part + sa->record->leap, end - from);
	number = number_own_after(&out->blocks, from, out_ahead(sa) / part);
	return RTE_MIN(part == 1 ? number_block_end(&out->blocks, number) : number, end);
}

// Whether half of the numbers ahead is used up. A member that is about to become the owner
// needs them all.
static bool needs_more(const struct sa *sa)
{
	return sa->record->reported < reach(sa, is_owner(sa) ? 2 : 1);
}

// The highest bound that etcd has had, as far as is known; 0: none.
static uint64_t seen(const struct sa *sa)
{
	return RTE_MAX(sa->record->learnt, sa->record->reported);
}

// It never goes back. When one SA needs more all get it, so that there are few writes.
static uint64_t bound_of(const struct sa *sa)
{
	return RTE_MAX(reach(sa, 1), seen(sa));
}

// The first SA of the configuration that is of a group; the next one is its group_next.
static struct sa *first_of(const struct control *c, const struct conf_group *g)
{
	return c->groups.sas[g - c->conf->groups];
}

bool fleet_numbers_due(struct control *c, const struct conf_group *g, unsigned int lines)
{
	unsigned int n = 0;
	struct sa *sa;

	for (sa = first_of(c, g); sa != NULL; sa = sa->group_next) {
		n++;
		if (needs_more(sa))
			return true;
	}
	return n != lines;
}

// A peer that leaps does so at once, before etcd could have a bound above that.
void fleet_numbers_expect_leaps(struct control *c, const struct conf_group *g)
{
	const struct spd *spd = c->snapshot->spd;

	for (struct sa *sa = first_of(c, g); sa != NULL; sa = sa->group_next)
		sa->record->leap = 0;
	for (unsigned int i = 0; i < spd_count(spd); i++) {
		const struct spd_policy *p = spd_at(spd, i);
		struct sa_in *in;

		if (p->out == NULL || !conf_group_has(g, &p->out->sa.opt.local) ||
			!seems_to_take_over(p->out))
			continue;
		for (unsigned int k = 0; (in = policy_receiver(c, p, k)) != NULL; k++)
			in->sa.record->leap = NUMBER_LEAP_ESN;
	}
}

unsigned int fleet_numbers_write(struct control *c, const struct conf_group *g, FILE *out)
{
	unsigned int n = 0;
	struct sa *sa;

	for (sa = first_of(c, g); sa != NULL; sa = sa->group_next) {
		struct fleet_line l = {.out = sa->opt.direction == SA_OUT, .bound = bound_of(sa)};

		l.used = RTE_MIN(at(sa), l.bound);
		member_sa_write(l.name, sa);
		fleet_line_write(out, &l);
		n++;
	}
	return n;
}

// The SA of the group that a line is about; NULL: this member has none.
static struct sa *sa_of(struct control *c, const struct conf_group *g, const struct fleet_line *l)
{
	const char *rest = l->name;
	struct sa *sa;

	if (!member_sa_read(c, &rest, l->out ? SA_OUT : SA_IN, &sa) || sa == NULL)
		return NULL;
	return sa_options_group(&sa->opt) == 0 && conf_group_has(g, &sa->opt.local) ? sa : NULL;
}

static bool is_too_high(const struct sa *sa, const struct fleet_line *l)
{
	return l->bound > end_of(sa) || (!l->out && !numbers_may_accept(sa, l->bound));
}

// Why a line is refused.
static const char *line_check(const struct sa *sa, const struct fleet_line *l, bool own)
{
	if (sa == NULL)
		return own ? NULL : fleet_numbers_lack;
	if (is_too_high(sa, l))
		return "a number is too high";
	return l->bound < seen(sa) ? "its numbers go backwards" : NULL;
}

// Whether a line was found for each SA that has had a bound.
static bool is_complete(const struct control *c, const struct conf_group *g)
{
	const struct sa *sa;

	for (sa = first_of(c, g); sa != NULL; sa = sa->group_next)
		if (seen(sa) > 0 && sa->record->checked != c->fleet->checks)
			return false;
	return true;
}

const char *fleet_numbers_check(
	struct control *c, const struct conf_group *g, const char *lines, bool own)
{
	struct fleet_line l;

	c->fleet->checks++;
	while (lines[0] != '\0') {
		const char *why;
		struct sa *sa;

		if (!fleet_line_read(&l, &lines))
			return "a line is damaged";
		sa = sa_of(c, g, &l);
		why = line_check(sa, &l, own);
		if (why != NULL)
			return why;
		if (sa != NULL && sa->record->checked == c->fleet->checks)
			return "it has an SA twice";
		if (sa != NULL)
			sa->record->checked = c->fleet->checks;
	}
	return is_complete(c, g) ? NULL : fleet_numbers_fewer;
}

static void out_continue(struct sa_out *sa)
{
	uint64_t after = beyond(&sa->sa);

	if (after > sa_out_seq(sa))
		sa_out_block_set(sa, after);
}

void fleet_numbers_hold(struct control *c, const struct conf_group *g, const char *lines)
{
	struct fleet_line l;
	struct sa *sa;

	while (fleet_line_read(&l, &lines)) {
		sa = sa_of(c, g, &l);
		if (sa == NULL)
			continue;
		sa->record->reported = l.bound;
		// An SA that was added later may have been another member's meanwhile.
		if (l.out)
			out_continue(sa_out_of(sa));
		else if (sa->record->left_out > sa_numbers_used(sa))
			numbers_refuse(sa->record, sa->record->left_out);
		sa_grant(sa, l.bound);
	}
}

void fleet_numbers_note(struct control *c, const struct conf_group *g, const char *lines)
{
	struct fleet_line l;
	struct sa *sa;

	while (fleet_line_read(&l, &lines)) {
		sa = sa_of(c, g, &l);
		if (sa != NULL)
			sa->record->reported = RTE_MAX(sa->record->reported, l.bound);
	}
}

void fleet_numbers_learn(
	struct control *c, const struct conf_group *g, const char *lines, bool exact)
{
	struct fleet_line l;
	struct sa *sa;

	while (fleet_line_read(&l, &lines)) {
		sa = sa_of(c, g, &l);
		if (sa == NULL || is_too_high(sa, &l)) // lines after one that is lacking
			continue;
		sa->record->learnt = RTE_MAX(sa->record->learnt, l.bound);
		sa->record->left_out = exact ? l.used : sa->record->learnt;
		if (l.out)
			sa_out_of(sa)->has_taken_over = !exact;
	}
}

void fleet_numbers_begin(struct control *c, const struct conf_group *g)
{
	struct sa *sa;

	for (sa = first_of(c, g); sa != NULL; sa = sa->group_next) {
		frozen_renew(c); // a window takes up to a millisecond
		if (sa->opt.direction == SA_IN) {
			numbers_refuse(sa->record, sa->record->left_out);
		} else {
			out_continue(sa_out_of(sa));
			// A peer that has received nothing would not notice the first takeover.
			sa_out_of(sa)->has_taken_over |=
				sa->record->learnt == 0 || seems_to_take_over(sa_out_of(sa));
		}
		sa->record->before = sa_numbers_used(sa); // left-out numbers were not used
		sa->record->leap = 0;
	}
}

void fleet_numbers_end(struct control *c, const struct conf_group *g)
{
	struct sa *sa;

	for (sa = first_of(c, g); sa != NULL; sa = sa->group_next) {
		sa_grant(sa, sa->opt.direction == SA_OUT ? sa_out_seq(sa_out_of(sa))
							 : sa_numbers_used(sa));
		sa->record->rate = 0; // numbers_tick() looks at it no more
	}
}

// Own numbers up to the bound. Each turn has a block of them.
static uint64_t left_of(const struct sa *sa)
{
	const bool out = sa->opt.direction == SA_OUT;
	uint64_t used = sa_numbers_used(sa), bound = sa->record->reported;
	uint64_t block_end = out ? sa_out_of(sa)->block_end : UINT64_MAX;

	if (bound <= used)
		return 0;
	if (bound <= block_end)
		return bound - used;
	return block_end - RTE_MIN(used, block_end) +
	       (bound - block_end) / NUMBER_FLEET_TURN * NUMBER_BLOCK_FLEET;
}

uint64_t fleet_numbers_last_s(const struct control *c, const struct conf_group *g)
{
	uint64_t last = UINT64_MAX;
	struct sa *sa;

	for (sa = first_of(c, g); sa != NULL; sa = sa->group_next)
		if (sa->record->rate > 0)
			last = RTE_MIN(last, left_of(sa) / sa->record->rate);
	return last;
}
