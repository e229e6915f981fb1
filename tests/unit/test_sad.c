// SPDX-License-Identifier: BSD-3-Clause
// The table of inbound SAs. Proves that every SPI in it is found, and no other.
#include "sad.h"
#include "test.h"

#define MANY 10000

static struct sa_in *sas[MANY];

static int sas_make(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < MANY; i++) {
		sas[i] = aligned_alloc(RTE_CACHE_LINE_SIZE, sizeof(*sas[i]));
		if (sas[i] == NULL)
			return -1;
		memset(sas[i], 0, sizeof(*sas[i]));
	}
	return 0;
}

static int sas_free(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < MANY; i++)
		free(sas[i]);
	return 0;
}

static void spi_set(unsigned int i, uint32_t spi)
{
	sas[i]->sa.spi = rte_cpu_to_be_32(spi);
}

static struct sa_in *naive_find(unsigned int n, rte_be32_t spi)
{
	for (unsigned int i = 0; i < n; i++)
		if (sas[i]->sa.spi == spi)
			return sas[i];
	return NULL;
}

// Looks up all that are in it, and as many numbers close to them.
static void check_all(unsigned int n)
{
	struct sad *sad = sad_new(sas, n);

	assert_non_null(sad);
	for (unsigned int i = 0; i < n; i++) {
		uint32_t spi = rte_be_to_cpu_32(sas[i]->sa.spi);

		assert_ptr_equal(sad_find(sad, sas[i]->sa.spi), sas[i]);
		// The model is slow.
		if (i % 16 == 0)
			for (unsigned int b = 0; b < 32; b++) {
				rte_be32_t near = rte_cpu_to_be_32(spi ^ UINT32_C(1) << b);

				assert_ptr_equal(sad_find(sad, near), naive_find(n, near));
			}
	}
	sad_free(sad);
}

static void test_empty(void **state)
{
	struct sad *sad = sad_new(sas, 0);
	uint64_t seed = 1;

	(void)state;
	assert_non_null(sad);
	assert_null(sad_find(sad, 0));
	for (unsigned int i = 0; i < 1000; i++)
		assert_null(sad_find(sad, (rte_be32_t)random_u64(&seed)));
	sad_free(sad);
	sad_free(NULL);
}

static void test_consecutive(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < MANY; i++)
		spi_set(i, 0x100 + i);
	check_all(MANY);
	check_all(1);
}

static void test_random(void **state)
{
	uint64_t seed = 7;

	(void)state;
	for (unsigned int i = 0; i < MANY; i++) {
		rte_be32_t spi;

		do
			spi = (rte_be32_t)random_u64(&seed);
		while (naive_find(i, spi) != NULL);
		sas[i]->sa.spi = spi;
	}
	check_all(MANY);
}

// A peer may choose its SPIs so that they collide in the table: slow, but right.
static void test_colliding(void **state)
{
	const uint32_t inverse = 0x0e8b2f51; // of the golden ratio, a usual multiplier of hashes

	(void)state;
	assert_int_equal((uint32_t)(inverse * UINT32_C(0x9e3779b1)), 1);
	for (unsigned int i = 0; i < 1000; i++)
		spi_set(i, (i + 1) * inverse);
	check_all(1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_consecutive),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_colliding),
	};

	return cmocka_run_group_tests(tests, sas_make, sas_free);
}
