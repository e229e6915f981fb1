// SPDX-License-Identifier: BSD-3-Clause
// Connections through network address translation: the state of TCP, resets and segment sizes,
// datagrams in fragments, and two workers that receive the packets of one flow.
#include <netinet/in.h>

#include "datagram.h"
#include "site_nat.h"

enum { FIN = 1, SYN = 2, RST = 4, ACK = 16 };

#define SEQ_CLIENT 1000u
#define SEQ_SERVER 5000u

static const struct ends request = {CLIENT, 4000, SERVER, 80}, on_wire = {OWN, 4000, SERVER, 80},
			 reply = {SERVER, 80, OWN, 4000}, returned = {SERVER, 80, CLIENT, 4000};

static struct gateway *gateway(const char *more)
{
	return site_a((struct site){.policies = POLICIES, .more = more});
}

static struct frame segment(bool from_client, uint8_t flags, uint32_t seq, uint32_t ack)
{
	struct frame f =
		ends_frame(from_client ? LAN : WAN, IPPROTO_TCP, from_client ? request : reply);
	uint8_t *tcp = f.b + ETH_LEN + IP_LEN;

	put32(tcp + 4, seq);
	put32(tcp + 8, ack);
	put16(tcp + 12, 0x5000u | flags);
	put16(tcp + 14, 8192);
	upper_checksum_update(f.b + ETH_LEN);
	return f;
}

static void expect_passed(
	struct gateway *g, bool from_client, uint8_t flags, uint32_t seq, uint32_t ack)
{
	const struct frame f = segment(from_client, flags, seq, ack);
	const struct frame *sent = gateway_expect_sent(g, &f, from_client ? WAN : LAN);
	const uint8_t *tcp = frame_packet(sent) + IP_LEN;

	expect_ends(sent, from_client ? on_wire : returned);
	assert_int_equal(be32(tcp + 4), seq);
	assert_int_equal(be32(tcp + 8), ack);
	assert_int_equal(tcp[13], flags);
}

static void open_connection(struct gateway *g)
{
	expect_passed(g, true, SYN, SEQ_CLIENT, 0);
	expect_passed(g, false, SYN | ACK, SEQ_SERVER, SEQ_CLIENT + 1);
	expect_passed(g, true, ACK, SEQ_CLIENT + 1, SEQ_SERVER + 1);
	assert_int_equal(flow_only(g).state, FLOW_TCP_ESTABLISHED);
}

// Each segment has 20 octets of text. Windows are tracked as without translation, and packets of
// the open connection look no policy up.
static void test_connection(void **state)
{
	struct gateway *g = gateway(MASQUERADE);
	struct frame forged;
	uint64_t lookups;

	(void)state;
	open_connection(g);
	lookups = gateway_lookups(g);
	for (unsigned int i = 1; i < 4; i++) {
		expect_passed(g, true, ACK, SEQ_CLIENT + 1, SEQ_SERVER + i * 20);
		expect_passed(g, false, ACK, SEQ_SERVER + i * 20, SEQ_CLIENT + 1);
	}
	assert_int_equal(gateway_lookups(g), lookups);
	forged = segment(false, RST, SEQ_SERVER + 100000, 0);
	gateway_expect_drop(g, &forged, DROP_TCP_RESET);
	expect_passed(g, true, FIN | ACK, SEQ_CLIENT + 1, SEQ_SERVER + 60);
	expect_passed(g, false, FIN | ACK, SEQ_SERVER + 60, SEQ_CLIENT + 22);
	expect_passed(g, true, ACK, SEQ_CLIENT + 22, SEQ_SERVER + 81);
	assert_int_equal(flow_only(g).state, FLOW_TCP_TIME_WAIT);
	// The same ends again: the flow begins once more, with its port.
	expect_passed(g, true, SYN, SEQ_CLIENT + 100000, 0);
	assert_int_equal(flow_only(g).state, FLOW_TCP_SYN_SENT);
	gateway_free(g);
}

// After a reload with a rule that rejects, each end gets a reset from the address that it knows.
static void test_own_resets(void **state)
{
	struct gateway *g = gateway(MASQUERADE);
	struct frame f;

	(void)state;
	open_connection(g);
	flow_gateway_reload(g, "",
		(struct site){.policies = POLICIES,
			.more = MASQUERADE
			"rules = ( { name = \"no\"; action = \"reject\"; proto = "
			"\"tcp\"; source = \"10.1.0.5\"; destination = "
			"\"198.51.100.7\"; } );"});
	f = segment(true, ACK, SEQ_CLIENT + 1, SEQ_SERVER + 1);
	gateway_expect_drop(g, &f, DROP_RULE_REJECT);
	assert_int_equal(g->n_sent, 1);
	expect_ends(&g->sent[0], returned);
	assert_int_equal(frame_packet(&g->sent[0])[IP_LEN + 13] & RST, RST);
	f = segment(false, ACK, SEQ_SERVER + 1, SEQ_CLIENT + 1);
	gateway_expect_drop(g, &f, DROP_RULE_REJECT);
	assert_int_equal(g->n_sent, 1);
	expect_ends(&g->sent[0], on_wire);
	gateway_free(g);
}

// A server that has reset the connection begins one with the same ends: it goes to the client, and
// packets of the client are translated as before.
static void test_reopened_by_the_server(void **state)
{
	struct gateway *g = gateway(MASQUERADE);

	(void)state;
	open_connection(g);
	expect_passed(g, false, RST, SEQ_SERVER + 1, 0);
	expect_passed(g, false, SYN, SEQ_SERVER + 100000, 0);
	expect_passed(g, true, SYN | ACK, SEQ_CLIENT + 100000, SEQ_SERVER + 100021);
	expect_passed(g, false, ACK, SEQ_SERVER + 100021, SEQ_CLIENT + 100021);
	assert_int_equal(flow_only(g).state, FLOW_TCP_ESTABLISHED);
	gateway_free(g);
}

// A rule that accepts invalid packets decides by the ends that they have, not by those on the wire:
// packets of a translated flow stay dropped.
static void test_invalid_is_not_accepted(void **state)
{
	struct gateway *g = gateway(MASQUERADE "rules = ( { name = \"odd\"; action = \"accept\"; "
					       "state = [ \"invalid\" ]; } );");
	struct frame f;

	(void)state;
	open_connection(g);
	f = segment(true, ACK, SEQ_CLIENT + 10000000, SEQ_SERVER + 1);
	gateway_expect_drop(g, &f, DROP_TCP_WINDOW);
	assert_int_equal(g->n_sent, 0);
	f = segment(false, ACK, SEQ_SERVER + 10000000, SEQ_CLIENT + 1);
	gateway_expect_drop(g, &f, DROP_TCP_WINDOW);
	assert_int_equal(g->n_sent, 0);
	gateway_free(g);
}

// Two first packets of a flow in one burst find one binding, also where the port cannot change.
static void test_burst(void **state)
{
	struct gateway *g =
		gateway("nat = ( { name = \"out\"; action = \"source\"; out = \"wan\"; "
			"proto = \"udp\"; to = \"port\"; to_port = \"4000-4000\"; } );");
	const struct frame f[2] = {
		ends_frame(LAN, IPPROTO_UDP, request), ends_frame(LAN, IPPROTO_UDP, request)};

	(void)state;
	gateway_pass(g, f, 2);
	expect_drops(g, DROP_NONE, 0);
	expect_all_sent(g, 2, WAN);
	expect_ends(&g->sent[0], on_wire);
	expect_ends(&g->sent[1], on_wire);
	gateway_free(g);
}

// A datagram is whole when it is translated, and is sent in fragments again.
static void test_fragments(void **state)
{
	struct gateway *g = gateway(MASQUERADE);
	struct frame f[4];
	unsigned int n;

	(void)state;
	datagram_fill(4000, 80);
	put16(whole.b + 6, 0); // without a checksum, which would change
	n = pieces(f, LAN, (struct ipv4)FROM_TO(CLIENT, SERVER, .id = 7), 1400);
	gateway_pass(g, f, n);
	expect_drops(g, DROP_NONE, 0);
	assert_in_range(g->n_sent, 3, 4);
	for (unsigned int i = 0; i < g->n_sent; i++) {
		assert_int_equal(g->sent[i].port, WAN);
		assert_int_equal(be32(frame_packet(&g->sent[i]) + 12), ip_number(OWN));
		assert_int_equal(checksum(frame_packet(&g->sent[i]), IP_LEN), 0);
	}
	collect_all(g, NULL);
	expect_complete();
	n = pieces(f, WAN, (struct ipv4)FROM_TO(SERVER, OWN, .id = 8), 1400);
	for (unsigned int i = 0; i < 4; i++) // the reply has swapped ports
		if (i == 0) {
			put16(f[i].b + ETH_LEN + IP_LEN, 80);
			put16(f[i].b + ETH_LEN + IP_LEN + 2, 9);
		}
	gateway_pass(g, f, n);
	expect_drops(g, DROP_NONE, 0);
	for (unsigned int i = 0; i < g->n_sent; i++)
		assert_int_equal(be32(frame_packet(&g->sent[i]) + 16), ip_number(CLIENT));
	gateway_free(g);
}

// Policies name ends on the wire, and none those of the fragments: they are for the datagram.
static void test_fragments_without_a_policy(void **state)
{
	struct gateway *g = gateway(MASQUERADE);
	struct frame f[4];

	(void)state;
	datagram_fill(2000, 80);
	put16(whole.b + 6, 0); // without a checksum, which would change
	gateway_pass(g, f, pieces(f, DMZ, (struct ipv4)FROM_TO("10.7.0.5", SERVER, .id = 7), 560));
	expect_drops(g, DROP_NONE, 0);
	for (unsigned int i = 0; i < g->n_sent; i++)
		assert_int_equal(be32(frame_packet(&g->sent[i]) + 12), ip_number(OWN));
	collect_all(g, NULL);
	expect_complete();
	gateway_free(g);
}

// Reassembled packets were looked up as they came: that route means nothing to rules.
static void test_fragments_to_another(void **state)
{
	struct gateway *g = gateway(
		"nat = ( { name = \"as-is\"; action = \"accept\"; out = \"wan\"; destination = "
		"\"198.51.100.7\"; }, { name = \"to\"; action = \"destination\"; destination = "
		"\"198.51.100.7\"; to = \"198.51.100.8\"; }, { name = \"out\"; action = "
		"\"source\"; out = \"wan\"; to = \"port\"; } );");
	struct frame f[4];

	(void)state;
	datagram_fill(4000, 80);
	gateway_pass(g, f, pieces(f, LAN, (struct ipv4)FROM_TO(CLIENT, SERVER, .id = 9), 1400));
	expect_drops(g, DROP_NONE, 0);
	assert_in_range(g->n_sent, 3, 4);
	assert_int_equal(be32(frame_packet(&g->sent[0]) + 12), ip_number(OWN));
	assert_int_equal(be32(frame_packet(&g->sent[0]) + 16), ip_number("198.51.100.8"));
	gateway_free(g);
}

// The first packet of a flow arrives at two workers: both send it with the same port, and replies
// find the client at either.
static void test_two_workers(void **state)
{
	struct gateway *g[2] = {gateway(MASQUERADE "cpus = { workers = [ 0, 1 ]; };")};
	struct frame f = ends_frame(LAN, IPPROTO_UDP, request), back;
	uint16_t port[2];

	(void)state;
	g[1] = gateway_second(g[0], 1);
	expect_translated(g[0], LAN, IPPROTO_UDP, (struct ends){OTHER, 4000, SERVER, 80}, WAN,
		on_wire); // so the client gets another port
	for (unsigned int i = 0; i < 2; i++)
		port[i] = be16(frame_packet(gateway_expect_sent(g[i], &f, WAN)) + IP_LEN);
	assert_int_not_equal(port[0], 4000);
	assert_int_equal(port[0], port[1]);
	back = ends_frame(WAN, IPPROTO_UDP, (struct ends){SERVER, 80, OWN, port[0]});
	for (unsigned int i = 0; i < 2; i++)
		expect_ends(gateway_expect_sent(g[i], &back, LAN), returned);
	gateway_free(g[1]);
	gateway_free(g[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_connection),
		pipeline_test(test_own_resets),
		pipeline_test(test_reopened_by_the_server),
		pipeline_test(test_invalid_is_not_accepted),
		pipeline_test(test_burst),
		pipeline_test(test_fragments),
		pipeline_test(test_fragments_without_a_policy),
		pipeline_test(test_fragments_to_another),
		pipeline_test(test_two_workers),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
