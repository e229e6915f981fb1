// SPDX-License-Identifier: BSD-3-Clause
// The keyed hash. Proves that keys chosen to collide, and sequential keys, are distributed like
// random ones.
#include <math.h>

#include <rte_jhash.h>

#include "addr.h"
#include "flow_pkt.h"
#include "hash_key.h"
#include "test.h"

#define BUCKETS 1024

struct bins {
	unsigned int n[BUCKETS];
};

static struct hash_key random_key(uint64_t *seed)
{
	struct hash_key key;

	for (size_t i = 0; i < COUNT_OF(key.word); i++)
		key.word[i] = random_u64(seed);
	return key;
}

// The distance of the bins from a uniform distribution, in standard deviations of chi-square.
static double unevenness(const struct bins *b, unsigned int n)
{
	double mean = (double)n / BUCKETS, sum = 0;

	for (unsigned int i = 0; i < BUCKETS; i++)
		sum += (b->n[i] - mean) * (b->n[i] - mean) / mean;
	return (sum - (BUCKETS - 1)) / sqrt(2. * (BUCKETS - 1));
}

// Addresses of one network, with its port, as the neighbour table has them.
static uint32_t neighbour_word(uint64_t word[3], uint32_t host)
{
	word[0] = RTE_BE64(0x20010db800000000);
	word[1] = rte_cpu_to_be_64(host);
	word[2] = 1;
	return rte_jhash(word, 3 * sizeof(word[0]), 0);
}

// Collisions that an attacker could compute when the table was hashed by rte_jhash() with seed 0.
static void test_chosen_neighbours(void **state)
{
	struct bins bins = {0};
	unsigned int n = 0;
	uint64_t word[3];

	(void)state;
	for (uint32_t host = 1; n < BUCKETS; host++)
		if (neighbour_word(word, host) % BUCKETS == 7) {
			bins.n[keyed_hash(&test_hash_key, word, 3) % BUCKETS]++;
			n++;
		}
	assert_true(unevenness(&bins, n) < 6);
}

// A set that collides under one key does not under another.
static void test_chosen_for_other_key(void **state)
{
	uint64_t word[FLOW_KEY_WORDS] = {0}, seed = 3;
	struct hash_key other = random_key(&seed);
	struct bins high = {0}, low = {0};
	unsigned int n = 0;

	(void)state;
	for (uint64_t i = 0; n < BUCKETS; i++) {
		word[1] = i * 0x100000001;
		word[4] = i;
		if (keyed_hash(&other, word, FLOW_KEY_WORDS) % BUCKETS != 7)
			continue;

		uint64_t hash = keyed_hash(&test_hash_key, word, FLOW_KEY_WORDS);

		low.n[hash % BUCKETS]++;
		high.n[(uint32_t)hash >> 22]++;
		n++;
	}
	assert_true(unevenness(&low, n) < 6);
	assert_true(unevenness(&high, n) < 6);
}

// Flow i of a sequence: another port, another host, or both.
static struct flow_key sequence_key(unsigned int kind, uint32_t i)
{
	uint32_t host = kind == 0 ? 0 : kind == 1 ? i : i % 32;
	uint32_t port = kind == 0 ? i : kind == 1 ? 0 : i / 32;

	return (struct flow_key){.addr = {ip_addr_from_v4(rte_cpu_to_be_32(0x0a000001 + host)),
					 ip_addr_from_v4(RTE_BE32(0xc6120001))},
		.port = {rte_cpu_to_be_16((uint16_t)(1024 + port)), RTE_BE16(80)},
		.proto = 17};
}

static double sequence_unevenness(unsigned int kind, const struct hash_key *key)
{
	struct bins bins = {0};

	for (uint32_t i = 0; i < BUCKETS; i++) {
		struct flow_key k = sequence_key(kind, i);

		bins.n[(uint32_t)keyed_hash(key, k.q, FLOW_KEY_WORDS) >> 22]++;
	}
	return unevenness(&bins, BUCKETS);
}

// A multiplication alone distributes a sequence of ports well under most keys and badly under some.
static void test_sequences(void **state)
{
	uint64_t seed = 11;

	(void)state;
	for (unsigned int kind = 0; kind < 3; kind++)
		for (unsigned int i = 0; i < 2000; i++) {
			struct hash_key key = random_key(&seed);
			double far = sequence_unevenness(kind, &key);

			if (far > 7)
				fail_msg("kind %u, key %u: %.1f standard deviations", kind, i, far);
		}
}

// The hash depends on each word and each bit of it.
static void test_words(void **state)
{
	uint64_t word[HASH_WORDS_MAX] = {0};

	(void)state;
	for (unsigned int n = 1; n <= HASH_WORDS_MAX; n++) {
		uint64_t hash = keyed_hash(&test_hash_key, word, n);

		for (unsigned int bit = 0; bit < 64 * n; bit++) {
			word[bit / 64] ^= 1ull << bit % 64;
			assert_int_not_equal(
				(uint32_t)keyed_hash(&test_hash_key, word, n), (uint32_t)hash);
			word[bit / 64] ^= 1ull << bit % 64;
		}
	}
}

static void test_draw(void **state)
{
	struct hash_key a = {{0}}, b = {{0}};

	(void)state;
	assert_int_equal(hash_key_draw(&a), 0);
	assert_int_equal(hash_key_draw(&b), 0);
	for (size_t i = 0; i < COUNT_OF(a.word); i++)
		assert_int_not_equal(a.word[i], b.word[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chosen_neighbours),
		cmocka_unit_test(test_chosen_for_other_key),
		cmocka_unit_test(test_sequences),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_draw),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
