// SPDX-License-Identifier: BSD-3-Clause
// The table of incomplete datagrams. Proves that they are found by their whole key, that they never
// exceed their memory, and that the origin with most of it loses its oldest.
#include "frag_table.h"
#include "hash_key.h"
#include "test.h"

#define DATAGRAMS 16
#define BUFFERS   40

static struct frag_table table;

static int begin(void **state)
{
	(void)state;
	return frag_table_init(&table, DATAGRAMS, BUFFERS, &test_hash_key);
}

static int end(void **state)
{
	(void)state;
	frag_table_fini(&table);
	return 0;
}

static struct frag_key key_of(uint32_t id, uint32_t origin)
{
	return (struct frag_key){.src = {.b = {1, [15] = 5}},
		.dst = {.b = {2, [15] = 9}},
		.id = id,
		.origin = origin,
		.proto = 17};
}

static struct frag_datagram *find(const struct frag_key *key)
{
	return frag_table_find(frag_table_bucket(&table, key), key);
}

static struct frag_datagram *add(const struct frag_key *key, uint64_t now)
{
	return frag_table_add(&table, frag_table_bucket(&table, key), key, now);
}

static void keep(struct frag_datagram *d, uint16_t n_buffers)
{
	assert_int_equal(frag_table_keep(&table, d, n_buffers)->n_buffers, n_buffers);
}

static void keep_and_settle(struct frag_datagram *d, uint16_t n_buffers)
{
	keep(d, n_buffers);
	frag_table_settle(&table, d);
}

static void test_key(void **state)
{
	struct frag_key key = key_of(1, 2), other;
	struct frag_datagram *d = add(&key, 100);

	(void)state;
	assert_ptr_equal(find(&key), d);
	for (uint8_t by = 1; by < 255; by++) { // a number with which some are in the same bucket
		other = key;
		other.src.b[15] ^= by;
		assert_null(find(&other));
		other = key;
		other.dst.b[0] ^= by;
		assert_null(find(&other));
		other = key;
		other.id ^= by;
		assert_null(find(&other));
		other = key;
		other.origin ^= by;
		assert_null(find(&other));
		other = key;
		other.proto ^= by;
		assert_null(find(&other));
	}
	frag_table_remove(&table, d);
	assert_null(find(&key));
	assert_null(frag_table_oldest(&table));
	assert_null(frag_table_evictee(&table));
}

// A list that is searched from end to end.
struct model {
	struct {
		uint32_t id, origin, n_buffers, n_frags;
		uint64_t begun;
	} d[DATAGRAMS];
	unsigned int n;
};

static unsigned int model_find(const struct model *m, uint32_t id, uint32_t origin)
{
	unsigned int i = 0;

	while (i < m->n && (m->d[i].id != id || m->d[i].origin != origin))
		i++;
	return i;
}

static uint32_t model_weight(const struct model *m, uint32_t origin)
{
	uint32_t sum = 0;

	for (unsigned int i = 0; i < m->n; i++)
		if (m->d[i].origin == origin)
			sum += 1 + m->d[i].n_buffers;
	return sum;
}

static void model_remove(struct model *m, unsigned int i)
{
	m->n--;
	memmove(&m->d[i], &m->d[i + 1], (m->n - i) * sizeof(m->d[0]));
}

static void expect_same(struct model *m)
{
	uint32_t buffers = 0, frags = 0;

	for (unsigned int i = 0; i < m->n; i++) {
		struct frag_key key = key_of(m->d[i].id, m->d[i].origin);
		const struct frag_datagram *d = find(&key);

		assert_non_null(d);
		assert_int_equal(d->n_buffers, m->d[i].n_buffers);
		assert_int_equal(d->n_frags, m->d[i].n_frags);
		buffers += m->d[i].n_buffers;
		frags += m->d[i].n_frags;
	}
	assert_int_equal(table.n_buffers, buffers);
	assert_int_equal(table.n_frags, frags);
	assert_int_equal(
		frag_table_has_room(&table, 3), m->n < DATAGRAMS && buffers + 3 <= BUFFERS);
	if (m->n > 0)
		assert_int_equal(frag_table_oldest(&table)->begun, m->d[0].begun);
	else
		assert_null(frag_table_oldest(&table));
}

// The oldest of the origin that has most. Origins of one lane share it: these do not.
static void make_room(struct model *m)
{
	const struct frag_datagram *d = frag_table_evictee(&table);
	const uint32_t fullest = (uint32_t)d->key.origin;
	unsigned int victim = model_find(m, d->key.id, fullest);

	assert_in_range(victim, 0, m->n - 1);
	for (uint32_t origin = 0; origin < 4; origin++)
		assert_true(model_weight(m, origin) <= model_weight(m, fullest));
	for (unsigned int i = 0; i < victim; i++)
		assert_int_not_equal(m->d[i].origin, fullest);
	model_remove(m, victim);
	frag_table_remove(&table, frag_table_evictee(&table));
}

static void test_model(void **state)
{
	struct model m = {.n = 0};
	uint64_t seed = 5;
	unsigned int n_victims = 0;

	(void)state;
	for (unsigned long i = 0; i < rounds(20000); i++) {
		uint32_t id = random_below(&seed, 12), origin = random_below(&seed, 4);
		struct frag_key key = key_of(id, origin);
		uint16_t n_buffers = (uint16_t)(1 + random_below(&seed, 3));
		struct frag_datagram *d;
		unsigned int at;

		for (; !frag_table_has_room(&table, n_buffers); n_victims++)
			make_room(&m);
		at = model_find(&m, id, origin);
		d = find(&key);
		assert_int_equal(d == NULL, at == m.n);
		if (d == NULL) {
			d = add(&key, i);
			m.d[m.n].id = id;
			m.d[m.n].origin = origin;
			m.d[m.n].begun = i;
			m.d[m.n].n_buffers = m.d[m.n].n_frags = 0;
			m.n++;
		}
		keep(d, n_buffers);
		m.d[at].n_buffers += n_buffers;
		m.d[at].n_frags++;
		if (random_below(&seed, 8) == 0) {
			frag_table_empty(&table, d);
			m.d[at].n_buffers = m.d[at].n_frags = 0;
		} else if (random_below(&seed, 4) == 0) {
			frag_table_remove(&table, d);
			model_remove(&m, at);
		} else {
			frag_table_settle(&table, d);
		}
		expect_same(&m);
	}
	assert_true(n_victims > 100);
}

// An origin that fills the table does not evict others' datagrams.
static void test_fair(void **state)
{
	struct frag_key key = key_of(1, 1), flood;
	struct frag_datagram *d = add(&key, 0);

	(void)state;
	keep_and_settle(d, 1);
	for (uint32_t i = 0; i < 1000; i++) {
		flood = key_of(i, 2);
		if (!frag_table_has_room(&table, 1))
			frag_table_remove(&table, frag_table_evictee(&table));
		keep_and_settle(add(&flood, i), 1);
	}
	assert_ptr_equal(find(&key), d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_key, begin, end),
		cmocka_unit_test_setup_teardown(test_model, begin, end),
		cmocka_unit_test_setup_teardown(test_fair, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
