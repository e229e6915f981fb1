// SPDX-License-Identifier: BSD-3-Clause
#include "reserve.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <rte_common.h>

#include "disk_writer.h"
#include "log.h"
#include "replay_memory.h"
#include "state.h"

#define BOOT_ID_LEN 36

// Numbers reserved on the disk ahead of the traffic of an SA: for this many seconds, so that writes
// are rare. Outbound at least the numbers that 50 million packets a second use until a tick finds
// that, and during the write: 2^24 numbers last 0.33 s. They are a 256th of all numbers without
// ESN, and lost in a crash; ESN has enough of them, and 2^28 last 5 s. Inbound few: after a power
// failure none of them is accepted.
#define AHEAD_SECONDS_OUT 20
#define AHEAD_SECONDS_IN  5
#define AHEAD_MIN_OUT     (UINT64_C(1) << 24)
#define AHEAD_MIN_OUT_ESN (UINT64_C(1) << 28)
#define AHEAD_PART_OUT    16 // of all numbers, at most
#define AHEAD_MIN_IN      UINT64_C(16)
#define WRITE_EVERY_MS    1000
#define COMPLAIN_EVERY_MS 10000
#define RECORD_OCTETS     128 // of the file, for each key; at most
// Records of keys without an SA: an SA with such a key may be added again.
#define UNUSED_MAX 100000

struct reserve {
	struct state state;
	struct replay_memory *memory, *before;
	char fresh_path[PATH_MAX + 4]; // of memory, until the first write: "" from then on
	unsigned int n_lost;           // windows that the process before has not left
	struct disk_writer *writer;
	uint64_t next_write_ms, next_complaint_ms;
	bool behind; // the last write failed: bounds on the disk are lower than those of the ledger
	unsigned int n_added; // SAs since keys without SAs were last forgotten
};

// Unique to this start of the machine and of the daemon, so that windows of another one are not
// used.
static int token_make(char token[REPLAY_TOKEN_MAX])
{
	char boot[37] = "";
	uint64_t random;
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (f == NULL || fscanf(f, "%36s", boot) != 1 ||
		getrandom(&random, sizeof(random), 0) != sizeof(random)) {
		if (f != NULL)
			fclose(f);
		return -EIO;
	}
	fclose(f);
	snprintf(token, REPLAY_TOKEN_MAX, "%s-%016" PRIx64, boot, random);
	return 0;
}

static int memory_make(struct reserve *r)
{
	const char *old = r->state.ledger->token;
	char token[REPLAY_TOKEN_MAX];
	int rc = token_make(token);

	if (rc < 0)
		return rc;
	if (strncmp(old, token, BOOT_ID_LEN) == 0)
		r->before = replay_memory_open(r->state.memory_path, old);
	snprintf(r->fresh_path, sizeof(r->fresh_path), "%s.new", r->state.memory_path);
	r->memory = replay_memory_new(r->fresh_path, token);
	if (r->memory == NULL)
		return state_refuse("cannot make", r->fresh_path, errno,
			"replay windows are kept there as long as the machine runs");
	strcpy(r->state.ledger->token, token);
	return 0;
}

int reserve_open(struct reserve **reserve, const struct conf *conf, struct sa_ledger *ledger)
{
	struct reserve *r;
	int rc;

	*reserve = NULL;
	if (conf->state_dir == NULL)
		return 0;
	r = calloc(1, sizeof(*r));
	if (r == NULL)
		return -ENOMEM;
	*reserve = r;
	rc = state_open(&r->state, conf, ledger);
	if (rc == 0 && r->state.ledger->turn == 0 && conf->n_sas > 0)
		log_warn("%s is missing: the first sequence number of every SA is 1; if its "
			 "key was used before, the peer drops the packets as replayed",
			r->state.path);
	if (rc == 0)
		rc = memory_make(r);
	if (rc == 0)
		rc = disk_writer_new(&r->writer, r->state.path, r->state.lock);
	return rc;
}

int reserve_keys_check(
	const struct reserve *r, const struct conf *conf, bool declared, FILE *errors)
{
	return r == NULL ? 0 : state_keys_check(&r->state, conf, declared, errors);
}

// A crash leaves all of these out, and the turns of the other members with them: no more than a
// peer can follow (RFC 4303 A2.2). Half of them are as much as a takeover leaves out.
static uint64_t fleet_ahead(const struct sa_out *sa)
{
	const uint64_t ahead = sa->sa.record->rate * AHEAD_SECONDS_OUT;

	return RTE_MIN(RTE_MAX(ahead, 4 * NUMBER_BLOCK_FLEET), 8 * NUMBER_BLOCK_FLEET);
}

// When the other member of a pair begins a block, a standby needs the one after that, and may
// become active before the next write.
static uint64_t out_ahead(const struct sa_out *sa)
{
	uint64_t least = sa->sa.opt.esn ? AHEAD_MIN_OUT_ESN : AHEAD_MIN_OUT;
	uint64_t ahead = RTE_MAX(sa->sa.record->rate * AHEAD_SECONDS_OUT, least);

	if (number_members(&sa->blocks) > 2)
		return fleet_ahead(sa);
	if (sa->blocks.mask != UINT64_MAX)
		ahead = RTE_MAX(ahead, 2 * (sa->blocks.mask + 1));
	return RTE_MIN(ahead, sa->seq_max / AHEAD_PART_OUT);
}

static uint64_t in_ahead(const struct sa_in *sa)
{
	return RTE_MAX(sa->sa.record->rate * AHEAD_SECONDS_IN, AHEAD_MIN_IN);
}

// The nth number that the SA uses next, of a pair above all that the other member is known to use.
static uint64_t out_next(const struct sa_out *sa, uint64_t n)
{
	return number_own_after(
		&sa->blocks, RTE_MAX(sa_out_seq(sa), sa_record_beyond(sa->sa.record)), n);
}

static bool out_needs_more(const struct sa_out *sa)
{
	return sa->sa.ended == DROP_NONE && sa->seq_reserved < sa_out_life_end(sa) &&
	       out_next(sa, out_ahead(sa) / 2) > sa->seq_reserved;
}

// Whether the bound on the disk is too low, or too high because a burst has ended.
static bool in_needs_other(const struct sa_in *sa)
{
	uint64_t top = replay_top(&sa->sa.per_packet.replay), bound = sa->sa.record->bound;

	return top + in_ahead(sa) / 2 > bound || top + 4 * in_ahead(sa) < bound;
}

// Whether numbers above the bound on the disk have been accepted: then it is not written a second
// later, but now.
static bool in_is_behind(const struct sa_in *sa)
{
	return replay_top(&sa->sa.per_packet.replay) > sa->sa.record->bound;
}

static void bound_raise(struct sa *sa)
{
	const struct sa_out *out = sa_out_of(sa);
	struct sa_record *r = sa->record;

	if (sa->opt.direction == SA_IN)
		r->bound = replay_top(&sa->per_packet.replay) + in_ahead(sa_in_of(sa));
	else
		r->bound = RTE_MAX(r->bound, RTE_MIN(out_next(out, out_ahead(out)), out->seq_max));
}

// Raises bounds to numbers that no SA of the configuration reaches for some time. Those of IKE have
// fresh keys, whose numbers no other daemon can have used.
static void bounds_raise(struct reserve *r, const struct snapshot *s)
{
	uint64_t turn = ++r->state.ledger->turn;

	for (unsigned int i = 0; i < s->control->n_sa; i++) {
		struct sa *sa = s->control->sa[i];

		bound_raise(sa);
		sa->record->last_used = turn;
	}
}

// All bounds are on the disk: lets workers use the numbers up to them.
static void allow(struct reserve *r, const struct snapshot *s)
{
	replay_memory_turn_set(r->memory, r->state.ledger->turn);
	for (unsigned int i = 0; i < s->control->n_sa; i++) {
		struct sa *sa = s->control->sa[i];

		if (sa->opt.direction == SA_OUT)
			sa_out_allow(sa_out_of(sa), sa->record->bound);
	}
}

static int write_start(struct reserve *r)
{
	size_t len;
	char *text = sa_ledger_text(r->state.ledger, &len);

	if (text == NULL)
		return -ENOMEM;
	disk_writer_start(r->writer, text, len, r->state.ledger->turn);
	return 0;
}

// The load thread searches the ledger without a lock: only while it makes no snapshot.
static int prune(struct reserve *r)
{
	int rc = sa_ledger_prune(r->state.ledger, UNUSED_MAX);

	if (rc == 0)
		r->n_added = 0;
	return rc;
}

static void note_result(struct reserve *r, int rc)
{
	if (r->behind && rc == 0)
		log_info("%s can be written again", r->state.path);
	r->behind = rc < 0;
}

static int write_now(struct reserve *r, const struct snapshot *s)
{
	int rc = 0;

	if (r->state.ledger->n > s->control->n_sa + 2 * UNUSED_MAX)
		rc = prune(r);
	bounds_raise(r, s);
	if (rc == 0)
		rc = write_start(r);
	if (rc == 0)
		rc = disk_writer_wait(r->writer);
	note_result(r, rc);
	return rc == 0 ? 0
		       : state_refuse("cannot write", r->state.path, -rc,
				 "see state_dir in the documentation");
}

static int record_add(struct reserve *r, struct sa *sa)
{
	int rc = sa_ledger_add(r->state.ledger, sa);

	if (rc < 0)
		return rc;
	sa->record->in_file = true;
	sa->record->member = r->state.member;
	sa->record->block_bits = state_block_bits(&r->state, &sa->opt);
	return 0;
}

static int out_begin(struct reserve *r, struct sa_out *sa)
{
	int rc = record_add(r, &sa->sa);

	if (rc < 0)
		return rc;
	sa_start_behind(&sa->sa, sa->sa.record->bound);
	sa_out_allow(sa, 0);
	sa->sa.record->before = sa_out_seq(sa);
	return 0;
}

// Whether another SA with the key is in use, whose numbers sa_ledger_begin() continues.
static bool in_use(const struct sa_record *record)
{
	const struct sa *sa = record->first;

	while (sa != NULL && !sa->begun)
		sa = sa->next;
	return sa != NULL;
}

static int in_begin(struct reserve *r, struct sa_in *sa)
{
	const _Atomic uint64_t *words = NULL;
	uint32_t n_words;
	int rc = record_add(r, &sa->sa);

	if (rc == 0 && sa->sa.per_packet.replay.size > 0)
		rc = sa_in_window_keep(sa, r->memory, &sa->sa.record->id);
	if (rc < 0)
		return rc;
	if (r->before != NULL)
		words = replay_memory_find(r->before, &sa->sa.record->id, &n_words);
	if (words != NULL)
		replay_take_over(&sa->sa.per_packet.replay, words, n_words, sa->sa.record->bound);
	else if (sa->sa.record->bound > 0 && !in_use(sa->sa.record)) {
		replay_start_behind(&sa->sa.per_packet.replay, sa->sa.record->bound);
		r->n_lost++;
	}
	sa->sa.record->before = replay_top(&sa->sa.per_packet.replay);
	return 0;
}

static int sa_begin(struct reserve *r, struct sa *sa)
{
	return sa->opt.direction == SA_OUT ? out_begin(r, sa_out_of(sa))
					   : in_begin(r, sa_in_of(sa));
}

// Whether the next write can succeed: there is room for another file beside the one that it
// replaces.
static bool can_write(const struct reserve *r)
{
	uint64_t octets = (uint64_t)(r->state.ledger->n + 2) * RECORD_OCTETS;
	struct statvfs disk;

	return !r->behind && statvfs(r->state.path, &disk) == 0 && (disk.f_flag & ST_RDONLY) == 0 &&
	       disk.f_bavail * disk.f_frsize >= octets + disk.f_frsize;
}

int reserve_sa_begin(struct reserve *r, struct sa *sa, bool declared)
{
	int rc;

	if (r == NULL)
		return 0;
	if ((!declared && state_key_is_unknown(&r->state, &sa->opt)) ||
		state_key_is_divided(&r->state, &sa->opt))
		return -EPERM;
	if (!can_write(r))
		return -ENOSPC;
	rc = sa_begin(r, sa);
	if (rc == 0 && ++r->n_added > UNUSED_MAX)
		prune(r); // without memory with the next SA
	return rc;
}

void reserve_meanwhile_set(struct reserve *r, void (*meanwhile)(void *arg), void *arg)
{
	if (r != NULL)
		disk_writer_meanwhile_set(r->writer, meanwhile, arg);
}

// Takes the place of the windows before: once the ledger refers to these, so that a start that
// fails earlier leaves both as they were.
static int memory_replace(struct reserve *r)
{
	if (r->fresh_path[0] == '\0')
		return 0;
	if (rename(r->fresh_path, r->state.memory_path) < 0)
		return state_refuse("cannot make", r->state.memory_path, errno,
			"replay windows are kept there as long as the machine runs");
	r->fresh_path[0] = '\0';
	if (r->n_lost > 0)
		log_info("%s lacks replay windows, as after a start of the machine: packets of "
			 "inbound SAs (%u) are dropped as replay up to the sequence numbers in %s",
			r->state.memory_path, r->n_lost, r->state.path);
	// They are used once only.
	replay_memory_free(r->before);
	r->before = NULL;
	return 0;
}

int reserve_begin(struct reserve *r, const struct snapshot *s)
{
	bool is_start, has_new = false;
	int rc = 0;

	if (r == NULL)
		return 0;
	is_start = r->fresh_path[0] != '\0';
	for (unsigned int i = 0; rc == 0 && i < s->control->n_sa; i++)
		if (!s->control->sa[i]->begun) {
			has_new = true;
			rc = sa_begin(r, s->control->sa[i]);
			disk_writer_meanwhile(r->writer);
		}
	if (rc < 0)
		return state_refuse("cannot use", r->state.memory_path, -rc,
			"replay windows are kept there as long as the machine runs");
	disk_writer_wait(r->writer);
	rc = write_now(r, s);
	if (rc < 0 && !is_start && !has_new)
		return 0; // a full disk refuses no change of anything else; reserve_tick() tries
			  // again
	if (rc == 0)
		rc = memory_replace(r);
	if (rc == 0)
		allow(r, s);
	return rc;
}

// Handles the result of a write.
static void write_done(struct reserve *r, const struct snapshot *s, int rc, uint64_t now_ms)
{
	note_result(r, rc);
	if (rc == 0) {
		allow(r, s);
		return;
	}
	if (now_ms < r->next_complaint_ms)
		return;
	r->next_complaint_ms = now_ms + COMPLAIN_EVERY_MS;
	log_error("cannot write %s: %s; SAs stop when their reserved sequence numbers are used up",
		r->state.path, strerror(-rc));
}

void reserve_collect(struct reserve *r, const struct snapshot *s, uint64_t now_ms)
{
	int rc;

	if (r != NULL && disk_writer_done(r->writer, &rc))
		write_done(r, s, rc, now_ms);
}

// Whether another bound has to be on the disk soon: due, or now.
static bool needs_write(struct sa *sa, bool due)
{
	const struct sa_in *in = sa_in_of(sa);

	if (sa->opt.direction == SA_OUT) {
		sa_record_sample(sa->record, sa_out_seq(sa_out_of(sa)));
		return out_needs_more(sa_out_of(sa));
	}
	sa_record_sample(sa->record, replay_top(&sa->per_packet.replay));
	return in_is_behind(in) || (due && in_needs_other(in));
}

void reserve_tick(struct reserve *r, const struct snapshot *s, uint64_t now_ms)
{
	bool needed;
	int rc;

	if (r == NULL)
		return;
	needed = r->behind && now_ms >= r->next_write_ms;
	for (unsigned int i = 0; i < s->control->n_sa; i++)
		needed |= needs_write(s->control->sa[i], now_ms >= r->next_write_ms);
	if (!needed || disk_writer_busy(r->writer))
		return;
	r->next_write_ms = now_ms + WRITE_EVERY_MS;
	bounds_raise(r, s);
	rc = write_start(r);
	if (rc < 0)
		write_done(r, s, rc, now_ms);
}

void reserve_finish(struct reserve *r, const struct snapshot *s)
{
	int rc;

	if (r == NULL || s == NULL)
		return;
	replay_memory_keep(r->memory);
	disk_writer_wait(r->writer);
	++r->state.ledger->turn;
	for (unsigned int i = 0; i < s->control->n_sa; i++)
		sa_ledger_settle(s->control->sa[i]->record);
	rc = write_start(r);
	if (rc == 0)
		rc = disk_writer_wait(r->writer);
	if (rc == 0)
		replay_memory_turn_set(r->memory, r->state.ledger->turn);
	else
		log_warn(
			"cannot write %s: %s; the next start continues after the reserved sequence "
			"numbers; if the machine is started before, and %s is lost, authentic "
			"packets are dropped as replay up to the numbers reserved",
			r->state.path, strerror(-rc), r->state.memory_path);
}

void reserve_free(struct reserve *r)
{
	if (r == NULL)
		return;
	disk_writer_free(r->writer);
	replay_memory_free(r->before);
	replay_memory_free(r->memory);
	if (r->fresh_path[0] != '\0')
		unlink(r->fresh_path);
	state_close(&r->state);
	free(r);
}
