// SPDX-License-Identifier: BSD-3-Clause
// The policy database against a linear search of the list.
#include <netinet/in.h>

#include "addrs.h"
#include "eal.h"
#include "policies.h"
#include "proto_model.h"
#include "spd.h"
#include "test.h"

#define POLICIES_MAX 500

// Without a restriction: the family of its prefixes, both if both are ::/0.
static enum ip_family family_of(const struct spd_policy *p)
{
	if (p->family != IP_ANY || (p->local.len == 0 && p->remote.len == 0))
		return p->family;
	return ip_addr_family(p->local.len != 0 ? &p->local.addr : &p->remote.addr);
}

static bool naive_range(struct acl_port_range range, const struct ip_view *packet, rte_be16_t port)
{
	uint32_t p = packet->has_ports ? rte_be_to_cpu_16(port) : ACL_PORT_OPAQUE;

	return p >= range.min && p <= range.max;
}

// Of an outbound packet.
static long naive_find(
	const struct spd_policy policy[], unsigned int n, const struct ip_view *packet)
{
	for (unsigned int i = 0; i < n; i++) {
		const struct spd_policy *p = &policy[i];

		if ((p->proto == PROTO_ANY || p->proto == packet->proto) &&
			naive_prefix(&p->local, family_of(p), &packet->src) &&
			naive_prefix(&p->remote, family_of(p), &packet->dst) &&
			naive_range(p->local_port, packet, packet->src_port) &&
			naive_range(p->remote_port, packet, packet->dst_port))
			return i;
	}
	return -1;
}

static void check_found(const struct spd *spd, const struct spd_policy *found, long expected)
{
	long index = found != NULL ? found - spd_at(spd, 0) : -1;

	if (index != expected)
		fail_msg("policy %ld of %u, must be %ld", index, spd_count(spd), expected);
}

// A batch of packets of both families and directions has the same results as single look-ups.
static void check_together(
	const struct spd *spd, const struct spd_policy policy[], unsigned int n, uint64_t *seed)
{
	const struct spd_policy *found[CLASSIFIER_KEYS_MAX];
	struct classifier_key key[CLASSIFIER_KEYS_MAX];
	long right[CLASSIFIER_KEYS_MAX];

	for (unsigned int i = 0; i < CLASSIFIER_KEYS_MAX; i++) {
		struct ip_view packet = random_packet(seed), back = reverse_of(&packet);

		right[i] = naive_find(policy, n, &packet);
		key[i] = classifier_key_of(i % 3 == 0 ? &packet : &back);
		if (i % 3 != 0)
			key[i] = classifier_key_reversed(&key[i]);
	}
	for (unsigned int k = 0; k <= CLASSIFIER_KEYS_MAX; k = 2 * k + 1) { // 0, 1, 3, 7, ... 127
		spd_find(spd, key, k, found);
		for (unsigned int i = 0; i < k; i++)
			check_found(spd, found[i], right[i]);
	}
}

static void test_model(void **state)
{
	static const unsigned int sizes[] = {1, 2, 3, 10, 64, 100, POLICIES_MAX};
	static struct spd_policy policy[POLICIES_MAX];
	uint64_t seed = 3;
	unsigned long packets = 0, matched = 0;

	(void)state;
	for (unsigned long round = 0; round < rounds(28); round++) {
		unsigned int n = sizes[round % COUNT_OF(sizes)];

		for (unsigned int i = 0; i < n; i++)
			policy[i] = random_policy(&seed);

		struct spd *spd = spd_new(policy, n, 0);

		assert_non_null(spd);
		assert_int_equal(spd_count(spd), n);
		for (unsigned int i = 0; i < 4000; i++) {
			struct ip_view packet = random_packet(&seed), back = reverse_of(&packet);
			long right = naive_find(policy, n, &packet);

			check_found(spd, spd_find_outbound(spd, &packet), right);
			check_found(spd, spd_find_inbound(spd, &back), right);
			matched += right >= 0;
			packets++;
		}
		check_together(spd, policy, n, &seed);
		spd_free(spd);
	}
	assert_in_range(matched, packets / 4, packets - packets / 20); // both answers were common
}

#define ICMP_ANY                                                                                   \
	{                                                                                          \
		0, ACL_PORT_OPAQUE                                                                 \
	}
#define ICMP_NONE                                                                                  \
	{                                                                                          \
		1, 0                                                                               \
	}
#define ICMP(t, c0, c1)                                                                            \
	{                                                                                          \
		(t) << 8 | (c0), (t) << 8 | (c1)                                                   \
	}

// RFC 4301 4.4.1.1: the types and codes of an end are in messages that it sends.
static void test_icmp(void **state)
{
	static const struct {
		const char *name;
		struct acl_port_range local, remote;
		int type, code; // type -1: a fragment
		bool out, in;
	} rows[] = {
		{"any", ICMP_ANY, ICMP_ANY, 8, 0, true, true},
		{"any, fragment", ICMP_ANY, ICMP_ANY, -1, 0, true, true},
		{"request out", ICMP(8, 0, 255), ICMP(0, 0, 255), 8, 0, true, false},
		{"reply in", ICMP(8, 0, 255), ICMP(0, 0, 255), 0, 0, false, true},
		{"type below", ICMP(8, 0, 255), ICMP_NONE, 7, 255, false, false},
		{"type above", ICMP(8, 0, 255), ICMP_NONE, 9, 0, false, false},
		{"code", ICMP(3, 1, 1), ICMP(3, 0, 4), 3, 1, true, true},
		{"another code", ICMP(3, 1, 1), ICMP(3, 0, 4), 3, 4, false, true},
		{"code above", ICMP(3, 1, 1), ICMP(3, 0, 4), 3, 5, false, false},
		{"types", {128 << 8, 137 << 8 | 255}, ICMP_NONE, 130, 7, true, false},
		{"local restricted", ICMP(8, 0, 255), ICMP_ANY, 3, 0, false, true},
		{"local restricted, fragment", ICMP(8, 0, 255), ICMP_ANY, -1, 0, false, true},
		{"remote restricted, fragment", ICMP_ANY, ICMP(8, 0, 255), -1, 0, true, false},
		{"none in", ICMP_ANY, ICMP_NONE, 0, 0, true, false},
		{"highest", {0, UINT16_MAX}, ICMP_NONE, 255, 255, true, false},
	};
	static const struct {
		uint8_t proto;
		const char *local, *remote;
	} family[] = {{IPPROTO_ICMP, "10.1.0.5", "10.2.0.5"},
		{IPPROTO_ICMPV6, "2001:db8:1::5", "2001:db8:2::5"}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows) * 2; i++) {
		struct spd_policy policy[] = {{.action = SPD_BYPASS,
			.proto = family[i % 2].proto,
			.local_port = rows[i / 2].local,
			.remote_port = rows[i / 2].remote}};
		struct ip_view packet = {.proto = family[i % 2].proto,
			.has_icmp_type = rows[i / 2].type >= 0,
			.icmp_type = (uint8_t)rows[i / 2].type,
			.icmp_code = (uint8_t)rows[i / 2].code};
		struct spd *spd = spd_new(policy, 1, 0);
		struct ip_view back;

		print_message("%s\n", rows[i / 2].name);
		assert_non_null(spd);
		packet.src = addr_of(family[i % 2].local);
		packet.dst = addr_of(family[i % 2].remote);
		back = reverse_of(&packet);
		check_found(spd, spd_find_outbound(spd, &packet), rows[i / 2].out ? 0 : -1);
		check_found(spd, spd_find_inbound(spd, &back), rows[i / 2].in ? 0 : -1);
		spd_free(spd);
	}
}

#define SAS 5

// SAs in another order than in memory, and none for some policies.
static void random_receivers(struct spd_policy *p, struct sa_in sas[], uint64_t *seed)
{
	p->n_in = p->action == SPD_PROTECT ? random_below(seed, SPD_IN_MAX + 1) : 0;
	for (unsigned int i = 0; i < p->n_in; i++)
		p->in[i] = &sas[random_below(seed, SAS)];
}

// Of a fragment out of the SA: ports are not matched, nor in IPv6 the protocol.
static long naive_receiver(const struct spd_policy policy[], unsigned int n, const struct sa_in *sa,
	const struct ip_view *fragment)
{
	bool v6 = ip_addr_family(&fragment->src) == IP_V6;

	for (unsigned int i = 0; i < n; i++) {
		const struct spd_policy *p = &policy[i];
		bool receives = false;

		for (unsigned int k = 0; k < p->n_in; k++)
			receives |= p->in[k] == sa;
		if (receives && (v6 || p->proto == PROTO_ANY || p->proto == fragment->proto) &&
			naive_prefix(&p->remote, family_of(p), &fragment->src) &&
			naive_prefix(&p->local, family_of(p), &fragment->dst))
			return i;
	}
	return -1;
}

static void test_receiver(void **state)
{
	static const unsigned int sizes[] = {1, 2, 3, 10, 100, POLICIES_MAX};
	static struct spd_policy policy[POLICIES_MAX];
	static struct sa_in sas[SAS + 1]; // the last has no policy
	uint64_t seed = 5;
	unsigned long found = 0, lookups = 0;

	(void)state;
	for (unsigned long round = 0; round < rounds(24); round++) {
		unsigned int n = sizes[round % COUNT_OF(sizes)];
		struct spd *spd;

		for (unsigned int i = 0; i < n; i++) {
			policy[i] = random_policy(&seed);
			random_receivers(&policy[i], sas, &seed);
		}
		spd = spd_new(policy, n, 0);
		assert_non_null(spd);
		for (unsigned int i = 0; i < 4000; i++) {
			const struct sa_in *sa = &sas[random_below(&seed, SAS + 1)];
			struct ip_view fragment = random_packet(&seed);
			long right = naive_receiver(policy, n, sa, &fragment);

			check_found(spd, spd_find_receiver(spd, sa, &fragment), right);
			found += right >= 0;
			lookups++;
		}
		spd_free(spd);
	}
	assert_in_range(found, lookups / 5, lookups);
}

static const struct ip_view v4 = {
	.proto = 6,
	.src = {.b = {[10] = 0xff, [11] = 0xff, 10, 1, 0, 5}},
	.dst = {.b = {[10] = 0xff, [11] = 0xff, 10, 2, 0, 5}},
	.has_ports = true,
	.src_port = RTE_BE16(1024),
	.dst_port = RTE_BE16(80),
};

static const struct ip_view v6 = {
	.proto = 6,
	.src = {.b = {0x20, 0x01, 0x0d, 0xb8, 0, 1, [15] = 5}},
	.dst = {.b = {0x20, 0x01, 0x0d, 0xb8, 0, 2, [15] = 5}},
	.has_ports = true,
	.src_port = RTE_BE16(1024),
	.dst_port = RTE_BE16(80),
};

static void test_empty(void **state)
{
	const struct spd_policy none = {0};
	struct spd *spd = spd_new(&none, 0, 0);

	(void)state;
	assert_non_null(spd);
	assert_int_equal(spd_count(spd), 0);
	assert_null(spd_find_outbound(spd, &v4));
	assert_null(spd_find_inbound(spd, &v6));
	spd_free(spd);
	spd_free(NULL);
}

static bool matches(
	const char *local, const char *remote, enum ip_family family, const struct ip_view *packet)
{
	const struct acl_port_range all = {0, ACL_PORT_OPAQUE};
	struct spd_policy policy = {
		.local = net_of(local),
		.remote = net_of(remote),
		.family = family,
		.proto = PROTO_ANY,
		.local_port = all,
		.remote_port = all,
	};
	struct spd *spd = spd_new(&policy, 1, 0);

	assert_non_null(spd);

	bool found = spd_find_outbound(spd, packet) != NULL;

	spd_free(spd);
	return found;
}

// Policies of one family do not match the other, whichever side of them is unrestricted; one
// without addresses matches both, unless it is for one family.
static void test_families(void **state)
{
	static const struct {
		const char *local, *remote;
		enum ip_family family;
		bool v4, v6;
	} rows[] = {
		{"2001:db8:1::/48", "2001:db8:2::/48", IP_ANY, false, true},
		{"::/0", "2001:db8:2::/48", IP_ANY, false, true},
		{"2001:db8:1::/48", "::/0", IP_ANY, false, true},
		{"10.1.0.0/16", "0.0.0.0/0", IP_ANY, true, false},
		{"0.0.0.0/0", "0.0.0.0/0", IP_ANY, true, false},
		{"::/0", "::/0", IP_ANY, true, true},
		{"::/0", "::/0", IP_V4, true, false},
		{"::/0", "::/0", IP_V6, false, true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		assert_int_equal(
			matches(rows[i].local, rows[i].remote, rows[i].family, &v4), rows[i].v4);
		assert_int_equal(
			matches(rows[i].local, rows[i].remote, rows[i].family, &v6), rows[i].v6);
	}
}

// The protocols that settings can name, by number (IANA).
static void test_protocols(void **state)
{
	static const struct {
		const char *name;
		uint16_t number;
	} rows[] = {{"any", PROTO_ANY}, {"icmp", 1}, {"igmp", 2}, {"ipip", 4}, {"tcp", 6},
		{"udp", 17}, {"dccp", 33}, {"gre", 47}, {"esp", 50}, {"ah", 51}, {"icmpv6", 58},
		{"ospf", 89}, {"sctp", 132}, {"udplite", 136}};

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(rows); i++) {
		assert_non_null(proto_find(rows[i].name));
		assert_int_equal(proto_find(rows[i].name)->number, rows[i].number);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_families),
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_icmp),
		cmocka_unit_test(test_receiver),
		cmocka_unit_test(test_protocols),
	};

	return cmocka_run_group_tests(tests, eal_group_start, eal_group_stop);
}
