// SPDX-License-Identifier: BSD-3-Clause
#include "numbers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>

#include "line.h"
#include "member_sa.h"

// A block is left when it has no more numbers left than this part of it, or than the SA used in
// this many ticks.
#define LEFT_PART  16
#define LEFT_TICKS 4
// While both are active they would use up all blocks of a key, if each followed at once: twice as
// much later each time.
#define FOLLOW_MS     10000
#define FOLLOW_MS_MAX 3600000
// A window moves by no more at once: as much as 27 million packets a second in a week.
#define RAISE_MAX  (UINT64_C(1) << 44)
#define RAISE_STEP (UINT64_C(1) << 34) // less than replay.h allows
// Packets of the peer that are refused after a takeover, at most.
#define MARGIN_MS_MAX UINT64_C(1000)
#define MARGIN_MS_MIN UINT64_C(150) // accepted since the last report: more than a tick old
#define SURE_MS       UINT64_C(300) // for the last of these reports
#define SILENT_MS_MAX UINT64_C(86400000)
#define RATE_MAX      (UINT64_C(1) << 36)
#define LEFT_OUT_MAX  (UINT64_C(1) << 31) // a peer with ESN can follow twice that (RFC 4303 A2.2)

static bool is_active(const struct sa *sa)
{
	return sa->local_unusable == DROP_NONE;
}

// Continues after the numbers of the other one at the next tick.
static void numbers_follow(struct sa_record *r)
{
	r->follow_ms = r->wait_ms = 0;
}

static void follow_later(struct sa_record *r, uint64_t now_ms)
{
	r->wait_ms = RTE_MIN(2 * r->wait_ms + FOLLOW_MS, FOLLOW_MS_MAX);
	r->follow_ms = now_ms + r->wait_ms;
}

// Numbers that the block should have left.
static uint64_t enough(const struct sa_out *sa, uint64_t used)
{
	uint64_t size = sa->blocks.mask + 1;

	return RTE_MIN(RTE_MAX(LEFT_TICKS * used, size / LEFT_PART), size / 2);
}

// A member of a fleet does that when it takes a group: see fleet_numbers_begin().
static bool is_behind(const struct sa_out *sa, uint64_t at, uint64_t now_ms)
{
	const struct sa_record *r = sa->sa.record;

	return number_members(&sa->blocks) == 2 && sa_record_beyond(r) > at &&
	       (!is_active(&sa->sa) || now_ms >= r->follow_ms);
}

// The number after which the SA continues: that at which it is, or a higher one.
static uint64_t next_after(const struct sa_out *sa, uint64_t at, uint64_t used, uint64_t now_ms)
{
	if (is_behind(sa, at, now_ms))
		return sa_record_beyond(sa->sa.record);
	return number_own_after(&sa->blocks, at, enough(sa, used)) > sa->block_end ? sa->block_end
										   : at;
}

uint64_t numbers_end(const struct sa_out *sa)
{
	return is_active(&sa->sa) ? RTE_MIN(sa->seq_reserved, sa->seq_granted) : sa->seq_reserved;
}

static void out_tick(struct sa_out *sa, uint64_t now_ms)
{
	struct sa_record *r = sa->sa.record;
	uint64_t at = sa_out_seq(sa), used = at - RTE_MIN(at, r->before);
	uint64_t next = next_after(sa, at, used, now_ms);

	// It is done by a later tick if the numbers are not on the disk yet. After the last own
	// number the SA ends.
	if (next != at &&
		RTE_MIN(number_own_from(&sa->blocks, next + 1), sa->seq_max) <= numbers_end(sa)) {
		sa_out_block_set(sa, next);
		r->before = sa_out_seq(sa) - used; // left-out numbers were not used
		if (next == sa_record_beyond(r))
			follow_later(r, now_ms);
	}
	if (is_active(&sa->sa))
		r->claimed = RTE_MAX(r->claimed, sa->block_end);
}

static void sa_tick(struct sa *sa, uint64_t now_ms)
{
	if (sa->opt.direction == SA_OUT && sa_out_of(sa)->blocks.turn != 0)
		out_tick(sa_out_of(sa), now_ms);
	if (sa->record->sure_ms == 0)
		sa->record->sure_ms = now_ms + NUMBERS_REPEAT_MS + SURE_MS;
	if (!sa->record->in_file) // else reserve.h does it
		sa_record_sample(sa->record, sa_numbers_used(sa));
}

void numbers_group_tick(struct control *c, unsigned int group, uint64_t now_ms)
{
	for (struct sa *sa = c->groups.sas[group]; sa != NULL; sa = sa->group_next)
		sa_tick(sa, now_ms);
}

// SAs of standby groups, which may be nearly all, wait for numbers_group_tick().
static void fleet_sas_tick(struct control *c, uint64_t now_ms)
{
	const struct sa_list *sas = &c->snapshot->objects->sas;

	for (unsigned int i = 0; i < c->groups.n; i++)
		if (c->groups.item[i].role == CONF_ACTIVE)
			numbers_group_tick(c, i, now_ms);
	numbers_group_tick(c, CONF_GROUPS_MAX, now_ms);
	for (unsigned int i = sas->n_configured[SA_OUT]; i < sas->n_out; i++) // of IKE
		sa_tick(&sas->out[i]->sa, now_ms);
	for (unsigned int i = sas->n_configured[SA_IN]; i < sas->n_in; i++)
		sa_tick(&sas->in[i]->sa, now_ms);
}

void numbers_tick(struct control *c, uint64_t now_ms)
{
	const struct sa_list *sas = &c->snapshot->objects->sas;
	struct sa *sa;

	if (c->conf->fleet_member != 0)
		fleet_sas_tick(c, now_ms);
	if (c->conf->pair_member == 0)
		return;
	for (unsigned int i = 0; (sa = sa_list_at(sas, i)) != NULL; i++)
		sa_tick(sa, now_ms);
}

// The highest number that packets of this member have had, unless the window was moved further.
static void in_tick(struct sa *sa)
{
	struct sa_record *r = sa->record;
	uint64_t top = replay_top(&sa->per_packet.replay);

	if (top > r->raised)
		r->claimed = RTE_MAX(r->claimed, top);
}

unsigned int numbers_report(struct sa *sa, bool always, char line[NUMBERS_LINE_MAX])
{
	struct sa_record *r = sa->record;
	bool out = sa->opt.direction == SA_OUT;
	char name[MEMBER_SA_STRLEN];

	if (!out)
		in_tick(sa);
	if ((r->claimed == r->reported && !always) || (r->claimed == 0 && r->learnt == 0))
		return 0;
	r->reported = r->claimed;
	member_sa_write(name, sa);
	return (unsigned int)snprintf(line, NUMBERS_LINE_MAX,
		"%s %s %" PRIu64 " %" PRIu64 " %" PRIu64, out ? "out" : "in", name, r->claimed,
		r->learnt, r->rate);
}

// Accepts none of the numbers above from, up to top, any more. Safe while workers use the window:
// they may have accepted some of these meanwhile.
static void window_mark(struct replay *w, uint64_t from, uint64_t top)
{
	uint64_t at = replay_top(w), lowest;

	if (w->size == 0 || top > at + RAISE_MAX)
		return;
	for (; at < top && top - at > RAISE_STEP; at += RAISE_STEP)
		replay_commit(w, at + RAISE_STEP);
	lowest = RTE_MAX(from, top - RTE_MIN(top, (uint64_t)w->size)) + 1;
	for (uint64_t seq = top; seq >= lowest; seq--)
		replay_commit(w, seq);
}

static void windows_mark(struct sa_record *r, uint64_t from, uint64_t top)
{
	for (struct sa *sa = r->first; sa != NULL; sa = sa->next) {
		struct replay *w = &sa->per_packet.replay;

		if (sa->opt.direction != SA_IN || (!sa->opt.esn && top > SA_SEQ_MAX))
			continue;
		in_tick(sa);
		if (top > replay_top(w))
			r->raised = top;
		window_mark(w, from, top);
		r->before = RTE_MAX(r->before, top); // this is no traffic
	}
}

void numbers_refuse(struct sa_record *r, uint64_t top)
{
	windows_mark(r, 0, top);
}

bool numbers_may_accept(const struct sa *sa, uint64_t number)
{
	uint64_t end = sa->opt.esn ? replay_top(&sa->per_packet.replay) + RAISE_MAX : SA_SEQ_MAX;

	return number <= RTE_MIN(end, SA_ESN_MAX);
}

static void in_learn(struct sa_record *r, uint64_t theirs, uint64_t own)
{
	if (!numbers_may_accept(r->first, theirs) || !numbers_may_accept(r->first, own))
		return;
	if (theirs > r->learnt) {
		windows_mark(r, r->learnt, theirs);
		r->learnt = theirs;
	}
	if (own > r->claimed) {
		windows_mark(r, r->claimed, own);
		r->claimed = own;
	}
}

// Own numbers that this process has not reported are those of a former one, which may have begun
// another own block after its last report. If the disk has not led beyond them, it was lost, and
// this one continues after them at once, even if it can send nothing until others are on the disk.
static void out_learn(struct sa_record *r, struct sa_out *sa, uint64_t theirs, uint64_t own)
{
	uint64_t end;

	r->learnt = RTE_MAX(r->learnt, RTE_MIN(theirs, sa->seq_max));
	if (own <= r->reported)
		return;
	own = RTE_MIN(own, sa->seq_max);
	end = own + RTE_MIN(2 * (sa->blocks.mask + 1), sa->seq_max - own);
	if (end > sa_out_seq(sa)) {
		sa_out_block_set(sa, RTE_MAX(end, sa->block_end));
		r->before = sa_out_seq(sa);
	}
}

bool numbers_learn(struct control *c, const char *line)
{
	char word[sizeof("out")];
	uint64_t theirs, own, rate;
	const char *rest = line;
	bool out;
	struct sa *sa;

	if (!line_word(&rest, word, sizeof(word)))
		return false;
	out = strcmp(word, "out") == 0;
	if ((!out && strcmp(word, "in") != 0) ||
		!member_sa_read(c, &rest, out ? SA_OUT : SA_IN, &sa) ||
		!line_number(&rest, &theirs, UINT64_MAX) || !line_number(&rest, &own, UINT64_MAX) ||
		!line_number(&rest, &rate, UINT64_MAX) || rest != NULL)
		return false;
	if (sa == NULL)
		return true;
	sa->record->sure_ms = 1;
	sa->record->learnt_rate = RTE_MIN(rate, RATE_MAX);
	if (out)
		out_learn(sa->record, sa_out_of(sa), theirs, own);
	else
		in_learn(sa->record, theirs, own);
	return true;
}

static uint64_t numbers_in(uint64_t rate, uint64_t ms)
{
	return rate / 1000 * ms + rate % 1000 * ms / 1000;
}

// Leaves out the numbers that the other one may have accepted since its last report.
static void in_take_over(struct sa_record *r, uint64_t silent_ms)
{
	uint64_t ms = RTE_MIN(RTE_MIN(silent_ms, MARGIN_MS_MAX) + MARGIN_MS_MIN, MARGIN_MS_MAX);
	uint64_t top = RTE_MAX(r->learnt, r->claimed);

	if (silent_ms > 0 && r->learnt > 0)
		windows_mark(
			r, top, top + RTE_MIN(numbers_in(r->learnt_rate, ms), NUMBER_LEAP - 1) + 1);
}

// The other one may have begun the block after the known ones, and used more numbers since its last
// report. They reach twice as far as their count, because it has every second block.
static void out_take_over(struct sa_out *sa, uint64_t silent_ms)
{
	struct sa_record *r = sa->sa.record;
	uint64_t known = RTE_MAX(RTE_MAX(r->claimed, r->learnt), sa_out_seq(sa));
	uint64_t used = 2 * numbers_in(r->learnt_rate, RTE_MIN(silent_ms, SILENT_MS_MAX));

	sa->has_taken_over = silent_ms > 0;
	if (silent_ms > 0)
		r->left_out = RTE_MAX(number_block_end(&sa->blocks, known + 1),
			r->learnt + RTE_MIN(used, RTE_MIN(LEFT_OUT_MAX, sa->seq_max / LEFT_PART)));
	numbers_follow(r);
}

// A report about a key that this one did not have then was ignored, and is repeated.
static bool is_sure(const struct sa_record *r, uint64_t now_ms)
{
	return r->sure_ms != 0 && now_ms >= r->sure_ms;
}

void numbers_take_over(
	struct control *c, const struct conf_group *g, uint64_t silent_ms, uint64_t now_ms)
{
	const struct sa_list *sas = &c->snapshot->objects->sas;
	struct sa *sa;

	if (c->conf->pair_member == 0)
		return;
	for (unsigned int i = 0; (sa = sa_list_at(sas, i)) != NULL; i++) {
		uint64_t unknown_ms = silent_ms > 0 || is_sure(sa->record, now_ms)
					      ? silent_ms
					      : NUMBERS_REPEAT_MS;

		if (!conf_group_has(g, &sa->opt.local))
			continue;
		if (sa->opt.direction == SA_OUT)
			out_take_over(sa_out_of(sa), unknown_ms);
		else
			in_take_over(sa->record, unknown_ms);
	}
	numbers_tick(c, now_ms); // while no worker uses these SAs
}

void numbers_other_stops(struct control *c, const struct conf_group *g)
{
	const struct sa_list *sas = &c->snapshot->objects->sas;

	for (unsigned int i = 0; i < sas->n_out; i++)
		if (conf_group_has(g, &sas->out[i]->sa.opt.local))
			numbers_follow(sas->out[i]->sa.record);
}
