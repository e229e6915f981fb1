// SPDX-License-Identifier: BSD-3-Clause
#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <rte_common.h>

#include "sa.h"
#include "disk_writer.h"
#include "log.h"
#include "replay_memory.h"
#include "state_file.h"

#define RUN_DIR "/run/culvert"

static int refuse(const char *what, const char *path, int error, const char *advice)
{
	log_error("%s %s: %s; %s", what, path, strerror(error), advice);
	return -error;
}

static int folders_check(const struct conf *conf)
{
	int rc = state_folder_check(conf->state_dir, conf,
		"create it, or set state_dir to another place, or to \"none\" if every start has "
		"new keys");

	return rc < 0 ? rc : state_folder_check(RUN_DIR, conf, "start it as root once");
}

// DPDK tells instances apart by their files below /run, which two containers do not share. Two that
// do share the numbers would use each of them twice.
static int lock_take(struct state *s, const struct conf *conf)
{
	char path[PATH_MAX];
	int rc;

	snprintf(path, sizeof(path), "%s/%s.lock", conf->state_dir, conf->instance);
	rc = state_file_check(path, conf);
	if (rc < 0)
		return rc;
	s->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->lock < 0)
		return refuse("cannot open", path, errno, "see state_dir in the documentation");
	if (flock(s->lock, LOCK_EX | LOCK_NB) == 0)
		return 0;
	return refuse("cannot lock", path, errno,
		"if another daemon holds it, stop that one, or give this one a state_dir and keys "
		"of its own; it takes new keys by culvertctl reload --new-keys");
}

static int table_read(struct state *s, const struct conf *conf)
{
	int rc = state_file_check(s->path, conf);

	if (rc < 0)
		return rc;
	s->table = seq_table_new();
	if (s->table == NULL)
		return -ENOMEM;
	rc = seq_table_read(s->table, s->path);
	if (rc == 0 || rc == -ENOENT)
		return 0;
	return refuse("cannot read", s->path, -rc,
		"the used sequence numbers are unknown: give every SA a new key, here and "
		"at the peer, and remove the file");
}

// The turn is also where it is written a little later, so that a table put back shows: beside it,
// and in memory as long as the machine runs.
static int turn_check(const struct state *s, const struct conf *conf)
{
	uint64_t turn = seq_table_turn(s->table), seen = disk_writer_turn_of(s->lock);
	int rc = state_file_check(s->memory_path, conf);

	if (rc < 0)
		return rc;
	seen = RTE_MAX(seen, replay_memory_turn_of(s->memory_path));
	if (turn >= seen)
		return 0;
	if (turn == 0)
		log_error("%s is missing, with the sequence numbers that keys have used", s->path);
	else
		log_error("%s is outdated: its turn is %" PRIu64 ", the last was %" PRIu64, s->path,
			turn, seen);
	log_error("put the last %s back; or give every SA a new key, here and at the peer, remove "
		  "%s/%s.lock and %s, and declare the keys with --new-keys",
		s->path, conf->state_dir, conf->instance, s->memory_path);
	return -ESTALE;
}

int state_open(struct state *s, const struct conf *conf)
{
	int rc;

	*s = (struct state){.lock = -1};
	snprintf(s->path, sizeof(s->path), "%s/%s.sequence", conf->state_dir, conf->instance);
	snprintf(s->memory_path, sizeof(s->memory_path), RUN_DIR "/%s.replay", conf->instance);
	rc = folders_check(conf);
	if (rc == 0)
		rc = lock_take(s, conf);
	if (rc == 0)
		rc = table_read(s, conf);
	return rc == 0 ? turn_check(s, conf) : rc;
}

void state_close(struct state *s)
{
	seq_table_free(s->table);
	if (s->lock >= 0)
		close(s->lock);
}

// The name of a key that must be known, and is not.
static bool is_unknown(const struct state *s, const struct sa_options *o, struct key_id *name)
{
	if (o->direction != SA_OUT || !cipher_alg_counts(o->cipher))
		return false;
	*name = sa_numbers_id(o);
	return seq_table_find(s->table, name) == NULL;
}

int state_keys_check(const struct state *s, const struct conf *conf, bool declared, FILE *errors)
{
	unsigned int unknown = 0;
	struct key_id name;

	for (unsigned int i = 0; i < conf->n_sas && !declared; i++) {
		const struct conf_sa *sa = &conf->sas[i];

		if (!is_unknown(s, &sa->opt, &name))
			continue;
		fprintf(errors, "%s:%u: sa \"%s\": no sequence numbers are recorded for its key\n",
			sa->where.file, sa->where.line, sa->live.name);
		unknown++;
	}
	if (unknown == 0)
		return 0;
	fprintf(errors,
		"if these keys were never used, declare them with --new-keys; if they were, put "
		"the "
		"last %s back, or make new keys here and at the peer\n",
		s->path);
	return -EPERM;
}

// Returns how many, or -ENOMEM.
static int unknown_add(struct state *s, const struct conf *conf, FILE *out)
{
	struct key_id name;
	int n = 0;

	for (unsigned int i = 0; i < conf->n_sas; i++) {
		if (!is_unknown(s, &conf->sas[i].opt, &name))
			continue;
		if (seq_table_get(s->table, &name) == NULL)
			return -ENOMEM;
		fprintf(out, "sa \"%s\": its key is new\n", conf->sas[i].live.name);
		n++;
	}
	return n;
}

static int table_save(struct state *s)
{
	size_t len;
	char *text;
	int rc;

	seq_table_turn_begin(s->table);
	if (seq_table_token(s->table)[0] == '\0')
		seq_table_set_token(s->table, "none"); // no windows belong to it
	text = seq_table_text(s->table, &len);
	if (text == NULL)
		return -ENOMEM;
	rc = seq_text_save(s->path, text, len);
	free(text);
	return rc;
}

int state_keys_declare(const struct conf *conf, FILE *out)
{
	struct state s;
	int rc;

	if (conf->state_dir == NULL) {
		fputs("state_dir is \"none\": nothing is recorded\n", out);
		return 0;
	}
	rc = state_open(&s, conf);
	if (rc == 0) {
		rc = unknown_add(&s, conf, out);
		if (rc == 0)
			fputs("every key has recorded sequence numbers\n", out);
		if (rc > 0)
			rc = table_save(&s);
		if (rc < 0)
			refuse("cannot write", s.path, -rc, "see state_dir in the documentation");
	}
	state_close(&s);
	return rc;
}
