// SPDX-License-Identifier: BSD-3-Clause
// Queries for multicast listeners (RFC 3810 6.2) received from ports of either side. Proves that
// they are posted to the control thread and not forwarded; that reports of others are dropped.
#include <netinet/in.h>

#include "site_v6.h"

#define ROUTER "fe80::99"
#define OWN    "2001:db8:1::1"
#define HOST   "2001:db8:1::5"
#define ALL    "ff02::1"
#define GROUP  "ff02::1:ff00:1"

enum { QUERY = 130, REPORT = 131, DONE = 132, REPORT_V2 = 143 };

// A router alert for MLD and padding after it (RFC 2711).
static const uint8_t alert[] = {IPPROTO_ICMPV6, 0, 5, 2, 0, 0, 1, 0};
static const uint8_t no_alert[] = {IPPROTO_ICMPV6, 0, 1, 4, 0, 0, 0, 0};

// A message of body_len octets after the group, delay 0x1234 milliseconds.
static struct frame message(uint16_t port, struct ipv6 ip, uint8_t type, const char *group,
	const uint8_t *body, uint16_t body_len)
{
	uint16_t off = IP6_LEN + sizeof(alert), len = (uint16_t)(off + 24 + body_len);
	struct frame f;
	uint8_t *p;

	ip.proto = IPPROTO_ICMPV6;
	ip.ext = ip.ext != NULL ? ip.ext : alert;
	ip.ext_len = sizeof(alert);
	ip.ext_proto = IPPROTO_HOPOPTS;
	ip.hops = ip.hops != 0 ? ip.hops : 1;
	ip.len = len;
	f = frame_ip6(port, ip);
	p = f.b + ETH_LEN;
	memset(p + off, 0, 24);
	p[off] = type;
	put16(p + off + 4, 0x1234);
	memcpy(p + off + 8, ip6_octets(group), 16);
	if (body_len > 0)
		memcpy(p + off + 24, body, body_len);
	put16(p + off + 2, ip6_checksum(p, off, len, IPPROTO_ICMPV6));
	if (ip6_octets(ip.dst)[0] == 0xff) {
		put16(f.b, 0x3333);
		memcpy(f.b + 2, ip6_octets(ip.dst) + 12, 4);
	}
	return f;
}

static struct frame query(uint16_t port, struct ipv6 ip, const char *group)
{
	static const uint8_t v2[] = {2, 20, 0, 0}; // QRV, QQIC, no sources

	return message(port, ip, QUERY, group, v2, sizeof(v2));
}

static void expect_query(const struct frame *f, const char *group, bool v1)
{
	struct event e;

	gateway_pass(v6_a, f, 1);
	expect_drops(v6_a, DROP_NONE, 0);
	assert_int_equal(v6_a->n_sent, 0);
	assert_int_equal(v6_a->last.local, 1);
	assert_true(worker_event_dequeue(v6_a->w, &e));
	assert_int_equal(e.kind, EVENT_MLD_QUERY);
	assert_int_equal(e.port, f->port);
	assert_memory_equal(e.addr.b, ip6_octets(group), 16);
	assert_int_equal(e.v1, v1);
	assert_int_equal(e.delay_ms, 0x1234);
	assert_int_equal(e.interval_s, v1 ? 0 : 20);
	expect_no_event(v6_a);
}

// Also from the unprotected port, without a policy.
static void test_queries(void **state)
{
	static const uint16_t ports[] = {LAN, WAN};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(ports); i++) {
		struct frame f = query(ports[i], (struct ipv6)FROM_TO(ROUTER, ALL), "::");

		expect_query(&f, "::", false);
		f = query(ports[i], (struct ipv6)FROM_TO(ROUTER, GROUP), GROUP);
		expect_query(&f, GROUP, false);
		f = message(ports[i], (struct ipv6)FROM_TO(ROUTER, ALL), QUERY, "::", NULL, 0);
		expect_query(&f, "::", true);
	}
	// Unicast to the gateway (RFC 3810 5.1.15).
	struct frame f = query(LAN, (struct ipv6)FROM_TO(ROUTER, OWN), "::");

	expect_query(&f, "::", false);
}

// The gateway's own report, reflected by a switch or sent by another gateway on this machine.
static void test_own_report_reflected(void **state)
{
	struct frame f = query(LAN, (struct ipv6)FROM_TO(ROUTER, ALL), "::");

	(void)state;
	memcpy(f.b + 6, mac_of_port(LAN), 6);
	gateway_pass(v6_a, &f, 1);
	expect_drops(v6_a, DROP_NONE, 0);
	assert_int_equal(v6_a->last.local, 1);
	expect_no_event(v6_a);
}

static void test_malformed(void **state)
{
	static const struct ipv6 rows[] = {
		FROM_TO(ROUTER, ALL, .hops = 2),
		FROM_TO(ROUTER, ALL, .hops = 255),
		FROM_TO(ROUTER, ALL, .ext = no_alert),
		FROM_TO(HOST, ALL),
		FROM_TO("::", ALL),
		FROM_TO(HOST, OWN),
		// It would be forwarded if it were not MLD.
		FROM_TO(HOST, "2001:db8:9::5", .hops = 64),
		FROM_TO(HOST, "2001:db8:2::5", .hops = 64),
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct frame f = query(LAN, rows[i], "::");

		gateway_expect_drop(v6_a, &f, DROP_MLD_MALFORMED);
		assert_int_equal(v6_a->n_sent, 0);
		expect_no_event(v6_a);
	}
	struct frame f = query(LAN, (struct ipv6)FROM_TO(ROUTER, ALL), OWN);

	gateway_expect_drop(v6_a, &f, DROP_MLD_MALFORMED);
	f = query(LAN, (struct ipv6)FROM_TO(ROUTER, ALL), "::");
	f.b[ETH_LEN + IP6_LEN + 8 + 2] ^= 1;
	gateway_expect_drop(v6_a, &f, DROP_MLD_MALFORMED);
	expect_no_event(v6_a);
}

static void test_reports(void **state)
{
	static const uint8_t types[] = {REPORT, DONE, REPORT_V2};
	static const char *const sources[] = {ROUTER, "::"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(types); i++)
		for (size_t k = 0; k < COUNT_OF(sources); k++) {
			struct frame f = message(LAN, (struct ipv6)FROM_TO(sources[k], "ff02::16"),
				types[i], GROUP, NULL, 0);

			gateway_expect_drop(v6_a, &f, DROP_NOT_UNICAST);
			assert_int_equal(v6_a->n_sent, 0);
			expect_no_event(v6_a);
		}
}

// A flood from one port does not displace the events of others.
static void test_flood_leaves_room_for_others(void **state)
{
	struct frame f[32], other = query(WAN, (struct ipv6)FROM_TO(ROUTER, ALL), "::");
	unsigned int n = 0, by_wan = 0;
	struct event e;

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(f); i++)
		f[i] = query(LAN, (struct ipv6)FROM_TO(ROUTER, ALL), "::");
	for (unsigned int i = 0; i < 1000; i++)
		gateway_pass(v6_a, f, COUNT_OF(f));
	gateway_pass(v6_a, &other, 1);
	while (worker_event_dequeue(v6_a->w, &e)) {
		n++;
		by_wan += e.port == WAN;
	}
	assert_in_range(n, 2, 4096);
	assert_int_equal(by_wan, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		v6_a_test(test_queries),
		v6_a_test(test_own_report_reflected),
		v6_a_test(test_malformed),
		v6_a_test(test_reports),
		v6_a_test(test_flood_leaves_room_for_others),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
