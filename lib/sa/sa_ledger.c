// SPDX-License-Identifier: BSD-3-Clause
#include "sa_ledger.h"

#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_hash_crc.h>

#include "hex.h"

#define HEADER       "culvert sequence numbers 2"
#define LINE_MAX_LEN 256

#define SAMPLES_PER_SECOND 10
// More in a sample are not of traffic: the sender has left out numbers.
#define SAMPLE_MAX (NUMBER_BLOCK / 2)

static int compare(const void *a, const void *b)
{
	const struct sa_record *x = a, *y = b;

	return memcmp(&x->id, &y->id, sizeof(x->id));
}

struct sa_ledger *sa_ledger_new(void)
{
	return calloc(1, sizeof(struct sa_ledger));
}

void sa_ledger_free(struct sa_ledger *l)
{
	if (l == NULL)
		return;
	tdestroy(l->tree, free);
	free(l);
}

struct sa_record *sa_ledger_find(const struct sa_ledger *l, const struct key_id *id)
{
	const struct sa_record wanted = {.id = *id};
	struct sa_record **found = tfind(&wanted, &l->tree, compare);

	return found != NULL ? *found : NULL;
}

// In the order of compare().
static int compare_short(const void *a, const void *b)
{
	return memcmp(a, ((const struct sa_record *)b)->id.octets, SA_SHORT_ID);
}

struct sa_record *sa_ledger_find_short(const struct sa_ledger *l, const uint8_t start[SA_SHORT_ID])
{
	struct sa_record **found = tfind(start, &l->tree, compare_short);

	return found != NULL ? *found : NULL;
}

uint64_t sa_record_beyond(const struct sa_record *r)
{
	return RTE_MAX(r->learnt, r->left_out);
}

// The number is lower than before when an SA starts at the number of the one that it replaces.
void sa_record_sample(struct sa_record *r, uint64_t seq)
{
	uint64_t used = seq > r->before ? seq - r->before : 0;

	if (used > SAMPLE_MAX)
		used = 0;
	r->rate = (7 * r->rate + used * SAMPLES_PER_SECOND) / 8;
	r->before = seq;
}

// Adds it if there is none. NULL with errno ENOMEM.
static struct sa_record *record_get(struct sa_ledger *l, const struct key_id *id)
{
	struct sa_record *record = sa_ledger_find(l, id);

	if (record != NULL)
		return record;
	record = calloc(1, sizeof(*record));
	if (record == NULL)
		return NULL;
	record->id = *id;
	if (tsearch(record, &l->tree, compare) == NULL) {
		free(record);
		return NULL;
	}
	l->n++;
	return record;
}

static void record_free(struct sa_ledger *l, struct sa_record *record)
{
	tdelete(record, &l->tree, compare);
	free(record);
	l->n--;
}

struct sa_record *sa_ledger_keep(struct sa_ledger *l, const struct key_id *id)
{
	struct sa_record *record = record_get(l, id);

	if (record != NULL)
		record->in_file = true;
	return record;
}

static bool is_same(const struct sa *sa, const struct sa_params *p)
{
	struct sa_options opt = p->opt;

	if (p->follows)
		opt.local = sa->opt.local;
	return sa->by_grant == p->by_grant && sa_options_equal(&sa->opt, &opt);
}

struct sa *sa_ledger_take(const struct sa_ledger *l, const struct sa_params *p)
{
	const struct key_id id = sa_numbers_id(&p->opt);
	const struct sa_record *record = sa_ledger_find(l, &id);
	struct sa *sa = record != NULL ? record->first : NULL;

	while (sa != NULL && !is_same(sa, p))
		sa = sa->next;
	if (sa == NULL)
		sa = sa_new(p, p->opt.direction);
	if (sa != NULL)
		sa->refs++;
	return sa;
}

int sa_ledger_add(struct sa_ledger *l, struct sa *sa)
{
	const struct key_id id = sa_numbers_id(&sa->opt);

	if (sa->record != NULL)
		return 0;
	sa->record = record_get(l, &id);
	if (sa->record == NULL)
		return -ENOMEM;
	if (sa->record->first == NULL && sa->opt.direction == SA_OUT)
		sa->record->used = RTE_MAX(sa->record->used, sa->record->bound);
	sa->next = sa->record->first;
	sa->record->first = sa;
	return 0;
}

// Continues the counters and the lifetime of an SA with the same key.
static void sa_continue(struct sa *sa, const struct sa *old)
{
	for (unsigned int i = 0; i < sa->n_workers; i++) {
		sa->per_worker[i] = old->per_worker[i];
		sa->per_worker[i].per_packet = sa->per_packet;
	}
	sa->lifetime.start_ms = old->lifetime.start_ms;
	sa->seen_ms = old->seen_ms;
	sa->seen_bytes = old->seen_bytes;
	sa->looked_ms = old->looked_ms;
	sa->rate = old->rate;
}

// The last number that the member may use of a key that it had before. Another one may have
// accepted packets with it meanwhile: those are left out when this one has a bound above them.
static uint64_t granted_of(const struct sa *sa)
{
	bool was_others = sa->opt.direction == SA_IN && sa->record->left_out > sa_numbers_used(sa);

	return was_others ? sa_numbers_used(sa) : sa->record->reported;
}

void sa_ledger_begin(struct sa *sa)
{
	uint64_t used = sa->record->used, ahead = sa->opt.direction == SA_OUT ? SA_LEDGER_AHEAD : 0;

	if (sa->begun)
		return;
	sa->begun = true;
	for (struct sa *old = sa->record->first; old != NULL; old = old->next)
		if (old->begun && old != sa) {
			used = RTE_MAX(used, sa_numbers_used(old) + ahead);
			sa_continue(sa, old);
		}
	sa->record->begun = used;
	if (used > 0)
		sa_start_behind(sa, used);
	if (sa_granted(sa) == 0) // of a fleet
		sa_grant(sa, granted_of(sa));
	sa->record->before = sa_numbers_used(sa);
}

// Marks the numbers that an old SA may have accepted after its successors had started after it: in
// passes of workers that still had the old snapshot.
static void gap_mark(const struct sa_record *record, uint64_t top)
{
	uint64_t first = RTE_MAX(record->begun, top - RTE_MIN(top, SA_LEDGER_AHEAD)) + 1;

	for (struct sa *sa = record->first; sa != NULL; sa = sa->next)
		for (uint64_t seq = first; sa->begun && seq <= top; seq++)
			replay_commit(&sa->per_packet.replay, seq);
}

void sa_ledger_settle(struct sa_record *record)
{
	record->bound = record->used;
	for (const struct sa *sa = record->first; sa != NULL; sa = sa->next)
		record->bound = RTE_MAX(record->bound, sa_numbers_used(sa));
}

static void sa_remove(struct sa_record *record, const struct sa *sa)
{
	struct sa **at = &record->first;
	uint64_t used = sa_numbers_used(sa);

	while (*at != sa)
		at = &(*at)->next;
	*at = sa->next;
	if (!sa->begun)
		return;
	record->used = RTE_MAX(record->used, used);
	if (sa->opt.direction == SA_IN)
		gap_mark(record, used);
	if (record->first == NULL)
		sa_ledger_settle(record);
}

void sa_ledger_release(struct sa_ledger *l, struct sa *sa)
{
	struct sa_record *record = sa->record;

	if (--sa->refs > 0)
		return;
	if (record != NULL)
		sa_remove(record, sa);
	// IKE never uses keys again.
	if (record != NULL && record->first == NULL && !record->in_file &&
		(record->used == 0 || sa_options_group(&sa->opt) != 0))
		record_free(l, record);
	sa_free(sa);
}

struct unused {
	struct sa_record **records;
	unsigned int n;
};

static void unused_collect(const void *node, VISIT visit, void *arg)
{
	struct sa_record *record = *(struct sa_record *const *)node;
	struct unused *unused = arg;

	if ((visit == postorder || visit == leaf) && record->first == NULL)
		unused->records[unused->n++] = record;
}

static int by_age(const void *a, const void *b)
{
	const struct sa_record *x = *(struct sa_record *const *)a;
	const struct sa_record *y = *(struct sa_record *const *)b;

	return (x->last_used > y->last_used) - (x->last_used < y->last_used);
}

int sa_ledger_prune(struct sa_ledger *l, unsigned int max)
{
	struct unused unused = {calloc(l->n + 1, sizeof(unused.records[0])), 0};

	if (unused.records == NULL)
		return -ENOMEM;
	twalk_r(l->tree, unused_collect, &unused);
	qsort(unused.records, unused.n, sizeof(unused.records[0]), by_age);
	for (unsigned int i = 0; i + max < unused.n; i++)
		record_free(l, unused.records[i]);
	free(unused.records);
	return 0;
}

// The id in hexadecimal digits, bound, turn, and of a pair or fleet the member and the bits of its
// blocks: "0123...cdef 4294967296 17 2 24"
static int record_read(struct sa_ledger *l, const char *line)
{
	struct key_id id;
	char text[2 * sizeof(id) + 1];
	uint64_t bound, last_used;
	unsigned int member = 0, block_bits = 0;
	struct sa_record *record;
	int end = 0;

	if (sscanf(line, "%64s %" SCNu64 " %" SCNu64 "%n %2u%n %2u%n", text, &bound, &last_used,
		    &end, &member, &end, &block_bits, &end) < 3 ||
		line[end] != '\n' || hex_parse(id.octets, sizeof(id), text) != sizeof(id))
		return -EBADMSG;
	record = sa_ledger_keep(l, &id);
	if (record == NULL)
		return -ENOMEM;
	record->bound = bound;
	record->last_used = last_used;
	record->member = member;
	record->block_bits = block_bits;
	l->turn = RTE_MAX(l->turn, last_used);
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

static int lines_read(struct sa_ledger *l, FILE *f)
{
	char line[LINE_MAX_LEN], end[LINE_MAX_LEN];
	uint32_t crc = 0, before;
	int rc = 0;

	if (!line_read(line, &crc, f) || strcmp(line, HEADER "\n") != 0)
		return -EBADMSG;
	if (!line_read(line, &crc, f) ||
		sscanf(line, "start %63s %" SCNu64, l->token, &l->turn) < 1)
		return -EBADMSG;
	for (before = crc; rc == 0 && line_read(line, &crc, f); before = crc) {
		end_format(end, l->n, before);
		if (strcmp(line, end) == 0)
			return fgetc(f) == EOF ? 0 : -EBADMSG;
		rc = record_read(l, line);
	}
	return rc < 0 ? rc : -EBADMSG;
}

int sa_ledger_read(struct sa_ledger *l, const char *path)
{
	FILE *f = fopen(path, "re");
	int rc;

	if (f == NULL)
		return -errno;
	rc = lines_read(l, f);
	if (ferror(f))
		rc = -EIO;
	fclose(f);
	return rc;
}

struct text {
	FILE *f;
	unsigned int n; // records
};

static void record_write(const void *node, VISIT visit, void *arg)
{
	const struct sa_record *record = *(struct sa_record *const *)node;
	char id[2 * sizeof(record->id) + 1];
	struct text *text = arg;

	if ((visit != postorder && visit != leaf) || !record->in_file)
		return;
	hex_format(id, record->id.octets, sizeof(record->id));
	fprintf(text->f, "%s %" PRIu64 " %" PRIu64, id, record->bound, record->last_used);
	if (record->member > 0)
		fprintf(text->f, " %u", record->member);
	if (record->block_bits > 0)
		fprintf(text->f, " %u", record->block_bits);
	fputc('\n', text->f);
	text->n++;
}

char *sa_ledger_text(const struct sa_ledger *l, size_t *len)
{
	char *octets = NULL, end[LINE_MAX_LEN];
	struct text text = {open_memstream(&octets, len), 0};
	bool failed;

	if (text.f == NULL)
		return NULL;
	fprintf(text.f, HEADER "\nstart %s %" PRIu64 "\n", l->token, l->turn);
	twalk_r(l->tree, record_write, &text);
	failed = fflush(text.f) != 0; // from here on octets and *len are the written ones
	end_format(end, text.n, failed ? 0 : rte_hash_crc(octets, (uint32_t)*len, 0));
	fputs(end, text.f);
	failed = failed || ferror(text.f) != 0;
	if (fclose(text.f) == 0 && !failed)
		return octets;
	free(octets);
	errno = ENOMEM;
	return NULL;
}
