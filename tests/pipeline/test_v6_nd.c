// SPDX-License-Identifier: BSD-3-Clause
// Neighbour discovery on the gateway's links (RFC 4861, RFC 4862, RFC 4291 2.6.1). Proves its
// answers, its events for the control thread, and its drops.
#include <netinet/in.h>

#include "addrs.h"
#include "dad.h"
#include "site_v6.h"

#define LINK_LOCAL "fe80::ff:fe00:100" // of port LAN, by its MAC 02:00:00:00:01:00
#define HOST       "2001:db8:1::5"
#define OWN        "2001:db8:1::1"

enum { RS = 133, RA, NS, NA, REDIRECT, OVERRIDE = 0x20000000, SOLICITED = 0x40000000 };

static struct event take_event(enum event_kind kind, const char *text)
{
	struct ip_addr a = addr_of(text);
	struct event e;

	assert_true(worker_event_dequeue(v6_a->w, &e));
	assert_int_equal(e.kind, kind);
	assert_int_equal(e.port, LAN);
	assert_true(ip_addr_equal(&e.addr, &a));
	return e;
}

// RFC 4861 4.4, byte by byte.
static void expect_advertisement_from(
	const struct frame *f, const char *src, const char *target, const char *dst, uint32_t flags)
{
	const uint8_t *p = frame_packet(f), *icmp = p + IP6_LEN;

	assert_int_equal(frame_packet_len(f), IP6_LEN + 32);
	assert_memory_equal(f->b + 6, mac_of_port(LAN), 6);
	assert_int_equal(p[7], 255);
	assert_memory_equal(p + 8, ip6_octets(src), 16);
	assert_memory_equal(p + 24, ip6_octets(dst), 16);
	assert_int_equal(icmp[0], NA);
	assert_int_equal(be32(icmp + 4), flags);
	assert_memory_equal(icmp + 8, ip6_octets(target), 16);
	assert_int_equal(icmp[24], 2);
	assert_int_equal(icmp[25], 1);
	assert_memory_equal(icmp + 26, mac_of_port(LAN), 6);
	assert_int_equal(ip6_checksum(p, IP6_LEN, IP6_LEN + 32, IPPROTO_ICMPV6), 0);
}

static void expect_advertisement(
	const struct frame *f, const char *target, const char *dst, uint32_t flags)
{
	expect_advertisement_from(f, target, target, dst, flags);
}

#define ROUTER 0x80000000u

static void test_solicited(void **state)
{
	static const struct {
		const char *target, *dst;
	} rows[] = {
		{OWN, "ff02::1:ff00:1"},
		{OWN, OWN}, // unicast, by a station that checks reachability
		{LINK_LOCAL, "ff02::1:ff00:100"},
	};
	const uint8_t *mac = mac_of_neighbour(LAN);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct frame f = frame_nd(LAN, NS, HOST, rows[i].dst, rows[i].target, 0);
		struct event e;

		gateway_expect_sent(v6_a, &f, LAN);
		assert_int_equal(v6_a->last.local, 1);
		assert_memory_equal(v6_a->sent[0].b, mac, 6);
		expect_advertisement(
			&v6_a->sent[0], rows[i].target, HOST, ROUTER | SOLICITED | OVERRIDE);
		e = take_event(EVENT_ND_SOLICITED, HOST);
		assert_memory_equal(&e.mac, mac, 6);
		assert_true(e.for_us);
	}
	// For another station's address: its sender is learnt if it is a neighbour in use; for an
	// address of another port.
	struct frame f = frame_nd(LAN, NS, "2001:db8:1::9", "ff02::1:ff00:7", "2001:db8:1::7", 0);

	gateway_pass(v6_a, &f, 1);
	expect_drops(v6_a, DROP_NONE, 0);
	expect_no_event(v6_a);
	f = frame_nd(LAN, NS, HOST, "ff02::1:ff00:7", "2001:db8:1::7", 0);

	gateway_pass(v6_a, &f, 1);
	expect_drops(v6_a, DROP_NONE, 0);
	assert_int_equal(v6_a->n_sent, 0);
	assert_false(take_event(EVENT_ND_SOLICITED, HOST).for_us);
	f = frame_nd(LAN, NS, HOST, "ff02::1:ff00:1", "2001:db8:f::1", 0);
	gateway_pass(v6_a, &f, 1);
	assert_int_equal(v6_a->n_sent, 0);
}

static struct frame without_option(struct frame f)
{
	f.len -= 8;
	frame_nd_update(&f);
	return f;
}

// Without an option the answer is longer than the solicitation.
static void test_solicited_without_option(void **state)
{
	struct frame f = without_option(frame_nd(LAN, NS, HOST, OWN, OWN, 0));

	(void)state;
	gateway_expect_sent(v6_a, &f, LAN);
	expect_advertisement(&v6_a->sent[0], OWN, HOST, ROUTER | SOLICITED | OVERRIDE);
	expect_no_event(v6_a);
}

// Its source is ::, so it must not have an option.
static struct frame probe(const char *target, const char *group)
{
	return without_option(frame_nd(LAN, NS, "::", group, target, 0));
}

// RFC 4862 5.4
static void test_duplicates(void **state)
{
	struct frame f = probe(OWN, "ff02::1:ff00:1"), echo;
	struct ip_addr own = addr_of(OWN);

	(void)state;
	// An own address is defended in any case.
	gateway_expect_sent(v6_a, &f, LAN);
	expect_advertisement(&v6_a->sent[0], OWN, "ff02::1", ROUTER | OVERRIDE);
	expect_no_event(v6_a);
	f = frame_nd(LAN, NA, OWN, "ff02::1", OWN, OVERRIDE);
	gateway_pass(v6_a, &f, 1);
	take_event(EVENT_DAD_HEARD, OWN);
	// A tentative one is not.
	assert_int_equal(dad_add(harness_dad, LAN, &own), 0);
	f = probe(OWN, "ff02::1:ff00:1");
	gateway_pass(v6_a, &f, 1);
	assert_int_equal(v6_a->n_sent, 0);
	take_event(EVENT_DAD_HEARD, OWN);
	f = frame_nd(LAN, NS, HOST, "ff02::1:ff00:1", OWN, 0);
	gateway_pass(v6_a, &f, 1);
	assert_int_equal(v6_a->n_sent, 0);
	take_event(EVENT_ND_SOLICITED, HOST);
	// The gateway's own message, reflected by a switch, is ignored.
	echo = probe(OWN, "ff02::1:ff00:1");
	memcpy(echo.b + 6, mac_of_port(LAN), 6);
	gateway_pass(v6_a, &echo, 1);
	expect_drops(v6_a, DROP_NONE, 0);
	expect_no_event(v6_a);
}

// RFC 4291 2.6.1, RFC 4861 7.2.4: a solicitation for the routers' anycast address is answered, but
// the answer does not override that of another router.
static void test_anycast(void **state)
{
	static const char any[] = "2001:db8:1::";
	struct frame f = frame_nd(LAN, NS, HOST, "ff02::1:ff00:0", any, 0);
	struct ip_addr own = addr_of(LINK_LOCAL);

	(void)state;
	gateway_expect_sent(v6_a, &f, LAN);
	expect_advertisement_from(&v6_a->sent[0], LINK_LOCAL, any, HOST, ROUTER | SOLICITED);
	assert_true(take_event(EVENT_ND_SOLICITED, HOST).for_us);
	f = frame_ip6(
		LAN, (struct ipv6)FROM_TO(HOST, any, .proto = IPPROTO_ICMPV6, .icmp_type = 128));
	gateway_expect_sent(v6_a, &f, LAN);
	assert_memory_equal(frame_packet(&v6_a->sent[0]) + 8, ip6_octets(OWN), 16);
	// Of another port's network; unicast; while no own address is assigned.
	f = frame_nd(LAN, NS, HOST, "ff02::1:ff00:0", "2001:db8:f::", 0);
	gateway_pass(v6_a, &f, 1);
	assert_int_equal(v6_a->n_sent, 0);
	assert_false(take_event(EVENT_ND_SOLICITED, HOST).for_us);
	f = probe(any, "ff02::1:ff00:0");
	gateway_pass(v6_a, &f, 1);
	expect_drops(v6_a, DROP_NONE, 0);
	assert_int_equal(v6_a->n_sent, 0);
	expect_no_event(v6_a);
	assert_int_equal(dad_add(harness_dad, LAN, &own), 0);
	f = frame_nd(LAN, NS, HOST, "ff02::1:ff00:0", any, 0);
	gateway_pass(v6_a, &f, 1);
	assert_int_equal(v6_a->n_sent, 0);
}

static void test_advertised(void **state)
{
	struct frame f = frame_nd(LAN, NA, HOST, OWN, HOST, SOLICITED | OVERRIDE);
	struct event e;

	(void)state;
	gateway_pass(v6_a, &f, 1);
	expect_drops(v6_a, DROP_NONE, 0);
	e = take_event(EVENT_ND_ADVERTISED, HOST);
	assert_true(e.solicited && e.override && e.has_mac);
	assert_memory_equal(&e.mac, mac_of_neighbour(LAN), 6);
	f = frame_nd(LAN, NA, HOST, "ff02::1", HOST, 0);
	gateway_pass(v6_a, &f, 1);
	e = take_event(EVENT_ND_ADVERTISED, HOST);
	assert_false(e.solicited || e.override);
	// Of a station that is no neighbour in use.
	f = frame_nd(LAN, NA, "2001:db8:1::9", "ff02::1", "2001:db8:1::9", 0);
	gateway_pass(v6_a, &f, 1);
	expect_drops(v6_a, DROP_NONE, 0);
	expect_no_event(v6_a);
}

// Messages from impossible source addresses are neither answered nor processed (RFC 4291 2.5.3,
// 2.7).
static void test_sources(void **state)
{
	static const char *const sources[] = {"ff02::1", "ff0e::5", "::1"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(sources); i++) {
		struct frame f = frame_nd(LAN, NS, sources[i], OWN, OWN, 0);

		gateway_expect_drop(v6_a, &f, DROP_IP_SOURCE);
		assert_int_equal(v6_a->n_sent, 0);
		expect_no_event(v6_a);
		f = frame_nd(LAN, NA, sources[i], OWN, HOST, SOLICITED | OVERRIDE);
		gateway_expect_drop(v6_a, &f, DROP_IP_SOURCE);
		expect_no_event(v6_a);
	}
}

// An octet of the IP packet, and an invalid value for it.
struct mistake {
	unsigned int at;
	uint8_t value;
};

static void expect_malformed(struct frame f)
{
	gateway_expect_drop(v6_a, &f, DROP_ND_MALFORMED);
	expect_no_event(v6_a);
}

static void check_mistakes(struct frame good, const struct mistake mistakes[], size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct frame f = good;

		f.b[ETH_LEN + mistakes[i].at] = mistakes[i].value;
		frame_nd_update(&f);
		expect_malformed(f);
	}
}

static void test_malformed_nd(void **state)
{
	static const struct mistake mistakes[] = {
		{7, 254},            // hop limit: it was forwarded
		{IP6_LEN + 1, 1},    // code
		{IP6_LEN + 8, 0xff}, // multicast target
		{IP6_LEN + 25, 0},   // option of length 0
		{IP6_LEN + 25, 2},   // beyond the end
	};

	(void)state;
	check_mistakes(frame_nd(LAN, NS, HOST, OWN, OWN, 0), mistakes, COUNT_OF(mistakes));
}

// --- routers ---

#define ROUTERS  "ff02::2"
#define KNOWN    "2001:db8:1::7" // learnt or to be resolved, not configured
#define STRANGER "2001:db8:1::9"

static const uint8_t elsewhere[6] = {2, 0, 0, 0, 7, 7};

// A message with the link address option at another offset (RFC 4861 4.1, 4.2, 4.5).
static struct frame frame_router(uint16_t port, uint8_t type, const char *src, const char *dst)
{
	static const uint8_t fixed[] = {[RS - RS] = 8, [RA - RS] = 16, [REDIRECT - RS] = 40};
	uint8_t len = fixed[type - RS];
	struct frame f =
		frame_ip6(port, (struct ipv6)FROM_TO(src, dst, .proto = IPPROTO_ICMPV6, .hops = 255,
					.len = (uint16_t)(IP6_LEN + len + 8), .icmp_type = type));
	uint8_t *icmp = f.b + ETH_LEN + IP6_LEN;

	memset(icmp + 4, 0, len - 4u);
	if (type == RA)
		put16(icmp + 6, 1800); // seconds of being a default router
	if (type == REDIRECT) {
		memcpy(icmp + 8, ip6_octets("fe80::7"), 16); // a redirect
		memcpy(icmp + 24, ip6_octets("2001:db8:9::5"), 16);
	}
	icmp[len] = type == REDIRECT ? 2 : 1;
	icmp[len + 1] = 1;
	memcpy(icmp + len + 2, elsewhere, 6);
	frame_nd_update(&f);
	return f;
}

// Accepted, neither answered nor processed.
static void expect_silence(struct frame f)
{
	gateway_pass(v6_a, &f, 1);
	expect_drops(v6_a, DROP_NONE, 0);
	assert_int_equal(v6_a->last.local, 1);
	assert_int_equal(v6_a->n_sent, 0);
	expect_no_event(v6_a);
}

// RFC 4861 6.2.6: its sender is learnt. The test plays the control thread.
static void test_routers_solicited(void **state)
{
	struct frame f = frame_router(LAN, RS, KNOWN, ROUTERS);
	struct ip_addr known = addr_of(KNOWN);
	struct event e;

	(void)state;
	neigh_resolve(harness_neigh, LAN, &known, 0, 0);
	gateway_pass(v6_a, &f, 1);
	expect_drops(v6_a, DROP_NONE, 0);
	assert_int_equal(v6_a->last.local, 1);
	assert_int_equal(v6_a->n_sent, 0);
	e = take_event(EVENT_ND_SOLICITED, KNOWN);
	assert_memory_equal(&e.mac, elsewhere, 6);
	assert_false(e.for_us);
	neigh_solicited(harness_neigh, e.port, &e.addr, &e.mac, e.for_us, 0);
	f = frame_ip6(WAN, (struct ipv6)FROM_TO("2001:db8:9::5", KNOWN));
	gateway_expect_sent(v6_a, &f, LAN);
	assert_memory_equal(v6_a->sent[0].b, elsewhere, 6);
	// It is ignored: from a station that is no neighbour in use, or without an option, also
	// from one that has no address yet.
	expect_silence(frame_router(LAN, RS, STRANGER, ROUTERS));
	expect_silence(without_option(frame_router(LAN, RS, KNOWN, ROUTERS)));
	expect_silence(without_option(frame_router(LAN, RS, "::", ROUTERS)));
	// Another station has an own address.
	f = frame_router(LAN, RS, OWN, ROUTERS);
	gateway_pass(v6_a, &f, 1);
	take_event(EVENT_ADDR_CONFLICT, OWN);
}

// RFC 4861 6.1.1
static void test_malformed_rs(void **state)
{
	static const struct mistake mistakes[] = {
		{7, 254},             // hop limit: it was forwarded
		{IP6_LEN + 1, 1},     // code
		{IP6_LEN + 9, 0},     // option of no length
		{IP6_LEN + 9, 2},     // beyond the end
		{IP6_LEN + 10, 0x33}, // a group's link address
	};
	struct ip_addr known = addr_of(KNOWN);
	struct frame f;

	(void)state;
	neigh_resolve(harness_neigh, LAN, &known, 0, 0);
	f = frame_router(LAN, RS, KNOWN, ROUTERS);
	check_mistakes(f, mistakes, COUNT_OF(mistakes));
	f.b[ETH_LEN + IP6_LEN + 2] ^= 1; // checksum
	expect_malformed(f);
	expect_malformed(frame_router(LAN, RS, "::", ROUTERS)); // destination does not exist
}

// A router ignores the configuration of other routers (RFC 4861 6.2.7, 8.1).
static void test_advice(void **state)
{
	static const struct {
		uint16_t port;
		uint8_t type;
		const char *src, *dst;
		enum drop drop;
	} rows[] = {
		{LAN, RA, "fe80::7", "ff02::1", DROP_NOT_UNICAST},
		{LAN, RA, "fe80::7", LINK_LOCAL, DROP_LOCAL_UNSERVED},
		{LAN, RA, "fe80::7", OWN, DROP_LOCAL_UNSERVED},
		{WAN, RA, "fe80::9", "ff02::1", DROP_NOT_UNICAST},
		{WAN, RA, "fe80::9", "2001:db8:f::1", DROP_LOCAL_UNSERVED},
		{LAN, REDIRECT, "fe80::7", LINK_LOCAL, DROP_LOCAL_UNSERVED},
		{LAN, REDIRECT, "fe80::7", OWN, DROP_LOCAL_UNSERVED},
		{WAN, REDIRECT, "fe80::9", "2001:db8:f::1", DROP_LOCAL_UNSERVED},
		{WAN, REDIRECT, "fe80::9", "ff02::1", DROP_NOT_UNICAST},
	};
	struct frame on = frame_ip6(LAN, (struct ipv6)FROM_TO(HOST, "2001:db8:9::5")),
		     lost = frame_ip6(LAN, (struct ipv6)FROM_TO(HOST, "2001:db8:8::5")), f;
	struct ip_addr router = addr_of("fe80::7");

	(void)state;
	neigh_resolve(harness_neigh, LAN, &router, 0, 0);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		f = frame_router(rows[i].port, rows[i].type, rows[i].src, rows[i].dst);
		gateway_expect_drop(v6_a, &f, rows[i].drop);
		assert_int_equal(v6_a->n_sent, 0);
		expect_no_event(v6_a);
		gateway_expect_sent(v6_a, &on, WAN);
		assert_memory_equal(v6_a->sent[0].b, mac_of_neighbour(WAN), 6);
		gateway_expect_drop(v6_a, &lost, DROP_NO_ROUTE);
	}
	// To a host it is forwarded as any packet, so that the host ignores it.
	f = frame_router(LAN, REDIRECT, HOST, "2001:db8:9::5");
	gateway_expect_sent(v6_a, &f, WAN);
	assert_int_equal(frame_packet(&v6_a->sent[0])[7], 254);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		v6_a_test(test_solicited),
		v6_a_test(test_solicited_without_option),
		v6_a_test(test_duplicates),
		v6_a_test(test_anycast),
		v6_a_test(test_advertised),
		v6_a_test(test_sources),
		v6_a_test(test_malformed_nd),
		v6_a_test(test_routers_solicited),
		v6_a_test(test_malformed_rs),
		v6_a_test(test_advice),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
