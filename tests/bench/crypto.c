// SPDX-License-Identifier: BSD-3-Clause
// The cost of sealing and opening: TSC cycles per packet, by algorithm, direction, engine and
// octets of text.
//
//   bench_crypto [--alg NAME] [--bursts N,...] [--sessions N,...] [--rounds N] [--json]
//
// Packets are processed in bursts (32), and use the sessions (1) in turn. NAME is a cipher, or its
// first letters. A figure is the median of several rounds over the whole table, so that other work
// of the machine affects all rows alike.

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "core.h"
#include "crypto.h"
#include "median.h"

#define BURST_MAX  64
#define LIST_MAX   16
#define ROUNDS_MAX 99
#define ROWS_MAX   4096
#define PACKET_MAX 2048
#define STRIDE     2368 // stride of packets, as in a pool of mbufs

static const uint16_t text_lens[] = {64, 512, 1408}; // 1408: 1400 padded to whole blocks

#define LENS RTE_DIM(text_lens)

struct list {
	unsigned int n, v[LIST_MAX];
};

static struct {
	const char *alg;
	struct list bursts, sessions;
	unsigned int rounds;
	bool json;
} options = {.alg = "", .bursts = {1, {32}}, .sessions = {1, {1}}, .rounds = 11};

struct row {
	struct crypto_key key;
	enum crypto_dir dir;
	const char *engine;
	unsigned int burst, n_sessions;
	double cycles[LENS][ROUNDS_MAX]; // per packet
};

static uint8_t key_octets[CRYPTO_CIPHER_KEY_MAX];
static uint8_t sealed[PACKET_MAX];
static uint8_t packets[BURST_MAX][STRIDE] __rte_cache_aligned;

static struct crypto_session *session_new(const struct row *r, enum crypto_dir dir)
{
	struct crypto_session *s = crypto_session_new(&r->key, dir, r->engine, 1);

	if (s == NULL) {
		perror(r->key.cipher->name);
		exit(EXIT_FAILURE);
	}
	return s;
}

// Writes to sealed a packet that every session with the key can open.
static void seal_one(const struct row *r, uint16_t text_len)
{
	struct crypto_session *s = session_new(r, CRYPTO_SEAL);
	struct crypto_op op = {.session = s, .esp = sealed, .seq = 1, .text_len = text_len};

	crypto_seal(&op, 1, 0);
	crypto_session_free(s);
}

static double measure(const struct row *r, struct crypto_session *sessions[], uint16_t text_len)
{
	unsigned int burst = r->burst;
	size_t bursts = RTE_MAX(4096UL, 2UL * r->n_sessions) / burst;
	struct crypto_op ops[BURST_MAX];
	uint64_t cycles = 0;

	for (size_t b = 0; b < bursts; b++) {
		for (unsigned int i = 0; i < burst; i++) {
			memcpy(packets[i], sealed, sizeof(sealed));
			ops[i] = (struct crypto_op){
				.session = sessions[(b * burst + i) % r->n_sessions],
				.esp = packets[i],
				.seq = b * burst + i,
				.text_len = text_len,
			};
		}
		uint64_t start = rte_rdtsc_precise();

		if (r->dir == CRYPTO_SEAL)
			crypto_seal(ops, (uint16_t)burst, 0);
		else
			crypto_open(ops, (uint16_t)burst, 0);
		cycles += rte_rdtsc_precise() - start;
		for (unsigned int i = 0; i < burst; i++)
			if (!ops[i].ok)
				abort();
	}
	return (double)cycles / (double)(bursts * burst);
}

// Sessions are in memory in the order in which they were made; packets use them in any order.
static void shuffle(struct crypto_session *sessions[], size_t n)
{
	for (size_t i = n - 1; i > 0; i--) {
		size_t j = (size_t)rand() % (i + 1);
		struct crypto_session *s = sessions[i];

		sessions[i] = sessions[j];
		sessions[j] = s;
	}
}

static void row_run(struct row *r, unsigned int round)
{
	struct crypto_session **sessions = calloc(r->n_sessions, sizeof(*sessions));

	if (sessions == NULL)
		abort();
	for (size_t i = 0; i < r->n_sessions; i++)
		sessions[i] = session_new(r, r->dir);
	shuffle(sessions, r->n_sessions);
	for (unsigned int l = 0; l < LENS; l++) {
		seal_one(r, text_lens[l]);
		r->cycles[l][round] = measure(r, sessions, text_lens[l]);
	}
	for (size_t i = 0; i < r->n_sessions; i++)
		crypto_session_free(sessions[i]);
	free(sessions);
}

static void row_print(struct row *r)
{
	const char *dir = r->dir == CRYPTO_SEAL ? "out" : "in";

	if (!options.json) {
		printf("%-17s %-18s %-3s %-8s %5u %8u", r->key.cipher->name, r->key.auth->name, dir,
			r->engine, r->burst, r->n_sessions);
		for (unsigned int l = 0; l < LENS; l++)
			printf(" %6.0f", median(r->cycles[l], options.rounds));
		printf("\n");
		return;
	}
	for (unsigned int l = 0; l < LENS; l++)
		printf("{\"alg\":\"%s\",\"auth\":\"%s\",\"engine\":\"%s\",\"dir\":\"%s\","
		       "\"size\":%u,\"burst\":%u,\"sas\":%u,\"cycles\":%.0f,"
		       "\"core_clock\":%.3f}\n",
			r->key.cipher->name, r->key.auth->name, r->engine, dir, text_lens[l],
			r->burst, r->n_sessions, median(r->cycles[l], options.rounds),
			core_measure().clock);
}

static struct list list_parse(const char *text, unsigned int max)
{
	struct list list = {0};
	char *end;

	do {
		unsigned long v = strtoul(text, &end, 10);

		if (end == text || v == 0 || v > max || list.n == LIST_MAX) {
			fprintf(stderr, "%s: not a list of numbers from 1 to %u\n", text, max);
			exit(EXIT_FAILURE);
		}
		list.v[list.n++] = (unsigned int)v;
		text = end + 1;
	} while (*end == ',');
	return list;
}

static void options_parse(int argc, char **argv)
{
	static const struct option known[] = {
		{"alg", required_argument, NULL, 'a'},
		{"bursts", required_argument, NULL, 'b'},
		{"sessions", required_argument, NULL, 's'},
		{"rounds", required_argument, NULL, 'r'},
		{"json", no_argument, NULL, 'j'},
		{0},
	};

	for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
		switch (c) {
		case 'a':
			options.alg = optarg;
			break;
		case 'b':
			options.bursts = list_parse(optarg, BURST_MAX);
			break;
		case 's':
			options.sessions = list_parse(optarg, 1000000);
			break;
		case 'r':
			options.rounds = list_parse(optarg, ROUNDS_MAX).v[0];
			break;
		case 'j':
			options.json = true;
			break;
		default:
			exit(EXIT_FAILURE);
		}
	}
}

// One row with a column for each engine that has the algorithms.
static unsigned int rows_add(struct row rows[], unsigned int n, struct row r)
{
	for (const char *const *e = crypto_engine_names; *e != NULL; e++) {
		r.engine = *e;

		struct crypto_session *s = crypto_session_new(&r.key, r.dir, r.engine, 1);

		if (s != NULL && n < ROWS_MAX)
			rows[n++] = r;
		crypto_session_free(s);
	}
	return n;
}

static unsigned int rows_init(struct row rows[])
{
	const struct list *bursts = &options.bursts, *sessions = &options.sessions;
	unsigned int n = 0;

	for (const struct cipher_alg *c = cipher_algs; c->name != NULL; c++) {
		for (const struct auth_alg *a = auth_algs; a->name != NULL; a++) {
			if (!alg_pair_ok(c, a) ||
				strncmp(c->name, options.alg, strlen(options.alg)) != 0)
				continue;
			for (unsigned int i = 0; i < 2 * bursts->n * sessions->n; i++)
				n = rows_add(rows, n,
					(struct row){
						.key = {c, a, key_octets, key_octets, false},
						.dir = i / (bursts->n * sessions->n),
						.burst = bursts->v[i % bursts->n],
						.n_sessions =
							sessions->v[i / bursts->n % sessions->n],
					});
		}
	}
	return n;
}

int main(int argc, char **argv)
{
	static struct row rows[ROWS_MAX];

	options_parse(argc, argv);

	unsigned int n = rows_init(rows);

	for (unsigned int round = 0; round < options.rounds; round++)
		for (unsigned int i = 0; i < n; i++)
			row_run(&rows[i], round);

	if (!options.json) {
		printf("core clock %.2f: core cycles in a TSC cycle\n", core_measure().clock);
		printf("%-48s %5s %8s", "cycles per packet, by octets of text:", "burst",
			"sessions");
		for (unsigned int l = 0; l < LENS; l++)
			printf(" %6u", text_lens[l]);
		printf("\n");
	}
	for (unsigned int i = 0; i < n; i++)
		row_print(&rows[i]);
	return EXIT_SUCCESS;
}
