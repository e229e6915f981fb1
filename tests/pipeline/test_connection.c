// SPDX-License-Identifier: BSD-3-Clause
// TCP connections through a gateway, packet by packet. Proves which packets are forwarded, the
// state after each, and whether it took the slow path or used the cached decision.
#include <netinet/in.h>

#include "flow_site.h"
#include "peer.h"

enum { FIN = 1, SYN = 2, RST = 4, PSH = 8, ACK = 16 };
enum direction { OUT, BACK };

#define CLIENT 1000u // initial sequence numbers
#define SERVER 5000u

struct segment {
	enum direction direction;
	uint8_t flags;
	uint32_t seq, ack;
	uint16_t text;
};

static uint16_t tcp_write(uint8_t *out, struct segment s)
{
	const char *client = "10.1.0.5", *server = "10.2.0.5";
	struct ipv4 ip = {
		.src = s.direction == OUT ? client : server,
		.dst = s.direction == OUT ? server : client,
		.proto = IPPROTO_TCP,
		.len = (uint16_t)(40 + s.text),
		.sport = s.direction == OUT ? 40000 : 80,
		.dport = s.direction == OUT ? 80 : 40000,
	};
	uint16_t len = ip_write(out, ip);
	uint8_t *tcp = out + IP_LEN;

	put32(tcp + 4, s.seq);
	put32(tcp + 8, s.ack);
	put16(tcp + 12, 0x5000u | s.flags);
	put16(tcp + 14, 8192);
	return len;
}

static struct frame seal(
	const struct peer *from_b, uint32_t *seq, const uint8_t *packet, uint16_t len)
{
	return peer_seal_packet(from_b, ++*seq, packet, len);
}

// A gateway with the peer of its tunnel to B.
struct trace {
	struct gateway *g;
	struct peer to_b, from_b;
	uint32_t seq;
};

static struct trace trace_new(struct gateway *g)
{
	return (struct trace){g, peer_new(g, "to-b"), peer_new(g, "from-b"), 0};
}

static void trace_free(struct trace *t)
{
	peer_free(&t->to_b);
	peer_free(&t->from_b);
	gateway_free(t->g);
}

static struct frame frame_of(struct trace *t, struct segment s)
{
	uint8_t packet[FRAME_MAX];
	uint16_t len = tcp_write(packet, s);

	return s.direction == OUT ? frame_raw(LAN, packet, len)
				  : seal(&t->from_b, &t->seq, packet, len);
}

// The packet sent is the segment, its time to live decremented: sealed for B, or in clear to the
// LAN.
static void check_sent(const struct trace *t, const struct frame *sent, struct segment s)
{
	uint8_t right[FRAME_MAX], inner[FRAME_MAX];
	uint16_t right_len = tcp_write(right, s), len = frame_packet_len(sent);

	right[8]--;
	ip_checksum_update(right);
	memcpy(inner, frame_packet(sent), len);
	assert_int_equal(sent->port, s.direction == OUT ? WAN : LAN);
	if (s.direction == OUT)
		len = peer_open(&t->to_b, sent, inner);
	assert_int_equal(len, right_len);
	assert_memory_equal(inner, right, len);
}

static void expect_passed(struct trace *t, const struct segment s[], unsigned int n)
{
	struct frame f[2];

	assert_in_range(n, 1, 2);
	for (unsigned int i = 0; i < n; i++)
		f[i] = frame_of(t, s[i]);
	gateway_pass(t->g, f, n);
	expect_drops(t->g, DROP_NONE, 0);
	assert_int_equal(t->g->n_sent, n);
	for (unsigned int i = 0; i < n; i++)
		check_sent(t, &t->g->sent[i], s[i]);
}

struct step {
	const char *name;
	struct segment s[2];
	unsigned int n;     // segments in one burst
	uint64_t slow_path; // the packets of these on the slow path
	enum flow_state state;
};

static void play(struct trace *t, const struct step steps[], size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t before = gateway_lookups(t->g);

		print_message("%s\n", steps[i].name);
		expect_passed(t, steps[i].s, steps[i].n);
		assert_int_equal(gateway_lookups(t->g) - before, steps[i].slow_path);
		assert_int_equal(flow_only(t->g).state, steps[i].state);
	}
}

static const struct step opening[] = {
	{"SYN", {{OUT, SYN, CLIENT, 0, 0}}, 1, 1, FLOW_TCP_SYN_SENT},
	{"SYN, ACK", {{BACK, SYN | ACK, SERVER, CLIENT + 1, 0}}, 1, 1, FLOW_TCP_SYN_RECV},
	{"ACK and data",
		{{OUT, ACK, CLIENT + 1, SERVER + 1, 0},
			{OUT, PSH | ACK, CLIENT + 1, SERVER + 1, 100}},
		2, 0, FLOW_TCP_ESTABLISHED},
	{"data back", {{BACK, PSH | ACK, SERVER + 1, CLIENT + 101, 200}}, 1, 0,
		FLOW_TCP_ESTABLISHED},
	{"ACK", {{OUT, ACK, CLIENT + 101, SERVER + 201, 0}}, 1, 0, FLOW_TCP_ESTABLISHED},
};

static void test_connection(void **state)
{
	static const struct step closing[] = {
		{"FIN", {{OUT, FIN | ACK, CLIENT + 101, SERVER + 201, 0}}, 1, 0, FLOW_TCP_FIN_WAIT},
		{"ACK of it", {{BACK, ACK, SERVER + 201, CLIENT + 102, 0}}, 1, 0,
			FLOW_TCP_CLOSE_WAIT},
		{"FIN back", {{BACK, FIN | ACK, SERVER + 201, CLIENT + 102, 0}}, 1, 0,
			FLOW_TCP_LAST_ACK},
		{"last ACK", {{OUT, ACK, CLIENT + 102, SERVER + 202, 0}}, 1, 0, FLOW_TCP_TIME_WAIT},
		{"SYN of the next", {{OUT, SYN, CLIENT + 100000, 0, 0}}, 1, 1, FLOW_TCP_SYN_SENT},
	};
	struct trace t = trace_new(site_a((struct site){0}));
	struct flow_view v;

	(void)state;
	play(&t, opening, COUNT_OF(opening));
	v = flow_only(t.g);
	assert_int_equal(v.packets[v.initiator], 4);
	assert_int_equal(v.octets[v.initiator], 4 * 40 + 100);
	assert_int_equal(v.packets[!v.initiator], 2);
	assert_int_equal(v.octets[!v.initiator], 2 * 40 + 200);
	play(&t, closing, COUNT_OF(closing));
	trace_free(&t);
}

// A segment of an open connection is dropped for the reason or forwarded, and leaves the connection
// in the state.
static void expect_segment(
	const char *flows, struct segment segment, enum drop drop, enum flow_state state)
{
	struct trace t = trace_new(flow_gateway_new(flows));
	struct frame f;

	play(&t, opening, COUNT_OF(opening));
	f = frame_of(&t, segment);
	if (drop != DROP_NONE) {
		gateway_expect_drop(t.g, &f, drop);
		assert_int_equal(t.g->n_sent, 0);
	} else {
		gateway_expect_sent(t.g, &f, segment.direction == OUT ? WAN : LAN);
		check_sent(&t, &t.g->sent[0], segment);
	}
	assert_int_equal(gateway_lookups(t.g), 2);
	assert_int_equal(flow_only(t.g).state, state);
	trace_free(&t);
}

// For the client and for the server, in the window, and outside of it.
static void test_reset_counts_only_in_window(void **state)
{
	static const struct segment at_client = {BACK, RST, SERVER + 201, 0, 0};
	static const struct segment at_server = {OUT, RST, CLIENT + 101, 0, 0};
	static const struct segment in_window = {BACK, RST, SERVER + 301, 0, 0};
	static const struct segment blind = {BACK, RST, SERVER + 1000000, 0, 0};
	static const struct segment before = {BACK, RST, SERVER - 1000000, 0, 0};

	(void)state;
	expect_segment("max = 1024;", at_client, DROP_NONE, FLOW_TCP_CLOSE);
	expect_segment("max = 1024;", at_server, DROP_NONE, FLOW_TCP_CLOSE);
	expect_segment("max = 1024;", in_window, DROP_NONE, FLOW_TCP_ESTABLISHED);
	expect_segment("max = 1024;", blind, DROP_TCP_RESET, FLOW_TCP_ESTABLISHED);
	expect_segment("max = 1024;", before, DROP_TCP_RESET, FLOW_TCP_ESTABLISHED);
	expect_segment("max = 1024; tcp = \"liberal\";", blind, DROP_NONE, FLOW_TCP_ESTABLISHED);
}

// Out of the window, or acknowledging octets that were not sent.
static void test_packets_out_of_window_drop(void **state)
{
	static const struct segment out = {BACK, ACK, SERVER + 1000000, CLIENT + 101, 10};
	static const struct segment unsent = {BACK, ACK, SERVER + 201, CLIENT + 1000000, 10};

	(void)state;
	expect_segment("max = 1024;", out, DROP_TCP_WINDOW, FLOW_TCP_ESTABLISHED);
	expect_segment("max = 1024;", unsent, DROP_TCP_WINDOW, FLOW_TCP_ESTABLISHED);
	expect_segment("max = 1024; tcp = \"liberal\";", out, DROP_NONE, FLOW_TCP_ESTABLISHED);
}

// Two SYN-ACKs with different numbers, as mobile networks and load balancers send them for a
// repeated SYN: the client may accept either.
static void expect_choice(const char *acknowledgement)
{
	static const char syn[] = "4500002800010000400666c90a0100020a020002"
				  "9c40005000000064000000005002fffffee70000";
	static const char *const syn_ack[] = {"4500002800010000400666c90a0200020a010002"
					      "00509c4000001388000000655012ffffeb4e0000",
		"4500002800010000400666c90a0200020a010002"
		"00509c40000dbba0000000655012ffff43290000"};
	const struct ip_addr host = ip_addr_from_v4(RTE_BE32(0x0a010002));
	struct frame client = frame_hex_ip(LAN, syn);
	struct trace t = trace_new(site_a((struct site){0}));

	assert_int_equal(neigh_set_static(harness_neigh, LAN, &host,
				 (const struct rte_ether_addr *)mac_of_neighbour(LAN)),
		0);
	gateway_expect_sent(t.g, &client, WAN);
	gateway_expect_sent(t.g, &client, WAN);
	for (unsigned int i = 0; i < 2; i++) {
		struct frame server = frame_hex_ip(WAN, syn_ack[i]);

		server = seal(&t.from_b, &t.seq, frame_packet(&server), frame_packet_len(&server));
		gateway_expect_sent(t.g, &server, LAN);
	}
	client = frame_hex_ip(LAN, acknowledgement);
	gateway_expect_sent(t.g, &client, WAN);
	assert_int_equal(flow_only(t.g).state, FLOW_TCP_ESTABLISHED);
	trace_free(&t);
}

static void test_two_syn_acks(void **state)
{
	(void)state;
	expect_choice("4500002800010000400666c90a0100020a020002"
		      "9c40005000000065000013895010ffffeb4f0000");
	expect_choice("4500002800010000400666c90a0100020a020002"
		      "9c40005000000065000dbba15010ffff432a0000");
}

// A copy of data that was acknowledged long ago; the other end discards it.
static void test_old_copy(void **state)
{
	static const struct segment copy = {OUT, PSH | ACK, CLIENT + 1, SERVER + 1, 100};
	struct segment data = copy;
	struct trace t = trace_new(site_a((struct site){0}));

	(void)state;
	play(&t, opening, COUNT_OF(opening));
	for (unsigned int i = 0; i < 20; i++) {
		data.seq = CLIENT + 101 + 1000 * i;
		data.text = 1000;
		expect_passed(&t, &data, 1);
		expect_passed(
			&t, &(struct segment){BACK, ACK, SERVER + 201, data.seq + 1000, 0}, 1);
	}
	expect_passed(&t, &copy, 1);
	assert_int_equal(flow_only(t.g).state, FLOW_TCP_ESTABLISHED);
	trace_free(&t);
}

// The server is there, but no process listens.
static void test_rejected_connection(void **state)
{
	static const struct step steps[] = {
		{"SYN", {{OUT, SYN, CLIENT, 0, 0}}, 1, 1, FLOW_TCP_SYN_SENT},
		{"RST", {{BACK, RST | ACK, 0, CLIENT + 1, 0}}, 1, 1, FLOW_TCP_CLOSE},
	};
	struct trace t = trace_new(site_a((struct site){0}));

	(void)state;
	play(&t, steps, COUNT_OF(steps));
	trace_free(&t);
}

// The first packet creates the flow for the others of its burst.
static void test_first_of_burst(void **state)
{
	struct segment syn = {OUT, SYN, CLIENT, 0, 0};
	struct trace t = trace_new(site_a((struct site){0}));
	struct gateway *g;
	struct ipv4 udp = FROM_TO("10.1.0.5", "10.2.0.5", .sport = 1, .dport = 2);
	struct frame f[] = {frame_ip(LAN, udp), frame_ip(LAN, udp), frame_ip(LAN, udp)};

	(void)state;
	expect_passed(&t, (struct segment[]){syn, syn}, 2);
	assert_int_equal(gateway_lookups(t.g), 1);
	assert_int_equal(flow_only(t.g).state, FLOW_TCP_SYN_SENT);
	trace_free(&t);
	g = site_a((struct site){0});
	gateway_pass(g, f, COUNT_OF(f));
	expect_drops(g, DROP_NONE, 0);
	expect_all_sent(g, COUNT_OF(f), WAN);
	assert_int_equal(gateway_lookups(g), 1);
	assert_int_equal(flow_only(g).state, FLOW_UDP_NEW);
	gateway_free(g);
}

static void test_pickup(void **state)
{
	static const struct segment in_flight = {OUT, ACK, CLIENT, SERVER, 10};
	struct trace t = trace_new(flow_gateway_new("max = 1024; pickup = false;"));
	struct frame f = frame_of(&t, in_flight), syn_ack;

	(void)state;
	gateway_expect_drop(t.g, &f, DROP_TCP_UNOPENED);
	syn_ack = frame_of(&t, (struct segment){BACK, SYN | ACK, SERVER, CLIENT + 1, 0});
	gateway_expect_drop(t.g, &syn_ack, DROP_TCP_UNOPENED);
	assert_int_equal(flow_count(t.g->flows), 0);
	trace_free(&t);
	t = trace_new(flow_gateway_new("max = 1024; pickup = true;"));
	expect_passed(&t, &in_flight, 1);
	assert_int_equal(flow_only(t.g).state, FLOW_TCP_PICKED_UP);
	trace_free(&t);
}

static void test_icmp_errors(void **state)
{
	struct trace t = trace_new(site_a((struct site){0}));
	uint8_t about[FRAME_MAX], error[FRAME_MAX], inner[FRAME_MAX];
	uint16_t len;
	struct frame f;
	struct flow_view v;

	(void)state;
	tcp_write(about, (struct segment){OUT, SYN, CLIENT, 0, 0});
	len = error_write(error, "10.2.0.9", "10.1.0.5", 3, 3, about);
	f = seal(&t.from_b, &t.seq, error, len);
	gateway_expect_drop(t.g, &f, DROP_ICMP_UNRELATED);
	assert_int_equal(flow_count(t.g->flows), 0);
	play(&t, opening, COUNT_OF(opening));

	// From a router of site B, about a packet of the client.
	tcp_write(about, (struct segment){OUT, ACK, CLIENT + 101, SERVER + 201, 0});
	len = error_write(error, "10.2.0.9", "10.1.0.5", 3, 3, about);
	f = seal(&t.from_b, &t.seq, error, len);
	gateway_expect_sent(t.g, &f, LAN);
	error[8]--;
	ip_checksum_update(error);
	assert_int_equal(frame_packet_len(&t.g->sent[0]), len);
	assert_memory_equal(frame_packet(&t.g->sent[0]), error, len);

	// Out through the tunnel, about a packet of the server.
	tcp_write(about, (struct segment){BACK, ACK, SERVER + 201, CLIENT + 101, 0});
	len = error_write(error, "10.1.0.5", "10.2.0.5", 3, 3, about);
	f = frame_raw(LAN, error, len);
	gateway_expect_sent(t.g, &f, WAN);
	error[8]--;
	ip_checksum_update(error);
	assert_int_equal(peer_open(&t.to_b, &t.g->sent[0], inner), len);
	assert_memory_equal(inner, error, len);

	// About a packet that the client cannot have sent: forged (RFC 5927 4.1).
	tcp_write(about, (struct segment){OUT, ACK, CLIENT + 1000000, SERVER + 201, 0});
	len = error_write(error, "10.2.0.9", "10.1.0.5", 3, 3, about);
	f = seal(&t.from_b, &t.seq, error, len);
	gateway_expect_drop(t.g, &f, DROP_ICMP_UNRELATED);

	v = flow_only(t.g);
	assert_int_equal(v.state, FLOW_TCP_ESTABLISHED);
	assert_int_equal(v.packets[0] + v.packets[1], 6);
	trace_free(&t);
}

// RFC 4301 5.2: a known flow does not bypass policy.
static void test_other_paths(void **state)
{
	struct trace t = trace_new(site_a((struct site){0}));
	struct peer from_c = peer_new(t.g, "from-c");
	static const struct segment out = {OUT, ACK, CLIENT + 101, SERVER + 201, 10};
	static const struct segment back = {BACK, ACK, SERVER + 201, CLIENT + 101, 10};
	uint8_t packet[FRAME_MAX];
	uint16_t len;
	uint32_t c_seq = 0;
	struct frame f;
	struct flow_view v;

	(void)state;
	play(&t, opening, COUNT_OF(opening));
	len = tcp_write(packet, out);
	f = frame_raw(WAN, packet, len);
	gateway_expect_drop(t.g, &f, DROP_IP_SOURCE);
	f = seal(&t.from_b, &t.seq, packet, len);
	gateway_expect_drop(t.g, &f, DROP_SELECTOR);
	len = tcp_write(packet, back);
	f = frame_raw(WAN, packet, len);
	gateway_expect_drop(t.g, &f, DROP_CLEAR_TEXT);
	f = seal(&from_c, &c_seq, packet, len);
	gateway_expect_drop(t.g, &f, DROP_SELECTOR);
	v = flow_only(t.g);
	assert_int_equal(v.packets[0] + v.packets[1], 6);
	// The flow continues, on its own path.
	expect_passed(&t, &out, 1);
	expect_passed(&t, &back, 1);
	peer_free(&from_c);
	trace_free(&t);
}

// Other policies apply to an established flow from its next packet on.
static void test_other_policies_apply_at_once(void **state)
{
	static const char list[] = "policies = (\n";
	struct trace t = trace_new(site_a((struct site){0}));
	char text[8192], other[8192 + 256], *at;
	struct conf *conf;
	uint64_t before;
	struct frame f;

	(void)state;
	play(&t, opening, COUNT_OF(opening));
	site_a_conf(text, sizeof(text), (struct site){0});
	at = strstr(text, list) + strlen(list);
	snprintf(other, sizeof(other),
		"%.*s { name = \"no\"; local = \"10.1.0.5/32\"; remote = \"10.2.0.0/24\"; "
		"action = \"discard\"; },\n%s",
		(int)(at - text), text, at);
	conf = harness_conf(other, strlen(other), stderr);
	assert_non_null(conf);
	gateway_reload(t.g, conf);
	f = frame_of(&t, (struct segment){OUT, ACK, CLIENT + 101, SERVER + 201, 10});
	gateway_expect_drop(t.g, &f, DROP_POLICY_DISCARD);
	f = frame_of(&t, (struct segment){BACK, ACK, SERVER + 201, CLIENT + 101, 10});
	gateway_expect_drop(t.g, &f, DROP_SELECTOR);

	// The first policies again: the slow path once, then the cached decision.
	gateway_reload(t.g, t.g->conf);
	conf_free(conf);
	before = gateway_lookups(t.g);
	for (unsigned int i = 0; i < 3; i++) {
		expect_passed(&t, &(struct segment){OUT, ACK, CLIENT + 101, SERVER + 201, 0}, 1);
		assert_int_equal(gateway_lookups(t.g), before + 1);
	}
	assert_int_equal(flow_only(t.g).state, FLOW_TCP_ESTABLISHED);
	trace_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_connection),
		pipeline_test(test_reset_counts_only_in_window),
		pipeline_test(test_packets_out_of_window_drop),
		pipeline_test(test_two_syn_acks),
		pipeline_test(test_old_copy),
		pipeline_test(test_rejected_connection),
		pipeline_test(test_first_of_burst),
		pipeline_test(test_pickup),
		pipeline_test(test_icmp_errors),
		pipeline_test(test_other_paths),
		pipeline_test(test_other_policies_apply_at_once),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
