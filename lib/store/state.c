// SPDX-License-Identifier: BSD-3-Clause
#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_common.h>

#include "sa.h"
#include "disk_writer.h"
#include "file_save.h"
#include "log.h"
#include "number_block.h"
#include "replay_memory.h"

#define RUN_DIR       "/run/culvert"
#define SEQUENCE_RISK "others could cause sequence numbers to be reused"
#define DIR_ADVICE                                                                                 \
	"create it, or set state_dir to another place, or to \"none\" if every start has new keys"

int state_refuse(const char *what, const char *path, int error, const char *advice)
{
	log_error("%s %s: %s; %s", what, path, error == EBADMSG ? "it is damaged" : strerror(error),
		advice);
	return -error;
}

static bool is_trusted(uid_t owner, const struct conf *conf)
{
	const struct passwd *user;

	if (owner == 0 || owner == geteuid())
		return true;
	user = conf->user != NULL ? getpwnam(conf->user) : NULL;
	return user != NULL && owner == user->pw_uid;
}

// Not through a symbolic link: its owner could choose another file.
static int check(const char *path, mode_t type, const struct conf *conf, const char *risk,
	char *why, size_t size)
{
	struct stat st;

	if (lstat(path, &st) < 0) {
		snprintf(why, size, "%s: %s", path, strerror(errno));
		return -errno;
	}
	if ((st.st_mode & S_IFMT) != type)
		snprintf(why, size, "%s is not a %s, %s: move it away", path,
			type == S_IFDIR ? "folder" : "regular file", risk);
	else if (!is_trusted(st.st_uid, conf))
		snprintf(why, size, "%s belongs to user %u, %s: chown %u %s", path, st.st_uid, risk,
			geteuid(), path);
	else if ((st.st_mode & 022) != 0)
		snprintf(why, size, "%s has mode %04o, %s: chmod go-w %s", path, st.st_mode & 07777,
			risk, path);
	else
		return 0;
	return -EPERM;
}

int folder_check(
	const char *path, const struct conf *conf, const char *risk, char *why, size_t size)
{
	return check(path, S_IFDIR, conf, risk, why, size);
}

static int state_check(const char *path, mode_t type, const struct conf *conf)
{
	char why[2 * PATH_MAX + 256];
	int rc = check(path, type, conf, SEQUENCE_RISK, why, sizeof(why));

	if (rc == -EPERM)
		log_error("%s", why);
	return rc;
}

// Makes a folder of mode 0700 if there is none, and checks it.
static int folder_make(const char *path, const struct conf *conf, const char *advice)
{
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return state_refuse("cannot create", path, errno, advice);
	return state_check(path, S_IFDIR, conf);
}

// Checks a file in such a folder, which therefore nobody else can exchange afterwards. It need not
// exist.
static int file_check(const char *path, const struct conf *conf)
{
	int rc = state_check(path, S_IFREG, conf);

	return rc == -ENOENT ? 0 : rc;
}

int state_dir_check(const struct conf *conf)
{
	char parent[PATH_MAX];
	struct stat st;

	if (conf->state_dir == NULL)
		return 0;
	if (stat(conf->state_dir, &st) == 0)
		return S_ISDIR(st.st_mode) ? 0 : state_check(conf->state_dir, S_IFDIR, conf);
	if (errno != ENOENT)
		return 0; // perhaps only this user must not see it
	snprintf(parent, sizeof(parent), "%s", conf->state_dir);
	if (stat(dirname(parent), &st) < 0 && errno == ENOENT)
		return state_refuse("cannot create", conf->state_dir, ENOENT, DIR_ADVICE);
	return 1;
}

static int folders_check(const struct conf *conf)
{
	int rc = folder_make(conf->state_dir, conf, DIR_ADVICE);

	return rc < 0 ? rc : folder_make(RUN_DIR, conf, "start it as root once");
}

// DPDK detects a second instance of a name by its files below /run, which two containers do not
// share. If they shared state_dir, both would use the same numbers.
static int lock_take(struct state *s, const struct conf *conf)
{
	char path[PATH_MAX];
	struct stat st;
	int rc;

	snprintf(path, sizeof(path), "%s/%s.lock", conf->state_dir, conf->instance);
	rc = file_check(path, conf);
	if (rc < 0)
		return rc;
	s->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->lock < 0)
		return state_refuse(
			"cannot open", path, errno, "see state_dir in the documentation");
	if (fstat(s->lock, &st) < 0 || st.st_nlink != 1) // the turn would be written there
		return state_refuse("cannot use", path, EMLINK, "move it away");
	if (flock(s->lock, LOCK_EX | LOCK_NB) == 0)
		return 0;
	return state_refuse("cannot lock", path, errno,
		"if another daemon holds it, stop that one, or give this one a state_dir and keys "
		"of its own; it takes new keys by culvertctl reload --new-keys");
}

static int ledger_read(struct state *s, const struct conf *conf)
{
	int rc = file_check(s->path, conf);

	if (rc < 0)
		return rc;
	rc = sa_ledger_read(s->ledger, s->path);
	if (rc == 0 || rc == -ENOENT)
		return 0;
	return state_refuse("cannot read", s->path, -rc,
		"the used sequence numbers are unknown: give every SA a new key, here and "
		"at the peer, remove the file, and declare the keys with --new-keys");
}

// The number of the turn is also written to the lock file, and to memory that persists as long as
// the machine runs: after the file, so that a higher one there means that the file is an older
// copy.
static int turn_check(const struct state *s, const struct conf *conf)
{
	uint64_t turn = s->ledger->turn, seen = disk_writer_turn_of(s->lock);
	int rc = file_check(s->memory_path, conf);

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

int state_open(struct state *s, const struct conf *conf, struct sa_ledger *ledger)
{
	int rc;

	*s = (struct state){.lock = -1,
		.ledger = ledger,
		.member = RTE_MAX(conf->pair_member, conf->fleet_member), // one of them is 0
		.fleet = conf->fleet_member != 0};
	snprintf(s->path, sizeof(s->path), "%s/%s.sequence", conf->state_dir, conf->instance);
	snprintf(s->memory_path, sizeof(s->memory_path), RUN_DIR "/%s.replay", conf->instance);
	rc = folders_check(conf);
	if (rc == 0)
		rc = lock_take(s, conf);
	if (rc == 0)
		rc = ledger_read(s, conf);
	return rc == 0 ? turn_check(s, conf) : rc;
}

void state_close(struct state *s)
{
	if (s->lock >= 0)
		close(s->lock);
}

static const struct sa_record *record_of(const struct state *s, const struct sa_options *o)
{
	struct key_id id = sa_numbers_id(o);
	const struct sa_record *record = sa_ledger_find(s->ledger, &id);

	return record != NULL && record->in_file ? record : NULL;
}

bool state_key_is_unknown(const struct state *s, const struct sa_options *o)
{
	return o->direction == SA_OUT && cipher_alg_counts(o->cipher) && record_of(s, o) == NULL;
}

unsigned int state_block_bits(const struct state *s, const struct sa_options *o)
{
	if (s->member == 0)
		return 0;
	if (s->fleet)
		return NUMBER_BLOCK_BITS_FLEET;
	return o->esn ? NUMBER_BLOCK_BITS_ESN : NUMBER_BLOCK_BITS;
}

bool state_key_is_divided(const struct state *s, const struct sa_options *o)
{
	const struct sa_record *r = o->direction == SA_OUT ? record_of(s, o) : NULL;

	return r != NULL && r->bound > 0 &&
	       (r->member != s->member ||
		       ((r->block_bits != 0 || s->fleet) && // a pair may have had others
			       r->block_bits != state_block_bits(s, o)));
}

static void key_refuse(FILE *errors, const struct conf_sa *sa, const char *why)
{
	fprintf(errors, "%s:%u: sa \"%s\": %s\n", sa->where.file, sa->where.line, sa->live.name,
		why);
}

int state_keys_check(const struct state *s, const struct conf *conf, bool declared, FILE *errors)
{
	unsigned int unknown = 0, divided = 0;

	for (unsigned int i = 0; i < conf->n_sas; i++) {
		const struct conf_sa *sa = &conf->sas[i];

		if (!declared && state_key_is_unknown(s, &sa->opt)) {
			key_refuse(errors, sa, "no sequence numbers are recorded for its key");
			unknown++;
		} else if (state_key_is_divided(s, &sa->opt)) {
			key_refuse(errors, sa,
				"its key was used with another value of pair.member, fleet.member "
				"or esn, or without that");
			divided++;
		}
	}
	if (unknown > 0)
		fprintf(errors,
			"if these keys were never used, declare them with --new-keys; if they "
			"were, put the last %s back, or make new keys here and at the peer\n",
			s->path);
	if (divided > 0)
		fputs("make new keys, on all members of the pair or fleet and at the peer\n",
			errors);
	return unknown > 0 || divided > 0 ? -EPERM : 0;
}

// Returns the number of records added, or -ENOMEM.
static int unknown_add(struct state *s, const struct conf *conf, FILE *out)
{
	struct key_id id;
	int n = 0;

	for (unsigned int i = 0; i < conf->n_sas; i++) {
		if (!state_key_is_unknown(s, &conf->sas[i].opt))
			continue;
		id = sa_numbers_id(&conf->sas[i].opt);
		if (sa_ledger_keep(s->ledger, &id) == NULL)
			return -ENOMEM;
		fprintf(out, "sa \"%s\": its key is new\n", conf->sas[i].live.name);
		n++;
	}
	return n;
}

static int ledger_save(struct state *s)
{
	size_t len;
	char *text;
	int rc;

	++s->ledger->turn;
	if (s->ledger->token[0] == '\0')
		strcpy(s->ledger->token, "none"); // there is no file of replay windows
	text = sa_ledger_text(s->ledger, &len);
	if (text == NULL)
		return -ENOMEM;
	rc = file_save(s->path, text, len);
	free(text);
	return rc;
}

int state_keys_declare(const struct conf *conf, FILE *out)
{
	struct sa_ledger *ledger;
	struct state s;
	int rc;

	if (conf->state_dir == NULL) {
		fputs("state_dir is \"none\": nothing is recorded\n", out);
		return 0;
	}
	ledger = sa_ledger_new();
	if (ledger == NULL)
		return -ENOMEM;
	rc = state_open(&s, conf, ledger);
	if (rc == 0) {
		rc = unknown_add(&s, conf, out);
		if (rc == 0)
			fputs("every key has recorded sequence numbers\n", out);
		if (rc > 0)
			rc = ledger_save(&s);
		if (rc < 0)
			state_refuse(
				"cannot write", s.path, -rc, "see state_dir in the documentation");
	}
	state_close(&s);
	sa_ledger_free(ledger);
	return rc;
}
