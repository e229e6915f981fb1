// SPDX-License-Identifier: BSD-3-Clause
// Received octets of a datagram, against a model that compares each fragment with all others.
#include "frag_map.h"
#include "test.h"

#define FRAGS_MAX 64

struct piece {
	uint32_t off, len;
	bool more;
};

struct model {
	struct piece piece[FRAGS_MAX];
	unsigned int n;
};

static uint32_t end_of(const struct piece *p)
{
	return p->off + p->len;
}

static bool same(const struct piece *a, const struct piece *b)
{
	return a->off == b->off && a->len == b->len && a->more == b->more;
}

// Whether two fragments cannot be of one datagram.
static bool collide(const struct piece *a, const struct piece *b)
{
	if (a->off < end_of(b) && b->off < end_of(a))
		return true;
	if (!a->more && !b->more)
		return true;
	return (!a->more && end_of(b) > a->off) || (!b->more && end_of(a) > b->off);
}

static enum frag_verdict model_add(struct model *m, struct piece p)
{
	for (unsigned int i = 0; i < m->n; i++)
		if (same(&m->piece[i], &p))
			return FRAG_DUPLICATE;
	for (unsigned int i = 0; i < m->n; i++)
		if (collide(&m->piece[i], &p))
			return FRAG_OVERLAP;
	m->piece[m->n++] = p;
	return FRAG_NEW;
}

static bool model_is_complete(const struct model *m, uint32_t *len)
{
	uint32_t sum = 0;

	*len = 0;
	for (unsigned int i = 0; i < m->n; i++) {
		sum += m->piece[i].len;
		if (!m->piece[i].more)
			*len = end_of(&m->piece[i]);
	}
	return *len != 0 && sum == *len;
}

static struct piece random_fragment(uint64_t *seed, uint32_t len)
{
	uint32_t units = (len + 7) / 8, from = random_below(seed, units);
	uint32_t n = 1 + random_below(seed, 4);
	struct piece p = {.off = from * 8, .len = n * 8, .more = true};

	if (from + n >= units) {
		p.len = len - p.off;
		p.more = random_below(seed, 8) == 0 && p.len % 8 == 0;
	} else if (random_below(seed, 100) == 0) {
		p.more = false;
		p.len -= random_below(seed, 8);
	}
	return p;
}

// Short datagrams, so that fragments touch: anywhere, also where words of the map end and at the
// largest offset.
static void test_model(void **state)
{
	static struct frag_map map;
	uint64_t seed = 11;
	unsigned int completed = 0;

	(void)state;
	for (unsigned long round = rounds(3000); round > 0; round--) {
		uint32_t len = 1 + random_below(&seed, 200);
		const uint32_t bases[] = {0, 65535 - len, random_below(&seed, 1500)};
		uint32_t base = bases[random_below(&seed, COUNT_OF(bases))];
		struct model m = {.n = 0};

		base -= base % 8;
		memset(&map, 0xff, sizeof(map)); // unused words are undefined
		frag_map_clear(&map);
		for (unsigned int i = 0; i < FRAGS_MAX; i++) {
			struct piece p = random_fragment(&seed, len);
			uint32_t end;

			p.off += base;
			assert_int_equal(
				frag_map_add(&map, p.off, p.len, p.more), model_add(&m, p));
			if (base == 0 && model_is_complete(&m, &end)) {
				assert_true(frag_map_is_complete(&map));
				assert_int_equal(map.len, end);
				completed++;
				break;
			}
			assert_false(frag_map_is_complete(&map));
		}
	}
	assert_true(completed > 100);
}

// Fragments of any size, in any order, some of them twice: complete with the last one and not
// before.
static void test_orders(void **state)
{
	static struct frag_map map;
	static struct piece piece[8192];
	uint64_t seed = 12;

	(void)state;
	for (unsigned long round = rounds(200); round > 0; round--) {
		uint32_t len = 9 + random_below(&seed, 65527),
			 step = 8 + random_below(&seed, 1500) / 8 * 8;
		unsigned int n = 0;

		for (uint32_t off = 0; off < len; off += step)
			piece[n++] = (struct piece){
				off, len - off < step ? len - off : step, off + step < len};
		for (unsigned int i = n - 1; i > 0; i--) {
			unsigned int k = random_below(&seed, i + 1);
			struct piece t = piece[i];

			piece[i] = piece[k];
			piece[k] = t;
		}
		frag_map_clear(&map);
		for (unsigned int i = 0; i < n; i++) {
			const struct piece *again = &piece[random_below(&seed, i + 1)];

			assert_false(frag_map_is_complete(&map));
			assert_int_equal(
				frag_map_add(&map, piece[i].off, piece[i].len, piece[i].more),
				FRAG_NEW);
			assert_int_equal(frag_map_add(&map, again->off, again->len, again->more),
				FRAG_DUPLICATE);
		}
		assert_true(frag_map_is_complete(&map));
		assert_int_equal(map.len, len);
	}
}

// Fragments that change nothing.
static void test_refused(void **state)
{
	static struct frag_map map, before;

	(void)state;
	frag_map_clear(&map);
	assert_int_equal(frag_map_add(&map, 64, 64, true), FRAG_NEW);
	before = map;
	assert_int_equal(frag_map_add(&map, 64, 64, false), FRAG_OVERLAP);
	assert_int_equal(frag_map_add(&map, 0, 8, false), FRAG_OVERLAP);
	assert_int_equal(frag_map_add(&map, 64, 56, true), FRAG_OVERLAP);
	assert_int_equal(frag_map_add(&map, 72, 56, true), FRAG_OVERLAP);
	assert_int_equal(frag_map_add(&map, 56, 80, true), FRAG_OVERLAP);
	assert_int_equal(frag_map_add(&map, 64, 64, true), FRAG_DUPLICATE);
	assert_memory_equal(&map, &before, sizeof(map));
	assert_int_equal(frag_map_add(&map, 128, 5, false), FRAG_NEW);
	before = map;
	assert_int_equal(frag_map_add(&map, 128, 6, false), FRAG_OVERLAP);
	assert_int_equal(frag_map_add(&map, 136, 8, true), FRAG_OVERLAP);
	assert_int_equal(frag_map_add(&map, 128, 5, false), FRAG_DUPLICATE);
	assert_memory_equal(&map, &before, sizeof(map));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
