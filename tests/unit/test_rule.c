// SPDX-License-Identifier: BSD-3-Clause
// The rule set against a linear search of the list.
#include "addrs.h"
#include "eal.h"
#include "rule.h"
#include "test.h"

#define RULES_MAX 300
#define MANY      500
#define PORTS     4
#define TUNNELS   6

static const struct acl_port_range all_ports = {0, ACL_PORT_OPAQUE};
static const struct rule fallback = {.name = "rest", .action = RULE_REJECT, .log = true};

// --- the model ---

static bool naive_range(struct acl_port_range range, rte_be32_t port)
{
	uint32_t p = rte_be_to_cpu_32(port);

	return p >= range.min && p <= range.max;
}

static bool naive_index(uint32_t wanted, rte_be32_t port)
{
	return wanted == CLASSIFIER_ANY || wanted == rte_be_to_cpu_32(port);
}

static bool naive_tunnel(const struct rule *r, const struct classifier_key *key)
{
	for (unsigned int t = 0; t < r->n_tunnels; t++)
		if (rte_be_to_cpu_32(key->tunnel_in) == r->tunnels[t] ||
			rte_be_to_cpu_32(key->tunnel_out) == r->tunnels[t])
			return true;
	return r->n_tunnels == 0;
}

// Without a restriction: the family of its prefixes, both if both are ::/0.
static enum ip_family family_of(const struct rule *r)
{
	if (r->match.family != IP_ANY ||
		(r->match.source.len == 0 && r->match.destination.len == 0))
		return r->match.family;
	return ip_addr_family(
		r->match.source.len != 0 ? &r->match.source.addr : &r->match.destination.addr);
}

static bool naive_matches(
	const struct rule *r, const struct classifier_key *key, enum rule_state state)
{
	return (r->states & 1u << state) != 0 &&
	       (r->match.proto == PROTO_ANY || r->match.proto == key->proto) &&
	       naive_prefix(&r->match.source, family_of(r), &key->source) &&
	       naive_prefix(&r->match.destination, family_of(r), &key->destination) &&
	       naive_range(r->match.source_port, key->source_port) &&
	       naive_range(r->match.destination_port, key->destination_port) &&
	       naive_index(r->match.in, key->in) && naive_index(r->match.out, key->out) &&
	       naive_tunnel(r, key);
}

static unsigned int naive_find(const struct rule rules[], unsigned int n,
	const struct classifier_key *key, enum rule_state state)
{
	unsigned int i = 0;

	while (i < n && !naive_matches(&rules[i], key, state))
		i++;
	return i;
}

// --- random rules and keys ---

// Of two prefixes of a family, each may be unrestricted.
static struct ip_prefix random_side(uint64_t *seed, enum ip_family family)
{
	if (family == IP_ANY || random_below(seed, 2) == 0)
		return (struct ip_prefix){0};
	return random_prefix(seed, family);
}

static struct acl_port_range random_range(uint64_t *seed)
{
	uint32_t a = random_below(seed, 8) * 1000, b = random_below(seed, 8) * 1000;

	switch (random_below(seed, 6)) {
	case 0: // one
		return (struct acl_port_range){a, a};
	case 1: // all ports, but not packets without
		return (struct acl_port_range){0, UINT16_MAX};
	case 2:
		return (struct acl_port_range){RTE_MIN(a, b), RTE_MAX(a, b) + 1};
	default:
		return all_ports;
	}
}

// Numbers, ascending, often adjacent; storage holds TUNNELS.
static unsigned int random_tunnels(uint32_t storage[], uint64_t *seed)
{
	unsigned int n = 0;

	if (random_below(seed, 2) == 0)
		return 0;
	for (uint32_t t = 0; t < TUNNELS; t++)
		if (random_below(seed, 3) == 0)
			storage[n++] = 1 + t;
	return n;
}

static struct rule random_rule(uint32_t tunnels[], uint64_t *seed)
{
	enum ip_family family = random_below(seed, 3);

	return (struct rule){
		.action = random_below(seed, 3),
		.states = (uint8_t)(1 + random_below(seed, 15)),
		.match = {.source = random_side(seed, family),
			.destination = random_side(seed, family),
			.family = random_below(seed, 2) == 0 ? family : IP_ANY,
			.proto = random_below(seed, 2) == 0 ? PROTO_ANY
							    : (uint16_t)random_below(seed, 4),
			.source_port = random_range(seed),
			.destination_port = random_range(seed),
			.in = random_below(seed, 3) == 0 ? random_below(seed, PORTS)
							 : CLASSIFIER_ANY,
			.out = random_below(seed, 3) == 0 ? random_below(seed, PORTS)
							  : CLASSIFIER_ANY},
		.tunnels = tunnels,
		.n_tunnels = random_tunnels(tunnels, seed),
	};
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

// A number below n, or, now and then, none.
static rte_be32_t random_index(uint64_t *seed, uint32_t n, uint32_t none)
{
	return rte_cpu_to_be_32(random_below(seed, 5) == 0 ? none : random_below(seed, n));
}

static struct classifier_key random_key(uint64_t *seed)
{
	enum ip_family family = random_family(seed);

	return (struct classifier_key){
		.proto = random_below(seed, 8) == 0 ? 255 : (uint8_t)random_below(seed, 4),
		.source = random_addr(seed, family),
		.destination = random_addr(seed, family),
		.source_port = random_port(seed),
		.destination_port = random_port(seed),
		.in = random_index(seed, PORTS, CLASSIFIER_ANY),
		.out = random_index(seed, PORTS, CLASSIFIER_ANY),
		.tunnel_in = rte_cpu_to_be_32(random_below(seed, 1 + TUNNELS)),
		.tunnel_out = rte_cpu_to_be_32(random_below(seed, 1 + TUNNELS)),
	};
}

// Looks one key up in every state; returns how many times a rule matched.
static unsigned int check_key(
	const struct rule_set *s, const struct rule rules[], unsigned int n, uint64_t *seed)
{
	struct classifier_key key = random_key(seed);
	unsigned int matched = 0;

	for (enum rule_state state = 0; state < RULE_STATES; state++) {
		unsigned int found = rule_set_decide(s, RULE_FORWARD, &key, state);
		unsigned int right = naive_find(rules, n, &key, state);

		if (found != right)
			fail_msg("rule %u of %u in state %d, must be %u", found, n, state, right);
		matched += right < n;
	}
	return matched;
}

static void test_model(void **state)
{
	static const unsigned int sizes[] = {1, 2, 3, 10, 31, 32, 33, 64, 200, RULES_MAX};
	static struct rule rules[RULES_MAX];
	static uint32_t tunnels[RULES_MAX][TUNNELS];
	uint64_t seed = 5;
	unsigned long found = 0, matched = 0;

	(void)state;
	for (unsigned long round = 0; round < rounds(10); round++) {
		unsigned int n = sizes[round % COUNT_OF(sizes)];

		for (unsigned int i = 0; i < n; i++)
			rules[i] = random_rule(tunnels[i], &seed);

		struct rule_set *s = rule_set_new(rules, n, &fallback);

		assert_non_null(s);
		for (unsigned int i = 0; i < 2000; i++) {
			matched += check_key(s, rules, n, &seed);
			found += RULE_STATES;
		}
		rule_set_free(s);
	}
	assert_in_range(matched, found / 4, found - found / 20); // both answers were common
}

// --- one by one ---

static const struct rule any_rule = {
	.states = 1 << RULE_NEW | 1 << RULE_ESTABLISHED | 1 << RULE_RELATED | 1 << RULE_INVALID,
	.match = {.proto = PROTO_ANY,
		.source_port = {0, ACL_PORT_OPAQUE},
		.destination_port = {0, ACL_PORT_OPAQUE},
		.in = CLASSIFIER_ANY,
		.out = CLASSIFIER_ANY},
};

static const struct classifier_key any_key = {
	.proto = 6,
	.source = {.b = {[10] = 0xff, [11] = 0xff, 10, 1, 0, 5}},
	.destination = {.b = {[10] = 0xff, [11] = 0xff, 10, 2, 0, 5}},
	.source_port = RTE_BE32(1024),
	.destination_port = RTE_BE32(80),
	.in = RTE_BE32(0),
	.out = RTE_BE32(1),
};

// Whether a rule alone matches a key in a state.
static bool matches(const struct rule *r, const struct classifier_key *key, enum rule_state state)
{
	struct rule_set *s = rule_set_new(r, 1, &fallback);

	assert_non_null(s);

	bool found = rule_set_decide(s, RULE_FORWARD, key, state) == 0;

	rule_set_free(s);
	return found;
}

static void test_fallback(void **state)
{
	struct rule_set *s = rule_set_new(&any_rule, 0, &fallback);

	(void)state;
	assert_non_null(s);
	assert_int_equal(rule_set_count(s), 1);
	assert_int_equal(rule_set_decide(s, RULE_FORWARD, &any_key, RULE_INVALID), 0);
	assert_string_equal(rule_set_at(s, 0)->name, "rest");
	assert_int_equal(rule_set_at(s, 0)->action, RULE_REJECT);
	assert_true(rule_set_at(s, 0)->log);
	rule_set_free(s);
	rule_set_free(NULL);
}

// The set has copies; the caller's rules are not changed.
static void test_copies(void **state)
{
	uint32_t tunnel = 4;
	struct rule r[] = {any_rule, any_rule};
	struct classifier_key key = any_key;
	struct rule_set *s;

	(void)state;
	strcpy(r[1].name, "second");
	r[0].tunnels = &tunnel;
	r[0].n_tunnels = 1;
	r[1].action = RULE_DROP;
	s = rule_set_new(r, 2, &fallback);
	assert_non_null(s);
	memset(r, 0xff, sizeof(r));
	tunnel = 7;
	assert_int_equal(rule_set_count(s), 3);
	assert_string_equal(rule_set_at(s, 1)->name, "second");
	assert_int_equal(rule_set_at(s, 1)->action, RULE_DROP);
	assert_int_equal(rule_set_at(s, 0)->tunnels[0], 4);
	assert_int_equal(rule_set_decide(s, RULE_FORWARD, &key, RULE_NEW), 1);
	key.tunnel_out = RTE_BE32(4);
	assert_int_equal(rule_set_decide(s, RULE_FORWARD, &key, RULE_NEW), 0);
	rule_set_free(s);
}

static void test_states(void **state)
{
	struct rule r = any_rule;

	(void)state;
	for (uint8_t set = 1; set < 1 << RULE_STATES; set++) {
		r.states = set;
		for (enum rule_state s = 0; s < RULE_STATES; s++)
			assert_int_equal(matches(&r, &any_key, s), (set >> s & 1) != 0);
	}
}

// A rule for a tunnel matches packets that enter or leave by it, and the first rule for either of
// the two decides.
static void test_tunnels(void **state)
{
	const uint32_t first = 11, second = 12;
	struct rule r[] = {any_rule, any_rule};
	struct classifier_key key = any_key;

	(void)state;
	r[0].tunnels = &first;
	r[1].tunnels = &second;
	r[0].n_tunnels = r[1].n_tunnels = 1;

	struct rule_set *s = rule_set_new(r, 2, &fallback);

	assert_non_null(s);
	assert_int_equal(rule_set_decide(s, RULE_FORWARD, &key, RULE_NEW), 2); // in clear
	key.tunnel_in = RTE_BE32(12);
	assert_int_equal(rule_set_decide(s, RULE_FORWARD, &key, RULE_NEW), 1);
	key.tunnel_out = RTE_BE32(11);
	assert_int_equal(rule_set_decide(s, RULE_FORWARD, &key, RULE_NEW), 0);
	key.tunnel_in = RTE_BE32(11);
	key.tunnel_out = RTE_BE32(12);
	assert_int_equal(rule_set_decide(s, RULE_FORWARD, &key, RULE_NEW), 0);
	key.tunnel_in = RTE_BE32(10);
	key.tunnel_out = RTE_BE32(13);
	assert_int_equal(rule_set_decide(s, RULE_FORWARD, &key, RULE_NEW), 2);
	rule_set_free(s);
}

// Without a restriction of ports a rule also matches packets without ports; with one it does not.
static void test_opaque_ports(void **state)
{
	struct rule r = any_rule;
	struct classifier_key key = any_key;

	(void)state;
	key.source_port = key.destination_port = RTE_BE32(ACL_PORT_OPAQUE);
	r.match.source_port = acl_port_range(0, UINT16_MAX);
	assert_true(matches(&r, &key, RULE_NEW));
	r.match.destination_port = acl_port_range(1, UINT16_MAX);
	assert_false(matches(&r, &key, RULE_NEW));
	key.destination_port = RTE_BE32(UINT16_MAX);
	assert_true(matches(&r, &key, RULE_NEW));
}

// As acl_sender_port() encodes type and code of a message.
static bool icmp_matches(uint16_t min, uint16_t max, uint32_t message)
{
	struct rule r = any_rule;
	struct classifier_key key = any_key;

	r.match.proto = key.proto = IPPROTO_ICMP;
	r.match.source_port = acl_port_range(min, max);
	key.source_port = rte_cpu_to_be_32(message);
	key.destination_port = RTE_BE32(ACL_PORT_RECEIVER);
	return matches(&r, &key, RULE_NEW);
}

static void test_icmp(void **state)
{
	static const struct {
		uint16_t min, max; // of the rule
		uint32_t message;
		bool matches;
	} rows[] = {
		{0, UINT16_MAX, 0x0800, true}, // no restriction
		{0, UINT16_MAX, ACL_PORT_OPAQUE, true},
		{0x0800, 0x08ff, 0x0800, true}, // every code of a type
		{0x0800, 0x08ff, 0x08ff, true},
		{0x0800, 0x08ff, 0x0900, false},
		{0x0800, 0x08ff, ACL_PORT_OPAQUE, false}, // a fragment
		{0x0304, 0x0304, 0x0304, true},           // one code
		{0x0304, 0x0304, 0x0303, false},
		{0x0300, 0x0304, 0x0302, true}, // codes
		{0x0300, 0x0304, 0x0305, false},
		{0x8500, 0x89ff, 0x8700, true}, // types
		{0x8500, 0x89ff, 0x84ff, false},
		{0xff00, 0xffff, 0xff00, true},
		{0x0000, 0x00ff, 0x0000, true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (icmp_matches(rows[i].min, rows[i].max, rows[i].message) != rows[i].matches)
			fail_msg("row %zu", i);
}

// Rules of one family do not match the other, whichever side of them is unrestricted; a rule
// without addresses matches both, unless it is for one family.
static void test_families(void **state)
{
	struct rule r[] = {any_rule, any_rule, any_rule, any_rule, any_rule};
	struct classifier_key v6 = any_key;
	struct rule_set *s;

	(void)state;
	v6.source = v6.destination = (struct ip_addr){.b = {0x20, 0x01, 0x0d, 0xb8}};
	r[0].match.source = net_of("2001:db8:1::/48");
	r[1].match.destination = net_of("10.2.0.0/16");
	r[2].match.source = r[2].match.destination = net_of("2001:db8::/32");
	r[3].match.source = r[3].match.destination = net_of("0.0.0.0/0");
	s = rule_set_new(r, 5, &fallback);
	assert_non_null(s);
	assert_int_equal(rule_set_decide(s, RULE_FORWARD, &any_key, RULE_NEW), 1);
	assert_int_equal(rule_set_decide(s, RULE_FORWARD, &v6, RULE_NEW), 2);
	rule_set_free(s);
	assert_false(matches(&r[0], &any_key, RULE_NEW));
	assert_false(matches(&r[0], &v6, RULE_NEW));
	assert_false(matches(&r[1], &v6, RULE_NEW));
	assert_true(matches(&r[3], &any_key, RULE_NEW));
	assert_false(matches(&r[3], &v6, RULE_NEW));
	assert_true(matches(&r[4], &any_key, RULE_NEW));
	assert_true(matches(&r[4], &v6, RULE_NEW));
	r[4].match.family = IP_V6;
	assert_false(matches(&r[4], &any_key, RULE_NEW));
	assert_true(matches(&r[4], &v6, RULE_NEW));
	r[4].match.family = IP_V4;
	assert_true(matches(&r[4], &any_key, RULE_NEW));
	assert_false(matches(&r[4], &v6, RULE_NEW));
}

// Rules that restrict everything, each differently, are the worst for rte_acl.
static void test_many(void **state)
{
	static struct rule rules[MANY];
	static uint32_t tunnels[MANY][TUNNELS];
	uint64_t seed = 7;

	(void)state;
	for (unsigned long round = 0; round < rounds(2); round++) {
		for (unsigned int i = 0; i < MANY; i++) {
			uint32_t a = random_below(&seed, 65536), b = random_below(&seed, 65536);

			rules[i] = random_rule(tunnels[i], &seed);
			rules[i].match.source_port.min = RTE_MIN(a, b);
			rules[i].match.source_port.max = RTE_MAX(a, b);
			rules[i].match.destination_port.min = 9000 + a % 9; // far from any_key's
			rules[i].match.destination_port.max = 60000;
		}
		rules[MANY - 1] = any_rule;

		struct rule_set *s = rule_set_new(rules, MANY, &fallback);

		assert_non_null(s);
		assert_int_equal(rule_set_decide(s, RULE_FORWARD, &any_key, RULE_NEW), MANY - 1);
		for (unsigned int i = 0; i < 1000; i++)
			check_key(s, rules, MANY, &seed);
		rule_set_free(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fallback),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_tunnels),
		cmocka_unit_test(test_opaque_ports),
		cmocka_unit_test(test_icmp),
		cmocka_unit_test(test_families),
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, eal_group_start, eal_group_stop);
}
