// SPDX-License-Identifier: BSD-3-Clause
// Flows that one member of a pair reports to the other: their packets continue there in both
// directions, also translated ones.
#include <netinet/in.h>

#include "flow_adopt.h"
#include "flow_line.h"
#include "member_flows.h"
#include "member_pair.h"
#include "peer.h"

enum { SYN = 2, ACK = 16 };

#define CLIENT1 1000u // sequence numbers
#define SERVER1 5000u

#define FORWARD                                                                                    \
	"nat = ( { name = \"web\"; action = \"destination\"; in = \"wan\"; destination = "         \
	"\"192.0.2.1\"; proto = \"udp\"; destination_port = \"80-89\"; to = \"10.1.0.5\"; "        \
	"to_port = \"8080-8089\"; } );"

#define NETMAP                                                                                     \
	"nat = ( { name = \"map\"; action = \"netmap\"; source = \"10.1.0.0/24\"; destination "    \
	"= \"198.51.100.0/24\"; to = \"172.16.1.0/24\"; replaces = \"source\"; } );"

// --- connections ---

static struct frame segment(uint16_t port, struct ends e, uint8_t flags, uint32_t seq, uint32_t ack)
{
	struct frame f = ends_frame(port, IPPROTO_TCP, e);
	uint8_t *tcp = f.b + ETH_LEN + IP_LEN;

	put32(tcp + 4, seq);
	put32(tcp + 8, ack);
	put16(tcp + 12, 0x5000u | flags);
	put16(tcp + 14, 8192);
	upper_checksum_update(f.b + ETH_LEN);
	return f;
}

static const struct ends request = {CLIENT, 4000, SERVER, 80}, on_wire = {OWN, 4000, SERVER, 80},
			 reply = {SERVER, 80, OWN, 4000}, returned = {SERVER, 80, CLIENT, 4000};

static void pass(struct member *m, bool client, uint8_t flags, uint32_t seq, uint32_t ack)
{
	const struct frame f =
		segment(client ? LAN : WAN, client ? request : reply, flags, seq, ack);

	expect_ends(gateway_expect_sent(m->g, &f, client ? WAN : LAN), client ? on_wire : returned);
}

static void connection_begin(void)
{
	pair_begin(MASQUERADE);
	pass(&a, true, SYN, CLIENT1, 0);
	pass(&a, false, SYN | ACK, SERVER1, CLIENT1 + 1);
	pass(&a, true, ACK, CLIENT1 + 1, SERVER1 + 1);
}

// Segments have 20 octets of text. Those from the report to the takeover are not known to the one
// that takes over, and are far more than a window.
static void test_tcp(void **state)
{
	struct frame forged = segment(WAN, reply, ACK, SERVER1 + 900000, CLIENT1 + 1);

	(void)state;
	connection_begin();
	both_wait(3);
	report(&a, &b);
	assert_int_equal(flow_only(b.g).state, FLOW_TCP_ESTABLISHED);
	assert_true(flow_only(b.g).replied);
	take_over(&b, &a);
	pass(&b, false, ACK, SERVER1 + 500000, CLIENT1 + 400000);
	pass(&b, true, ACK, CLIENT1 + 400000, SERVER1 + 500020);
	// One that the former gateway has sent on before is acknowledged.
	pass(&b, true, ACK, CLIENT1 + 400020, SERVER1 + 501000);
	pass(&b, false, ACK, SERVER1 + 501000, CLIENT1 + 400040);
	flow_table_take_over(b.g->flows, false);
	pass(&b, true, ACK, CLIENT1 + 400040, SERVER1 + 501020);
	assert_int_equal(flow_only(b.g).state, FLOW_TCP_ESTABLISHED);
	gateway_expect_drop(b.g, &forged, DROP_TCP_WINDOW);
	pass(&b, false, ACK, SERVER1 + 501020, CLIENT1 + 400060);
	pair_end();
}

// Back again, before the other one has reported the connection.
static void test_tcp_returns(void **state)
{
	struct frame forged = segment(WAN, reply, ACK, SERVER1 + 900000, CLIENT1 + 1);

	(void)state;
	connection_begin();
	gateway_expect_drop(a.g, &forged, DROP_TCP_WINDOW);
	take_over(&a, &b);
	pass(&a, true, ACK, CLIENT1 + 400000, SERVER1 + 500000);
	pass(&a, false, ACK, SERVER1 + 500000, CLIENT1 + 400020);
	flow_table_take_over(a.g->flows, false);
	pass(&a, true, ACK, CLIENT1 + 400020, SERVER1 + 500020);
	gateway_expect_drop(a.g, &forged, DROP_TCP_WINDOW);
	pass(&a, false, ACK, SERVER1 + 500020, CLIENT1 + 400040);
	assert_int_equal(flow_only(a.g).state, FLOW_TCP_ESTABLISHED);
	pair_end();
}

struct translated {
	uint8_t proto;
	const char *nat;
	uint16_t in, out; // of packets of the end that begins
	struct ends from, to, back_from, back_to;
};

static void connection_continues(const struct translated *t)
{
	pair_begin(t->nat);
	expect_translated(a.g, t->in, t->proto, t->from, t->out, t->to);
	both_wait(3);
	report(&a, &b);
	take_over(&b, &a);
	assert_int_equal(flow_adopted_count(b.g->flows).taken, 1);
	expect_translated(b.g, t->out, t->proto, t->back_from, t->in, t->back_to);
	expect_translated(b.g, t->in, t->proto, t->from, t->out, t->to);
	assert_int_equal(flow_count(b.g->flows), 1);
	// And back, when it is still there.
	both_wait(3);
	report(&b, &a);
	assert_int_equal(flow_adopted_count(a.g->flows).taken, 1);
	assert_int_equal(flow_count(a.g->flows), 1);
	take_over(&a, &b);
	expect_translated(a.g, t->out, t->proto, t->back_from, t->in, t->back_to);
	pair_end();
}

static void test_translated(void **state)
{
	static const struct translated all[] = {
		{IPPROTO_UDP, MASQUERADE, LAN, WAN, {CLIENT, 4000, SERVER, 53},
			{OWN, 4000, SERVER, 53}, {SERVER, 53, OWN, 4000},
			{SERVER, 53, CLIENT, 4000}},
		{IPPROTO_ICMP, MASQUERADE, LAN, WAN, {CLIENT, 77, SERVER, 1}, {OWN, 77, SERVER, 1},
			{SERVER, 77, OWN, 0}, {SERVER, 77, CLIENT, 0}},
		{IPPROTO_UDP, FORWARD, WAN, LAN, {SERVER, 999, OWN, 82},
			{SERVER, 999, CLIENT, 8082}, {CLIENT, 8082, SERVER, 999},
			{OWN, 82, SERVER, 999}},
		{IPPROTO_UDP, NETMAP, LAN, WAN, {CLIENT, 4000, SERVER, 53},
			{"172.16.1.5", 4000, SERVER, 53}, {SERVER, 53, "172.16.1.5", 4000},
			{SERVER, 53, CLIENT, 4000}},
	};

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(all); i++)
		connection_continues(&all[i]);
}

// A port that a reported connection has is not given to another one.
static void test_ports(void **state)
{
	struct frame other = ends_frame(LAN, IPPROTO_UDP, (struct ends){OTHER, 4000, SERVER, 53});
	const struct frame *sent;

	(void)state;
	pair_begin(MASQUERADE);
	expect_translated(a.g, LAN, IPPROTO_UDP, (struct ends){CLIENT, 4000, SERVER, 53}, WAN,
		(struct ends){OWN, 4000, SERVER, 53});
	both_wait(3);
	report(&a, &b);
	take_over(&b, &a);
	sent = gateway_expect_sent(b.g, &other, WAN);
	assert_int_not_equal(be16(frame_packet(sent) + IP_LEN), 4000);
	expect_translated(b.g, WAN, IPPROTO_UDP, (struct ends){SERVER, 53, OWN, 4000}, LAN,
		(struct ends){SERVER, 53, CLIENT, 4000});
	pair_end();
}

// From the other end of a tunnel.
static struct frame out_of_tunnel(struct member *m, uint64_t seq, struct ipv4 inner)
{
	struct peer peer = peer_new(m->g, "from-b");
	struct frame f = peer_seal_ip(&peer, seq, inner);

	peer_free(&peer);
	return f;
}

static void test_tunnel(void **state)
{
	const struct ipv4 udp = FROM_TO("10.2.0.5", CLIENT, .sport = 53, .dport = 4000);
	struct frame out =
		ends_frame(LAN, IPPROTO_UDP, (struct ends){CLIENT, 4000, "10.2.0.5", 53});
	struct frame in;

	(void)state;
	pair_begin("default_action = \"drop\"; rules = ( { name = \"new\"; action = \"accept\"; "
		   "source = \"10.1.0.0/24\"; } );");
	gateway_expect_sent(a.g, &out, WAN);
	both_wait(3);
	report(&a, &b);
	assert_int_equal(flow_count(b.g->flows), 0); // not answered
	in = out_of_tunnel(&b, 1, udp);
	gateway_expect_drop(b.g, &in, DROP_RULE_DROP);
	in = out_of_tunnel(&a, 1, udp);
	gateway_expect_sent(a.g, &in, LAN);
	report(&a, &b);
	assert_int_equal(flow_count(b.g->flows), 1);
	in = out_of_tunnel(&b, 2, udp);
	gateway_expect_sent(b.g, &in, LAN);
	gateway_expect_sent(b.g, &out, WAN);
	pair_end();
}

// The former gateway has sent the request on, and has not reported that yet, or is of a fleet.
static void test_reply_after_a_takeover(void **state)
{
	const struct ipv4 echo_reply = FROM_TO("10.2.0.5", CLIENT, .proto = IPPROTO_ICMP);
	const struct ipv4 other = FROM_TO("10.2.0.6", CLIENT, .proto = IPPROTO_ICMP);
	struct frame echo = frame_ip(LAN,
		(struct ipv4)FROM_TO(CLIENT, "10.2.0.5", .proto = IPPROTO_ICMP, .icmp_type = 8));
	struct frame in;

	(void)state;
	pair_begin("");
	take_over(&b, &a);
	in = out_of_tunnel(&b, 1, echo_reply);
	gateway_expect_sent(b.g, &in, LAN);
	assert_int_equal(flow_only(b.g).state, FLOW_ICMP_NEW); // anybody can send a reply
	gateway_expect_sent(b.g, &echo, WAN);
	assert_int_equal(flow_only(b.g).state, FLOW_ICMP_REPLIED);
	in = out_of_tunnel(&b, 2, echo_reply);
	gateway_expect_sent(b.g, &in, LAN);
	assert_int_equal(flow_count(b.g->flows), 1);
	flow_table_take_over(b.g->flows, false);
	in = out_of_tunnel(&b, 3, other);
	gateway_expect_drop(b.g, &in, DROP_CT_INVALID);
	in = out_of_tunnel(&b, 4, echo_reply);
	gateway_expect_sent(b.g, &in, LAN);
	pair_end();
}

// The ends that its request had are not known.
static void test_translated_reply_after_a_takeover(void **state)
{
	struct frame f = ends_frame(LAN, IPPROTO_ICMP, (struct ends){CLIENT, 77, SERVER, 0});

	(void)state;
	pair_begin(MASQUERADE);
	take_over(&b, &a);
	gateway_expect_drop(b.g, &f, DROP_CT_INVALID);
	pair_end();
}

// --- the end ---

static void scans_pass(struct member *m, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		assert_true(member_flows_learn(&m->c, "flows"));
	both_wait(11); // after its last packet at the other member
	worker_ticks(m);
}

static void test_ended_flow_is_forgotten(void **state)
{
	(void)state;
	pair_begin(MASQUERADE);
	expect_translated(a.g, LAN, IPPROTO_UDP, (struct ends){CLIENT, 4000, SERVER, 53}, WAN,
		(struct ends){OWN, 4000, SERVER, 53});
	both_wait(3);
	report(&a, &b);
	scans_pass(&b, 2 * FLOW_SCANS - 1);
	assert_int_equal(flow_count(b.g->flows), 1);
	scans_pass(&b, 2);
	assert_int_equal(flow_count(b.g->flows), 0);
	// After a takeover it stays, whatever is reported.
	report(&a, &b);
	take_over(&b, &a);
	scans_pass(&b, 100);
	assert_int_equal(flow_count(b.g->flows), 1);
	pair_end();
}

// Another connection has got its port at the active member, where it has ended.
static void test_port_of_an_ended_flow(void **state)
{
	struct frame f = ends_frame(WAN, IPPROTO_UDP, (struct ends){SERVER, 53, OWN, 4000});

	(void)state;
	pair_begin(MASQUERADE);
	expect_translated(a.g, LAN, IPPROTO_UDP, (struct ends){CLIENT, 4000, SERVER, 53}, WAN,
		(struct ends){OWN, 4000, SERVER, 53});
	both_wait(3);
	report(&a, &b);
	flow_flush(a.g->flows, &(struct flow_filter){0});
	worker_ticks(&a);
	expect_translated(a.g, LAN, IPPROTO_UDP, (struct ends){OTHER, 4000, SERVER, 53}, WAN,
		(struct ends){OWN, 4000, SERVER, 53});
	both_wait(3);
	report(&a, &b);
	assert_int_equal(flow_count(b.g->flows), 1);
	gateway_pass(b.g, &f, 1); // to a host without a known link address
	assert_int_equal(b.g->w->n_held, 1);
	pair_end();
}

// --- refused lines ---

static void check_ignored(const char *line)
{
	const uint64_t before = b.c.member.flows_ignored;

	assert_true(member_flows_learn(&b.c, line));
	if (b.c.member.flows_ignored != before + 1)
		fail_msg("taken: %s", line);
	worker_ticks(&b);
	assert_int_equal(flow_count(b.g->flows), 0);
}

#define UDP_LINE "flow 17 udp_new 0 10.1.0.5 4000 198.51.100.7 53 0 3000 3000 3000 0 0"
#define RIGHT    UDP_LINE " 192.0.2.1 4000 198.51.100.7 53 * out"

static void test_wrong_lines(void **state)
{
	static const char *const wrong[] = {
		"flow ",
		UDP_LINE " ",
		UDP_LINE " 192.0.2.1 4000 198.51.100.7 53 *",
		UDP_LINE " 192.0.2.1 4000 198.51.100.7 53 * *",
		UDP_LINE " 192.0.2.1 4000 198.51.100.7 53 * other",
		UDP_LINE " 192.0.2.1 4000 198.51.100.7 53 out *",
		UDP_LINE " 192.0.2.1 4000 198.51.100.8 53 * out",
		UDP_LINE " 192.0.2.1 4000 198.51.100.7 54 * out",
		UDP_LINE " 192.0.2.9 4000 198.51.100.7 53 * out",
		UDP_LINE " 192.0.2.1 500 198.51.100.7 53 * out",
		UDP_LINE " 192.0.2.1 4500 198.51.100.7 53 * out",
		UDP_LINE " 192.0.2.1 04000 198.51.100.7 53 * out",
		UDP_LINE " 10.7.0.1 4000 198.51.100.7 53 * out", // own, of no group
		"flow 17 udp_new 0 10.1.0.5 4000 198.51.99.7 53 0 3000 3000 3000 0 0 192.0.2.1 "
		"4000 "
		"198.51.99.7 53 * out", // not of the rule
		"flow 17 udp_new 800 10.1.0.5 4000 198.51.100.7 53 0 3000 3000 3000 0 0",
		"flow 17 tcp_close 200 10.1.0.5 4000 198.51.100.7 53 0 3000 3000 3000 0 0",
		"flow 6 tcp_syn_sent 0 10.1.0.5 4000 198.51.100.7 53 0 3000 3000 3000 0 0",
		"flow 6 tcp_established 0 10.1.0.5 4000 198.51.100.7 53 0 3000 3000 3000 0 0",
		"flow 6 tcp_established 200 10.1.0.5 4000 198.51.100.7 53 0 3000 3000 3000 0 15",
		"flow 6 tcp_established 200 10.1.0.5 4000 2001:db8::1 53 0 3000 3000 3000 0 0",
		"flow 6 tcp_established 200 10.1.0.5 65536 198.51.100.7 53 0 3000 3000 3000 0 0",
		"flow 6 tcp_established 2000 10.1.0.5 4000 198.51.100.7 53 0 3000 3000 3000 0 0",
		"flow 6 tcp_established 200 192.0.2.1 4000 198.51.100.7 53 0 3000 3000 3000 0 0",
		"flow 1 icmp_new 0 10.1.0.5 77 198.51.100.7 78 2048 3000 3000 3000 0 0",
		"flow 1 icmp_new 0 10.1.0.5 77 198.51.100.7 77 0 3000 3000 3000 0 0",
		"flow 47 other_new 0 10.1.0.5 1 198.51.100.7 0 0 3000 3000 3000 0 0",
	};

	(void)state;
	pair_begin(MASQUERADE);
	for (unsigned int i = 0; i < RTE_DIM(wrong); i++)
		check_ignored(wrong[i]);
	// The group is active here, standby there, or the other one has not reported.
	b.c.groups.item[0].role = CONF_ACTIVE;
	check_ignored(RIGHT);
	b.c.groups.item[0].role = CONF_STANDBY;
	b.c.groups.item[0].other = CONF_STANDBY;
	check_ignored(RIGHT);
	b.c.groups.item[0].other = CONF_ACTIVE;
	b.c.groups.item[0].other_known = false;
	check_ignored(RIGHT);
	b.c.groups.item[0].other_known = true;
	assert_true(member_flows_learn(&b.c, RIGHT));
	worker_ticks(&b);
	assert_int_equal(flow_count(b.g->flows), 1);
	assert_false(member_flows_learn(&b.c, "flowers"));
	pair_end();
}

// A connection of this member is neither replaced nor changed.
static void test_own_flow_stays(void **state)
{
	(void)state;
	pair_begin(MASQUERADE);
	expect_translated(b.g, LAN, IPPROTO_UDP, (struct ends){CLIENT, 4001, SERVER, 53}, WAN,
		(struct ends){OWN, 4001, SERVER, 53});
	// The port that it has, for another client.
	assert_true(member_flows_learn(&b.c,
		"flow 17 udp_new 0 10.1.0.6 4000 198.51.100.7 53 0 3000 3000 3000 0 0 192.0.2.1 "
		"4001 198.51.100.7 53 * out"));
	// Another port.
	assert_true(member_flows_learn(&b.c,
		"flow 17 udp_new 0 10.1.0.5 4001 198.51.100.7 53 0 3000 3000 3000 0 0 192.0.2.1 "
		"4002 198.51.100.7 53 * out"));
	worker_ticks(&b);
	assert_int_equal(flow_adopted_count(b.g->flows).refused, 2);
	// The same one, as it was before.
	assert_true(member_flows_learn(&b.c,
		"flow 17 udp_new 0 10.1.0.5 4001 198.51.100.7 53 0 90000 90000 90000 0 0 192.0.2.1 "
		"4001 198.51.100.7 53 * out"));
	worker_ticks(&b);
	assert_true(flow_only(b.g).idle_ms < 1000);
	expect_translated(b.g, WAN, IPPROTO_UDP, (struct ends){SERVER, 53, OWN, 4001}, LAN,
		(struct ends){SERVER, 53, CLIENT, 4001});
	pair_end();
}

// --- limits ---

static bool count_lines(void *n, const char *line, size_t len)
{
	(void)line, (void)len;
	++*(unsigned int *)n;
	return true;
}

// No more octets than there is room for, and the rest the next time; all are repeated in some
// scans, and none as long as no group is active.
static void test_room(void **state)
{
	unsigned int n = 0, calls = 0, first;

	(void)state;
	pair_begin(MASQUERADE);
	for (uint16_t i = 0; i < 200; i++)
		expect_translated(a.g, LAN, IPPROTO_UDP,
			(struct ends){CLIENT, (uint16_t)(4000 + i), SERVER, 53}, WAN,
			(struct ends){OWN, (uint16_t)(4000 + i), SERVER, 53});
	both_wait(3);
	member_flows_begin(&a.c);
	do {
		first = n;
		member_flows_send(&a.c, pair_now(), 2000, count_lines, &n);
		assert_true(n - first <= 2000 / 60);
		calls++;
	} while (a.c.member.scan.position != 0 && calls < 100);
	assert_int_equal(n, 201);
	member_flows_send(&a.c, pair_now(), ROOM, count_lines, &n); // the next scan is not due
	assert_int_equal(n, 201);
	for (unsigned int i = 0; i < FLOW_SCANS; i++) {
		both_wait(1);
		do
			member_flows_send(&a.c, pair_now(), ROOM, count_lines, &n);
		while (a.c.member.scan.position != 0);
	}
	assert_int_equal(n, 201 + 200 + FLOW_SCANS);
	a.c.groups.item[0].role = CONF_STANDBY;
	both_wait(1);
	member_flows_send(&a.c, pair_now(), ROOM, count_lines, &n);
	assert_int_equal(n, 201 + 200 + FLOW_SCANS);
	pair_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_tcp),
		pipeline_test(test_tcp_returns),
		pipeline_test(test_translated),
		pipeline_test(test_ports),
		pipeline_test(test_tunnel),
		pipeline_test(test_reply_after_a_takeover),
		pipeline_test(test_translated_reply_after_a_takeover),
		pipeline_test(test_ended_flow_is_forgotten),
		pipeline_test(test_port_of_an_ended_flow),
		pipeline_test(test_wrong_lines),
		pipeline_test(test_own_flow_stays),
		pipeline_test(test_room),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
