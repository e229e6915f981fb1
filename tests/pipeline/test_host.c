// SPDX-License-Identifier: BSD-3-Clause
// The host behind a port. Proves which packets are given to it, unchanged; that its packets are
// sent as those of the gateway, by policy; and that nobody else's packets pass.
#include <netinet/in.h>

#include "packet_v6.h"
#include "peer.h"
#include "site.h"

#define SSH 22
#define BGP 179

static const char rules[] =
	"rules = ("
	" { name = \"ssh\"; host = true; action = \"accept\"; proto = \"tcp\"; destination_port = "
	"\"22\"; },"
	" { name = \"snmp\"; host = true; action = \"accept\"; proto = \"udp\"; destination_port = "
	"\"161\"; },"
	" { name = \"no\"; host = true; action = \"reject\"; proto = \"tcp\"; destination_port = "
	"\"23\"; },"
	" { name = \"ospf\"; host = true; action = \"accept\"; proto = \"ospf\"; } );";

#define BYPASS                                                                                     \
	", { name = \"own\"; local = \"192.0.2.1\"; remote = \"192.0.2.0/24\"; action = "          \
	"\"bypass\"; }"

// Gateway A with a host behind the port.
static struct gateway *gateway_with_host(uint16_t port, const char *policies)
{
	return site_a_host(port, (struct site){.more = rules, .policies = policies});
}

static struct frame tcp(
	uint16_t port, const char *src, const char *dst, uint16_t sport, uint16_t dport)
{
	return frame_ip(port, (struct ipv4)FROM_TO(src, dst, .proto = IPPROTO_TCP, .sport = sport,
				      .dport = dport));
}

// The last pass has given this packet to the host, time to live included.
static void expect_punted(const struct gateway *g, const struct frame *f, uint16_t port)
{
	assert_int_equal(g->n_punted, 1);
	assert_int_equal(g->n_sent, 0);
	assert_memory_equal(g->punted[0].b, mac_of_port(port), 6);
	assert_int_equal(g->punted[0].len, f->len);
	assert_memory_equal(frame_packet(&g->punted[0]), frame_packet(f), frame_packet_len(f));
}

static void expect_given(struct gateway *g, const struct frame *f, uint16_t port)
{
	gateway_expect_punted(g, *f);
	expect_punted(g, f, port);
}

static void expect_host_drop(struct gateway *g, struct frame f, enum drop reason)
{
	gateway_host_pass(g, f);
	expect_drops(g, reason, 1);
	assert_int_equal(g->n_punted, 0);
}

static void test_to_host(void **state)
{
	struct gateway *g = gateway_with_host(LAN, NULL);
	struct ipv4 last_hop = FROM_TO(
		"10.1.0.5", "10.1.0.1", .proto = IPPROTO_TCP, .sport = 9, .dport = SSH, .ttl = 1);
	struct frame f = frame_ip(LAN, last_hop);
	struct ipv4 ping = FROM_TO("10.1.0.5", "10.1.0.1", .proto = IPPROTO_ICMP, .icmp_type = 8);

	(void)state;
	expect_given(g, &f, LAN);
	expect_given(g, &f, LAN);                       // of a flow
	f = tcp(LAN, "10.1.0.5", "192.0.2.1", 10, SSH); // an address of another port
	expect_given(g, &f, LAN);
	f = tcp(LAN, "10.1.0.5", "10.1.0.1", 11, BGP);
	gateway_expect_drop(g, &f, DROP_LOCAL_UNSERVED);
	f = tcp(LAN, "10.1.0.5", "10.1.0.1", 11, 23);
	gateway_expect_drop(g, &f, DROP_RULE_REJECT);
	f = tcp(DMZ, "10.7.0.5", "10.7.0.1", 11, SSH); // there is no host
	gateway_expect_drop(g, &f, DROP_LOCAL_UNSERVED);
	f = frame_ip(LAN, ping); // the gateway answers
	gateway_expect_sent(g, &f, LAN);
	assert_int_equal(g->n_punted, 0);
	gateway_free(g);
}

// Inside a connection, both directions pass, without rules for the host's.
static void test_from_host(void **state)
{
	struct gateway *g = gateway_with_host(LAN, NULL);
	struct ipv4 out = FROM_TO("10.1.0.1", "10.1.0.5", .sport = 5000, .dport = 53, .ttl = 1);
	struct ipv4 answer = FROM_TO("10.1.0.5", "10.1.0.1", .sport = 53, .dport = 5000);
	struct frame f = frame_ip(LAN, answer);

	(void)state;
	gateway_expect_drop(g, &f, DROP_LOCAL_UNSERVED); // nobody has asked
	gateway_host_pass(g, frame_ip(LAN, out));
	expect_all_sent(g, 1, LAN);
	assert_memory_equal(g->sent[0].b, mac_of_neighbour(LAN), 6);
	assert_int_equal(frame_packet(&g->sent[0])[8], 1); // no hop
	expect_given(g, &f, LAN);
	expect_given(g, &f, LAN);
	gateway_free(g);
}

// To and from the host through the tunnel.
static void test_host_through_tunnel(void **state)
{
	struct gateway *g = gateway_with_host(WAN, NULL);
	struct peer in = peer_new(g, "from-b"), out = peer_new(g, "to-b");
	struct ipv4 ip =
		FROM_TO("10.2.0.5", "10.1.0.1", .proto = IPPROTO_TCP, .sport = 9, .dport = SSH);
	struct ipv4 reply =
		FROM_TO("10.1.0.1", "10.2.0.5", .proto = IPPROTO_TCP, .sport = SSH, .dport = 9);
	struct frame f = peer_seal_ip(&in, 1, ip), clear = frame_ip(WAN, ip),
		     given = frame_ip(WAN, ip);
	uint8_t inner[FRAME_MAX];

	(void)state;
	gateway_expect_drop(g, &clear, DROP_CLEAR_TEXT);
	gateway_pass(g, &f, 1);
	expect_punted(g, &given, WAN);
	clear = frame_ip(LAN, reply);
	gateway_host_pass(g, clear);
	expect_all_sent(g, 1, WAN);
	assert_int_equal(peer_open(&out, &g->sent[0], inner), frame_packet_len(&clear));
	assert_memory_equal(inner, frame_packet(&clear), frame_packet_len(&clear));
	peer_free(&in);
	peer_free(&out);
	gateway_free(g);
}

// In clear on the unprotected side, a policy has to bypass packets to and from the host.
static void test_host_in_clear_needs_bypass(void **state)
{
	struct gateway *g = gateway_with_host(WAN, NULL);
	struct frame f = tcp(WAN, "192.0.2.2", "192.0.2.1", 9, SSH);
	struct frame reply = tcp(WAN, "192.0.2.1", "192.0.2.2", SSH, 9);

	(void)state;
	gateway_expect_drop(g, &f, DROP_NO_POLICY);
	expect_host_drop(g, reply, DROP_NO_POLICY);
	gateway_free(g);
	g = gateway_with_host(WAN, BYPASS);
	expect_given(g, &f, WAN);
	gateway_host_pass(g, reply);
	expect_all_sent(g, 1, WAN);
	f = tcp(WAN, "10.1.0.5", "192.0.2.1", 9, SSH); // of an inside address
	gateway_expect_drop(g, &f, DROP_IP_SOURCE);
	gateway_free(g);
}

// A rule for a tunnel is about decapsulated packets, and not about packets in clear that follow
// others into the tunnel, for the host or for a group.
static void test_tunnel_rule(void **state)
{
	struct gateway *g = site_a((struct site){.wan = "host = \"gw0\";",
		.more = "rules = ("
			" { name = \"b\"; host = true; action = \"accept\"; tunnel = \"b\"; } );"});
	struct peer in = peer_new(g, "from-b");
	struct ipv4 ip =
		FROM_TO("10.2.0.5", "10.1.0.1", .proto = IPPROTO_TCP, .sport = 9, .dport = SSH);
	struct frame f = peer_seal_ip(&in, 1, ip), given = frame_ip(WAN, ip);
	struct frame out = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.6"));
	static const uint8_t mac[] = {0x01, 0, 0x5e, 0, 0, 5};

	(void)state;
	gateway_host_add(g, LAN);
	gateway_pass(g, &f, 1);
	expect_punted(g, &given, LAN);
	gateway_expect_sent(g, &out, WAN);
	f = tcp(LAN, "10.1.0.5", "10.1.0.1", 9, SSH);
	gateway_expect_drop(g, &f, DROP_LOCAL_UNSERVED);
	out = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.7"));
	gateway_expect_sent(g, &out, WAN);
	f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "224.0.0.5", .proto = 89));
	memcpy(f.b, mac, sizeof(mac));
	gateway_expect_drop(g, &f, DROP_NOT_UNICAST);
	assert_int_equal(g->n_punted, 0);
	peer_free(&in);
	gateway_free(g);
}

// A rule has to admit a new connection also from where the host had an earlier one.
static void test_reopened_connection_needs_a_rule(void **state)
{
	struct gateway *g = gateway_with_host(LAN, NULL);
	struct frame back = tcp(LAN, "10.1.0.5", "10.1.0.1", BGP, 5000), reset = back;
	struct frame syn = tcp(LAN, "10.1.0.1", "10.1.0.5", 5000, BGP);
	uint8_t *header = reset.b + ETH_LEN + IP_LEN;

	(void)state;
	gateway_host_pass(g, syn);
	expect_all_sent(g, 1, LAN);
	put32(header + 8, be32(frame_packet(&syn) + IP_LEN + 4) + 21); // payload of the SYN, too
	header[13] = 0x14;                                             // RST, ACK
	expect_given(g, &reset, LAN);
	gateway_expect_drop(g, &back, DROP_LOCAL_UNSERVED);
	gateway_host_pass(g, syn); // the host may
	expect_all_sent(g, 1, LAN);
	gateway_free(g);
}

// No other station sends from the host's addresses, which would admit replies.
static void test_host_source_forged_is_dropped(void **state)
{
	struct gateway *g = gateway_with_host(LAN, NULL);
	struct frame f = tcp(LAN, "10.1.0.1", "10.1.0.66", SSH, 5000);
	struct frame answer = tcp(LAN, "10.1.0.66", "10.1.0.1", 5000, BGP);
	static const uint8_t mac[] = {0x01, 0, 0x5e, 0, 0, 5};

	(void)state;
	gateway_expect_drop(g, &f, DROP_IP_SOURCE);
	f = tcp(LAN, "10.1.0.1", "10.1.0.1", 9, SSH);
	gateway_expect_drop(g, &f, DROP_IP_SOURCE);
	f = tcp(DMZ, "10.1.0.1", "10.1.0.66", BGP, 5000); // by a port without a host
	gateway_expect_drop(g, &f, DROP_IP_SOURCE);
	gateway_expect_drop(g, &answer, DROP_LOCAL_UNSERVED);
	f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.1", "224.0.0.5", .proto = 89));
	memcpy(f.b, mac, sizeof(mac));
	gateway_expect_drop(g, &f, DROP_IP_SOURCE);
	gateway_free(g);
}

// Packets that the kernel cannot send through the gateway.
static void test_refused(void **state)
{
	struct gateway *g = gateway_with_host(LAN, NULL);
	struct frame arp = frame_arp(LAN, 1, "10.1.0.1", "10.1.0.5");
	struct frame cut = tcp(LAN, "10.1.0.1", "10.1.0.5", 1, 2), padded = cut;

	(void)state;
	padded.len += 10;
	gateway_host_pass(g, padded);
	expect_all_sent(g, 1, LAN);
	assert_int_equal(g->sent[0].len, cut.len);
	cut.len--;
	expect_host_drop(g, cut, DROP_IP_TRUNCATED);
	cut.len = ETH_LEN - 1;
	expect_host_drop(g, cut, DROP_FRAME_SHORT);
	cut.len = ETH_LEN + 19;
	expect_host_drop(g, cut, DROP_FRAME_SHORT);
	expect_host_drop(g, tcp(LAN, "10.1.0.9", "10.1.0.5", 1, 2), DROP_HOST_SOURCE);
	expect_host_drop(g, tcp(LAN, "10.1.0.0", "10.1.0.5", 1, 2), DROP_HOST_SOURCE);
	expect_host_drop(g, arp, DROP_HOST_FRAME);
	expect_host_drop(g, tcp(LAN, "10.1.0.1", "10.7.0.1", 1, 2), DROP_LOCAL_UNSERVED);
	gateway_free(g);
}

// ICMP errors about its packets come back to the host, from an address that its kernel accepts.
static void test_errors_reach_the_host(void **state)
{
	struct gateway *g = gateway_with_host(LAN, NULL);
	struct frame f = frame_ip(
		LAN, (struct ipv4)FROM_TO("10.1.0.1", "10.2.0.5", .len = 1500, .frag = DF));

	(void)state;
	gateway_host_pass(g, f);
	expect_drops(g, DROP_TOO_BIG, 1);
	assert_int_equal(g->n_punted, 1);
	expect_error(frame_packet(&g->punted[0]), frame_packet_len(&g->punted[0]),
		(struct icmp_error){3, 4, 1446}, "10.2.0.5", "10.1.0.1", &f);
	gateway_free(g);
}

static void test_groups(void **state)
{
	struct gateway *g = gateway_with_host(LAN, NULL);
	struct ipv4 in = FROM_TO("10.1.0.5", "224.0.0.5", .proto = 89, .ttl = 1);
	struct ipv4 out = FROM_TO("10.1.0.1", "224.0.0.5", .proto = 89, .ttl = 1);
	static const uint8_t mac[] = {0x01, 0, 0x5e, 0, 0, 5};
	struct frame f = frame_ip(LAN, in), sent = frame_ip(LAN, out);

	(void)state;
	memcpy(f.b, mac, sizeof(mac));
	gateway_pass(g, &f, 1);
	assert_int_equal(g->n_punted, 1);
	assert_memory_equal(g->punted[0].b, f.b, f.len);
	gateway_host_pass(g, sent);
	expect_all_sent(g, 1, LAN);
	assert_memory_equal(g->sent[0].b, mac, sizeof(mac));
	assert_memory_equal(
		frame_packet(&g->sent[0]), frame_packet(&sent), frame_packet_len(&sent));
	in.proto = IPPROTO_UDP; // no rule accepts it
	f = frame_ip(LAN, in);
	memcpy(f.b, mac, sizeof(mac));
	gateway_expect_drop(g, &f, DROP_NOT_UNICAST);
	f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.1.0.1", .proto = 89));
	memcpy(f.b, mac, sizeof(mac)); // unicast in a frame for a group
	gateway_expect_drop(g, &f, DROP_NOT_UNICAST);
	f = frame_ip(WAN, in); // there is no host
	memcpy(f.b, mac, sizeof(mac));
	gateway_expect_drop(g, &f, DROP_NOT_UNICAST);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_to_host),
		pipeline_test(test_from_host),
		pipeline_test(test_host_through_tunnel),
		pipeline_test(test_host_in_clear_needs_bypass),
		pipeline_test(test_tunnel_rule),
		pipeline_test(test_reopened_connection_needs_a_rule),
		pipeline_test(test_host_source_forged_is_dropped),
		pipeline_test(test_refused),
		pipeline_test(test_errors_reach_the_host),
		pipeline_test(test_groups),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
