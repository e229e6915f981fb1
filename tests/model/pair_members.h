// SPDX-License-Identifier: BSD-3-Clause
// The members of model_pair.c: how they start, and the parts below the code that they run, a disk,
// memory that outlives a process, and the channel. Included by model_pair.c alone.
#pragma once

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "channel.h"
#include "disk_writer.h"
#include "event_log.h"
#include "explore.h"
#include "flow_adopt.h"
#include "log.h"
#include "member_changes.h"
#include "member_flows.h"
#include "member_peers.h"
#include "originate.h"
#include "sa_table.h"

#define MEMBERS   2
#define BLOCK     16 // numbers: the smallest of which LEFT_PART of numbers.c is one
#define BLOCKS    34 // so that reserve.c reserves two own blocks ahead, as in lib/
#define WINDOW    32
#define WORDS     6 // of a window
#define PACKETS   64
#define QUEUE     2 // lines: those of a round
#define LINE_ROOM 64

// The present time is constant: when time passes, times that were noted become earlier. Rates are
// 0. So states recur.
#define NOW_MS (UINT64_C(1) << 40)
#define OLD_MS 400 // longer than a reported role is true

// How often each may happen.
struct limits {
	uint8_t activations, uses, delays, ends, replacements, freezes, cuts, times;
};

struct line {
	char text[LINE_ROOM];
	// For the assertions, of the member that has sent it.
	uint64_t used, end, accepted;
};

struct disk {
	uint64_t bound;
	bool informed; // since a report of the other one
};

struct member {
	union {
		struct sa sa;
		struct sa_out out;
		struct sa_in in;
		uint8_t room[sizeof(struct sa_out) + SA_PLACE(1)];
	};
	struct sa_record record;
	struct owned_group group;
	struct control_member lines;
	_Atomic uint64_t words[WORDS]; // of the window
	struct disk disk, written;     // on the disk, and the one that is being written
	bool writing;
	struct line queue[QUEUE]; // from it
	uint32_t queued;
	// For the assertions. The last number that it has used, and that earlier processes have.
	uint64_t used, before;
	// Of the other one, as reported: the last number used, and of the block in use.
	uint64_t reported_used, reported_end;
	bool reported_standby;
	bool informed; // this process: the other one has reported
	bool replaced;
	// Packets of the peer, a bit for each, that were accepted with its window, and by the other
	// one before a report.
	uint64_t accepted, accepted_there;
};

static struct model {
	struct member member[MEMBERS];
	struct limits left;
	bool connected;
	uint8_t sent; // packets of the peer
} * model;

static struct conf conf[MEMBERS];
static struct control control[MEMBERS];
static struct objects objects[MEMBERS];
static struct sa_ledger ledger[MEMBERS];
static struct snapshot snapshot[MEMBERS];
static struct snapshot_control listed[MEMBERS];
static struct sa_out *out_of[MEMBERS][1];
static struct sa_in *in_of[MEMBERS][1];
static struct sa *sa_of[MEMBERS][1];
static struct reserve reserves[MEMBERS];
static bool slow; // no line arrives in this round, and no write ends

static struct channel {
	unsigned int from;
} channels[MEMBERS] = {{0}, {1}};

static struct disk_writer {
	unsigned int of;
} writers[MEMBERS] = {{0}, {1}};

static const struct cipher_alg cipher = {.mode = CIPHER_GCM};

static unsigned int number_of(const struct member *m)
{
	return (unsigned int)(m - model->member);
}

static struct member *other(const struct member *m)
{
	return &model->member[1 - number_of(m)];
}

static uint64_t now_ms(void)
{
	return NOW_MS;
}

static const struct control_io io = {.now_ms = now_ms};

// --- below the code ---

uint64_t channel_epoch(struct channel *ch)
{
	(void)ch;
	return model->connected;
}

size_t channel_waiting(struct channel *ch)
{
	(void)ch;
	return CHANNEL_BULK_MAX;
}

void channel_state(struct channel *ch, struct channel_state *s)
{
	(void)ch;
	memset(s, 0, sizeof(*s));
}

bool channel_send(struct channel *ch, const char *text, size_t len)
{
	struct member *m = &model->member[ch->from];
	struct line *line = &m->queue[m->queued];

	if (m->queued == QUEUE || !model->connected)
		return false;
	explore_assert(len < LINE_ROOM);
	memcpy(line->text, text, len);
	line->used = m->used;
	line->end = m->record.claimed;
	line->accepted = m->accepted | m->accepted_there;
	m->queued++;
	return true;
}

static void note_report(struct member *m, const struct line *line)
{
	const bool group = strncmp(line->text, "group", 5) == 0;

	m->reported_used = line->used;
	m->reported_standby = group && strstr(line->text, "standby") != NULL;
	if (group)
		return;
	m->informed = true;
	m->reported_end = RTE_MAX(m->reported_end, line->end);
	m->accepted_there |= line->accepted;
}

bool channel_receive(struct channel *ch, char text[LINE_LEN_MAX])
{
	struct member *m = &model->member[ch->from], *from = other(m);

	if (slow || from->queued == 0)
		return false;
	strcpy(text, from->queue[0].text);
	note_report(m, &from->queue[0]);
	from->queued--;
	memmove(&from->queue[0], &from->queue[1], sizeof(from->queue[0]) * (QUEUE - 1));
	memset(&from->queue[QUEUE - 1], 0, sizeof(from->queue[0]));
	return true;
}

bool disk_writer_busy(struct disk_writer *w)
{
	return model->member[w->of].writing;
}

void disk_writer_start(struct disk_writer *w, char *text, size_t len, uint64_t turn)
{
	struct member *m = &model->member[w->of];

	(void)len;
	(void)turn;
	free(text);
	m->written = (struct disk){
		.bound = m->record.bound, .informed = m->disk.informed || m->informed};
	m->writing = true;
}

bool disk_writer_done(struct disk_writer *w, int *rc)
{
	struct member *m = &model->member[w->of];

	*rc = 0;
	if (!m->writing || slow)
		return false;
	m->disk = m->written;
	m->writing = false;
	memset(&m->written, 0, sizeof(m->written));
	return true;
}

int disk_writer_wait(struct disk_writer *w)
{
	int rc;

	disk_writer_done(w, &rc);
	return 0;
}

void disk_writer_meanwhile(const struct disk_writer *w)
{
	(void)w;
}

static struct replay_memory {
	struct member *of;
	_Atomic uint64_t words[WORDS]; // that the process before has left
} memories[MEMBERS];

_Atomic uint64_t *replay_memory_take(
	struct replay_memory *memory, const struct key_id *id, uint32_t words)
{
	(void)id;
	explore_assert(words == WORDS);
	return memory->of->words;
}

const _Atomic uint64_t *replay_memory_find(
	const struct replay_memory *memory, const struct key_id *id, uint32_t *words)
{
	(void)id;
	*words = WORDS;
	return memory->words;
}

void *line_calloc(size_t n, size_t size)
{
	return calloc(n, size);
}

void line_free(void *memory)
{
	free(memory);
}

// The role is all that SAs depend on.
void address_apply(const struct control *c, const struct snapshot *s)
{
	sa_local_set(sa_list_at(&s->objects->sas, 0),
		c->groups.item[0].role == CONF_STANDBY ? DROP_STANDBY : DROP_NONE);
}

// Parts that the model does not have.
struct key_id key_id_of(const uint8_t *, size_t)
{
	return (struct key_id){0};
}

bool objects_reserve(struct control *)
{
	return false;
}

unsigned int member_peer_report(const struct sa *, bool, uint64_t, char *)
{
	return 0;
}

bool member_flows_learn(struct control *, const char *)
{
	return false;
}

bool member_peer_learn(struct control *, const char *, uint64_t)
{
	return false;
}

bool member_changes_learn(struct control *, const char *)
{
	return false;
}

// clang-format off
void announced_change(struct control *) {}
void dad_group_set(struct dad *, uint16_t, const struct ip_addr *, enum dad_state) {}
void dad_roles_begin(struct dad *) {}
void dad_roles_end(struct dad *) {}
void event_log_add(enum event_id, const struct event_value *) {}
void flow_adopted_keep(struct flow_table *) {}
void frozen_renew(struct control *) {}
void flow_table_take_over(struct flow_table *, bool) {}
void log_line(enum log_level, const char *, ...) {}
void member_changes_connected(struct control *, bool) {}
void member_changes_send(struct control *) {}
void member_flows_begin(struct control *) {}
void member_flows_send(struct control *, uint64_t, size_t, member_line_fn *, void *) {}
void objects_commit(struct control *) {}
void originate_announcement(struct control *, uint16_t, const struct ip_addr *) {}
void replay_memory_free(struct replay_memory *) {}
void replay_memory_give(struct replay_memory *, _Atomic uint64_t *) {}
void replay_memory_keep(struct replay_memory *) {}
void rte_rcu_qsbr_synchronize(struct rte_rcu_qsbr *, unsigned int) {}
void replay_memory_turn_set(struct replay_memory *, uint64_t) {}
int rte_cpu_get_flag_enabled(enum rte_cpu_flag_t) { return 0; }
// clang-format on

// --- members ---

// Brings the state of a member to where the code has it.
static struct control *enter(struct member *m)
{
	struct control *c = &control[number_of(m)];
	struct reserve *r = &reserves[number_of(m)];

	c->groups.item[0] = m->group;
	c->member = m->lines;
	r->state.ledger->turn = 0;
	r->next_write_ms = 0;
	return c;
}

// Takes it back, without the fields that differ between states which are the same otherwise.
static void leave(struct member *m)
{
	struct control *c = &control[number_of(m)];
	struct sa_record *r = &m->record;

	m->group = c->groups.item[0];
	m->group.since_ms = m->group.changes = m->group.announcements = 0;
	m->group.announce_ms = m->group.again_ms = m->group.defend_ms = 0;
	m->lines = c->member;
	r->rate = r->wait_ms = r->last_used = 0;
	r->follow_ms = r->follow_ms > NOW_MS ? NOW_MS + 1 : 0;
}

static void sa_init(struct member *m, enum sa_direction direction)
{
	struct sa *sa = &m->sa;

	memset(m->room, 0, sizeof(m->room));
	sa->opt.direction = (uint8_t)direction;
	sa->opt.cipher = &cipher;
	sa->n_workers = 1;
	sa->lifetime.hard[LIFETIME_PACKETS] = UINT64_MAX;
	if (direction == SA_IN) {
		sa->per_worker = m->in.per_worker;
		replay_init(&sa->per_packet.replay, WINDOW);
		return;
	}
	sa->per_worker = m->out.per_worker;
	m->out.blocks = (struct number_blocks){
		.mask = BLOCK - 1, .turn = BLOCK, .own = number_of(m) * BLOCK};
	m->out.seq_granted = conf[number_of(m)].fleet_member != 0 ? 0 : UINT64_MAX;
	m->out.seq_max = number_own_to(&m->out.blocks, BLOCK * BLOCKS - 1);
	sa->per_packet.block_zeros = (uint8_t)(64 - __builtin_popcountll(m->out.blocks.mask));
	sa_start_behind(sa, 0);
}

static void connection_end(void)
{
	model->connected = false;
	for (unsigned int i = 0; i < MEMBERS; i++) {
		memset(model->member[i].queue, 0, sizeof(model->member[i].queue));
		model->member[i].queued = 0;
		model->member[i].reported_standby = false;
	}
}

// A process starts from its disk; keeps: and from the window of the process before.
static void start(struct member *m, bool keeps)
{
	const unsigned int i = number_of(m);
	struct reserve *r = &reserves[i];

	connection_end();
	memcpy(memories[i].words, m->words, sizeof(m->words));
	memset(m->words, 0, sizeof(m->words));
	memset(&m->record, 0, sizeof(m->record));
	memset(&m->group, 0, sizeof(m->group));
	memset(&m->lines, 0, sizeof(m->lines));
	memset(&m->written, 0, sizeof(m->written));
	m->writing = m->informed = m->reported_standby = false;
	m->before = RTE_MAX(m->before, m->used);
	m->used = m->reported_used = m->reported_end = 0;
	m->record.bound = m->disk.bound;
	strcpy(m->group.name, "main");
	m->group.role = CONF_STANDBY;
	m->lines.channel = &channels[i];
	sa_init(m, objects[i].sas.n_out > 0 ? SA_OUT : SA_IN);
	enter(m);
	r->before = keeps ? &memories[i] : NULL;
	explore_assert(reserve_begin(r, &snapshot[i]) == 0);
	sa_ledger_begin(&m->sa);
	address_apply(&control[i], &snapshot[i]);
	leave(m);
}

static void replace(struct member *m)
{
	memset(&m->disk, 0, sizeof(m->disk));
	m->accepted = m->accepted_there = 0;
	m->replaced = true;
	start(m, false);
}

static void stop(struct member *m)
{
	reserve_finish(&reserves[number_of(m)], &snapshot[number_of(m)]);
	start(m, true);
}

// An end of the machine: packets above the bound on the disk may be accepted again.
static void lose_memory(struct member *m)
{
	const uint64_t refused =
		m->disk.bound < PACKETS - 1 ? (UINT64_C(2) << m->disk.bound) - 1 : UINT64_MAX;

	m->accepted &= refused;
	m->accepted_there &= refused;
	start(m, false);
}

static int is_the_one(const void *a, const void *b)
{
	(void)a;
	(void)b;
	return 0;
}

static void member_prepare(unsigned int i, enum sa_direction direction)
{
	struct member *m = &model->member[i];

	conf[i].pair_member = i + 1;
	conf[i].n_groups = 1;
	conf[i].groups = calloc(1, sizeof(conf[i].groups[0]));
	conf[i].groups[0].addrs[0] = (struct ip_addr){0};
	conf[i].groups[0].n_addrs = 1;
	out_of[i][0] = &m->out;
	in_of[i][0] = &m->in;
	sa_of[i][0] = &m->sa;
	objects[i].sas = (struct sa_list){.in = in_of[i],
		.out = out_of[i],
		.n_in = direction == SA_IN,
		.n_out = direction == SA_OUT,
		.n_configured = {[SA_IN] = direction == SA_IN, [SA_OUT] = direction == SA_OUT}};
	objects[i].ledger = &ledger[i];
	listed[i] = (struct snapshot_control){.sa = sa_of[i], .n_sa = 1};
	snapshot[i].objects = &objects[i];
	snapshot[i].control = &listed[i];
	control[i] = (struct control){.io = &io, .conf = &conf[i], .snapshot = &snapshot[i]};
	control[i].groups.n = 1;
	memories[i].of = m;
	reserves[i] = (struct reserve){.memory = &memories[i], .writer = &writers[i]};
	reserves[i].state = (struct state){.ledger = &ledger[i], .member = i + 1};
	ledger[i].tree = NULL; // of one record
	m->disk.bound = direction == SA_OUT ? 2 * BLOCK : 0;
	tsearch(&m->record, &ledger[i].tree, is_the_one);
	start(m, false);
}

// --- the search, of actions in the place of threads ---

unsigned int model_threads(unsigned int scenario)
{
	(void)scenario;
	return 0;
}

bool model_matters(const volatile void *p)
{
	(void)p;
	return false;
}
