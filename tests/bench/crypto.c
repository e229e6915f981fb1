// SPDX-License-Identifier: BSD-3-Clause
// What sealing and opening cost: TSC cycles per packet, by algorithm, direction and octets of text.
//
//   bench_crypto [SESSIONS]
//
// Packets come in bursts and go round SESSIONS sessions (1). A figure is the median of several
// rounds over the whole table, so that what else the machine does falls on all rows alike.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "crypto.h"

#define BURST      32
#define ROUNDS     11
#define PACKET_MAX 2048

static const uint16_t text_lens[] = {64, 512, 1408}; // 1408: 1400 filled up to whole blocks

#define LENS RTE_DIM(text_lens)

struct row {
	struct crypto_key key;
	enum crypto_dir dir;
	double cycles[LENS][ROUNDS]; // per packet
};

static uint8_t key_octets[CRYPTO_CIPHER_KEY_MAX];
static uint8_t sealed[PACKET_MAX];
static uint8_t packets[BURST][PACKET_MAX] __rte_cache_aligned;

static struct crypto_session *session_new(const struct crypto_key *key, enum crypto_dir dir)
{
	struct crypto_session *s = crypto_session_new(key, dir, "auto", 1);

	if (s == NULL) {
		perror(key->cipher->name);
		exit(EXIT_FAILURE);
	}
	return s;
}

// Leaves in sealed a packet that every session with the key opens.
static void seal_one(const struct crypto_key *key, uint16_t text_len)
{
	struct crypto_session *s = session_new(key, CRYPTO_SEAL);
	struct crypto_op op = {.session = s, .esp = sealed, .seq = 1, .text_len = text_len};

	crypto_seal(&op, 1, 0);
	crypto_session_free(s);
}

static double measure(struct crypto_session *sessions[], size_t n_sessions, enum crypto_dir dir,
	uint16_t text_len)
{
	size_t bursts = RTE_MAX(500UL, 2 * n_sessions / BURST);
	struct crypto_op ops[BURST];
	uint64_t cycles = 0;

	for (size_t b = 0; b < bursts; b++) {
		for (unsigned int i = 0; i < BURST; i++) {
			memcpy(packets[i], sealed, sizeof(sealed));
			ops[i] = (struct crypto_op){
				.session = sessions[(b * BURST + i) % n_sessions],
				.esp = packets[i],
				.seq = b * BURST + i,
				.text_len = text_len,
			};
		}
		uint64_t start = rte_rdtsc_precise();

		if (dir == CRYPTO_SEAL)
			crypto_seal(ops, BURST, 0);
		else
			crypto_open(ops, BURST, 0);
		cycles += rte_rdtsc_precise() - start;
		for (unsigned int i = 0; i < BURST; i++)
			if (!ops[i].ok)
				abort();
	}
	return (double)cycles / (double)(bursts * BURST);
}

// In memory, sessions lie in the order they were made; packets come in any.
static void shuffle(struct crypto_session *sessions[], size_t n)
{
	for (size_t i = n - 1; i > 0; i--) {
		size_t j = (size_t)rand() % (i + 1);
		struct crypto_session *s = sessions[i];

		sessions[i] = sessions[j];
		sessions[j] = s;
	}
}

static void row_run(struct row *r, unsigned int round, size_t n_sessions)
{
	struct crypto_session **sessions = calloc(n_sessions, sizeof(*sessions));

	if (sessions == NULL)
		abort();
	for (size_t i = 0; i < n_sessions; i++)
		sessions[i] = session_new(&r->key, r->dir);
	shuffle(sessions, n_sessions);
	for (unsigned int l = 0; l < LENS; l++) {
		seal_one(&r->key, text_lens[l]);
		r->cycles[l][round] = measure(sessions, n_sessions, r->dir, text_lens[l]);
	}
	for (size_t i = 0; i < n_sessions; i++)
		crypto_session_free(sessions[i]);
	free(sessions);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void row_print(struct row *r)
{
	printf("%-12s %-18s %s", r->key.cipher->name, r->key.auth->name,
		r->dir == CRYPTO_SEAL ? "seal" : "open");
	for (unsigned int l = 0; l < LENS; l++) {
		qsort(r->cycles[l], ROUNDS, sizeof(double), compare);
		printf(" %6.0f", r->cycles[l][ROUNDS / 2]);
	}
	printf("\n");
}

int main(int argc, char **argv)
{
	size_t n_sessions = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	static struct row rows[64];
	unsigned int n = 0;

	if (argc > 2 || n_sessions == 0) {
		fprintf(stderr, "usage: %s [SESSIONS]\n", argv[0]);
		return EXIT_FAILURE;
	}
	for (const struct cipher_alg *c = cipher_algs; c->name != NULL; c++)
		for (const struct auth_alg *a = auth_algs; a->name != NULL; a++)
			for (unsigned int dir = CRYPTO_SEAL;
				alg_pair_ok(c, a) && dir <= CRYPTO_OPEN; dir++)
				rows[n++] = (struct row){
					.key = {c, a, key_octets, key_octets}, .dir = dir};

	for (unsigned int round = 0; round < ROUNDS; round++)
		for (unsigned int i = 0; i < n; i++)
			row_run(&rows[i], round, n_sessions);

	printf("%-36s", "cycles per packet, octets of text:");
	for (unsigned int l = 0; l < LENS; l++)
		printf(" %6u", text_lens[l]);
	printf("\n");
	for (unsigned int i = 0; i < n; i++)
		row_print(&rows[i]);
	return EXIT_SUCCESS;
}
