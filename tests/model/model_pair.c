// SPDX-License-Identifier: BSD-3-Clause
// Two members of a pair with one group and one key. They run lib/control/numbers.c, member_lines.c
// and role.c, lib/store/reserve.c and lib/sa as they are; pair_members.h has the parts below.
// Each member may become active or standby at any time, whatever the other one is, be killed,
// stopped and started again from its disk, be replaced by a machine without that, or be frozen;
// lines are delayed or lost with the connection, writes of the disk, too. Proves for all orders:
//
// - No member sends with a number of the other one's blocks, nor with one that is not above all
//   that it has sent with before, as another process or with another disk.
// - A member that becomes active continues above all numbers that the other one has used, if these
//   are reported; also if those of one block are not, unless the other one has reported that it is
//   standby. Numbers that are not on the disk yet are excepted.
// - No window accepts a packet that was accepted with it, or by the other member before a report.
#include "reserve.c"

#include "esp_out.c"

#include "actions.h"
#include "member_lines.h"
#include "role.h"

#include "pair_members.h"

// Of a member. ROUND: of its control thread; in a slow one no line arrives, and no write ends. USE,
// USE_MORE: outbound a number, or all up to the end of a block; inbound the next packet of the
// peer, or one that was overtaken. STOP: in order; inbound an end of the machine. SILENT: longer
// than a reported role is true. PASS: longer than all times.
enum {
	ROUND,
	ROUND_SLOW,
	USE,
	USE_MORE,
	ACTIVATE,
	GIVE_UP,
	KILL,
	STOP,
	REPLACE,
	FREEZE,
	SILENT,
	PASS,
	MEMBER_ACTIONS
};
// Others, after those of both members. LOSE: packets of the peer.
enum { CUT = MEMBERS * MEMBER_ACTIONS, CONNECT, LOSE };

static const struct scenario {
	enum sa_direction direction;
	struct limits limits;
} scenarios[] = {
	{SA_OUT, {.activations = 2, .uses = 2}},
	{SA_OUT, {.activations = 2, .uses = 1, .freezes = 2}},
	{SA_OUT, {.activations = 2, .uses = 1, .delays = 1}},
	{SA_OUT, {.activations = 2, .uses = 1, .times = 1}},
	{SA_OUT, {.activations = 2, .uses = 1, .cuts = 1}},
	{SA_OUT, {.activations = 1, .uses = 1, .ends = 2}},
	{SA_OUT, {.activations = 1, .uses = 4, .replacements = 1}},
	{SA_OUT, {.activations = 1, .uses = 1, .ends = 1, .replacements = 1}},
	{SA_IN, {.activations = 2, .uses = 2}},
	{SA_IN, {.activations = 1, .uses = 2, .replacements = 1}},
	{SA_IN, {.activations = 1, .uses = 1, .ends = 1}},
};

static bool is_out(const struct member *m)
{
	return m->sa.opt.direction == SA_OUT;
}

static void round(struct member *m)
{
	struct control *c = enter(m);
	struct reserve *r = &reserves[number_of(m)];

	reserve_collect(r, c->snapshot, NOW_MS);
	member_lines_tick(c, NOW_MS);
	reserve_tick(r, c->snapshot, NOW_MS);
}

// The next number that a member would use.
static uint64_t next_of(const struct member *m)
{
	return number_own_from(&m->out.blocks, sa_out_seq(&m->out) + 1);
}

// Whether the numbers from the first own one after this one are reserved on the disk.
static bool has_after(const struct member *m, uint64_t seq)
{
	return m->disk.bound >= number_own_from(&m->out.blocks, seq + 1);
}

static void check_takeover(struct member *m)
{
	const struct member *from = other(m);
	const uint64_t used = RTE_MAX(from->used, from->before);
	const uint64_t beyond = sa_record_beyond(&m->record);
	const bool all = m->reported_standby && from->group.role == CONF_STANDBY &&
			 from->used == m->reported_used && from->before <= m->reported_end;
	const bool most =
		!m->reported_standby && m->reported_end > 0 && used <= m->reported_end + 2 * BLOCK;

	if (all && has_after(m, beyond))
		explore_assert(next_of(m) > used);
	if (most && has_after(m, RTE_MAX(beyond, m->reported_end + 2 * BLOCK)))
		explore_assert(next_of(m) > used);
}

static void command(struct member *m, enum conf_role role)
{
	struct control *c = enter(m);

	role_set(c, "main", role, NOW_MS);
	if (role == CONF_ACTIVE && is_out(m))
		check_takeover(m);
}

// Numbers that a worker has allocated, and sends packets with if it may.
static void use(struct member *m, uint32_t n)
{
	uint64_t first = sa_out_seq_alloc(&m->out, n);
	uint16_t usable_n = usable(&m->out.per_worker[0].per_packet, first, (uint16_t)n);
	uint64_t last = first + usable_n - 1;

	if (usable_n == 0) {
		esp_out_drop_reason(&m->out, &(struct sa_path){0}, first, 0);
		return;
	}
	explore_assert(first / BLOCK % MEMBERS == number_of(m) && last / BLOCK == first / BLOCK);
	explore_assert(first > m->used && first > m->before);
	m->used = last;
}

static void receive(struct member *m, uint64_t seq)
{
	const struct replay *w = &m->sa.per_packet.replay;

	if (replay_check(w, seq) && replay_commit((struct replay *)w, seq))
		m->accepted |= UINT64_C(1) << seq;
}

static void traffic(struct member *m, bool more)
{
	if (is_out(m))
		use(m, more ? (uint32_t)(BLOCK - (m->out.seq + 1) % BLOCK) : 1);
	else if (more) // a packet that was overtaken
		receive(m, model->sent - 3u);
	else
		receive(m, ++model->sent);
}

// Nothing is received for longer than a reported role is true.
static void be_silent(struct control *c)
{
	if (c->member.lines_ms != 0)
		c->member.lines_ms = NOW_MS - OLD_MS;
}

// It continues, as frozen_round(). No worker has sent anything since (lib/dp/deadline.h).
static void freeze(struct control *c)
{
	be_silent(c);
	roles_give_up(c, NOW_MS);
}

static void time_pass(struct member *m, struct control *c)
{
	be_silent(c);
	m->record.follow_ms = 0;
	if (m->record.sure_ms != 0)
		m->record.sure_ms = 1;
}

static void connection_begin(void)
{
	model->connected = true;
	for (unsigned int i = 0; i < MEMBERS; i++) // it is another connection
		if (model->member[i].lines.lines_epoch != 0)
			model->member[i].lines.lines_epoch = 2;
}

static void act_alone(unsigned int action)
{
	if (action == CUT)
		connection_end();
	if (action == CONNECT)
		connection_begin();
	if (action == LOSE)
		model->sent = (uint8_t)(model->sent + 5);
	model->left.uses -= action == LOSE;
	model->left.cuts -= action == CUT;
}

static void act(struct member *m, unsigned int action)
{
	struct control *c = enter(m);

	switch (action) {
	case ROUND:
		round(m);
		break;
	case ROUND_SLOW:
		slow = true;
		round(m);
		slow = false;
		model->left.delays--;
		break;
	case USE:
	case USE_MORE:
		traffic(m, action == USE_MORE);
		model->left.uses -= is_out(m) || action == USE;
		break;
	case ACTIVATE:
		command(m, CONF_ACTIVE);
		model->left.activations--;
		break;
	case GIVE_UP:
		command(m, CONF_STANDBY);
		break;
	case KILL:
		start(m, true);
		model->left.ends--;
		break;
	case STOP:
		if (is_out(m))
			stop(m);
		else
			lose_memory(m);
		model->left.ends--;
		break;
	case REPLACE:
		replace(m);
		model->left.replacements--;
		break;
	case FREEZE:
		freeze(c);
		model->left.freezes--;
		break;
	case SILENT:
		be_silent(c);
		model->left.delays--;
		break;
	default:
		time_pass(m, c);
		model->left.times--;
	}
	leave(m);
}

// No window accepts these any more.
static void check_windows(void)
{
	for (unsigned int i = 0; i < MEMBERS; i++) {
		const struct member *m = &model->member[i];

		for (uint64_t seq = 1; seq < PACKETS; seq++)
			if (((m->accepted | m->accepted_there) >> seq & 1) != 0)
				explore_assert(!replay_check(&m->sa.per_packet.replay, seq));
	}
}

unsigned int model_scenarios(void)
{
	return RTE_DIM(scenarios);
}

// Of each member, until nothing more is to be reported or written.
static void rounds(void)
{
	for (unsigned int i = 0; i < 4 * MEMBERS; i++)
		act(&model->member[i % MEMBERS], ROUND);
}

// A member is active and has used numbers, the other one is standby and knows that.
void model_setup(unsigned int scenario)
{
	struct member *m;

	model = explore_alloc(sizeof(*model));
	m = &model->member[0];
	for (unsigned int i = 0; i < MEMBERS; i++)
		member_prepare(i, scenarios[scenario].direction);
	connection_begin();
	rounds();
	act(m, ACTIVATE);
	act(m, USE);
	act(m, USE);
	rounds();
	model->left = scenarios[scenario].limits;
}

void model_act(unsigned int scenario, unsigned int action)
{
	if (action >= CUT)
		act_alone(action);
	else
		act(&model->member[action / MEMBER_ACTIONS], action % MEMBER_ACTIONS);
	if (scenarios[scenario].direction == SA_IN)
		check_windows();
}

static bool may_use(const struct member *m, bool more)
{
	const uint64_t seq = m->out.seq, place = (seq + 1) % BLOCK;

	if (sa_stop_reason(&m->sa) != DROP_NONE)
		return false;
	if (!is_out(m))
		return more ? model->sent > 3 : model->left.uses > 0;
	return model->left.uses > 0 && seq <= m->sa.per_packet.seq_limit && (!more || place != 0);
}

// As docs/pair.md has it: the other one has its numbers, and runs until this one has them.
static bool may_be_replaced(const struct member *m)
{
	const struct member *from = other(m);

	return model->left.replacements > 0 &&
	       RTE_MAX(m->used, m->before) <= from->reported_end + 2 * BLOCK;
}

static bool waits(const struct member *m)
{
	return m->replaced && !m->informed && !m->disk.informed;
}

static bool member_may(const struct member *m, unsigned int action)
{
	switch (action) {
	case ROUND_SLOW:
		return model->left.delays > 0 && (other(m)->queued > 0 || m->writing);
	case USE:
	case USE_MORE:
		return may_use(m, action == USE_MORE);
	case ACTIVATE:
		return model->left.activations > 0 && m->group.role == CONF_STANDBY && !waits(m);
	case GIVE_UP:
		return m->group.role == CONF_ACTIVE;
	case KILL:
	case STOP:
		return model->left.ends > 0 && !waits(other(m));
	case REPLACE:
		return may_be_replaced(m) && !waits(other(m));
	case FREEZE:
		return model->left.freezes > 0 && m->group.role == CONF_ACTIVE;
	case SILENT:
		return model->left.delays > 0 && m->lines.lines_ms == NOW_MS;
	case PASS:
		return model->left.times > 0;
	default:
		return true;
	}
}

bool model_may(unsigned int scenario, unsigned int action)
{
	switch (action) {
	case CUT:
		return model->connected && model->left.cuts > 0;
	case CONNECT:
		return !model->connected;
	case LOSE:
		return scenarios[scenario].direction == SA_IN && model->left.uses > 0;
	default:
		return member_may(&model->member[action / MEMBER_ACTIONS], action % MEMBER_ACTIONS);
	}
}
