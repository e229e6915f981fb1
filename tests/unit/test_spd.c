// SPDX-License-Identifier: BSD-3-Clause
// The policy database against going through the list from the front.
#include "eal.h"
#include "spd.h"
#include "test.h"

#define POLICIES_MAX 500
#define KEYS_MAX     200 // of one look-up: more than rte_acl takes at once

static int start(void **state)
{
	(void)state;
	eal_start();
	return 0;
}

static int stop(void **state)
{
	(void)state;
	eal_stop();
	return 0;
}

static bool naive_prefix(const struct ip_prefix *p, rte_be32_t v4)
{
	struct ip_addr a = ip_addr_from_v4(v4);

	return p->len == 0 || ip_prefix_contains(p, &a);
}

static bool naive_range(struct acl_port_range range, rte_be32_t port)
{
	uint32_t p = rte_be_to_cpu_32(port);

	return p >= range.min && p <= range.max;
}

static const struct spd_policy *naive_find(
	const struct spd_policy policy[], unsigned int n, const struct spd_key *key)
{
	for (unsigned int i = 0; i < n; i++) {
		const struct spd_policy *p = &policy[i];

		if ((p->proto == SPD_PROTO_ANY || p->proto == key->proto) &&
			naive_prefix(&p->local, key->local) &&
			naive_prefix(&p->remote, key->remote) &&
			naive_range(p->local_port, key->local_port) &&
			naive_range(p->remote_port, key->remote_port))
			return p;
	}
	return NULL;
}

// From small sets, so that policies overlap, hide each other and match.

static struct ip_prefix random_prefix(uint64_t *seed)
{
	struct ip_prefix p = {.len = (uint8_t)(IP_V4_BITS + random_below(seed, 33))};
	uint32_t v4 = 0x0a000000 | (uint32_t)(random_u64(seed) & 0x03030303);

	if (random_below(seed, 3) > 0 && p.len > IP_V4_BITS)
		p.len = (uint8_t)(IP_V4_BITS + 8 * (1 + random_below(seed, 4)));
	if (p.len == IP_V4_BITS)
		v4 = 0;
	else
		v4 &= UINT32_MAX << (128 - p.len);
	p.addr = ip_addr_from_v4(rte_cpu_to_be_32(v4));
	return p;
}

static struct acl_port_range random_range(uint64_t *seed)
{
	uint32_t a = random_below(seed, 8) * 1000, b = random_below(seed, 8) * 1000;

	switch (random_below(seed, 4)) {
	case 0: // one
		return (struct acl_port_range){a, a};
	case 1: // all ports, but nothing without
		return (struct acl_port_range){0, UINT16_MAX};
	case 2:
		return (struct acl_port_range){RTE_MIN(a, b), RTE_MAX(a, b) + 1};
	default:
		return (struct acl_port_range){0, ACL_PORT_OPAQUE};
	}
}

static struct spd_policy random_policy(uint64_t *seed)
{
	struct spd_policy p = {
		.action = random_below(seed, 3),
		.local = random_prefix(seed),
		.remote = random_prefix(seed),
		.proto = random_below(seed, 2) == 0 ? SPD_PROTO_ANY
						    : (uint16_t)random_below(seed, 4),
		.local_port = random_range(seed),
		.remote_port = random_range(seed),
	};

	if (random_below(seed, 50) == 0) // both families
		p.local = p.remote = (struct ip_prefix){0};
	return p;
}

static rte_be32_t random_port(uint64_t *seed)
{
	uint32_t port = random_below(seed, 8) * 1000 + random_below(seed, 3);

	if (random_below(seed, 4) == 0)
		port = ACL_PORT_OPAQUE;
	else if (random_below(seed, 8) == 0)
		port = UINT16_MAX;
	return rte_cpu_to_be_32(port);
}

static struct spd_key random_key(uint64_t *seed)
{
	return (struct spd_key){
		.proto = random_below(seed, 8) == 0 ? 255 : (uint8_t)random_below(seed, 4),
		.local = rte_cpu_to_be_32(0x0a000000 | (uint32_t)(random_u64(seed) & 0x03030303)),
		.remote = rte_cpu_to_be_32(0x0a000000 | (uint32_t)(random_u64(seed) & 0x03030303)),
		.local_port = random_port(seed),
		.remote_port = random_port(seed),
	};
}

// Looks n keys up in one call and compares; returns how many matched a policy.
static unsigned int check_lookup(const struct spd *spd, const struct spd_policy policy[],
	unsigned int n_policies, uint16_t n, uint64_t *seed)
{
	struct spd_key keys[KEYS_MAX];
	const struct spd_key *key[KEYS_MAX];
	const struct spd_policy *found[KEYS_MAX];
	unsigned int matched = 0;

	for (uint16_t i = 0; i < n; i++) {
		keys[i] = random_key(seed);
		key[i] = &keys[i];
	}
	spd_lookup(spd, key, found, n);
	for (uint16_t i = 0; i < n; i++) {
		const struct spd_policy *right = naive_find(policy, n_policies, &keys[i]);
		long index = found[i] != NULL ? found[i] - spd_at(spd, 0) : -1;
		long expected = right != NULL ? right - policy : -1;

		if (index != expected)
			fail_msg("policy %ld of %u, must be %ld", index, n_policies, expected);
		matched += right != NULL;
	}
	return matched;
}

static void test_model(void **state)
{
	static const unsigned int sizes[] = {1, 2, 3, 10, 64, 100, POLICIES_MAX};
	static struct spd_policy policy[POLICIES_MAX];
	uint64_t seed = 3;
	unsigned long keys = 0, matched = 0;

	(void)state;
	for (unsigned long round = 0; round < rounds(28); round++) {
		unsigned int n = sizes[round % COUNT_OF(sizes)];

		for (unsigned int i = 0; i < n; i++)
			policy[i] = random_policy(&seed);

		struct spd *spd = spd_new(policy, n);

		assert_non_null(spd);
		assert_int_equal(spd_count(spd), n);
		for (unsigned int i = 0; i < 40; i++) {
			uint16_t burst = (uint16_t)(1 + random_below(&seed, KEYS_MAX));

			matched += check_lookup(spd, policy, n, burst, &seed);
			keys += burst;
		}
		spd_free(spd);
	}
	assert_in_range(matched, keys / 4, keys - keys / 20); // both answers were common
}

static struct ip_prefix prefix(const char *text)
{
	struct ip_prefix p;

	assert_int_equal(ip_prefix_parse(&p, text), 0);
	return p;
}

static const struct spd_policy *lookup_one(const struct spd *spd, const struct spd_key *key)
{
	const struct spd_policy *found = (const struct spd_policy *)spd; // anything else than NULL

	spd_lookup(spd, &key, &found, 1);
	return found;
}

static const struct spd_key any_key = {
	.proto = 6,
	.local = RTE_BE32(0x0a010005),
	.remote = RTE_BE32(0x0a020005),
	.local_port = RTE_BE32(1024),
	.remote_port = RTE_BE32(80),
};

static void test_empty(void **state)
{
	const struct spd_policy none = {0};
	struct spd *spd = spd_new(&none, 0);

	(void)state;
	assert_non_null(spd);
	assert_int_equal(spd_count(spd), 0);
	assert_null(lookup_one(spd, &any_key));
	spd_lookup(spd, NULL, NULL, 0);
	spd_free(spd);
	spd_free(NULL);
}

// Policies of IPv6 say nothing about IPv4, whichever side of them is wide open.
static void test_families(void **state)
{
	const struct acl_port_range all = {0, ACL_PORT_OPAQUE};
	const char *const v6[][2] = {{"2001:db8:1::/48", "2001:db8:2::/48"},
		{"::/0", "2001:db8:2::/48"}, {"2001:db8:1::/48", "::/0"}};
	struct spd_policy policy[] = {
		{.proto = SPD_PROTO_ANY, .local_port = all, .remote_port = all},
		{.proto = SPD_PROTO_ANY, .local_port = all, .remote_port = all},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(v6); i++) {
		policy[0].local = prefix(v6[i][0]);
		policy[0].remote = prefix(v6[i][1]);
		policy[1].local = policy[1].remote = (struct ip_prefix){0};

		struct spd *alone = spd_new(policy, 1), *both = spd_new(policy, 2);

		assert_non_null(alone);
		assert_non_null(both);
		assert_null(lookup_one(alone, &any_key));
		assert_ptr_equal(lookup_one(both, &any_key), spd_at(both, 1));
		spd_free(alone);
		spd_free(both);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_families),
		cmocka_unit_test(test_model),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
