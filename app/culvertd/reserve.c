// SPDX-License-Identifier: BSD-3-Clause
#include "reserve.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <rte_common.h>

#include "disk_writer.h"
#include "log.h"
#include "replay_memory.h"
#include "state.h"

#define BOOT_ID_LEN 36

// How far ahead of its traffic an SA is on the disk: so many seconds, so that writing is rare. An
// outbound one has at least what 50 million packets a second use before that is noticed and while
// the disk is written to: 2^24 numbers last 0.33 s. They are a 256th of those that there are
// without ESN, and a crash costs them; with ESN, which has enough, 2^28 last 5 s. An inbound one
// takes nothing up to there after the power failed, so it has little; and the machine is off for as
// long.
#define AHEAD_SECONDS_OUT 20
#define AHEAD_SECONDS_IN  5
#define AHEAD_MIN_OUT     (UINT64_C(1) << 24)
#define AHEAD_MIN_OUT_ESN (UINT64_C(1) << 28)
#define AHEAD_PART_OUT    16 // of all numbers, at most
#define AHEAD_MIN_IN      UINT64_C(16)
#define TICKS_PER_SECOND  10
#define WRITE_EVERY_MS    1000
#define COMPLAIN_EVERY_MS 10000
// Keys that no SA has any more and that are remembered all the same, in case one comes back.
#define UNUSED_MAX 100000

struct reserve {
	struct state state;
	struct replay_memory *memory, *before;
	struct disk_writer *writer;
	uint64_t next_write_ms, next_complaint_ms;
	bool behind; // the last text did not get to the disk, which knows less than the records
};

static int refuse(const char *what, const char *path, int error, const char *advice)
{
	log_error("%s %s: %s; %s", what, path, strerror(error), advice);
	return -error;
}

// So that a file in memory is not mistaken for one from before the machine was started.
static int token_make(char token[SEQ_TOKEN_MAX])
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
	snprintf(token, SEQ_TOKEN_MAX, "%s-%016" PRIx64, boot, random);
	return 0;
}

static int memory_make(struct reserve *r)
{
	const char *old = seq_table_token(r->state.table);
	char token[SEQ_TOKEN_MAX];
	int rc = token_make(token);

	if (rc < 0)
		return rc;
	if (strncmp(old, token, BOOT_ID_LEN) == 0)
		r->before = replay_memory_open(r->state.memory_path, old);
	r->memory = replay_memory_new(r->state.memory_path, token);
	if (r->memory == NULL)
		return refuse("cannot make", r->state.memory_path, errno,
			"replay windows are kept there as long as the machine runs");
	seq_table_set_token(r->state.table, token);
	return 0;
}

int reserve_open(struct reserve **reserve, const struct conf *conf)
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
	rc = state_open(&r->state, conf);
	if (rc == 0 && seq_table_turn(r->state.table) == 0)
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

// The number goes back when an SA begins where the one that it replaces is.
static void measure(struct seq_record *r, uint64_t seq)
{
	uint64_t used = seq > r->before ? seq - r->before : 0;

	r->rate = (7 * r->rate + used * TICKS_PER_SECOND) / 8;
	r->before = seq;
}

static uint64_t out_ahead(const struct sa_out *sa)
{
	uint64_t least = sa->sa.opt.esn ? AHEAD_MIN_OUT_ESN : AHEAD_MIN_OUT;
	uint64_t ahead = RTE_MAX(sa->sa.record->rate * AHEAD_SECONDS_OUT, least);

	return RTE_MIN(ahead, sa->seq_max / AHEAD_PART_OUT);
}

static uint64_t in_ahead(const struct sa_in *sa)
{
	return RTE_MAX(sa->sa.record->rate * AHEAD_SECONDS_IN, AHEAD_MIN_IN);
}

static bool out_needs_more(const struct sa_out *sa)
{
	return sa->sa.ended == DROP_NONE && sa->seq_reserved < sa_out_life_end(sa) &&
	       sa_out_seq(sa) + out_ahead(sa) / 2 > sa->seq_reserved;
}

// Or less: a burst is over.
static bool in_needs_other(const struct sa_in *sa)
{
	uint64_t top = replay_top(&sa->replay), bound = sa->sa.record->bound;

	return top + in_ahead(sa) / 2 > bound || top + 4 * in_ahead(sa) < bound;
}

// The disk says less than has come: a burst, for which nobody waits a second.
static bool in_is_behind(const struct sa_in *sa)
{
	return replay_top(&sa->replay) > sa->sa.record->bound;
}

// What the disk is to say: bounds that none will have reached for some time.
static char *text_make(struct reserve *r, const struct snapshot *s, size_t *len)
{
	uint64_t turn = seq_table_turn_begin(r->state.table);

	for (unsigned int i = 0; i < s->n_sa_out; i++) {
		struct sa_out *sa = s->sa_out[i];
		uint64_t bound = RTE_MIN(sa_out_seq(sa) + out_ahead(sa), sa->seq_max);

		sa->sa.record->bound = RTE_MAX(sa->sa.record->bound, bound);
		sa->sa.record->last_used = turn;
	}
	for (unsigned int i = 0; i < s->n_sa_in; i++) {
		struct sa_in *sa = s->sa_in[i];

		sa->sa.record->bound = replay_top(&sa->replay) + in_ahead(sa);
		sa->sa.record->last_used = turn;
	}
	if (seq_table_count(r->state.table) > s->n_sa_in + s->n_sa_out + 2 * UNUSED_MAX &&
		seq_table_prune(r->state.table, UNUSED_MAX) < 0)
		return NULL;
	return seq_table_text(r->state.table, len);
}

// The disk knows all bounds.
static void allow(struct reserve *r, const struct snapshot *s)
{
	replay_memory_turn_set(r->memory, seq_table_turn(r->state.table));
	for (unsigned int i = 0; i < s->n_sa_out; i++)
		sa_out_allow(s->sa_out[i], s->sa_out[i]->sa.record->bound);
}

static int write_start(struct reserve *r, const struct snapshot *s)
{
	size_t len;
	char *text = text_make(r, s, &len);

	if (text == NULL)
		return -ENOMEM;
	disk_writer_start(r->writer, text, len, seq_table_turn(r->state.table));
	return 0;
}

static void note_result(struct reserve *r, int rc)
{
	if (r->behind && rc == 0)
		log_info("%s can be written again", r->state.path);
	r->behind = rc < 0;
}

static int write_now(struct reserve *r, const struct snapshot *s)
{
	int rc = write_start(r, s);

	if (rc == 0)
		rc = disk_writer_wait(r->writer);
	note_result(r, rc);
	return rc == 0 ? 0
		       : refuse("cannot write", r->state.path, -rc,
				 "see state_dir in the documentation");
}

static int record_take(struct reserve *r, struct sa *sa)
{
	const struct key_id name = sa_numbers_id(&sa->opt);

	sa->record = seq_table_get(r->state.table, &name);
	if (sa->record == NULL)
		return -ENOMEM;
	sa->record->users++;
	return 0;
}

static int out_begin(struct reserve *r, struct sa_out *sa)
{
	int rc = record_take(r, &sa->sa);

	if (rc < 0)
		return rc;
	sa_out_start_behind(sa, sa->sa.record->bound);
	sa_out_allow(sa, 0);
	sa->sa.record->before = sa_out_seq(sa);
	return 0;
}

static int in_begin(struct reserve *r, struct sa_in *sa)
{
	const _Atomic uint64_t *words = NULL;
	uint32_t n_words;
	int rc = record_take(r, &sa->sa);

	if (rc == 0 && sa->replay.size > 0)
		rc = replay_keep_in(&sa->replay, r->memory, &sa->sa.record->id);
	if (rc < 0)
		return rc;
	if (r->before != NULL)
		words = replay_memory_find(r->before, &sa->sa.record->id, &n_words);
	if (words != NULL)
		replay_take_over(&sa->replay, words, n_words, sa->sa.record->bound);
	else if (sa->sa.record->bound > 0)
		replay_start_behind(&sa->replay, sa->sa.record->bound);
	sa->sa.record->before = replay_top(&sa->replay);
	return 0;
}

int reserve_begin(struct reserve *r, const struct snapshot *s)
{
	int rc = 0;

	if (r == NULL)
		return 0;
	for (unsigned int i = 0; rc == 0 && i < s->n_sa_out; i++)
		if (s->sa_out[i]->sa.record == NULL)
			rc = out_begin(r, s->sa_out[i]);
	for (unsigned int i = 0; rc == 0 && i < s->n_sa_in; i++)
		if (s->sa_in[i]->sa.record == NULL)
			rc = in_begin(r, s->sa_in[i]);
	if (rc < 0)
		return refuse("cannot use", r->state.memory_path, -rc,
			"replay windows are kept there as long as the machine runs");
	disk_writer_wait(r->writer);
	rc = write_now(r, s);
	if (rc < 0)
		return rc;
	allow(r, s);
	// What the process before left counts once only.
	replay_memory_free(r->before);
	r->before = NULL;
	return 0;
}

// What came of the text that the writer was given last.
static void written(struct reserve *r, const struct snapshot *s, int rc, uint64_t now_ms)
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
		written(r, s, rc, now_ms);
}

void reserve_tick(struct reserve *r, const struct snapshot *s, uint64_t now_ms)
{
	bool needed;
	int rc;

	if (r == NULL)
		return;
	needed = r->behind && now_ms >= r->next_write_ms;
	for (unsigned int i = 0; i < s->n_sa_in; i++) {
		measure(s->sa_in[i]->sa.record, replay_top(&s->sa_in[i]->replay));
		needed |= in_is_behind(s->sa_in[i]) ||
			  (now_ms >= r->next_write_ms && in_needs_other(s->sa_in[i]));
	}
	for (unsigned int i = 0; i < s->n_sa_out; i++) {
		measure(s->sa_out[i]->sa.record, sa_out_seq(s->sa_out[i]));
		needed |= out_needs_more(s->sa_out[i]);
	}
	if (!needed || disk_writer_busy(r->writer))
		return;
	r->next_write_ms = now_ms + WRITE_EVERY_MS;
	rc = write_start(r, s);
	if (rc < 0)
		written(r, s, rc, now_ms);
}

void reserve_finish(struct reserve *r, const struct snapshot *s)
{
	size_t len;
	char *text;

	if (r == NULL)
		return;
	disk_writer_wait(r->writer);
	seq_table_turn_begin(r->state.table);
	for (unsigned int i = 0; i < s->n_sa_out; i++)
		s->sa_out[i]->sa.record->bound = sa_out_seq(s->sa_out[i]);
	for (unsigned int i = 0; i < s->n_sa_in; i++)
		s->sa_in[i]->sa.record->bound = replay_top(&s->sa_in[i]->replay);
	text = seq_table_text(r->state.table, &len);
	if (text == NULL) // what the disk knows does as well
		return;
	disk_writer_start(r->writer, text, len, seq_table_turn(r->state.table));
	if (disk_writer_wait(r->writer) == 0)
		replay_memory_turn_set(r->memory, seq_table_turn(r->state.table));
}

void reserve_free(struct reserve *r)
{
	if (r == NULL)
		return;
	disk_writer_free(r->writer);
	replay_memory_free(r->before);
	replay_memory_free(r->memory);
	state_close(&r->state);
	free(r);
}
