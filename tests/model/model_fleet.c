// SPDX-License-Identifier: BSD-3-Clause
// Two members of a fleet with one group and one key. They run lib/control/fleet_group.c,
// fleet_numbers.c, fleet_value.c, numbers.c and role.c, lib/store/reserve.c and lib/sa as they are;
// pair_members.h has the parts below, and this file etcd. Each member may read etcd or not, be
// ordered to take the group or to give it up, be killed, lose its disk or its lease, at any time;
// answers of etcd are lost. Somebody edits or deletes the key, or restores it from a backup, also
// while a member is cut off, which is one that does not read. Proves for all orders:
//
// - A member sends with numbers of its own blocks alone, above all that it has sent with before, as
//   another process or with another disk, and up to the bound that etcd has had of it.
// - Who becomes active continues above all that the other one has used, or will use before it reads
//   etcd, unless the key was edited, deleted or restored.
// - The group of an owner that lives is taken by order alone, also if its value is refused.
// - Who reads that another member owns the group is standby.
//
// Excepted is a member that has lost its disk while etcd has lost its claims.
#include "reserve.c"

#include "esp_out.c"

#include "actions.h"
#include "pair_members.h"

#include "etcd_answer.h"
#include "fleet_parts.h"
#include "number_block.h"

#undef NUMBER_BLOCK_FLEET
#define NUMBER_BLOCK_FLEET BLOCK
#undef NUMBER_FLEET_TURN
#define NUMBER_FLEET_TURN (MEMBERS * BLOCK)
#undef NUMBER_NOTICED_ESN
#define NUMBER_NOTICED_ESN (BLOCK / 2)
#define out_ahead          fleet_out_ahead
#define sa_of              fleet_sa_of
#include "fleet_numbers.c"
#undef out_ahead
#undef sa_of

#define VALUE_MAX 160
#define TEXTS_MAX 4096
static char texts[TEXTS_MAX][VALUE_MAX];
static unsigned int n_texts;

static void model_free(void *p)
{
	if ((char *)p < texts[0] || (char *)p >= texts[TEXTS_MAX])
		free(p);
}

#define free model_free
#include "fleet_group.c"
#undef free

// Of a member. ROUND: of its control thread, with the disk. WRITE_LOST: etcd has done it, but the
// answer is lost. LEASE_END: of its lease, or of that of a process before.
enum {
	ROUND,
	READ,
	WRITE,
	WRITE_LOST,
	USE,
	USE_MORE,
	TAKE,
	GIVE_UP,
	KILL,
	REPLACE,
	LEASE_END,
	MEMBER_ACTIONS
};
// Others, after those of both members.
enum { BACKUP = MEMBERS * MEMBER_ACTIONS, RESTORE, EDIT, DELETE };

static const struct scenario {
	uint8_t takes, uses, losses, kills, replacements, leases, restores, edits, deletes;
} scenarios[] = {
	{.takes = 2, .uses = 2},
	{.takes = 2, .uses = 2, .kills = 1},
	{.takes = 2, .uses = 2, .replacements = 1},
	{.takes = 1, .uses = 2, .leases = 2},
	{.takes = 1, .uses = 1, .losses = 1, .leases = 1},
	{.uses = 2, .kills = 1, .leases = 1},
	{.uses = 3, .replacements = 1, .leases = 1},
	{.takes = 1, .uses = 2, .restores = 1},
	{.uses = 1, .leases = 1, .restores = 1},
	{.takes = 1, .uses = 1, .edits = 1},
	{.uses = 1, .leases = 1, .edits = 1},
	{.takes = 1, .uses = 1, .deletes = 1},
	{.uses = 1, .kills = 1, .leases = 1, .deletes = 1},
};

struct version {
	char text[VALUE_MAX]; // "": there is no key
	int64_t revision;
};

static struct etcd_model {
	struct version now, backup;
	int64_t last;            // revision
	int64_t living[MEMBERS]; // lease that the key of a member has; 0: there is no key
	int64_t leases;          // so far
	struct scenario left;
	bool faulty; // the key has another value than members have written
	struct of_member {
		int64_t lease;
		bool registered, reads;
		int64_t seen[MEMBERS]; // leases, as of the last read
		uint64_t claimed;      // for the assertions
	} of[MEMBERS];
} * etcd;

static struct fleet fleets[MEMBERS];

// --- below the code ---

static struct {
	char value[VALUE_MAX];
	const char *coded;
	int64_t revision, lease;
} request;

char *etcd_replace_text(const char *key, const char *value, int64_t revision, const char *coded,
	const char *member, int64_t lease)
{
	(void)key;
	(void)member;
	explore_assert(strlen(value) < VALUE_MAX);
	snprintf(request.value, VALUE_MAX, "%s", value);
	request.coded = coded;
	request.revision = revision;
	request.lease = lease;
	return strdup("");
}

// clang-format off
void fleet_group_key(const struct control *, char key[FLEET_KEY_MAX], const char *) { key[0] = '\0'; }
void fleet_member_key(const struct control *, char key[FLEET_KEY_MAX]) { key[0] = '\0'; }
const char *fleet_error(const struct control *) { return ""; }
bool conf_group_has(const struct conf_group *, const struct ip_addr *) { return true; }
const struct conf_group *conf_group_of(const struct conf *c, const struct ip_addr *) { return &c->groups[0]; }

// Parts that a fleet does not have, or this model leaves out.
char *base64_read(const char *, size_t *) { return NULL; }
uint64_t member_silent_ms(const struct control *, const struct owned_group *, uint64_t) { return 0; }
const char *member_missing(struct control *, const struct owned_group *, uint64_t) { return NULL; }
void member_lines_tick(struct control *, uint64_t) {}
struct sa_in *policy_receiver(const struct control *, const struct spd_policy *, unsigned int) { return NULL; }
const struct spd_policy *spd_at(const struct spd *, unsigned int) { return NULL; }
unsigned int spd_count(const struct spd *) { return 0; }
// clang-format on

// --- members ---

static struct control *fleet_enter(struct member *m)
{
	const unsigned int i = number_of(m);
	struct of_member *o = &etcd->of[i];
	struct fleet *f = &fleets[i];

	*f = (struct fleet){.lease = o->lease,
		.registered = o->registered,
		.answered_ms = o->reads ? NOW_MS : 0};
	for (unsigned int k = 0; k < MEMBERS; k++)
		if (o->seen[k] != 0)
			f->member[f->n_members++].lease = o->seen[k];
	control[i].fleet = f;
	control[i].groups.sas[0] = &m->sa;
	conf[i].fleet_member = i + 1;
	conf[i].pair_member = 0;
	return enter(m);
}

static void fleet_leave(struct member *m)
{
	struct fleet_group *g;

	leave(m);
	g = &m->group.fleet;
	g->avoid_ms = g->check_ms = 0; // time may pass
	m->record.checked = 0;
}

static void process_end(struct member *m)
{
	struct of_member *o = &etcd->of[number_of(m)];
	const uint64_t claimed = o->claimed;

	*o = (struct of_member){.claimed = claimed};
}

static uint64_t fleet_next_of(const struct member *m)
{
	return number_own_from(&m->out.blocks, sa_out_seq(&m->out) + 1);
}

static void check_takeover(const struct member *m)
{
	const struct member *from = other(m);

	if (!etcd->faulty)
		explore_assert(fleet_next_of(m) > RTE_MAX(from->used, from->before));
}

static void follow(struct member *m, struct control *c)
{
	const enum conf_role before = c->groups.item[0].role;

	fleet_group_follow(c, &c->groups.item[0], NOW_MS);
	if (before == CONF_STANDBY && c->groups.item[0].role == CONF_ACTIVE)
		check_takeover(m);
}

// The same pointer for the same text: members keep it, and states are compared with it. Nothing is
// freed, see model_free().
static char *kept(const char *text)
{
	unsigned int i;

	for (i = 0; i < n_texts; i++)
		if (strcmp(texts[i], text) == 0)
			return texts[i];
	explore_assert(i < TEXTS_MAX);
	n_texts++;
	return strcpy(texts[i], text);
}

static void version_take(struct member *m, struct control *c)
{
	struct etcd_key key = {.value = etcd->now.text,
		.coded = kept(etcd->now.text),
		.revision = etcd->now.revision};

	fleet_group_read(c, &c->groups.item[0], etcd->now.text[0] != '\0' ? &key : NULL);
	follow(m, c);
}

// The owner that a text names, if it lives: its member; MEMBERS: none.
static unsigned int living_owner(const char *text)
{
	struct fleet_value v;

	if (text[0] == '\0' || fleet_value_read(&v, text) != NULL || v.lease == 0)
		return MEMBERS;
	for (unsigned int i = 0; i < MEMBERS; i++)
		if (etcd->living[i] == v.lease)
			return i;
	return MEMBERS;
}

// With a key of the member, which it makes if the one of a process before has ended.
static void read_all(struct member *m)
{
	const unsigned int i = number_of(m);
	struct of_member *o = &etcd->of[i];

	if (etcd->living[i] == 0) {
		o->lease = etcd->living[i] = ++etcd->leases;
		o->registered = true;
	}
	memcpy(o->seen, etcd->living, sizeof(o->seen));
	o->reads = true;
	version_take(m, fleet_enter(m));
	if (living_owner(etcd->now.text) == number_of(other(m)))
		explore_assert(control[i].groups.item[0].role == CONF_STANDBY);
}

static uint64_t bound_in(const char *text)
{
	struct fleet_value v;
	struct fleet_line l = {.bound = 0};

	fleet_value_read(&v, text);
	fleet_line_read(&l, &v.lines);
	return l.bound;
}

// The transaction. False: a condition was not met.
static bool replace_value(struct member *m, const struct control *c)
{
	const unsigned int i = number_of(m), owner = living_owner(etcd->now.text);
	struct of_member *o = &etcd->of[i];

	if (request.revision != (etcd->now.text[0] != '\0' ? etcd->now.revision : 0) ||
		request.lease != etcd->living[i] ||
		(request.coded != NULL && strcmp(request.coded, etcd->now.text) != 0))
		return false;
	explore_assert(
		owner == i || owner == MEMBERS || c->groups.item[0].fleet.ordered_ms > NOW_MS);
	memset(&etcd->now, 0, sizeof(etcd->now));
	strcpy(etcd->now.text, request.value);
	etcd->now.revision = ++etcd->last;
	o->claimed = RTE_MAX(o->claimed, bound_in(request.value));
	return true;
}

static void write_value(struct member *m, struct control *c, bool lost)
{
	struct owned_group *g = &c->groups.item[0];
	bool done;
	char *text;

	if (!fleet_group_wants(c, g, NOW_MS))
		return;
	text = fleet_group_request(c, g, false);
	free(text);
	done = replace_value(m, c);
	if (lost)
		return;
	if (!done) // fleet_replace_taken() of fleet_read.c
		etcd->of[number_of(m)].reads = fleets[number_of(m)].answered_ms = 0;
	version_take(m, c);
}

static void use_numbers(struct member *m, uint32_t n)
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
	explore_assert(last <= etcd->of[number_of(m)].claimed);
	m->used = last;
}

static void round_of(struct control *c, struct reserve *r)
{
	reserve_collect(r, c->snapshot, NOW_MS);
	numbers_tick(c, NOW_MS);
	reserve_tick(r, c->snapshot, NOW_MS);
}

static void member_act(struct member *m, unsigned int action)
{
	struct control *c = fleet_enter(m);
	const char *why;

	switch (action) {
	case ROUND:
		round_of(c, &reserves[number_of(m)]);
		break;
	case READ:
		read_all(m);
		break;
	case WRITE:
	case WRITE_LOST:
		write_value(m, c, action == WRITE_LOST);
		etcd->left.losses -= action == WRITE_LOST;
		break;
	case USE:
	case USE_MORE:
		use_numbers(m, action == USE ? 1 : (uint32_t)(BLOCK - (m->out.seq + 1) % BLOCK));
		etcd->left.uses--;
		break;
	case TAKE:
	case GIVE_UP:
		fleet_order(c, "main", action == TAKE ? CONF_ACTIVE : CONF_STANDBY, &why);
		etcd->left.takes--;
		break;
	case KILL:
		process_end(m);
		start(m, true);
		etcd->left.kills--;
		break;
	case REPLACE:
		process_end(m);
		replace(m);
		etcd->left.replacements--;
		break;
	default:
		etcd->living[number_of(m)] = 0;
		etcd->left.leases--;
	}
	fleet_leave(m);
}

static void act_alone(unsigned int action)
{
	if (action == BACKUP) {
		etcd->backup = etcd->now;
		return;
	}
	etcd->faulty = true;
	if (action == RESTORE) {
		etcd->now = etcd->backup;
		etcd->last = etcd->now.revision; // its past has gone
		memset(&etcd->backup, 0, sizeof(etcd->backup));
		etcd->left.restores--;
		return;
	}
	memset(&etcd->now, 0, sizeof(etcd->now));
	++etcd->last;
	if (action == EDIT) {
		strcpy(etcd->now.text, "nonsense");
		etcd->now.revision = etcd->last;
	}
	etcd->left.edits -= action == EDIT;
	etcd->left.deletes -= action == DELETE;
}

// --- the search ---

unsigned int model_scenarios(void)
{
	return RTE_DIM(scenarios);
}

// A member owns the group and has used numbers.
void model_setup(unsigned int scenario)
{
	struct member *m;

	model = explore_alloc(sizeof(*model));
	etcd = explore_alloc(sizeof(*etcd));
	for (unsigned int i = 0; i < MEMBERS; i++) {
		conf[i].fleet_member = i + 1;
		strcpy(conf[i].instance, i == 0 ? "a" : "b");
		member_prepare(i, SA_OUT);
		fleet_enter(&model->member[i]);
		fleet_leave(&model->member[i]);
	}
	m = &model->member[0];
	etcd->left.uses = 2;
	member_act(m, READ);
	member_act(m, WRITE);
	member_act(m, USE);
	member_act(m, USE);
	member_act(&model->member[1], READ);
	etcd->left = scenarios[scenario];
}

void model_act(unsigned int scenario, unsigned int action)
{
	(void)scenario;
	if (action >= BACKUP)
		act_alone(action);
	else
		member_act(&model->member[action / MEMBER_ACTIONS], action % MEMBER_ACTIONS);
}

static bool may_use(const struct member *m, bool more)
{
	const uint64_t seq = m->out.seq;

	return etcd->left.uses > 0 && sa_stop_reason(&m->sa) == DROP_NONE &&
	       seq <= m->sa.per_packet.seq_limit && (!more || (seq + 1) % BLOCK != 0);
}

static bool member_may(const struct member *m, unsigned int action)
{
	const struct of_member *o = &etcd->of[number_of(m)];

	switch (action) {
	case WRITE:
		return o->registered;
	case WRITE_LOST:
		return o->registered && etcd->left.losses > 0;
	case USE:
	case USE_MORE:
		return may_use(m, action == USE_MORE);
	case TAKE:
		return o->registered && etcd->left.takes > 0;
	case GIVE_UP:
		return o->registered && etcd->left.takes > 0 && m->group.role == CONF_ACTIVE;
	case KILL:
		return etcd->left.kills > 0;
	case REPLACE:
		return etcd->left.replacements > 0 && !etcd->faulty;
	case LEASE_END:
		return etcd->left.leases > 0 && etcd->living[number_of(m)] != 0;
	default:
		return true;
	}
}

bool model_may(unsigned int scenario, unsigned int action)
{
	(void)scenario;
	switch (action) {
	case BACKUP:
		return etcd->left.restores > 0 && etcd->backup.text[0] == '\0';
	case RESTORE:
		return etcd->left.restores > 0 && etcd->backup.text[0] != '\0';
	case EDIT:
		return etcd->left.edits > 0;
	case DELETE:
		return etcd->left.deletes > 0 && etcd->now.text[0] != '\0';
	default:
		return member_may(&model->member[action / MEMBER_ACTIONS], action % MEMBER_ACTIONS);
	}
}
