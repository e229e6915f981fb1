// SPDX-License-Identifier: BSD-3-Clause
// The table of SAs by SPI. Proves that every SPI in it is found, and no other, also after others
// were removed.
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
	struct sad *sad = sad_new(n);

	assert_non_null(sad);
	for (unsigned int i = 0; i < n; i++)
		assert_true(sad_add(sad, &sas[i]->sa));
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
	struct sad *sad = sad_new(0);
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

// Half of them come and go: the others are found all the time, removed ones are not, and neither
// are others in their places.
static void test_removed(void **state)
{
	struct sad *sad = sad_new(MANY);
	unsigned int added = MANY;

	(void)state;
	assert_non_null(sad);
	for (unsigned int i = 0; i < MANY; i++) {
		spi_set(i, 0x100 + i);
		assert_true(sad_add(sad, &sas[i]->sa));
	}
	for (unsigned int i = 0; i < MANY; i += 2) {
		sad_remove(sad, &sas[i]->sa);
		assert_null(sad_find(sad, sas[i]->sa.spi));
		assert_ptr_equal(sad_find(sad, sas[i + 1]->sa.spi), sas[i + 1]);
	}
	while (sad_add(sad, &sas[0]->sa)) { // until it is full
		assert_ptr_equal(sad_find(sad, sas[0]->sa.spi), sas[0]);
		sad_remove(sad, &sas[0]->sa);
		added++;
	}
	assert_in_range(added, MANY, 4 * MANY);
	for (unsigned int i = 0; i < MANY; i++)
		assert_ptr_equal(sad_find(sad, sas[i]->sa.spi), i % 2 != 0 ? sas[i] : NULL);
	sad_remove(sad, &sas[0]->sa); // is not there
	sad_free(sad);
}

static bool is_the_one(const void *arg, const struct sa_out *sa)
{
	return arg == sa;
}

// Several peers may have chosen one SPI.
static void test_same_spi(void **state)
{
	struct sad *sad = sad_new(3);

	(void)state;
	assert_non_null(sad);
	for (unsigned int i = 0; i < 3; i++) {
		spi_set(i, 0x1234);
		assert_true(sad_add(sad, &sas[i]->sa));
	}
	for (unsigned int i = 0; i < 3; i++)
		assert_ptr_equal(sad_find_out(sad, sas[0]->sa.spi, is_the_one, sas[i]), sas[i]);
	sad_remove(sad, &sas[1]->sa);
	assert_null(sad_find_out(sad, sas[0]->sa.spi, is_the_one, sas[1]));
	assert_ptr_equal(sad_find_out(sad, sas[0]->sa.spi, is_the_one, sas[2]), sas[2]);
	sad_free(sad);
}

// Whether any SA in transport mode has certain ends; those of tunnels do not count.
static void test_ends(void **state)
{
	const struct ip_addr remote = ip_addr_from_v4(RTE_BE32(0x0a02004d));
	const struct ip_addr local = ip_addr_from_v4(RTE_BE32(0x0a01004d));
	struct sad *sad = sad_new(3);

	(void)state;
	assert_non_null(sad);
	for (unsigned int i = 0; i < 3; i++) {
		spi_set(i, 0x100 + i);
		sas[i]->sa.opt.mode = i < 2 ? SA_TRANSPORT : SA_TUNNEL;
		sas[i]->sa.opt.local = local;
		sas[i]->sa.opt.remote = remote;
	}
	assert_true(sad_add(sad, &sas[2]->sa));
	assert_false(sad_has_ends(sad, &local, &remote));
	for (unsigned int i = 0; i < 2; i++)
		assert_true(sad_add(sad, &sas[i]->sa));
	for (unsigned int i = 1; i < 256; i++) {
		struct ip_addr l = local, r = remote;

		l.b[15] = (uint8_t)(l.b[15] + i);
		r.b[15] = (uint8_t)(r.b[15] + i);
		assert_false(sad_has_ends(sad, &l, &remote));
		assert_false(sad_has_ends(sad, &local, &r));
	}
	for (unsigned int i = 0; i < 2; i++) {
		assert_true(sad_has_ends(sad, &local, &remote));
		sad_remove(sad, &sas[i]->sa);
	}
	assert_false(sad_has_ends(sad, &local, &remote));
	sad_free(sad);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_consecutive),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_removed),
		cmocka_unit_test(test_same_spi),
		cmocka_unit_test(test_ends),
	};

	return cmocka_run_group_tests(tests, sas_make, sas_free);
}
