// SPDX-License-Identifier: BSD-3-Clause
// Routes that are left out while their tunnels are down, alone and with all other changes at
// random.
#include "small_table.h"

#define TUNNELS 4

static bool up[TUNNELS];

static bool is_up(const void *arg, const struct nexthop *nexthop)
{
	return ((const bool *)arg)[nexthop->iface];
}

static struct route tunnel_to(const char *to, uint16_t iface)
{
	struct route r = route_to(to, ROUTE_FILE, iface);

	r.nexthop.kind = NEXTHOP_TUNNEL;
	r.skip = true;
	return r;
}

static void tunnel_set(uint16_t iface, bool is)
{
	up[iface] = is;
	route_table_skip(t, is_up, up);
}

static void plan(const struct route route[], unsigned int n)
{
	assert_int_equal(route_plan(t, route, n), 0);
	route_table_skip(t, is_up, up);
	route_plan_begin(t);
	route_plan_end(t);
}

static void test_skip(void **state)
{
	struct route r[] = {tunnel_to("10.1.0.0/16", 1), route_to("10.0.0.0/8", ROUTE_FILE, 9)};

	(void)state;
	tunnel_set(1, true);
	put("10.1.0.0/16", ROUTE_KERNEL, 7);
	plan(r, 2);
	assert_int_equal(iface_to("10.1.0.1"), 1);
	tunnel_set(1, false);
	assert_int_equal(iface_to("10.1.0.1"), 7); // by the next owner
	delete ("10.1.0.0/16", ROUTE_KERNEL);
	assert_int_equal(iface_to("10.1.0.1"), 9); // by a shorter prefix
	assert_true(route_is_skipped(route_at(t, 0)) || route_is_skipped(route_at(t, 1)));
	plan(r, 2);
	assert_int_equal(iface_to("10.1.0.1"), 9);
	r[0].skip = false;
	plan(r, 2);
	assert_int_equal(iface_to("10.1.0.1"), 1);
	r[0].skip = true;
	plan(r, 2);
	assert_int_equal(iface_to("10.1.0.1"), 9);
	tunnel_set(1, true);
	assert_int_equal(iface_to("10.1.0.1"), 1);
	tunnel_set(1, false);
	plan(r, 1);
	assert_int_equal(iface_to("10.1.0.1"), -1);
	assert_null(route_used(t, route_at(t, 0)));
}

// A route that is skipped from its first moment takes no place before the plan ends: until then
// packets go by the policies before it.
static void test_skip_is_never_in_clear(void **state)
{
	struct route r[] = {tunnel_to("10.1.0.0/16", 1), route_to("10.0.0.0/8", ROUTE_FILE, 9)};

	(void)state;
	up[1] = false;
	r[0].skip = false;
	plan(r, 2);
	r[0].skip = true;
	assert_int_equal(route_plan(t, r, 2), 0);
	route_table_skip(t, is_up, up);
	route_plan_begin(t);
	assert_int_equal(iface_to("10.1.0.1"), 1);
	route_plan_end(t);
	assert_int_equal(iface_to("10.1.0.1"), 9);
}

// Everything that changes a table, against a linear search.
static const char *const prefixes[] = {"0.0.0.0/0", "10.0.0.0/8", "10.1.0.0/16", "10.1.2.0/24"};

#define PREFIXES COUNT_OF(prefixes)

struct model {
	struct route kernel[PREFIXES], file[PREFIXES], planned[PREFIXES];
	bool has_kernel[PREFIXES], has_file[PREFIXES], has_planned[PREFIXES];
	enum { IDLE, PLANNED, BEGUN } plan;
};

static bool is_left_out(const struct route *r)
{
	return r->skip && !up[r->nexthop.iface];
}

static int model_iface(const struct model *m, unsigned int longest)
{
	for (unsigned int i = longest + 1; i-- > 0;) {
		if (m->has_file[i] && !is_left_out(&m->file[i]))
			return m->file[i].nexthop.iface;
		if (m->has_kernel[i])
			return m->kernel[i].nexthop.iface;
	}
	return -1;
}

static void model_check(const struct model *m)
{
	static const char *const addrs[PREFIXES] = {"8.8.8.8", "10.9.9.9", "10.1.9.9", "10.1.2.9"};

	for (unsigned int i = 0; i < PREFIXES; i++)
		assert_int_equal(iface_to(addrs[i]), model_iface(m, i));
}

static void change_kernel(struct model *m, uint64_t *seed)
{
	unsigned int i = random_below(seed, PREFIXES);

	if (m->has_kernel[i] && random_below(seed, 2) == 0) {
		delete (prefixes[i], ROUTE_KERNEL);
		m->has_kernel[i] = false;
		return;
	}
	m->kernel[i] = route_to(prefixes[i], ROUTE_KERNEL, (uint16_t)(10 + random_below(seed, 4)));
	m->has_kernel[i] = true;
	assert_int_equal(route_put(t, &m->kernel[i]), 0);
}

static void make_plan(struct model *m, uint64_t *seed)
{
	struct route r[PREFIXES];
	unsigned int n = 0;

	for (unsigned int i = 0; i < PREFIXES; i++) {
		m->has_planned[i] = random_below(seed, 3) > 0;
		m->planned[i] =
			random_below(seed, 4) == 0
				? route_to(prefixes[i], ROUTE_FILE, 20)
				: tunnel_to(prefixes[i], (uint16_t)random_below(seed, TUNNELS));
		m->planned[i].skip &= random_below(seed, 3) > 0;
		if (m->has_planned[i])
			r[n++] = m->planned[i];
	}
	assert_int_equal(route_plan(t, r, n), 0);
	route_table_skip(t, is_up, up);
	m->plan = PLANNED;
}

static void begin_plan(struct model *m)
{
	for (unsigned int i = 0; i < PREFIXES; i++)
		if (m->has_planned[i] && m->planned[i].nexthop.kind == NEXTHOP_TUNNEL &&
			!is_left_out(&m->planned[i])) {
			m->file[i] = m->planned[i];
			m->has_file[i] = true;
		}
	route_plan_begin(t);
	m->plan = BEGUN;
}

static void end_plan(struct model *m)
{
	memcpy(m->file, m->planned, sizeof(m->file));
	memcpy(m->has_file, m->has_planned, sizeof(m->has_file));
	route_plan_end(t);
	m->plan = IDLE;
}

static void go_on_with_plan(struct model *m, uint64_t *seed)
{
	if (m->plan == IDLE) {
		make_plan(m, seed);
	} else if (m->plan == BEGUN) {
		end_plan(m);
	} else if (random_below(seed, 3) > 0) {
		begin_plan(m);
	} else {
		route_plan_drop(t);
		m->plan = IDLE;
	}
}

static void test_model(void **state)
{
	struct model m = {0};
	uint64_t seed = 7;

	(void)state;
	for (unsigned long round = 0; round < rounds(20000); round++) {
		unsigned int what = random_below(&seed, 4);

		if (what == 0)
			change_kernel(&m, &seed);
		else if (what == 1)
			go_on_with_plan(&m, &seed);
		else
			tunnel_set((uint16_t)random_below(&seed, TUNNELS), what == 2);
		model_check(&m);
		route_table_release(t, route_table_removed(t));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		change_test(test_skip),
		change_test(test_skip_is_never_in_clear),
		change_test(test_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
