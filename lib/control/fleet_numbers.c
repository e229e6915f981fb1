// SPDX-License-Identifier: BSD-3-Clause
#include "fleet_numbers.h"

#include <string.h>

#include <rte_common.h>

#include "fleet_value.h"
#include "numbers.h"

// How far ahead of the traffic bounds are: outbound for a quarter of an hour without etcd, inbound
// for two writes. A peer leaves out NUMBER_LEAP when another one takes over.
#define AHEAD_S_OUT  900
#define AHEAD_S_IN   10
#define AHEAD_MIN_IN UINT64_C(64)
#define AHEAD_MAX_IN (NUMBER_LEAP / 2)
#define PART_OUT     16 // of all numbers, at most

static uint64_t block(const struct sa_out *sa)
{
	return sa->sa.opt.esn ? NUMBER_BLOCK_ESN : NUMBER_BLOCK;
}

static uint64_t out_ahead(const struct sa_out *sa)
{
	uint64_t ahead = RTE_MAX(sa->sa.record->rate * AHEAD_S_OUT, block(sa));

	return RTE_MIN(ahead, sa->seq_max / PART_OUT);
}

static uint64_t in_ahead(const struct sa *sa)
{
	return RTE_MIN(RTE_MAX(sa->record->rate * AHEAD_S_IN, AHEAD_MIN_IN), AHEAD_MAX_IN);
}

// The number that an SA is at, or after which it would begin.
static uint64_t at(const struct sa *sa)
{
	uint64_t used = sa->opt.direction == SA_OUT ? sa_out_seq(sa_out_of(sa))
						    : replay_top(&sa->per_packet.replay);

	return sa->local_unusable != DROP_NONE ? RTE_MAX(used, sa->record->left_out) : used;
}

static uint64_t ahead_of(const struct sa *sa)
{
	return sa->opt.direction == SA_OUT ? out_ahead(sa_out_of(sa)) : in_ahead(sa);
}

// The last number that there is.
static uint64_t end_of(const struct sa *sa)
{
	return sa->opt.direction == SA_OUT ? sa_out_of(sa)->seq_max
	       : sa->opt.esn               ? SA_ESN_MAX
					   : SA_SEQ_MAX;
}

// Whether half of the numbers ahead is used up.
static bool needs_more(const struct sa *sa)
{
	uint64_t half = at(sa) + RTE_MIN(ahead_of(sa) / 2, end_of(sa) - at(sa));

	return sa->record->reported < half;
}

static uint64_t bound_of(const struct sa *sa)
{
	uint64_t known = RTE_MAX(sa->record->reported, sa->record->learnt);
	uint64_t next = at(sa) + RTE_MIN(ahead_of(sa), end_of(sa) - at(sa));

	return needs_more(sa) || sa->record->learnt > sa->record->reported ? RTE_MAX(next, known)
									   : known;
}

// The i-th SA of the configuration from *i on that is of a group; NULL: there is no more.
static struct sa *next_of(const struct control *c, const struct conf_group *g, unsigned int *i)
{
	const struct snapshot_control *s = c->snapshot->control;

	while (*i < s->n_sa) {
		struct sa *sa = s->sa[(*i)++];

		if (conf_group_has(g, &sa->opt.local))
			return sa;
	}
	return NULL;
}

bool fleet_numbers_due(
	struct control *c, const struct conf_group *g, unsigned int lines, bool inbound)
{
	unsigned int i = 0, n = 0;
	struct sa *sa;

	while ((sa = next_of(c, g, &i)) != NULL) {
		n++;
		if ((inbound || sa->opt.direction == SA_OUT) && needs_more(sa))
			return true;
	}
	return n != lines;
}

unsigned int fleet_numbers_write(struct control *c, const struct conf_group *g, FILE *out)
{
	unsigned int i = 0, n = 0;
	struct sa *sa;

	while ((sa = next_of(c, g, &i)) != NULL) {
		struct fleet_line l = {.out = sa->opt.direction == SA_OUT, .bound = bound_of(sa)};

		l.used = RTE_MIN(at(sa), l.bound);
		member_sa_write(l.name, sa);
		fleet_line_write(out, &l);
		n++;
	}
	return n;
}

// The SA of a line; NULL: this member has none.
static struct sa *sa_of(struct control *c, const struct fleet_line *l)
{
	const char *rest = l->name;
	struct sa *sa;

	return member_sa_read(c, &rest, l->out ? SA_OUT : SA_IN, &sa) ? sa : NULL;
}

const char *fleet_numbers_check(struct control *c, const char *lines, bool own)
{
	struct fleet_line l;
	const struct sa *sa;

	while (lines[0] != '\0') {
		if (!fleet_line_read(&l, &lines))
			return "a line is damaged";
		sa = sa_of(c, &l);
		if (sa == NULL && !own)
			return "it has an SA that this gateway lacks";
		if (sa != NULL && l.bound > end_of(sa))
			return "a number is too high";
		if (sa != NULL && l.bound < RTE_MAX(sa->record->learnt, sa->record->reported))
			return "its numbers go backwards";
	}
	return NULL;
}

void fleet_numbers_hold(struct control *c, const char *lines)
{
	struct fleet_line l;
	struct sa *sa;

	while (fleet_line_read(&l, &lines)) {
		sa = sa_of(c, &l);
		if (sa == NULL)
			continue;
		sa->record->reported = l.bound;
		if (l.out)
			sa_out_grant(sa_out_of(sa), l.bound);
	}
}

static uint64_t leap_of(const struct sa *sa, uint64_t bound)
{
	return sa->opt.direction == SA_OUT
		       ? bound + RTE_MIN(block(sa_out_of(sa)), end_of(sa) - bound)
		       : bound;
}

void fleet_numbers_learn(struct control *c, const char *lines, bool exact)
{
	struct fleet_line l;
	struct sa *sa;

	while (fleet_line_read(&l, &lines)) {
		sa = sa_of(c, &l);
		if (sa == NULL || l.bound > end_of(sa))
			continue;
		sa->record->learnt = RTE_MAX(sa->record->learnt, l.bound);
		sa->record->left_out = exact ? l.used : leap_of(sa, sa->record->learnt);
		if (l.out)
			sa_out_of(sa)->has_taken_over = !exact;
	}
}

void fleet_numbers_begin(struct control *c, const struct conf_group *g)
{
	unsigned int i = 0;
	struct sa *sa;

	while ((sa = next_of(c, g, &i)) != NULL) {
		if (sa->opt.direction == SA_IN)
			numbers_refuse(sa->record, sa->record->left_out);
		else if (sa->record->left_out > sa_out_seq(sa_out_of(sa)))
			sa_out_block_set(sa_out_of(sa), sa->record->left_out);
		sa->record->before = at(sa); // left-out numbers were not used
	}
}

void fleet_numbers_end(struct control *c, const struct conf_group *g)
{
	unsigned int i = 0;
	struct sa *sa;

	while ((sa = next_of(c, g, &i)) != NULL)
		if (sa->opt.direction == SA_OUT)
			sa_out_grant(sa_out_of(sa), sa_out_seq(sa_out_of(sa)));
}

uint64_t fleet_numbers_last_s(const struct control *c, const struct conf_group *g)
{
	uint64_t last = UINT64_MAX;
	unsigned int i = 0;
	struct sa *sa;

	while ((sa = next_of(c, g, &i)) != NULL) {
		const struct sa_record *r = sa->record;

		if (sa->opt.direction == SA_OUT && r->rate > 0)
			last = RTE_MIN(
				last, (r->reported - RTE_MIN(at(sa), r->reported)) / r->rate);
	}
	return last;
}
