// SPDX-License-Identifier: BSD-3-Clause
// ICMP errors of routers (RFC 4301 6). Proves through which tunnel they are sent, out of which
// tunnel they are accepted, and which are accepted in clear.
#include "peer.h"
#include "site_v6.h"

// Packets in flight, about which errors are received.
static const struct ipv4 to_b = FROM_TO("10.1.0.5", "10.2.0.5", .sport = 1, .dport = 2),
			 to_c = FROM_TO("10.1.0.5", "10.3.0.5", .sport = 1, .dport = 2),
			 to_net = FROM_TO("10.1.0.5", "198.51.100.5", .sport = 1, .dport = 2),
			 to_ports = FROM_TO("10.1.0.5", "10.4.0.5", .sport = 1, .dport = 5000),
			 from_b = FROM_TO("10.2.0.5", "10.1.0.5", .sport = 3, .dport = 4),
			 from_c = FROM_TO("10.3.0.5", "10.1.0.5", .sport = 3, .dport = 4),
			 from_net = FROM_TO("198.51.100.5", "10.1.0.5", .sport = 3, .dport = 4),
			 from_ports = FROM_TO("10.4.0.5", "10.1.0.5", .sport = 5001, .dport = 4),
			 b_to_c = FROM_TO("10.2.0.5", "10.3.0.5", .sport = 5, .dport = 6),
			 unknown_to = FROM_TO("10.1.0.5", "10.2.0.5", .sport = 1, .dport = 3),
			 unknown_from = FROM_TO("10.2.0.5", "10.1.0.5", .sport = 3, .dport = 5);

enum net_sa { IN_B, IN_C, OUT_B, OUT_C, SAS };

struct net {
	struct gateway *g;
	struct peer sa[SAS];
	uint64_t seq[SAS];
};

// An IP packet out of an SA, or in clear from a port.
static struct frame sealed(struct net *r, enum net_sa sa, const uint8_t *packet, uint16_t len)
{
	return peer_seal_packet(&r->sa[sa], ++r->seq[sa], packet, len);
}

static void pass(struct net *r, struct frame f)
{
	gateway_pass(r->g, &f, 1);
	expect_drops(r->g, DROP_NONE, 0);
	assert_int_equal(r->g->n_sent, 1);
}

static void pass_from_sa(struct net *r, enum net_sa sa, struct ipv4 ip)
{
	uint8_t packet[FRAME_MAX];
	uint16_t len = ip_write(packet, ip);

	pass(r, sealed(r, sa, packet, len));
}

static struct net net_new(struct site s)
{
	static const char *const sa[SAS] = {"from-b", "from-c", "to-b", "to-c"};
	struct net r = {.g = site_a(s)};

	for (unsigned int i = 0; i < SAS; i++)
		r.sa[i] = peer_new(r.g, sa[i]);
	pass(&r, frame_ip(LAN, to_b));
	pass(&r, frame_ip(LAN, to_c));
	pass(&r, frame_ip(LAN, to_net));
	pass(&r, frame_ip(LAN, to_ports));
	pass(&r, frame_ip(WAN, from_net));
	pass_from_sa(&r, IN_B, from_b);
	pass_from_sa(&r, IN_B, from_ports);
	pass_from_sa(&r, IN_C, from_c);
	pass_from_sa(&r, IN_B, b_to_c);
	return r;
}

static void net_free(struct net *r)
{
	for (unsigned int i = 0; i < SAS; i++)
		peer_free(&r->sa[i]);
	gateway_free(r->g);
}

static uint16_t about(uint8_t *out, const char *from, uint8_t type, uint8_t code, struct ipv4 ip)
{
	uint8_t packet[FRAME_MAX];

	ip_write(packet, ip);
	return error_write(out, from, ip.src, type, code, packet);
}

static void expect_octets(const uint8_t *got, uint16_t len, const uint8_t *error)
{
	uint8_t right[FRAME_MAX];

	assert_int_equal(len, be16(error + 2));
	memcpy(right, error, len);
	right[8]--;
	ip_checksum_update(right);
	assert_memory_equal(got, right, len);
}

// The packet sent is the error, one hop later, through the SA.
static void expect_sealed(struct net *r, enum net_sa sa, const uint8_t *error)
{
	uint8_t inner[FRAME_MAX];

	expect_all_sent(r->g, 1, WAN);
	expect_octets(inner, peer_open(&r->sa[sa], &r->g->sent[0], inner), error);
}

// Or in clear.
static void expect_clear(struct net *r, uint16_t port, const uint8_t *error)
{
	const struct frame *f = &r->g->sent[0];

	expect_all_sent(r->g, 1, port);
	expect_octets(frame_packet(f), frame_packet_len(f), error);
}

#define ROUTERS                                                                                    \
	", { name = \"routers\"; local = \"10.9.0.0/24\"; action = \"bypass\"; },"                 \
	"  { name = \"hidden\"; local = \"10.8.0.0/24\"; action = \"discard\"; }"

// From the protected side: through the tunnel of the replies.
static void test_outbound(void **state)
{
	static const struct {
		const char *name, *from;
		const struct ipv4 *about;
		enum drop drop;
		enum net_sa sa; // SAS: in clear
	} rows[] = {
		{"address of the policy", "10.1.0.9", &from_b, DROP_NONE, OUT_B},
		{"of no policy", "10.77.0.9", &from_b, DROP_NONE, OUT_B},
		{"of a policy that discards", "10.8.0.9", &from_b, DROP_NONE, OUT_B},
		{"of a policy that bypasses", "10.9.0.9", &from_b, DROP_NONE, OUT_B},
		{"other tunnel", "10.77.0.9", &from_c, DROP_NONE, OUT_C},
		{"policy about UDP only", "10.1.0.9", &from_ports, DROP_NONE, OUT_B},
		{"no such flow", "10.77.0.9", &unknown_from, DROP_ICMP_UNRELATED, SAS},
		{"flow in clear, no policy", "10.77.0.9", &from_net, DROP_NO_POLICY, SAS},
		{"flow in clear, discarded", "10.8.0.9", &from_net, DROP_POLICY_DISCARD, SAS},
		{"flow in clear, bypasses", "10.9.0.9", &from_net, DROP_NONE, SAS},
	};
	struct net r = net_new((struct site){.policies = ROUTERS});

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint8_t error[FRAME_MAX];
		uint16_t len = about(error, rows[i].from, 11, 0, *rows[i].about);
		struct frame f = frame_raw(LAN, error, len);

		print_message("%s\n", rows[i].name);
		gateway_pass(r.g, &f, 1);
		expect_drops(r.g, rows[i].drop, rows[i].drop != DROP_NONE);
		if (rows[i].drop != DROP_NONE)
			assert_int_equal(r.g->n_sent, 0);
		else if (rows[i].sa == SAS)
			expect_clear(&r, WAN, error);
		else
			expect_sealed(&r, rows[i].sa, error);
	}
	net_free(&r);
}

struct inbound {
	const char *name, *from;
	const struct ipv4 *about;
	enum drop drop;
};

// Out of B's SA, or in clear from the WAN if sa is SAS.
static void check_inbound(struct site s, enum net_sa sa, uint8_t type, uint8_t code,
	const struct inbound rows[], size_t n)
{
	struct net r = net_new(s);

	for (size_t i = 0; i < n; i++) {
		uint8_t error[FRAME_MAX];
		uint16_t len = about(error, rows[i].from, type, code, *rows[i].about);
		struct frame f =
			sa == SAS ? frame_raw(WAN, error, len) : sealed(&r, sa, error, len);

		print_message("%s\n", rows[i].name);
		gateway_pass(r.g, &f, 1);
		expect_drops(r.g, rows[i].drop, rows[i].drop != DROP_NONE);
		if (rows[i].drop == DROP_NONE)
			expect_clear(&r, LAN, error);
		else
			assert_int_equal(r.g->n_sent, 0);
	}
	net_free(&r);
}

static void test_inbound(void **state)
{
	static const struct inbound rows[] = {
		{"address of the policy", "10.2.0.9", &to_b, DROP_NONE},
		{"of no policy", "172.16.0.9", &to_b, DROP_NONE},
		{"of another tunnel's policy", "10.3.0.9", &to_b, DROP_NONE},
		{"of a policy that discards", "203.0.113.9", &to_b, DROP_NONE},
		{"of a policy that bypasses", "198.51.100.9", &to_b, DROP_NONE},
		{"loopback", "127.0.0.1", &to_b, DROP_IP_SOURCE},
		{"policy about UDP only", "10.4.0.9", &to_ports, DROP_NONE},
		{"no such flow", "172.16.0.9", &unknown_to, DROP_ICMP_UNRELATED},
		{"another tunnel's flow", "172.16.0.9", &to_c, DROP_SELECTOR},
		{"the same, from its own address", "10.2.0.9", &to_c, DROP_SELECTOR},
		{"the same, under the other's name", "10.3.0.9", &to_c, DROP_SELECTOR},
		{"a flow in clear", "172.16.0.9", &to_net, DROP_SELECTOR},
		{"the same, from its own address", "10.2.0.9", &to_net, DROP_SELECTOR},
		{"by another policy of the same peer", "10.2.0.9", &to_ports, DROP_NONE},
	};

	(void)state;
	check_inbound((struct site){0}, IN_B, 11, 0, rows, COUNT_OF(rows));
}

static void test_trusted(void **state)
{
	static const struct inbound rows[] = {
		{"its own flow", "10.2.0.9", &to_b, DROP_NONE},
		{"its own flow, of no policy", "172.16.0.9", &to_b, DROP_NONE},
		{"another tunnel's flow", "10.2.0.9", &to_c, DROP_NONE},
		{"a flow in clear", "10.2.0.9", &to_net, DROP_NONE},
		{"no such flow", "10.2.0.9", &unknown_to, DROP_ICMP_UNRELATED},
		{"another tunnel's flow, of no policy", "172.16.0.9", &to_c, DROP_SELECTOR},
	};

	(void)state;
	check_inbound((struct site){.tunnel = "icmp_errors = \"trust\";"}, IN_B, 11, 0, rows,
		COUNT_OF(rows));
}

// The values of icmp.errors_in_clear.
static const char *const words[] = {"unreachable", "too_big", "time_exceeded", "parameter_problem"};

#define ALL_WORDS ((1u << COUNT_OF(words)) - 1)

// The setting with the words whose bits are set, at least one.
static const char *in_clear(unsigned int bits)
{
	static char text[128];
	const char *before = "errors_in_clear = [ ";

	text[0] = '\0';
	for (unsigned int i = 0; i < COUNT_OF(words); i++)
		if ((bits >> i & 1) != 0) {
			sprintf(text + strlen(text), "%s\"%s\"", before, words[i]);
			before = ", ";
		}
	return strcat(text, " ];");
}

static void test_in_clear(void **state)
{
	static const struct inbound dropped[] = {
		{"bypassing address", "198.51.100.9", &to_b, DROP_CLEAR_TEXT},
		{"of no policy", "192.88.99.9", &to_b, DROP_CLEAR_TEXT},
		{"discarded address", "203.0.113.9", &to_b, DROP_CLEAR_TEXT},
		{"protected address", "10.2.0.9", &to_b, DROP_CLEAR_TEXT},
		{"address from inside", "10.1.0.9", &to_b, DROP_IP_SOURCE},
		{"policy about UDP only", "198.51.100.9", &to_ports, DROP_CLEAR_TEXT},
		{"no such flow", "198.51.100.9", &unknown_to, DROP_ICMP_UNRELATED},
		{"flow in clear", "198.51.100.9", &to_net, DROP_NONE},
		{"flow in clear, of no policy", "192.88.99.9", &to_net, DROP_NO_POLICY},
	};
	static const struct inbound received_clear[] = {
		{"in clear: bypassing address", "198.51.100.9", &to_b, DROP_NONE},
		{"in clear: of no policy", "192.88.99.9", &to_b, DROP_NONE},
		{"in clear: discarded address", "203.0.113.9", &to_b, DROP_NONE},
		{"in clear: protected address", "10.2.0.9", &to_b, DROP_CLEAR_TEXT},
		{"in clear: address from inside", "10.1.0.9", &to_b, DROP_IP_SOURCE},
		{"in clear: no such flow", "198.51.100.9", &unknown_to, DROP_ICMP_UNRELATED},
	};
	static const struct {
		uint8_t type, code;
	} kinds[] = {{3, 1}, {3, 4}, {11, 1}, {12, 0}, {4, 0}, {5, 1}};

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(kinds); i++) {
		uint8_t type = kinds[i].type, code = kinds[i].code;

		check_inbound((struct site){0}, SAS, type, code, dropped, COUNT_OF(dropped));
		check_inbound((struct site){.icmp = in_clear(ALL_WORDS & ~(1u << i))}, SAS, type,
			code, dropped, COUNT_OF(dropped));
		if (i < COUNT_OF(words))
			check_inbound((struct site){.icmp = in_clear(1u << i)}, SAS, type, code,
				received_clear, COUNT_OF(received_clear));
	}
}

// From C to B, about a packet from B to C: received by C's tunnel and sent by B's.
static void test_between_tunnels(void **state)
{
	struct net r = net_new((struct site){0});
	uint8_t error[FRAME_MAX];
	uint16_t len = about(error, "172.16.0.9", 3, 4, b_to_c);
	struct frame f = sealed(&r, IN_C, error, len);

	(void)state;
	gateway_pass(r.g, &f, 1);
	expect_drops(r.g, DROP_NONE, 0);
	expect_sealed(&r, OUT_B, error);
	f = sealed(&r, IN_B, error, len); // B sends the error itself
	gateway_expect_drop(r.g, &f, DROP_SELECTOR);
	net_free(&r);
}

static struct frame error6(
	uint16_t port, const char *from, const char *to, uint8_t type, const struct frame *about)
{
	uint8_t error[FRAME_MAX];
	uint16_t len = error6_write(
		error, from, to, type, 0, frame_packet(about), frame_packet_len(about));

	return frame_raw6(port, error, len);
}

// A router of site B about a packet of a host of site A: takes the path of the reply direction, at
// both gateways.
static void test_v6(void **state)
{
	static const char host[] = "2001:db8:1::5", router[] = "2001:db8:77::9";

	(void)state;
	for (enum outer outer = OVER_V4; outer <= OVER_V6; outer++) {
		struct gateway *a = site_v6_a(outer, (struct site){0}),
			       *b = site_v6_b(outer, (struct site){0});
		struct ipv6 ip = FROM_TO("2001:db8:1::5", "2001:db8:2::5", .sport = 7, .dport = 8);
		struct frame in = frame_ip6(LAN, ip), error, wire;

		wire = frame_carry(gateway_expect_sent(a, &in, WAN));
		gateway_expect_sent(b, &wire, LAN);
		for (uint8_t type = 1; type <= 4; type++) {
			error = error6(LAN, router, host, type, &in);
			wire = frame_carry(gateway_expect_sent(b, &error, WAN));
			assert_int_equal(frame_packet(&wire)[outer == OVER_V4 ? 9 : 6], 50);
			error.b[ETH_LEN + 7] -= 2;
			gateway_expect_sent(a, &wire, LAN);
			assert_int_equal(a->sent[0].len, error.len);
			assert_memory_equal(a->sent[0].b + 12, error.b + 12, error.len - 12u);

			error = error6(WAN, router, host, type, &in);
			gateway_expect_drop(a, &error, DROP_CLEAR_TEXT);
			error = error6(WAN, "2001:db8:9::9", host, type, &in);
			gateway_expect_drop(a, &error, DROP_CLEAR_TEXT);
		}
		ip.dport = 9;
		in = frame_ip6(LAN, ip);
		error = error6(LAN, router, host, 1, &in);
		gateway_expect_drop(b, &error, DROP_ICMP_UNRELATED);
		gateway_free(a);
		gateway_free(b);
	}
}

static const char host6[] = "2001:db8:1::5";

struct inbound6 {
	const char *name, *from, *about; // destination of the host's packet
	uint16_t sport;
	enum drop drop;
};

#define KNOWN 7 // source port of the host's packet

// Out of an SA that A has from B, or in clear from the WAN.
static struct frame error6_in(
	const struct inbound6 *row, const struct peer *expect_sa, uint64_t seq, uint8_t type)
{
	struct frame about = frame_ip6(
		LAN, (struct ipv6)FROM_TO(host6, row->about, .sport = row->sport, .dport = 8));
	struct frame error = error6(WAN, row->from, host6, type, &about);

	if (expect_sa == NULL)
		return error;
	return peer_seal_packet(expect_sa, seq, frame_packet(&error), frame_packet_len(&error));
}

// The packet forwarded is the error, one hop later.
static void check_inbound6(
	struct site s, bool sealed, uint8_t type, const struct inbound6 rows[], size_t n)
{
	struct gateway *a = site_v6_a(OVER_V4, s);
	struct peer b = peer_new(a, "in");

	for (size_t i = 0; i < n; i++) {
		struct frame f = frame_ip6(LAN,
			(struct ipv6)FROM_TO(host6, rows[i].about, .sport = KNOWN, .dport = 8));
		struct frame right = error6_in(&rows[i], NULL, 0, type);

		print_message("type %u: %s\n", type, rows[i].name);
		gateway_expect_sent(a, &f, WAN);
		f = error6_in(&rows[i], sealed ? &b : NULL, i + 1, type);
		if (rows[i].drop != DROP_NONE) {
			gateway_expect_drop(a, &f, rows[i].drop);
			assert_int_equal(a->n_sent, 0);
			continue;
		}
		gateway_expect_sent(a, &f, LAN);
		right = frame_after_hops(&right, 1);
		assert_int_equal(a->sent[0].len, right.len);
		assert_memory_equal(
			frame_packet(&a->sent[0]), frame_packet(&right), right.len - ETH_LEN);
	}
	peer_free(&b);
	gateway_free(a);
}

#define TO_B6   "2001:db8:2::5"
#define TO_NET6 "2001:db8:9::5"

static void test_v6_trusted(void **state)
{
	static const struct inbound6 checked[] = {
		{"its own flow", "2001:db8:2::9", TO_B6, KNOWN, DROP_NONE},
		{"its own flow, of no policy", "2001:db8:77::9", TO_B6, KNOWN, DROP_NONE},
		{"a flow in clear", "2001:db8:2::9", TO_NET6, KNOWN, DROP_SELECTOR},
		{"no such flow", "2001:db8:2::9", TO_B6, 1, DROP_ICMP_UNRELATED},
		{"a flow in clear, of no policy", "2001:db8:77::9", TO_NET6, KNOWN, DROP_SELECTOR},
	};
	struct inbound6 trusted[COUNT_OF(checked)];

	(void)state;
	memcpy(trusted, checked, sizeof(checked));
	trusted[2].drop = DROP_NONE;
	for (uint8_t type = 1; type <= 4; type++) {
		check_inbound6((struct site){0}, true, type, checked, COUNT_OF(checked));
		check_inbound6((struct site){.tunnel = "icmp_errors = \"trust\";"}, true, type,
			trusted, COUNT_OF(trusted));
	}
}

static void test_v6_in_clear(void **state)
{
	static const struct inbound6 dropped[] = {
		{"bypassing address", "2001:db8:9::9", TO_B6, KNOWN, DROP_CLEAR_TEXT},
		{"of no policy", "2001:db8:77::9", TO_B6, KNOWN, DROP_CLEAR_TEXT},
		{"protected address", "2001:db8:2::9", TO_B6, KNOWN, DROP_CLEAR_TEXT},
		{"address from inside", "2001:db8:1::9", TO_B6, KNOWN, DROP_IP_SOURCE},
		{"no such flow", "2001:db8:9::9", TO_B6, 1, DROP_ICMP_UNRELATED},
		{"flow in clear", "2001:db8:9::9", TO_NET6, KNOWN, DROP_NONE},
		{"flow in clear, of no policy", "2001:db8:77::9", TO_NET6, KNOWN, DROP_NO_POLICY},
	};
	static const struct inbound6 received_clear[] = {
		{"in clear: bypassing address", "2001:db8:9::9", TO_B6, KNOWN, DROP_NONE},
		{"in clear: of no policy", "2001:db8:77::9", TO_B6, KNOWN, DROP_NONE},
		{"in clear: protected address", "2001:db8:2::9", TO_B6, KNOWN, DROP_CLEAR_TEXT},
		{"in clear: address from inside", "2001:db8:1::9", TO_B6, KNOWN, DROP_IP_SOURCE},
		{"in clear: no such flow", "2001:db8:9::9", TO_B6, 1, DROP_ICMP_UNRELATED},
	};
	static const uint8_t types[] = {1, 2, 3, 4, 100}; // an experimental type (RFC 4443 2.1)

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(types); i++) {
		check_inbound6((struct site){0}, false, types[i], dropped, COUNT_OF(dropped));
		check_inbound6((struct site){.icmp = in_clear(ALL_WORDS & ~(1u << i))}, false,
			types[i], dropped, COUNT_OF(dropped));
		if (i < COUNT_OF(words))
			check_inbound6((struct site){.icmp = in_clear(1u << i)}, false, types[i],
				received_clear, COUNT_OF(received_clear));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_outbound),
		pipeline_test(test_inbound),
		pipeline_test(test_trusted),
		pipeline_test(test_in_clear),
		pipeline_test(test_between_tunnels),
		pipeline_test(test_v6),
		pipeline_test(test_v6_trusted),
		pipeline_test(test_v6_in_clear),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
