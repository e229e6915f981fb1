// SPDX-License-Identifier: BSD-3-Clause
// Policies and rules with lists against policies and rules without: one for each combination, which
// nested loops make.
#include <netinet/in.h>
#include <stdlib.h>

#include "addrs.h"
#include "eal.h"
#include "policies.h"
#include "rule.h"
#include "spd.h"
#include "test.h"

#define POLICIES_MAX 40
#define VALUES_MAX   4
#define COMBINATIONS_MAX                                                                           \
	(POLICIES_MAX * VALUES_MAX * VALUES_MAX * VALUES_MAX * VALUES_MAX * VALUES_MAX)

struct values {
	struct ip_prefix local[VALUES_MAX], remote[VALUES_MAX];
	uint16_t proto[VALUES_MAX];
	struct proto_ports local_port[VALUES_MAX], remote_port[VALUES_MAX];
	unsigned int n_local, n_remote, n_proto, n_local_port, n_remote_port;
};

static bool has_overlap(const struct ip_prefix *all, unsigned int n, const struct ip_prefix *p)
{
	bool overlap = false;

	for (unsigned int i = 0; i < n; i++)
		overlap |= ip_addr_family(&all[i].addr) == ip_addr_family(&p->addr) &&
			   ip_prefix_overlaps(&all[i], p);
	return overlap;
}

// Disjoint prefixes, the first of a family.
static unsigned int random_prefixes(
	struct ip_prefix to[VALUES_MAX], bool mixed, enum ip_family family, uint64_t *seed)
{
	const unsigned int wanted = 1 + random_below(seed, VALUES_MAX);
	unsigned int n = 0;

	for (unsigned int i = 0; i < 4 * wanted && n < wanted; i++) {
		struct ip_prefix p =
			random_prefix(seed, mixed && n % 2 == 1 ? IP_V4 + IP_V6 - family : family);

		if (!has_overlap(to, n, &p))
			to[n++] = p;
	}
	return n;
}

static unsigned int random_ports(struct proto_ports to[VALUES_MAX], uint64_t *seed)
{
	const unsigned int n = random_below(seed, VALUES_MAX + 1);

	to[0] = (struct proto_ports){0, UINT16_MAX};
	for (unsigned int i = 0; i < n; i++) {
		const uint16_t min = (uint16_t)(1000 * (2 * i + random_below(seed, 2)));

		to[i] = (struct proto_ports){min, (uint16_t)(min + random_below(seed, 999))};
	}
	return RTE_MAX(n, 1u);
}

static unsigned int random_protos(uint16_t to[VALUES_MAX], uint64_t *seed)
{
	const unsigned int n = random_below(seed, VALUES_MAX), first = random_below(seed, 4);

	to[0] = PROTO_ANY;
	for (unsigned int i = 0; i < n; i++)
		to[i] = (uint16_t)(2 + (first + i) % 4);
	return RTE_MAX(n, 1u);
}

static bool has_both(const struct ip_prefix *all, unsigned int n)
{
	bool v4 = false, v6 = false;

	for (unsigned int i = 0; i < n; i++) {
		v4 |= ip_addr_is_v4(&all[i].addr);
		v6 |= !ip_addr_is_v4(&all[i].addr);
	}
	return v4 && v6;
}

// As of a configuration: with two families at one end the other one has them as well.
static struct values random_values(uint64_t *seed)
{
	struct values v;
	enum ip_family family = random_family(seed);
	bool mixed = random_below(seed, 3) == 0;

	do {
		v.n_local = random_prefixes(v.local, mixed, family, seed);
		v.n_remote = random_prefixes(v.remote, mixed, family, seed);
	} while (has_both(v.local, v.n_local) != has_both(v.remote, v.n_remote));
	v.n_proto = random_protos(v.proto, seed);
	v.n_local_port = random_ports(v.local_port, seed);
	v.n_remote_port = random_ports(v.remote_port, seed);
	return v;
}

static enum ip_family family_of(const struct values *v)
{
	return has_both(v->local, v->n_local) ? IP_ANY : ip_addr_family(&v->local[0].addr);
}

static struct acl_port_range range_of(const struct proto_ports *p)
{
	return acl_port_range(p->min, p->max);
}

static struct classifier_lists lists_of(const struct values *v)
{
	return (struct classifier_lists){v->local + 1, v->remote + 1, v->proto + 1,
		v->local_port + 1, v->remote_port + 1, v->n_local - 1, v->n_remote - 1,
		v->n_proto - 1, v->n_local_port - 1, v->n_remote_port - 1};
}

static struct classifier_match match_of(const struct values *v, const struct classifier_lists *more)
{
	return (struct classifier_match){.more = more,
		.family = family_of(v),
		.source = v->local[0],
		.destination = v->remote[0],
		.proto = v->proto[0],
		.source_port = range_of(&v->local_port[0]),
		.destination_port = range_of(&v->remote_port[0]),
		.in = CLASSIFIER_ANY,
		.out = CLASSIFIER_ANY};
}

// Matches without lists, one for each combination. Returns their number.
static unsigned int expand(struct classifier_match to[], const struct values *v)
{
	unsigned int n = 0;

	for (unsigned int s = 0; s < v->n_local; s++)
		for (unsigned int d = 0; d < v->n_remote; d++)
			for (unsigned int p = 0; p < v->n_proto; p++)
				for (unsigned int a = 0; a < v->n_local_port; a++)
					for (unsigned int b = 0; b < v->n_remote_port; b++) {
						if (ip_addr_family(&v->local[s].addr) !=
							ip_addr_family(&v->remote[d].addr))
							continue;
						to[n] = match_of(v, NULL);
						to[n].family = ip_addr_family(&v->local[s].addr);
						to[n].source = v->local[s];
						to[n].destination = v->remote[d];
						to[n].proto = v->proto[p];
						to[n].source_port = range_of(&v->local_port[a]);
						to[n++].destination_port =
							range_of(&v->remote_port[b]);
					}
	return n;
}

static struct spd_policy policy_of(const struct classifier_match *m)
{
	return (struct spd_policy){.action = SPD_BYPASS,
		.more = m->more,
		.family = m->family,
		.local = m->source,
		.remote = m->destination,
		.proto = m->proto,
		.local_port = m->source_port,
		.remote_port = m->destination_port};
}

// Lists, the plain matches that they stand for, and whose each of these is.
static struct values values[POLICIES_MAX];
static struct classifier_lists lists[POLICIES_MAX];
static struct classifier_match listed[POLICIES_MAX], plain[COMBINATIONS_MAX];
static unsigned int owner[COMBINATIONS_MAX];

static unsigned int make(unsigned int n, uint64_t *seed)
{
	unsigned int n_plain = 0;

	for (unsigned int i = 0; i < n; i++) {
		values[i] = random_values(seed);
		lists[i] = lists_of(&values[i]);
		listed[i] = match_of(&values[i], &lists[i]);

		unsigned int k = expand(&plain[n_plain], &values[i]);

		assert_int_equal(classifier_combinations(&listed[i]), k);
		while (k-- > 0)
			owner[n_plain++] = i;
	}
	return n_plain;
}

static struct spd *spd_of(const struct classifier_match matches[], unsigned int n)
{
	struct spd_policy *policies = calloc(n, sizeof(*policies));
	struct spd *spd;

	assert_non_null(policies);
	for (unsigned int i = 0; i < n; i++)
		policies[i] = policy_of(&matches[i]);
	spd = spd_new(policies, n, 0);
	assert_non_null(spd);
	free(policies);
	return spd;
}

static void check_policy(const struct spd *list, const struct spd_policy *found,
	const struct spd *one, const struct spd_policy *right)
{
	long index = found != NULL ? (long)spd_place(list, found) : -1;

	assert_int_equal(index, right != NULL ? (long)owner[spd_place(one, right)] : -1);
}

// The first of the policies that may match the datagram of a fragment.
static void check_fragment(const struct spd *list, unsigned int n_list, const struct spd *one,
	unsigned int n_one, const struct ip_view *p)
{
	bool may[POLICIES_MAX] = {false};

	for (unsigned int i = 0; i < n_one; i++)
		may[owner[i]] |= spd_policy_may_match(spd_at(one, i), p, &p->src, &p->dst);
	for (unsigned int i = 0; i < n_list; i++)
		assert_int_equal(
			spd_policy_may_match(spd_at(list, i), p, &p->src, &p->dst), may[i]);
}

static void test_policies(void **state)
{
	uint64_t seed = 11;
	unsigned long matched = 0, packets = 0;

	(void)state;
	for (unsigned long round = 0; round < rounds(12); round++) {
		const unsigned int n = 1 + random_below(&seed, POLICIES_MAX);
		const unsigned int n_plain = make(n, &seed);
		struct spd *list = spd_of(listed, n), *one = spd_of(plain, n_plain);

		assert_int_equal(spd_count(list), n);
		for (unsigned int i = 0; i < 2000; i++) {
			struct ip_view packet = random_packet(&seed), back = reverse_of(&packet);
			const struct spd_policy *right = spd_find_outbound(one, &packet);

			check_policy(list, spd_find_outbound(list, &packet), one, right);
			check_policy(list, spd_find_inbound(list, &back), one, right);
			if (i % 16 == 0)
				check_fragment(list, n, one, n_plain, &packet);
			matched += right != NULL;
			packets++;
		}
		spd_free(list);
		spd_free(one);
	}
	assert_in_range(matched, packets / 10, packets - packets / 20);
}

static struct rule_set *rules_of(
	const struct classifier_match matches[], unsigned int n, const unsigned int *number)
{
	const struct rule rest = {.name = "rest", .number = POLICIES_MAX + 1};
	struct rule *rules = calloc(n, sizeof(*rules));
	struct rule_set *set;

	assert_non_null(rules);
	for (unsigned int i = 0; i < n; i++)
		rules[i] = (struct rule){.states = 1 << RULE_NEW,
			.match = matches[i],
			.number = (uint16_t)(1 + (number != NULL ? number[i] : i))};
	set = rule_set_new(rules, n, &rest);
	assert_non_null(set);
	free(rules);
	return set;
}

// Lists of rules are in parts, of which a large list has its own.
static void test_rules(void **state)
{
	uint64_t seed = 12;

	(void)state;
	for (unsigned long round = 0; round < rounds(8); round++) {
		const unsigned int n = 1 + random_below(&seed, POLICIES_MAX);
		const unsigned int n_plain = RTE_MIN(make(n, &seed), 4096u);
		const unsigned int n_list = owner[n_plain - 1];
		struct rule_set *list = rules_of(listed, n_list, NULL);
		struct rule_set *one = rules_of(plain, n_plain, owner);

		for (unsigned int i = 0; i < 1000; i++) {
			struct ip_view packet = random_packet(&seed);
			struct classifier_key key = classifier_key_of(&packet);
			unsigned int found = rule_set_decide(list, RULE_FORWARD, &key, RULE_NEW);
			unsigned int right = rule_set_decide(one, RULE_FORWARD, &key, RULE_NEW);
			uint16_t number = rule_set_at(one, right)->number;

			if (number > n_list) // of rules that the limit has cut
				number = POLICIES_MAX + 1;
			assert_int_equal(rule_set_at(list, found)->number, number);
		}
		rule_set_free(list);
		rule_set_free(one);
	}
}

// As many combinations as a configuration may have, of one policy.
static void test_limit(void **state)
{
	static struct ip_prefix local[128], remote[128];
	const struct classifier_lists more = {.source = local + 1,
		.destination = remote + 1,
		.n_source = COUNT_OF(local) - 1,
		.n_destination = COUNT_OF(remote) - 1};
	struct spd_policy p = simple_policy(120, 0);
	struct spd *spd;

	(void)state;
	for (uint32_t i = 0; i < COUNT_OF(local); i++) {
		local[i] = prefix_of(ip_addr_from_v4(rte_cpu_to_be_32(0x0a000000 + (i << 9))), 120);
		remote[i] =
			prefix_of(ip_addr_from_v4(rte_cpu_to_be_32(0x0b000000 + (i << 9))), 120);
	}
	p.local = local[0];
	p.remote = remote[0];
	p.more = &more;
	spd = spd_new(&p, 1, 0);
	assert_non_null(spd);
	for (uint32_t i = 0; i < COUNT_OF(local); i++)
		for (uint32_t k = 0; k < 2 * COUNT_OF(remote); k++) {
			const struct ip_view packet = {.proto = IPPROTO_UDP,
				.src = local[i].addr,
				.dst = ip_addr_from_v4(rte_cpu_to_be_32(0x0b000007 + (k << 8)))};

			assert_int_equal(spd_find_outbound(spd, &packet) != NULL, k % 2 == 0);
		}
	spd_free(spd);
}

// The prefix of an end that has an address, of its family.
static void test_prefix_of(void **state)
{
	uint64_t seed = 13;

	(void)state;
	for (unsigned int round = 0; round < 100; round++) {
		make(1, &seed);

		const struct spd_policy p = policy_of(&listed[0]);

		for (unsigned int i = 0; i < values[0].n_remote; i++) {
			const struct ip_prefix *remote = &values[0].remote[i], *found;

			found = spd_policy_remote_of(&p, &remote->addr);
			assert_non_null(found);
			assert_true(classifier_prefixes_equal(found, remote));
		}
		for (unsigned int i = 0; i < values[0].n_local; i++)
			assert_non_null(spd_policy_local_of(&p, &values[0].local[i].addr));
		assert_int_equal(spd_policy_has_family(&p, IP_V6),
			has_both(values[0].local, values[0].n_local) ||
				!ip_addr_is_v4(&values[0].local[0].addr));
	}
}

// Policies and rules keep copies, which are equal as long as no value differs.
static void test_copies(void **state)
{
	uint64_t seed = 14;

	(void)state;
	for (unsigned int round = 0; round < 100; round++) {
		make(1, &seed);

		struct classifier_lists *copy = classifier_lists_copy(&lists[0]);

		assert_true(classifier_lists_equal(copy, &lists[0]));
		assert_false(classifier_lists_equal(copy, NULL));
		if (values[0].n_proto > 1) {
			values[0].proto[1]++;
			assert_false(classifier_lists_equal(copy, &lists[0]));
		}
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_policies),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_prefix_of),
		cmocka_unit_test(test_copies),
	};

	return cmocka_run_group_tests(tests, eal_group_start, eal_group_stop);
}
