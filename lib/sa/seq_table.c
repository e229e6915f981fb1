// SPDX-License-Identifier: BSD-3-Clause
#include "seq_table.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <search.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_hash_crc.h>

#include "hex.h"

#define HEADER       "culvert sequence numbers 2"
#define LINE_MAX_LEN 256

struct seq_table {
	void *tree; // of struct seq_record, by id (tsearch)
	struct seq_record **records;
	unsigned int n, room;
	uint64_t turn;
	char token[SEQ_TOKEN_MAX];
};

static int compare(const void *a, const void *b)
{
	const struct seq_record *x = a, *y = b;

	return memcmp(&x->id, &y->id, sizeof(x->id));
}

struct seq_table *seq_table_new(void)
{
	return calloc(1, sizeof(struct seq_table));
}

void seq_table_free(struct seq_table *t)
{
	if (t == NULL)
		return;
	for (unsigned int i = 0; i < t->n; i++) {
		tdelete(t->records[i], &t->tree, compare);
		free(t->records[i]);
	}
	free(t->records);
	free(t);
}

static bool make_room(struct seq_table *t)
{
	unsigned int room = t->room == 0 ? 64 : 2 * t->room;
	struct seq_record **more;

	if (t->n < t->room)
		return true;
	more = realloc(t->records, room * sizeof(more[0]));
	if (more == NULL)
		return false;
	t->records = more;
	t->room = room;
	return true;
}

struct seq_record *seq_table_get(struct seq_table *t, const struct key_id *id)
{
	struct seq_record *fresh = calloc(1, sizeof(*fresh)), **found = NULL;

	if (fresh == NULL || !make_room(t))
		goto no_memory;
	fresh->id = *id;
	found = tsearch(fresh, &t->tree, compare);
	if (found == NULL)
		goto no_memory;
	if (*found == fresh)
		t->records[t->n++] = fresh;
	else
		free(fresh);
	return *found;
no_memory:
	free(fresh);
	errno = ENOMEM;
	return NULL;
}

struct seq_record *seq_table_find(const struct seq_table *t, const struct key_id *id)
{
	const struct seq_record wanted = {.id = *id};
	struct seq_record **found = tfind(&wanted, &t->tree, compare);

	return found != NULL ? *found : NULL;
}

unsigned int seq_table_count(const struct seq_table *t)
{
	return t->n;
}

uint64_t seq_table_turn_begin(struct seq_table *t)
{
	return ++t->turn;
}

uint64_t seq_table_turn(const struct seq_table *t)
{
	return t->turn;
}

static int by_age(const void *a, const void *b)
{
	const struct seq_record *x = *(struct seq_record *const *)a;
	const struct seq_record *y = *(struct seq_record *const *)b;

	return (x->last_used > y->last_used) - (x->last_used < y->last_used);
}

int seq_table_prune(struct seq_table *t, unsigned int max)
{
	struct seq_record **unused = calloc(t->n + 1, sizeof(unused[0]));
	unsigned int n = 0, kept = 0;

	if (unused == NULL)
		return -ENOMEM;
	for (unsigned int i = 0; i < t->n; i++)
		if (t->records[i]->users == 0)
			unused[n++] = t->records[i];
	qsort(unused, n, sizeof(unused[0]), by_age);
	for (unsigned int i = 0; i + max < n; i++)
		unused[i]->users = UINT_MAX; // to go
	free(unused);
	for (unsigned int i = 0; i < t->n; i++) {
		struct seq_record *r = t->records[i];

		if (r->users != UINT_MAX) {
			t->records[kept++] = r;
			continue;
		}
		tdelete(r, &t->tree, compare);
		free(r);
	}
	t->n = kept;
	return 0;
}

void seq_table_set_token(struct seq_table *t, const char *token)
{
	snprintf(t->token, sizeof(t->token), "%s", token);
}

const char *seq_table_token(const struct seq_table *t)
{
	return t->token;
}

// The name in hexadecimal digits, bound and turn: "0123...cdef 4294967296 17"
static int record_read(struct seq_table *t, const char *line)
{
	struct key_id id;
	char text[2 * sizeof(id) + 1];
	uint64_t bound, last_used;
	struct seq_record *r;
	int end = 0;

	if (sscanf(line, "%64s %" SCNu64 " %" SCNu64 "%n", text, &bound, &last_used, &end) != 3 ||
		line[end] != '\n' || hex_parse(id.octets, sizeof(id), text) != sizeof(id))
		return -EBADMSG;
	r = seq_table_get(t, &id);
	if (r == NULL)
		return -ENOMEM;
	r->bound = bound;
	r->last_used = last_used;
	t->turn = RTE_MAX(t->turn, last_used);
	return 0;
}

// The last line: how many records there are, and the CRC of all lines before. So a number that the
// disk has damaged is not taken for another.
static void end_format(char line[LINE_MAX_LEN], unsigned int n, uint32_t crc)
{
	snprintf(line, LINE_MAX_LEN, "end %u %08" PRIx32 "\n", n, crc);
}

static bool line_read(char line[LINE_MAX_LEN], uint32_t *crc, FILE *f)
{
	if (fgets(line, LINE_MAX_LEN, f) == NULL)
		return false;
	*crc = rte_hash_crc(line, (uint32_t)strlen(line), *crc);
	return true;
}

static int lines_read(struct seq_table *t, FILE *f)
{
	char line[LINE_MAX_LEN], end[LINE_MAX_LEN];
	uint32_t crc = 0, before;
	int rc = 0;

	if (!line_read(line, &crc, f) || strcmp(line, HEADER "\n") != 0)
		return -EBADMSG;
	if (!line_read(line, &crc, f) ||
		sscanf(line, "start %63s %" SCNu64, t->token, &t->turn) < 1)
		return -EBADMSG;
	for (before = crc; rc == 0 && line_read(line, &crc, f); before = crc) {
		end_format(end, t->n, before);
		if (strcmp(line, end) == 0)
			return fgetc(f) == EOF ? 0 : -EBADMSG;
		rc = record_read(t, line);
	}
	return rc < 0 ? rc : -EBADMSG;
}

int seq_table_read(struct seq_table *t, const char *path)
{
	FILE *f = fopen(path, "re");
	int rc;

	if (f == NULL)
		return -errno;
	rc = lines_read(t, f);
	if (ferror(f))
		rc = -EIO;
	fclose(f);
	return rc;
}

static void record_write(FILE *f, const struct seq_record *r)
{
	char id[2 * sizeof(r->id) + 1];

	hex_format(id, r->id.octets, sizeof(r->id));
	fprintf(f, "%s %" PRIu64 " %" PRIu64 "\n", id, r->bound, r->last_used);
}

char *seq_table_text(const struct seq_table *t, size_t *len)
{
	char *text = NULL, end[LINE_MAX_LEN];
	FILE *f = open_memstream(&text, len);
	bool failed;

	if (f == NULL)
		return NULL;
	fprintf(f, HEADER "\nstart %s %" PRIu64 "\n", t->token, t->turn);
	for (unsigned int i = 0; i < t->n; i++)
		record_write(f, t->records[i]);
	failed = fflush(f) != 0; // from here on text and *len are what was written
	end_format(end, t->n, failed ? 0 : rte_hash_crc(text, (uint32_t)*len, 0));
	fputs(end, f);
	failed = failed || ferror(f) != 0;
	if (fclose(f) == 0 && !failed)
		return text;
	free(text);
	errno = ENOMEM;
	return NULL;
}

static int write_all(int fd, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		len -= (size_t)n;
	}
	return fsync(fd) == 0 ? 0 : -errno;
}

// The name is on the disk only when its directory is.
static int sync_directory_of(const char *path)
{
	char copy[PATH_MAX];
	int fd, rc;

	snprintf(copy, sizeof(copy), "%s", path);
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = fsync(fd) == 0 ? 0 : -errno;
	close(fd);
	return rc;
}

int seq_text_save(const char *path, const char *text, size_t len)
{
	char fresh[PATH_MAX];
	int fd, rc;

	if ((size_t)snprintf(fresh, sizeof(fresh), "%s.new", path) >= sizeof(fresh))
		return -ENAMETOOLONG;
	fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	rc = write_all(fd, text, len);
	if (close(fd) < 0 && rc == 0)
		rc = -errno;
	if (rc == 0 && rename(fresh, path) < 0)
		rc = -errno;
	if (rc < 0) {
		unlink(fresh);
		return rc;
	}
	return sync_directory_of(path);
}
