// SPDX-License-Identifier: BSD-3-Clause
// Addresses and prefixes: text in both directions, and matching against bit by bit comparison.
#include <arpa/inet.h>
#include <errno.h>

#include "addr.h"
#include "addrs.h"
#include "test.h"

static void test_addr_text(void **state)
{
	static const char *const good[] = {"0.0.0.0", "10.1.0.1", "255.255.255.255", "::", "::1",
		"2001:db8::1", "fe80::1:2:3:4"};
	static const char *const bad[] = {"", " 10.1.0.1", "10.1.0.1 ", "10.1.0", "10.1.0.256",
		"10.1.0.1.2", "010.1.0.1", "0x0a.1.0.1", "::ffff:10.1.0.1", "2001:db8::g",
		"1::2::3", "10.1.0.1/24", "host"};
	char buf[IP_ADDR_STRLEN];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(good); i++) {
		struct ip_addr a = addr_of(good[i]);

		assert_string_equal(ip_addr_format(buf, &a), good[i]);
	}
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct ip_addr a = addr_of("192.0.2.1"), before = a;

		if (ip_addr_parse(&a, bad[i]) != -EINVAL)
			fail_msg("\"%s\" was taken", bad[i]);
		assert_memory_equal(&a, &before, sizeof(a));
	}
}

static void test_addr_families(void **state)
{
	struct ip_addr v4 = addr_of("10.1.0.1"), v6 = addr_of("2001:db8::1"), none = addr_of("::");
	struct ip_addr zero = addr_of("0.0.0.0");

	(void)state;
	assert_true(ip_addr_is_v4(&v4));
	assert_false(ip_addr_is_v4(&v6));
	assert_int_equal(ip_addr_v4(&v4), htonl(0x0a010001));
	assert_true(ip_addr_is_none(&none));
	assert_false(ip_addr_is_none(&zero));
	assert_true(ip_addr_is_v4(&zero));
	assert_false(ip_addr_equal(&zero, &none));
	assert_true(ip_addr_equal(&v4, &(struct ip_addr){.b = {[10] = 0xff, 0xff, 10, 1, 0, 1}}));
}

static void test_prefix_text(void **state)
{
	static const struct {
		const char *in, *out;
		int rc;
		uint8_t len;
	} rows[] = {
		{"10.1.0.0/24", "10.1.0.0/24", 0, 120},
		{"10.1.0.1", "10.1.0.1/32", 0, 128},
		{"0.0.0.0/0", "0.0.0.0/0", 0, 96},
		{"10.1.0.1/24", "10.1.0.0/24", -ERANGE, 120},
		{"255.255.255.255/1", "128.0.0.0/1", -ERANGE, 97},
		{"2001:db8::/32", "2001:db8::/32", 0, 32},
		{"::/0", "::/0", 0, 0},
		{"2001:db8::1/127", "2001:db8::/127", -ERANGE, 127},
		{"10.1.0.0/33", NULL, -EINVAL, 0},
		{"10.1.0.0/", NULL, -EINVAL, 0},
		{"10.1.0.0/-1", NULL, -EINVAL, 0},
		{"10.1.0.0/+8", NULL, -EINVAL, 0},
		{"10.1.0.0/ 8", NULL, -EINVAL, 0},
		{"10.1.0.0/8 ", NULL, -EINVAL, 0},
		{"10.1.0.0/8/8", NULL, -EINVAL, 0},
		{"10.1.0.0/18446744073709551624", NULL, -EINVAL, 0},
		{"2001:db8::/129", NULL, -EINVAL, 0},
		{"/24", NULL, -EINVAL, 0},
		{"", NULL, -EINVAL, 0},
		{"0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000/1", NULL, -EINVAL, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct ip_prefix p;
		char buf[IP_PREFIX_STRLEN];
		int rc = ip_prefix_parse(&p, rows[i].in);

		if (rc != rows[i].rc)
			fail_msg("\"%s\": %d", rows[i].in, rc);
		if (rows[i].out == NULL)
			continue;
		assert_int_equal(p.len, rows[i].len);
		assert_string_equal(ip_prefix_format(buf, &p), rows[i].out);
	}
}

static void test_interface_text(void **state)
{
	struct ip_addr a, expected = addr_of("10.1.0.77");
	struct ip_prefix net, expected_net = net_of("10.1.0.64/26");

	(void)state;
	assert_int_equal(ip_interface_parse(&a, &net, "10.1.0.77/26"), 0);
	assert_true(ip_addr_equal(&a, &expected));
	assert_true(ip_addr_equal(&net.addr, &expected_net.addr));
	assert_int_equal(net.len, expected_net.len);
	assert_int_equal(ip_interface_parse(&a, &net, "10.1.0.77/"), -EINVAL);
}

static bool bit(const struct ip_addr *a, unsigned int i)
{
	return (a->b[i / 8] >> (7 - i % 8) & 1) != 0;
}

static bool naive_contains(const struct ip_prefix *p, const struct ip_addr *a)
{
	for (unsigned int i = 0; i < p->len; i++)
		if (bit(&p->addr, i) != bit(a, i))
			return false;
	return true;
}

static bool naive_overlaps(const struct ip_prefix *a, const struct ip_prefix *b)
{
	for (unsigned int i = 0; i < a->len && i < b->len; i++)
		if (bit(&a->addr, i) != bit(&b->addr, i))
			return false;
	return true;
}

// Few different bits, so that many prefixes contain addresses.
static struct ip_addr few_bits_addr(uint64_t *seed)
{
	struct ip_addr a = addr_of(random_below(seed, 2) == 0 ? "10.0.0.0" : "2001:db8::");

	for (unsigned int n = random_below(seed, 4); n > 0; n--) {
		unsigned int i = random_below(seed, 128);

		a.b[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	return a;
}

static struct ip_prefix few_bits_prefix(uint64_t *seed)
{
	struct ip_prefix p = {few_bits_addr(seed), (uint8_t)random_below(seed, 129)};

	for (unsigned int i = p.len; i < 128; i++)
		p.addr.b[i / 8] &= (uint8_t) ~(0x80 >> i % 8);
	return p;
}

static void test_prefix_model(void **state)
{
	uint64_t seed = 1;
	unsigned long hits = 0, n = rounds(200000);

	(void)state;
	for (unsigned long i = 0; i < n; i++) {
		struct ip_prefix p = few_bits_prefix(&seed), q = few_bits_prefix(&seed);
		struct ip_addr a = few_bits_addr(&seed);

		assert_int_equal(ip_prefix_contains(&p, &a), naive_contains(&p, &a));
		assert_int_equal(ip_prefix_overlaps(&p, &q), naive_overlaps(&p, &q));
		hits += naive_contains(&p, &a);
	}
	assert_in_range(hits, n / 10, n - n / 10); // both answers were common
}

// A prefix of IPv6 has none of IPv4, which ip_prefix_contains() takes for a part of ::/0.
static void test_prefix_covers(void **state)
{
	static const struct {
		const char *a, *b;
		bool covers;
	} rows[] = {
		{"10.1.0.0/16", "10.1.0.0/16", true},
		{"10.1.0.0/16", "10.1.2.0/24", true},
		{"10.1.2.0/24", "10.1.0.0/16", false},
		{"10.1.0.0/16", "10.2.2.0/24", false},
		{"0.0.0.0/0", "10.1.0.0/16", true},
		{"::/0", "2001:db8::/32", true},
		{"::/0", "10.1.0.0/16", false},
	};
	struct ip_prefix a, b;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		assert_int_equal(ip_prefix_parse(&a, rows[i].a), 0);
		assert_int_equal(ip_prefix_parse(&b, rows[i].b), 0);
		assert_int_equal(ip_prefix_covers(&a, &b), rows[i].covers);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addr_text),
		cmocka_unit_test(test_addr_families),
		cmocka_unit_test(test_prefix_text),
		cmocka_unit_test(test_interface_text),
		cmocka_unit_test(test_prefix_model),
		cmocka_unit_test(test_prefix_covers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
