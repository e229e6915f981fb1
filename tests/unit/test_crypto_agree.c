// SPDX-License-Identifier: BSD-3-Clause
// Every engine against every other, on random bursts. Proves that each opens the packets of the
// others, and none opens a damaged packet.
//
//   test_crypto_agree [OPERATIONS [SEED]]
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "crypto.h"

#define ENGINES_MAX  4
#define KEYS         3 // of each pair of algorithms, without ESN and with it
#define SAS_MAX      256
#define BURST_MAX    100 // more than any engine processes at once
#define WORKERS      2
#define TEXT_MAX     9000
#define TEXT_OFF_MAX 24 // ESP header and IV
#define PACKET_MAX   (TEXT_OFF_MAX + TEXT_MAX + CRYPTO_ICV_MAX)
#define SKIPPED      77

struct sa {
	struct crypto_key key;
	uint8_t cipher_key[CRYPTO_CIPHER_KEY_MAX], auth_key[CRYPTO_AUTH_KEY_MAX];
	struct crypto_session *seal[ENGINES_MAX], *open[ENGINES_MAX]; // NULL: lacks the algorithms
};

struct packet {
	const struct sa *sa;
	uint64_t seq;
	uint16_t text_len, len;
	bool damaged;
	uint8_t octets[PACKET_MAX];
};

static unsigned long operations = 5000;
static uint64_t seed = 1;

static struct sa sas[SAS_MAX];
static const char *engines[ENGINES_MAX];
static unsigned int n_sas, n_engines;
static uint64_t seq;

static struct packet clear[BURST_MAX], sealed[BURST_MAX], opened[BURST_MAX];

static uint32_t draw(uint32_t below)
{
	static uint64_t x;

	if (x == 0)
		x = seed;
	x = x * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)((x >> 32) * below >> 32);
}

static void fill(uint8_t *out, size_t n)
{
	for (size_t i = 0; i < n; i++)
		out[i] = (uint8_t)draw(256);
}

static void sa_init(struct sa *sa, const struct cipher_alg *c, const struct auth_alg *a, bool esn)
{
	fill(sa->cipher_key, sizeof(sa->cipher_key));
	fill(sa->auth_key, sizeof(sa->auth_key));
	sa->key = (struct crypto_key){c, a, sa->cipher_key, sa->auth_key, esn, 0};
	fill((uint8_t *)&sa->key.iv_mask, sizeof(sa->key.iv_mask));
	for (unsigned int e = 0; e < n_engines; e++) {
		const char *name = engines[e];

		sa->seal[e] = crypto_session_new(&sa->key, CRYPTO_SEAL, name, WORKERS);
		sa->open[e] = crypto_session_new(&sa->key, CRYPTO_OPEN, name, WORKERS);
	}
}

static int setup(void **state)
{
	(void)state;
	for (const struct cipher_alg *c = cipher_algs; c->name != NULL; c++)
		for (const struct auth_alg *a = auth_algs; a->name != NULL; a++)
			for (int k = 0; alg_pair_ok(c, a) && k < 2 * KEYS; k++) {
				assert_in_range(n_sas, 0, SAS_MAX - 1);
				sa_init(&sas[n_sas++], c, a, k >= KEYS);
			}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < n_sas; i++) {
		for (unsigned int e = 0; e < n_engines; e++) {
			crypto_session_free(sas[i].seal[e]);
			crypto_session_free(sas[i].open[e]);
		}
	}
	return 0;
}

// Small sizes, those of the Internet, and all others.
static uint16_t draw_text_len(uint8_t block)
{
	static const uint32_t below[] = {128, 1500, TEXT_MAX - 16};
	uint32_t len = draw(below[draw(3)]);

	return (uint16_t)(len - len % block + block);
}

static void packet_draw(struct packet *p, const struct sa *sa)
{
	const struct cipher_alg *c = sa->key.cipher;

	p->sa = sa;
	p->seq = ++seq | (sa->key.esn ? (uint64_t)draw(UINT32_MAX) << 32 : 0);
	p->text_len = draw_text_len(c->block);
	p->len = (uint16_t)(8 + c->iv_len + p->text_len + alg_pair_icv_len(c, sa->key.auth));
	p->damaged = false;
	fill(p->octets, p->len);
}

static struct crypto_op op_for(struct packet *p, struct crypto_session *s)
{
	return (struct crypto_op){
		.session = s, .esp = p->octets, .seq = p->seq, .text_len = p->text_len};
}

static void packet_damage(struct packet *p)
{
	uint32_t bit = draw(p->len * 8u);

	p->octets[bit / 8] ^= (uint8_t)(1u << bit % 8);
	p->damaged = true;
}

static void fail_packet(const struct packet *p, unsigned int sealer, unsigned int opener)
{
	fail_msg("seed %lu: sealed by %s, opened by %s: %s %s, sequence number %lu, %u octets%s",
		(unsigned long)seed, engines[sealer], engines[opener], p->sa->key.cipher->name,
		p->sa->key.auth->name, (unsigned long)p->seq, p->text_len,
		p->damaged ? ", damaged" : "");
}

// In another order than they were sealed, as packets are received.
static void check_open(unsigned int sealer, unsigned int opener, unsigned int n)
{
	unsigned int first = draw(n);
	struct crypto_op ops[BURST_MAX];

	for (unsigned int i = 0; i < n; i++) {
		struct packet *p = &opened[i];

		*p = sealed[(first + i) % n];
		ops[i] = op_for(p, p->sa->open[opener]);
	}
	crypto_open(ops, (uint16_t)n, draw(WORKERS));
	for (unsigned int i = 0; i < n; i++) {
		struct packet *p = &opened[i];
		unsigned int text_off = 8u + p->sa->key.cipher->iv_len;
		const uint8_t *text = clear[(first + i) % n].octets + text_off;

		if (ops[i].ok == p->damaged)
			fail_packet(p, sealer, opener);
		if (ops[i].ok && memcmp(p->octets + text_off, text, p->text_len) != 0)
			fail_packet(p, sealer, opener);
	}
}

// If sealing is deterministic, all engines produce the same octets.
static void check_seal(unsigned int sealer, unsigned int other, unsigned int n)
{
	struct crypto_op ops[BURST_MAX];

	for (unsigned int i = 0; i < n; i++) {
		opened[i] = clear[i];
		ops[i] = op_for(&opened[i], clear[i].sa->seal[other]);
	}
	crypto_seal(ops, (uint16_t)n, draw(WORKERS));
	for (unsigned int i = 0; i < n; i++)
		if (clear[i].sa->key.cipher->mode != CIPHER_CBC &&
			memcmp(opened[i].octets, sealed[i].octets, sealed[i].len) != 0)
			fail_packet(&sealed[i], sealer, other);
}

// Whether all sessions that the burst needs exist.
static bool can(const struct sa *sa, unsigned int a, unsigned int b)
{
	return sa->seal[a] != NULL && sa->seal[b] != NULL && sa->open[b] != NULL;
}

// A burst is of one SA, of one pair of algorithms or of anything.
static unsigned int burst_draw(unsigned int a, unsigned int b)
{
	static const unsigned int bursts[] = {1, 2, 4, 8, 16, 32, 64, BURST_MAX};
	unsigned int n = 1 + draw(bursts[draw(8)]), around = draw(n_sas), spread = draw(3);
	unsigned int made = 0;

	for (unsigned int i = 0; i < n; i++) {
		unsigned int sa = spread == 0   ? around
				  : spread == 1 ? around - around % KEYS + draw(KEYS)
						: draw(n_sas);

		if (can(&sas[sa], a, b))
			packet_draw(&clear[made++], &sas[sa]);
	}
	return made;
}

static unsigned int check_burst(unsigned int a, unsigned int b)
{
	unsigned int n = burst_draw(a, b);
	struct crypto_op ops[BURST_MAX];

	if (n == 0)
		return 0;
	for (unsigned int i = 0; i < n; i++) {
		sealed[i] = clear[i];
		ops[i] = op_for(&sealed[i], sealed[i].sa->seal[a]);
	}
	crypto_seal(ops, (uint16_t)n, draw(WORKERS));
	for (unsigned int i = 0; i < n; i++)
		assert_true(ops[i].ok);
	check_seal(a, b, n);
	for (unsigned int i = 0; i < n; i++)
		if (draw(16) == 0)
			packet_damage(&sealed[i]);
	check_open(a, b, n);
	return n;
}

static void test_agree(void **state)
{
	(void)state;
	for (unsigned int a = 0; a < n_engines; a++) {
		for (unsigned int b = 0; b < n_engines; b++) {
			unsigned long done = 0, idle = 0;

			while (a != b && done < operations && idle < 1000) {
				unsigned int n = check_burst(a, b);

				done += n;
				idle = n == 0 ? idle + 1 : 0;
			}
			if (a != b)
				printf("%s seals, %s opens: %lu operations\n", engines[a],
					engines[b], done);
		}
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_agree)};

	if (argc > 1)
		operations = strtoul(argv[1], NULL, 10);
	if (argc > 2)
		seed = strtoull(argv[2], NULL, 10);
	printf("engines:");
	for (const char *const *e = crypto_engine_names; *e != NULL; e++) {
		bool there = crypto_engine_built_in(*e);

		printf(" %s%s", *e, there ? "" : " (not built, its library was missing)");
		if (there)
			engines[n_engines++] = *e;
	}
	printf("; seed %lu\n", (unsigned long)seed);
	if (n_engines < 2)
		return SKIPPED;
	return cmocka_run_group_tests(tests, setup, teardown);
}
