// SPDX-License-Identifier: BSD-3-Clause
// The search for a path MTU: paths with routers that report the MTU of their links, routers that
// send no errors, and forged errors.
#include "path_search.h"
#include "test.h"

#define AGE_MS 600000
#define TOP    1500

// A path, and the state of its packets.
struct path {
	uint16_t link[4]; // MTU of each link; 0: there are no more
	bool silent;      // routers send no errors
	uint64_t now_ms;
	uint64_t seq; // last number
	unsigned int probes;
	struct path_search search;
};

static struct path path_new(uint16_t first, uint16_t second, uint16_t third)
{
	return (struct path){.link = {first, second, third}, .seq = 100, .search.mtu = UINT16_MAX};
}

// The error of the first link that is too small for a packet; 0: it fits all.
static uint16_t error_about(const struct path *p, uint16_t size)
{
	for (unsigned int i = 0; p->link[i] != 0 && !p->silent; i++)
		if (size > p->link[i])
			return p->link[i];
	return 0;
}

static struct path_quote quote(const struct path *p, uint16_t mtu)
{
	return (struct path_quote){
		.mtu = mtu, .spi = 7, .seq = (uint32_t)p->seq, .id = p->search.id};
}

// Until the search ends.
static enum path_result run(struct path *p)
{
	enum path_result result = PATH_CONTINUES;

	while (result == PATH_CONTINUES) {
		uint16_t mtu;

		p->now_ms = p->now_ms < p->search.due_ms ? p->search.due_ms : p->now_ms;
		if (p->search.probes == PATH_PROBES)
			return path_search_unanswered(&p->search, TOP, p->now_ms);
		p->seq++;
		p->probes++;
		mtu = error_about(p, p->search.size);
		path_search_probed(&p->search, (uint16_t)p->seq, p->search.size, p->now_ms);
		if (mtu == 0)
			continue;

		const struct path_quote q = quote(p, mtu);

		assert_true(path_search_is_answer(&p->search, &q));
		result = path_search_answered(&p->search, mtu, p->seq, AGE_MS, p->now_ms + 5);
	}
	return result;
}

static enum path_result search(struct path *p, uint16_t size)
{
	path_search_begin(&p->search, size, 7, p->seq, p->now_ms);
	return run(p);
}

// A smaller link: two packets are lost, and its size is known.
static void test_reduced(void **state)
{
	struct path p = path_new(1500, 1400, 0);

	(void)state;
	assert_int_equal(search(&p, TOP), PATH_CONFIRMED);
	assert_int_equal(p.search.mtu, 1400);
	assert_int_equal(p.probes, 1);
	p.link[2] = 1300;
	assert_int_equal(search(&p, 1400), PATH_CONFIRMED);
	assert_int_equal(p.search.mtu, 1300);
}

// An error that no probe confirms changes nothing, and for a time nothing is probed.
static void test_forged(void **state)
{
	struct path p = path_new(1500, 0, 0);

	(void)state;
	assert_int_equal(search(&p, TOP), PATH_REFUTED);
	assert_int_equal(p.search.mtu, UINT16_MAX);
	assert_int_equal(p.probes, PATH_PROBES);
	assert_int_equal(p.now_ms, PATH_PROBES * PATH_ANSWER_MS);
	assert_true(p.search.quiet);
	assert_int_equal(p.search.due_ms, p.now_ms + PATH_QUIET_MS);
	p.search.mtu = 1400;
	assert_int_equal(search(&p, 1400), PATH_REFUTED);
	assert_int_equal(p.search.mtu, 1400);
}

// An attacker on the path has confirmed a wrong size: it is corrected soon after the attack ends.
static void test_deceived(void **state)
{
	struct path p = path_new(1500, 1400, 0);
	uint64_t since;

	(void)state;
	path_search_begin(&p.search, TOP, 7, p.seq, 0);
	path_search_probed(&p.search, 1, TOP, 0);
	assert_int_equal(path_search_answered(&p.search, 576, p.seq, AGE_MS, 5), PATH_CONFIRMED);
	assert_int_equal(p.search.mtu, 576);
	since = p.now_ms = p.search.due_ms;
	assert_int_equal(since, 5 + PATH_FIRST_MS);
	// The router's error reports 1400, which no other router objects to.
	assert_int_equal(search(&p, TOP), PATH_RAISED);
	assert_int_equal(p.search.mtu, 1400);
	assert_in_range(p.now_ms - since, 0, PATH_PROBES * PATH_ANSWER_MS + 10);
}

// The first router that objects is not the one with the smallest link.
static void test_two_links(void **state)
{
	struct path p = path_new(1500, 1400, 1300);

	(void)state;
	p.search.mtu = 1300;
	assert_int_equal(search(&p, TOP), PATH_KEPT);
	assert_int_equal(p.probes, 2);
	assert_int_equal(p.search.mtu, 1300);
	p.link[2] = 0;
	assert_int_equal(search(&p, TOP), PATH_RAISED);
	assert_int_equal(p.search.mtu, 1400);
	p.link[1] = 0;
	assert_int_equal(search(&p, TOP), PATH_RAISED);
	assert_int_equal(p.search.mtu, UINT16_MAX);
}

// Less and less often, if the answer is the same.
static void test_wait(void **state)
{
	struct path p = path_new(1500, 1400, 0);
	uint32_t wait_ms = PATH_FIRST_MS;

	(void)state;
	search(&p, TOP);
	assert_int_equal(p.search.wait_ms, wait_ms);
	for (unsigned int i = 0; i < 10; i++) {
		wait_ms = 2 * wait_ms < AGE_MS ? 2 * wait_ms : AGE_MS;
		assert_int_equal(search(&p, TOP), PATH_KEPT);
		assert_int_equal(p.search.wait_ms, wait_ms);
	}
	path_search_begin(&p.search, TOP, 7, p.seq, 0);
	path_search_answered(&p.search, 1300, p.seq, 1000, 0);
	assert_int_equal(p.search.wait_ms, 1000);
}

static void test_answers(void **state)
{
	struct path_search s = {.mtu = UINT16_MAX};
	const struct {
		struct path_quote q;
		bool answer;
	} rows[] = {
		{{.mtu = 1400, .spi = 7, .seq = 101}, true},
		{{.mtu = 1400, .spi = 7, .seq = 1000}, true},
		{{.mtu = 1400, .spi = 7, .seq = 100}, false}, // sent before the search began
		{{.mtu = 1400, .spi = 7, .seq = 1}, false},
		{{.mtu = 1400, .spi = 8, .seq = 101}, false},
		{{.mtu = 1400, .id = 55, .len = 1498}, true},
		{{.mtu = 1400, .id = 56, .len = 1498}, false},
		{{.mtu = 1400, .id = 55, .len = 1500}, false},
	};

	(void)state;
	assert_false(path_search_is_answer(&s, &rows[0].q));
	path_search_begin(&s, TOP, 7, (UINT64_C(3) << 32) + 100, 0);
	assert_false(path_search_is_answer(&s, &rows[0].q)); // to no probe
	path_search_probed(&s, 55, 1498, 0);
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(path_search_is_answer(&s, &rows[i].q), rows[i].answer);
}

// An attacker tries all identifications: most of its errors are not evaluated until the next
// search.
static void test_guessed(void **state)
{
	struct path_search s = {.mtu = UINT16_MAX};
	struct path_quote right = {.mtu = 1400, .id = 40000, .len = 1498};
	const struct path_quote seen = {.mtu = 1400, .spi = 7, .seq = 101};

	(void)state;
	path_search_begin(&s, TOP, 7, 100, 0);
	path_search_probed(&s, 40000, 1498, 0);
	for (uint16_t i = 0; i < PATH_GUESSES; i++) {
		struct path_quote wrong = {.mtu = 1400, .id = i, .len = 1498};
		struct path_quote longer = {.mtu = 1400, .id = i, .len = 1499};

		assert_true(path_search_is_answer(&s, &right));
		assert_false(path_search_is_answer(&s, &longer));
		assert_false(path_search_is_answer(&s, &wrong));
	}
	assert_false(path_search_is_answer(&s, &right));
	path_search_probed(&s, 40000, 1498, 0);
	assert_false(path_search_is_answer(&s, &right));
	assert_true(path_search_is_answer(&s, &seen));
	path_search_begin(&s, TOP, 7, 100, 0);
	path_search_probed(&s, 40000, 1498, 0);
	assert_true(path_search_is_answer(&s, &right));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reduced),
		cmocka_unit_test(test_forged),
		cmocka_unit_test(test_deceived),
		cmocka_unit_test(test_two_links),
		cmocka_unit_test(test_wait),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_guessed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
