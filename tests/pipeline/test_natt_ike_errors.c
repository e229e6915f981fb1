// SPDX-License-Identifier: BSD-3-Clause
// ICMP errors about IKE of the gateway's address. Proves that they are punted to the station where
// the daemon runs, and that no others are.
#include <netinet/in.h>

#include "datagram.h"
#include "ike_host.h"
#include "router.h"

// IKE of the station that A has sent: 400 octets. It has the non-ESP marker if the port needs it.
static struct frame ike_sent(struct gateway *g, uint16_t port)
{
	struct ipv4 ip = FROM_TO(
		"192.0.2.1", "192.0.2.2", .sport = port, .dport = port, .len = 400, .frag = DF);
	struct frame f = frame_ip(DMZ, ip);

	put32(f.b + ETH_LEN + IP_LEN + UDP_LEN, port == NATT ? 0 : 0x1234);
	return *gateway_expect_sent(g, &f, WAN);
}

static struct frame ike6_sent(struct gateway *g, uint16_t port)
{
	struct frame f = frame_ip6(LAN, (struct ipv6)FROM_TO("2001:db8:f::1", "2001:db8:f::2",
						.sport = port, .dport = port, .len = 400));

	put32(f.b + ETH_LEN + IP6_LEN + UDP_LEN, port == NATT ? 0 : 0x1234);
	return *gateway_expect_sent(g, &f, WAN);
}

#define OF(t, c, ...)                                                                              \
	{                                                                                          \
		.type = (t), .code = (c), ##__VA_ARGS__                                            \
	}

static const struct error unreachable = {.type = 3, .code = 3, .quoted = 28};
static const struct error too_big = {.type = 3, .code = 4, .mtu = 1000, .quoted = 28};
static const struct error unreachable6 = {.type = 1, .code = 4, .quoted = 48};
static const struct error too_big6 = {.type = 2, .mtu = 1280, .quoted = 48};

static void expect_event_pmtu(struct gateway *g)
{
	struct event e;

	assert_true(worker_event_dequeue(g->w, &e));
	assert_int_equal(e.kind, EVENT_PMTU);
	expect_no_event(g);
}

static void test_errors(void **state)
{
	static const struct error kinds[] = {OF(3, 0), OF(3, 1), OF(3, 3), OF(3, 4, .mtu = 1000),
		OF(3, 13), OF(11, 0), OF(11, 1), OF(12, 0)};
	static const struct error others[] = {OF(4, 0), OF(5, 1)}; // source quench, redirect
	static const uint16_t ports[] = {IKE, NATT}, quoted[] = {28, 29, 31, 32, 36, 200, 400};
	struct gateway *g = site_a(ike_in_dmz);

	(void)state;
	for (size_t p = 0; p < COUNT_OF(ports); p++) {
		struct frame about = ike_sent(g, ports[p]), f;
		struct error e;

		for (size_t k = 0; k < COUNT_OF(kinds); k++)
			for (size_t q = 0; q < COUNT_OF(quoted); q++) {
				e = kinds[k];
				e.quoted = quoted[q];
				f = error_v4(&about, e);
				expect_handed_over(g, f, DMZ);
				expect_no_event(g);
			}
		for (size_t k = 0; k < COUNT_OF(others); k++) {
			e = others[k];
			e.quoted = 28;
			f = error_v4(&about, e);
			gateway_expect_drop(g, &f, DROP_LOCAL_UNSERVED);
		}
	}
	gateway_free(g);
}

static void expect_refused(struct gateway *g, const struct frame *about, struct error e)
{
	struct frame f = error_v4(about, e);

	gateway_expect_drop(g, &f, e.code == 4 ? DROP_PMTU_IMPLAUSIBLE : DROP_LOCAL_UNSERVED);
	assert_int_equal(g->n_sent, 0);
	expect_no_event(g);
}

#define OCTETS(first, last) ((UINT64_C(2) << (last)) - (UINT64_C(1) << (first)))

// If any octet of the quoted packet is changed, the error is dropped, unless the octet is
// irrelevant: TOS, length, id, DF, time to live, checksum; length and checksum of UDP.
static void test_errors_forged(void **state)
{
	const uint64_t irrelevant = OCTETS(1, 6) | OCTETS(8, 8) | OCTETS(10, 11) | OCTETS(24, 27);
	struct gateway *g = site_a(ike_in_dmz);
	struct frame about = ike_sent(g, IKE);

	(void)state;
	for (unsigned int at = 0; at < 28; at++) {
		struct frame other = about;

		other.b[ETH_LEN + at] ^= 0x40;
		print_message("octet %u\n", at);
		if ((irrelevant >> at & 1) != 0) {
			expect_handed_over(g, error_v4(&other, unreachable), DMZ);
			expect_handed_over(g, error_v4(&other, too_big), DMZ);
		} else {
			expect_refused(g, &other, unreachable);
			expect_refused(g, &other, too_big);
		}
	}
	for (uint16_t quoted = 0; quoted < 28; quoted++) {
		expect_refused(g, &about, (struct error){.type = 3, .code = 3, .quoted = quoted});
		expect_refused(g, &about,
			(struct error){.type = 3, .code = 4, .mtu = 1000, .quoted = quoted});
	}
	expect_handed_over(g, error_v4(&about, unreachable), DMZ);
	gateway_free(g);
}

// Nobody has sent the packet, or not from a port of IKE, or not the station.
static void test_errors_unsent(void **state)
{
	struct site s = ike_in_dmz;
	struct gateway *g;
	struct frame about, f;

	(void)state;
	s.policies = BYPASS(500) BYPASS(501) BYPASS(4500);
	g = site_a(s);
	about = frame_ip(
		WAN, (struct ipv4)FROM_TO("192.0.2.1", "192.0.2.2", .sport = IKE, .dport = IKE));
	expect_refused(g, &about, unreachable);
	expect_refused(g, &about, too_big);
	about = ike_sent(g, 501);
	expect_refused(g, &about, unreachable);
	expect_refused(g, &about, too_big);

	about = ike_sent(g, IKE);
	f = error_v4(&about, unreachable);
	put32(f.b + ETH_LEN + 12, ip_number("10.1.0.77")); // an inside address from outside
	ip_checksum_update(f.b + ETH_LEN);
	gateway_expect_drop(g, &f, DROP_IP_SOURCE);
	f = error_v4(&about, unreachable); // from inside
	f.port = LAN;
	memcpy(f.b, mac_of_port(LAN), 6);
	gateway_expect_drop(g, &f, DROP_LOCAL_UNSERVED);
	f = error_v4(&about, (struct error){.type = 3, .code = 3, .quoted = 28, .to = "10.1.0.1"});
	gateway_expect_drop(g, &f, DROP_NO_POLICY);
	gateway_free(g);

	s.more = NULL; // no station
	g = site_a(s);
	about = frame_ip(
		WAN, (struct ipv4)FROM_TO("192.0.2.1", "192.0.2.2", .sport = IKE, .dport = IKE));
	expect_refused(g, &about, unreachable);
	expect_refused(g, &about, too_big);
	gateway_free(g);
}

// Out of a tunnel, about a packet of the station into it.
static void test_error_in_tunnel(void **state)
{
	struct gateway *g = site_a(ike_in_dmz);
	struct peer b = peer_new(g, "from-b");
	struct frame about = frame_ip(
		DMZ, (struct ipv4)FROM_TO("10.1.0.1", "10.2.0.5", .sport = IKE, .dport = IKE));
	struct frame f;

	(void)state;
	gateway_expect_sent(g, &about, WAN);
	f = error_v4(&about, (struct error){.type = 3, .code = 3, .quoted = 28, .to = "10.1.0.1"});
	put32(f.b + ETH_LEN + 12, ip_number("10.2.0.5"));
	ip_checksum_update(f.b + ETH_LEN);
	f = sealed(&b, 1, &f);
	f = udp_insert(&f, NATT, NATT);
	gateway_expect_drop(g, &f, DROP_LOCAL_UNSERVED);
	peer_free(&b);
	gateway_free(g);
}

// With port 4500 the marker decides, if it is quoted. If not, an error about the size is processed
// for ESP, too.
static void test_errors_in_udp(void **state)
{
	struct gateway *g = site_a(ike_in_dmz);
	struct error e;
	struct frame esp;

	(void)state;
	ike_sent(g, NATT);
	esp = site_a_esp(g);
	for (uint16_t quoted = 28; quoted < 40; quoted++) {
		struct frame f;

		e = too_big;
		e.quoted = quoted;
		f = error_v4(&esp, e);
		if (quoted < 32) {
			expect_handed_over(g, f, DMZ);
			expect_event_pmtu(g);
		} else if (quoted < 36) {
			gateway_pass(g, &f, 1);
			expect_drops(g, DROP_NONE, 0);
			assert_int_equal(g->last.local, 1);
			assert_int_equal(g->n_sent, 0);
			expect_event_pmtu(g);
		}
		e = unreachable;
		e.quoted = quoted;
		if (quoted < 32)
			expect_handed_over(g, error_v4(&esp, e), DMZ);
		else
			expect_refused(g, &esp, e);
		expect_no_event(g);
	}
	e = too_big;
	e.quoted = 36; // SPI and sequence number
	esp = error_v4(&esp, e);
	gateway_pass(g, &esp, 1);
	expect_drops(g, DROP_NONE, 0);
	assert_int_equal(g->n_sent, 0);
	expect_event_pmtu(g);
	gateway_free(g);
}

// A policy that protects everything else: errors must arrive in ESP, but those about the size
// never do.
static void test_errors_protected(void **state)
{
	struct site s = ike_in_dmz;
	struct gateway *g;
	struct frame about, f;

	(void)state;
	s.policies = BYPASS(500) BYPASS(4500) ", { name = \"all\"; action = \"protect\"; out = "
					      "\"to-b\"; in = \"from-b\"; }";
	g = site_a(s);
	about = ike_sent(g, IKE);
	f = error_v4(&about, unreachable);
	gateway_expect_drop(g, &f, DROP_CLEAR_TEXT);
	expect_handed_over(g, error_v4(&about, too_big), DMZ);
	gateway_free(g);
}

static void test_errors_in_fragments(void **state)
{
	struct gateway *g = site_a(ike_in_dmz);
	struct frame about = ike_sent(g, NATT), f[2];

	(void)state;
	f[0] = f[1] = error_v4(&about, (struct error){.type = 3, .code = 3, .quoted = 300});
	f[0].len = ETH_LEN + IP_LEN + 32; // without the UDP header that is quoted
	put16(f[0].b + ETH_LEN + 2, IP_LEN + 32);
	put16(f[0].b + ETH_LEN + 6, MF);
	f[1].len = (uint16_t)(f[1].len - 32);
	memmove(f[1].b + ETH_LEN + IP_LEN, f[1].b + ETH_LEN + IP_LEN + 32,
		f[1].len - ETH_LEN - IP_LEN);
	put16(f[1].b + ETH_LEN + 2, frame_packet_len(&f[1]));
	put16(f[1].b + ETH_LEN + 6, 32 / 8);
	for (unsigned int i = 0; i < 2; i++)
		ip_checksum_update(f[i].b + ETH_LEN);
	gateway_pass(g, f, 2);
	expect_drops(g, DROP_NONE, 0);
	expect_all_sent(g, 1, DMZ);
	assert_int_equal(frame_packet_len(&g->sent[0]), 28 + 300);
	gateway_free(g);
}

#define NEXT_ICMP6  0x3a, 0, 1, 4, 0, 0, 0, 0 // destination options: none but padding
#define NEXT_UDP    0x11, 0, 1, 4, 0, 0, 0, 0
#define NEXT_UDP_OF 0x11, 0, 0, 1, 0, 0, 0, 0 // a later fragment

static void expect_refused6(struct gateway *g, const struct frame *about, struct error e)
{
	struct frame f = error_v6(about, e);

	gateway_expect_drop(g, &f, e.type == 2 ? DROP_PMTU_IMPLAUSIBLE : DROP_LOCAL_UNSERVED);
	assert_int_equal(g->n_sent, 0);
	expect_no_event(g);
}

static void test_errors_v6(void **state)
{
	static const struct error kinds[] = {
		OF(1, 0), OF(1, 4), OF(2, 0, .mtu = 1280), OF(3, 0), OF(3, 1), OF(4, 1)};
	static const uint16_t ports[] = {IKE, NATT}, quoted[] = {48, 49, 51, 52, 56, 200, 400};
	struct gateway *g = site_v6_a(OVER_V6, ike_in_lan);

	(void)state;
	for (size_t p = 0; p < COUNT_OF(ports); p++) {
		struct frame about = ike6_sent(g, ports[p]);
		struct error e;

		for (size_t k = 0; k < COUNT_OF(kinds); k++)
			for (size_t q = 0; q < COUNT_OF(quoted); q++) {
				e = kinds[k];
				e.quoted = quoted[q];
				expect_handed_over(g, error_v6(&about, e), LAN);
				expect_no_event(g);
			}
		e = (struct error){.type = 100, .quoted = 200}; // unknown
		expect_refused6(g, &about, e);
		for (unsigned int at = 6; at < 44; at++) { // next header, addresses, ports
			struct frame other = about;

			if (at == 7) // hop limit
				continue;
			other.b[ETH_LEN + at] ^= 1;
			expect_refused6(g, &other, unreachable6);
			expect_refused6(g, &other, too_big6);
		}
		for (e = unreachable6; e.quoted > 0; e.quoted--)
			if (e.quoted < 48)
				expect_refused6(g, &about, e);
	}
	gateway_free(g);
}

// Extension headers of the error, and of the packet quoted.
static void test_errors_v6_extensions(void **state)
{
	static const uint8_t before_icmp[] = {NEXT_ICMP6}, before_udp[] = {NEXT_UDP},
			     fragment[] = {NEXT_UDP_OF};
	struct ipv6 ip = FROM_TO("2001:db8:f::1", "2001:db8:f::2", .sport = NATT, .dport = NATT,
		.ext = before_udp, .ext_len = 8, .ext_proto = IPPROTO_DSTOPTS);
	struct gateway *g = site_v6_a(OVER_V6, ike_in_lan);
	struct frame about = ike6_sent(g, NATT), f;
	struct error e = unreachable6;

	(void)state;
	e.ext = before_icmp;
	e.ext_len = 8;
	e.ext_proto = IPPROTO_DSTOPTS;
	expect_handed_over(g, error_v6(&about, e), LAN);
	about = frame_ip6(LAN, ip);
	put32(about.b + ETH_LEN + IP6_LEN + 8 + UDP_LEN, 0);
	for (e.quoted = 56; e.quoted <= 100; e.quoted++)
		expect_handed_over(g, error_v6(&about, e), LAN);
	put32(about.b + ETH_LEN + IP6_LEN + 8 + UDP_LEN, 0x1234); // ESP
	for (e.quoted = 60; e.quoted <= 100; e.quoted++)
		expect_refused6(g, &about, e);
	for (e.quoted = 1; e.quoted < 56; e.quoted++) // cut off
		expect_refused6(g, &about, e);
	ip.ext = fragment;
	ip.ext_proto = IPPROTO_FRAGMENT;
	about = frame_ip6(LAN, ip);
	e.quoted = 100;
	expect_refused6(g, &about, e);
	e.ext_proto = IPPROTO_ROUTING;
	f = error_v6(&about, e);
	gateway_expect_drop(g, &f, DROP_SOURCE_ROUTED);
	gateway_free(g);
}

// A station that knows a peer can forge any number of them.
static void test_errors_rate(void **state)
{
	static struct frame f[RX_BURST_MAX];
	struct site s = ike_in_dmz;
	struct gateway *g;
	struct frame about;

	(void)state;
	s.errors_per_second = 10;
	g = site_a(s);
	about = ike_sent(g, IKE);
	for (unsigned int i = 0; i < RX_BURST_MAX; i++)
		f[i] = error_v4(&about, unreachable);
	for (unsigned int i = 0; i < 2; i++) {
		gateway_pass(g, f, RX_BURST_MAX);
		expect_all_sent(g, 10, DMZ);
		expect_drops(g, DROP_LOCAL_UNSERVED, RX_BURST_MAX - 10);
		assert_int_equal(g->last.errors_suppressed, RX_BURST_MAX - 10);
		g->now += TSC_HZ;
	}
	gateway_free(g);
}

// The gateway's own errors about packets of the station.
static void test_errors_own(void **state)
{
	struct site s = ike_in_dmz;
	struct gateway *g;
	struct frame f;

	(void)state;
	s.mtu = 600;
	g = site_a(s);
	f = frame_ip(DMZ, (struct ipv4)FROM_TO("192.0.2.1", "192.0.2.2", .sport = IKE, .dport = IKE,
				  .len = 601, .frag = DF));
	gateway_expect_drop(g, &f, DROP_TOO_BIG);
	expect_all_sent(g, 1, DMZ);
	assert_memory_equal(g->sent[0].b, mac_of_neighbour(DMZ), 6);
	expect_error(frame_packet(&g->sent[0]), frame_packet_len(&g->sent[0]),
		(struct icmp_error){3, 4, 600}, "10.7.0.1", "192.0.2.1", &f);
	f.port = LAN; // another host with that address
	memcpy(f.b, mac_of_port(LAN), 6);
	gateway_pass(g, &f, 1);
	assert_int_equal(g->n_sent, 0);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_errors),
		pipeline_test(test_errors_forged),
		pipeline_test(test_errors_unsent),
		pipeline_test(test_error_in_tunnel),
		pipeline_test(test_errors_in_udp),
		pipeline_test(test_errors_protected),
		pipeline_test(test_errors_in_fragments),
		pipeline_test(test_errors_v6),
		pipeline_test(test_errors_v6_extensions),
		pipeline_test(test_errors_rate),
		pipeline_test(test_errors_own),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
