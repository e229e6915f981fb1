// SPDX-License-Identifier: BSD-3-Clause
// The choice of a source port: which ports are free, how many a source may have, which port each
// packet of a burst of first packets gets, and each of two flows that want the same one.
#include <netinet/in.h>
#include <stdio.h>

#include "addrs.h"
#include "flow_port.h"
#include "peer.h"
#include "site_nat.h"

#define DMZ_CLIENT "10.7.0.5"
#define PORTS      1000 // of the rule with many
#define PORT_FIRST 20000

#define RULE(more)                                                                                 \
	"nat = ( { name = \"out\"; action = \"source\"; out = \"wan\"; to = \"port\"; proto = "    \
	"\"udp\"; " more " } );"

static struct gateway *gateway_of(const char *nat)
{
	return site_a((struct site){.policies = POLICIES, .more = nat});
}

// Sends the first packet of a flow. Returns its new port.
static uint16_t port_of(
	struct gateway *g, uint16_t in, const char *client, uint16_t port, const char *server)
{
	const struct frame f = ends_frame(in, IPPROTO_UDP, (struct ends){client, port, server, 53});
	const struct frame *sent = gateway_expect_sent(g, &f, WAN);
	const uint16_t to = be16(frame_packet(sent) + IP_LEN);

	expect_ends(sent, (struct ends){OWN, to, server, 53});
	return to;
}

static void expect_refused(struct gateway *g, uint16_t in, const char *client, uint16_t port,
	const char *server, enum drop reason)
{
	const struct frame f = ends_frame(in, IPPROTO_UDP, (struct ends){client, port, server, 53});

	gateway_expect_drop(g, &f, reason);
}

// However few ports are free, each is found, and none is given twice.
static void test_last_ports_are_found(void **state)
{
	struct gateway *g =
		gateway_of(RULE("to_port = \"20000-20999\"; per_source = 1000; per_peer = 1001;"));
	static bool used[PORTS];

	(void)state;
	memset(used, 0, sizeof(used));
	for (unsigned int i = 0; i < PORTS; i++) {
		const unsigned int at = port_of(g, LAN, CLIENT, (uint16_t)(1 + i), SERVER) -
					(unsigned int)PORT_FIRST;

		assert_in_range(at, 0, PORTS - 1);
		assert_false(used[at]);
		used[at] = true;
	}
	expect_refused(g, LAN, OTHER, 9, SERVER, DROP_NAT_PORTS);
	// Towards another server all are free.
	port_of(g, LAN, OTHER, 9, "198.51.100.8");
	gateway_free(g);
}

// Each type and code of ICMP queries has all identifiers, also the last free ones, and a limit of
// its own.
static void test_identifiers_of_each_type(void **state)
{
	static const struct {
		uint8_t type, code;
	} kinds[] = {{8, 0}, {13, 0}, {8, 1}};
	struct gateway *g = gateway_of(
		"nat = ( { name = \"out\"; action = \"source\"; out = \"wan\"; to = \"port\"; "
		"to_port = \"6400-6527\"; per_source = 128; per_peer = 128; } );");

	(void)state;
	for (unsigned int k = 0; k < RTE_DIM(kinds); k++)
		for (uint16_t i = 0; i < 128; i++) {
			uint8_t packet[FRAME_MAX];
			const uint16_t len = ends_write(
				packet, IPPROTO_ICMP, (struct ends){CLIENT, 1 + i, SERVER, 8});
			struct frame f;

			packet[IP_LEN] = kinds[k].type;
			packet[IP_LEN + 1] = kinds[k].code;
			upper_checksum_update(packet);
			f = frame_raw(LAN, packet, len);
			gateway_expect_sent(g, &f, WAN);
		}
	gateway_free(g);
}

// In order, from its own one on.
static void test_ports_in_order(void **state)
{
	struct gateway *g = gateway_of(RULE("to_port = \"5000-5063\"; random = false;"));

	(void)state;
	assert_int_equal(port_of(g, LAN, CLIENT, 5010, SERVER), 5010);
	assert_int_equal(port_of(g, LAN, OTHER, 5010, SERVER), 5011);
	assert_int_equal(port_of(g, LAN, OTHER, 100, SERVER), 5000);
	assert_int_equal(port_of(g, LAN, OTHER, 101, SERVER), 5001);
	gateway_free(g);
}

// Counts the ports of a block, as of another destination whose counts are in the same places.
static void fill_block(struct gateway *g, uint16_t first)
{
	const struct ip_addr client = addr_of(CLIENT), other = addr_of("198.51.100.9");
	struct flow_translation t = {.to = {addr_of(OWN), addr_of(SERVER), 0, RTE_BE16(53)}};
	struct flow_pkt p = {.key.proto = IPPROTO_UDP, .v4 = true};
	struct flow *f;

	flow_pkt_set_ends(&p, client, 0, t.to.dst, t.to.dst_port);
	t.towards = flow_towards(g->flows, &p, &t.to);
	t.to.dst = other;
	for (uint16_t i = 0; i < FLOW_PORT_BLOCK; i++) {
		t.to.src_port = rte_cpu_to_be_16((uint16_t)(first + i));
		flow_pkt_set_ends(&p, client, t.to.src_port, other, t.to.dst_port);
		flow_lookup_start(g->flows, &p);
		assert_int_equal(
			flow_insert(g->flows, g->w->id, &p, &t, 0, 0, NULL, &f), DROP_NONE);
	}
	assert_true(flow_port_block_is_full(g->flows, t.towards, first / FLOW_PORT_BLOCK));
}

// In a range of few ports each is found, also where the counts of blocks show that none is free.
static void test_few_ports_in_a_full_block(void **state)
{
	struct gateway *g = gateway_of(RULE(
		"to_port = \"5000-5003\"; random = false; per_source = 1000; per_peer = 1000;"));

	(void)state;
	fill_block(g, 4992);
	assert_int_equal(port_of(g, LAN, CLIENT, 5003, SERVER), 5003);
	assert_int_equal(port_of(g, LAN, CLIENT, 5002, SERVER), 5002);
	assert_int_equal(port_of(g, LAN, OTHER, 5002, SERVER), 5000);
	gateway_free(g);
}

static void test_sources_and_peers_are_limited(void **state)
{
	struct gateway *g = gateway_of(RULE("per_source = 3; per_peer = 5;"));

	(void)state;
	for (uint16_t i = 1; i <= 3; i++)
		port_of(g, LAN, CLIENT, i, SERVER);
	expect_refused(g, LAN, CLIENT, 4, SERVER, DROP_NAT_LIMIT);
	// Another source, up to the limit of its port, and another port.
	port_of(g, LAN, OTHER, 1, SERVER);
	port_of(g, LAN, OTHER, 2, SERVER);
	expect_refused(g, LAN, OTHER, 3, SERVER, DROP_NAT_LIMIT);
	port_of(g, DMZ, DMZ_CLIENT, 1, SERVER);
	// Each destination counts for itself.
	port_of(g, LAN, CLIENT, 4, "198.51.100.8");
	gateway_free(g);
}

// The peer that a packet out of a tunnel comes from has its limit, whichever sources it is of.
static void test_peers_of_tunnels_are_limited(void **state)
{
	struct gateway *g = site_a((struct site){
		.more = "nat = ( { name = \"in\"; action = \"source\"; out = \"lan\"; to = "
			"\"port\"; per_peer = 2; } );"});
	struct peer from_b = peer_new(g, "from-b");
	uint8_t packet[FRAME_MAX];

	(void)state;
	for (uint32_t seq = 1; seq <= 3; seq++) {
		const struct ends e = {
			seq == 1 ? "10.2.0.5" : "10.2.0.6", (uint16_t)(1000 + seq), CLIENT, 53};
		const struct frame f =
			peer_seal_packet(&from_b, seq, packet, ends_write(packet, IPPROTO_UDP, e));

		if (seq <= 2)
			gateway_expect_sent(g, &f, LAN);
		else
			gateway_expect_drop(g, &f, DROP_NAT_LIMIT);
	}
	peer_free(&from_b);
	gateway_free(g);
}

static void flows_end(struct gateway *g)
{
	gateway_wait(g, 31 * 1000000); // longer than UDP without replies may last
	for (unsigned int i = 0; i < 100 && flow_count(g->flows) > 0; i++)
		flow_tick(g->flows, i % g->conf->n_workers, g->w->now_ms, UINT16_MAX);
	assert_int_equal(flow_count(g->flows), 0);
}

// A flow that ends gives back its port, and its place among those of its source.
static void test_ended_flows_count_no_more(void **state)
{
	struct gateway *g =
		gateway_of(RULE("to_port = \"5000-5001\"; per_source = 2; per_peer = 2;"));

	(void)state;
	for (unsigned int round = 0; round < 3; round++) {
		const uint16_t a = port_of(g, LAN, CLIENT, 1, SERVER);
		const uint16_t b = port_of(g, LAN, CLIENT, 2, SERVER);

		assert_int_equal(a + b, 5000 + 5001);
		expect_refused(g, LAN, CLIENT, 3, SERVER, DROP_NAT_LIMIT);
		expect_refused(g, DMZ, DMZ_CLIENT, 3, SERVER, DROP_NAT_PORTS);
		flows_end(g);
	}
	gateway_free(g);
}

// A port that the gateway's own programs use is not kept.
static void test_own_ports_are_not_given(void **state)
{
	struct gateway *g = gateway_of(RULE(""));

	(void)state;
	assert_in_range(port_of(g, LAN, CLIENT, 500, SERVER), 1024, 65535);
	assert_int_not_equal(port_of(g, LAN, CLIENT, 4500, SERVER), 4500);
	assert_int_equal(port_of(g, LAN, CLIENT, 501, SERVER), 501);
	gateway_free(g);
}

// All packets of a flow's first burst get the same ends.
static void expect_one_binding(const char *nat, uint16_t in, const char *client)
{
	struct gateway *g = gateway_of(nat);
	struct frame f[8];
	uint16_t port;

	for (unsigned int i = 0; i < RTE_DIM(f); i++)
		f[i] = ends_frame(in, IPPROTO_UDP, (struct ends){client, 4000, SERVER, 53});
	gateway_pass(g, f, RTE_DIM(f));
	assert_int_equal(g->n_sent, RTE_DIM(f));
	port = be16(frame_packet(&g->sent[0]) + IP_LEN);
	for (unsigned int i = 0; i < RTE_DIM(f); i++)
		expect_ends(&g->sent[i], (struct ends){OWN, port, SERVER, 53});
	assert_int_equal(flow_count(g->flows), 1);
	gateway_free(g);
}

static void test_burst_has_one_binding(void **state)
{
	(void)state;
	expect_one_binding(RULE(""), LAN, CLIENT);
	expect_one_binding(RULE("to_port = \"5000\";"), LAN, CLIENT);
	expect_one_binding(
		"nat = ( { name = \"map\"; action = \"netmap\"; source = \"10.1.0.5\"; to = "
		"\"192.0.2.1\"; } );",
		LAN, CLIENT);
}

// Sources with the same port in one burst. Each packet is counted once, and has one line in the
// log.
static void test_burst_of_equal_ports(void **state)
{
	struct gateway *g = gateway_of(
		RULE("") "rules = ( { name = \"all\"; action = \"accept\"; log = true; } );");
	const char *const client[] = {CLIENT, OTHER, "10.1.0.7", "10.1.0.8"};
	struct frame f[RTE_DIM(client)];
	struct flow_counters c;

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(f); i++)
		f[i] = ends_frame(LAN, IPPROTO_UDP, (struct ends){client[i], 4000, SERVER, 53});
	gateway_pass(g, f, RTE_DIM(f));
	assert_int_equal(g->n_sent, RTE_DIM(f));
	for (unsigned int i = 0; i < RTE_DIM(f); i++)
		for (unsigned int k = 0; k < i; k++)
			assert_int_not_equal(be16(frame_packet(&g->sent[i]) + IP_LEN),
				be16(frame_packet(&g->sent[k]) + IP_LEN));
	assert_int_equal(running_policy_sum(g->snapshot, "own").packets, RTE_DIM(f));
	assert_int_equal(running_rule_sum(g->snapshot, "all").packets, RTE_DIM(f));
	for (unsigned int i = 0; i < RTE_DIM(f); i++)
		expect_event(g, EVENT_RULE, LAN, client[i]);
	expect_no_event(g);
	flow_counters_sum(g->flows, &c);
	assert_int_equal(c.refused[DROP_NAT_PORTS], 0);
	gateway_free(g);
}

#define FORWARD                                                                                    \
	"nat = ( { name = \"a\"; action = \"destination\"; in = \"lan\"; destination = "           \
	"\"198.51.100.1\"; to = \"198.51.100.7\"; },"                                              \
	"{ name = \"b\"; action = \"destination\"; in = \"lan\"; destination = "                   \
	"\"198.51.100.2\"; to = \"198.51.100.7\"; } );"
#define ALL ",{ name = \"all\"; action = \"bypass\"; }"

// Passes a packet from the client to a server. Returns its new source port.
static uint16_t forwarded_port(struct gateway *g, uint8_t proto, uint16_t port, const char *server)
{
	const bool icmp = proto == IPPROTO_ICMP;
	const struct frame f = ends_frame(LAN, proto, (struct ends){CLIENT, port, server, 80});
	const struct frame *sent = gateway_expect_sent(g, &f, WAN);
	const uint16_t to = be16(frame_packet(sent) + IP_LEN + (icmp ? 4 : 0));

	expect_ends(sent, (struct ends){CLIENT, to, SERVER, 80});
	return to;
}

// Several connections of a client from one port, which rules for destinations lead to one server,
// get different ports; replies to each come back with its own ends.
static void test_equal_ports_to_one_destination(void **state)
{
	static const uint8_t protos[] = {IPPROTO_UDP, IPPROTO_TCP, IPPROTO_ICMP};

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(protos); i++) {
		struct gateway *g = site_a((struct site){.policies = ALL, .more = FORWARD});
		const bool icmp = protos[i] == IPPROTO_ICMP;

		// Its own, that of another connection, and one that an untranslated flow has.
		assert_int_equal(forwarded_port(g, protos[i], 700, "198.51.100.1"), 700);
		const uint16_t port = forwarded_port(g, protos[i], 700, "198.51.100.2");

		assert_in_range(port, 1024, 65535);
		assert_int_equal(forwarded_port(g, protos[i], 701, SERVER), 701);
		assert_int_not_equal(forwarded_port(g, protos[i], 701, "198.51.100.1"), 701);
		expect_translated(g, WAN, protos[i],
			(struct ends){SERVER, icmp ? port : 80, CLIENT, icmp ? 0 : port}, LAN,
			(struct ends){"198.51.100.2", icmp ? 700 : 80, CLIENT, icmp ? 0 : 700});
		gateway_free(g);
	}
}

// netmap changes no ports.
static void test_netmap_keeps_ports(void **state)
{
	struct gateway *g = site_a((struct site){.policies = ALL,
		.more = "nat = ( { name = \"map\"; action = \"netmap\"; destination = "
			"\"198.51.100.1\"; to = \"198.51.100.7\"; } );"});
	const struct frame f =
		ends_frame(LAN, IPPROTO_UDP, (struct ends){CLIENT, 700, "198.51.100.1", 80});

	(void)state;
	forwarded_port(g, IPPROTO_UDP, 700, SERVER);
	gateway_expect_drop(g, &f, DROP_NAT_PORTS);
	gateway_free(g);
}

// A connection of the gateway's host cannot have the port of a client's towards the same server; a
// client gets another one than the host has. With to_port, clients have none of the others.
static void test_host_and_client_with_one_port(void **state)
{
	struct gateway *g = site_a_host(WAN, (struct site){.policies = POLICIES, .more = RULE("")});
	struct frame f = ends_frame(WAN, IPPROTO_UDP, (struct ends){OWN, 7000, SERVER, 53});

	(void)state;
	assert_int_equal(port_of(g, LAN, CLIENT, 7000, SERVER), 7000);
	gateway_host_pass(g, f);
	expect_drops(g, DROP_CT_INVALID, 1);
	f = ends_frame(WAN, IPPROTO_UDP, (struct ends){OWN, 7001, SERVER, 53});
	gateway_host_pass(g, f);
	assert_int_equal(g->n_sent, 1);
	assert_int_not_equal(port_of(g, LAN, CLIENT, 7001, SERVER), 7001);
	gateway_free(g);
	g = site_a_host(
		WAN, (struct site){.policies = POLICIES, .more = RULE("to_port = \"1024-6999\";")});
	assert_in_range(port_of(g, LAN, CLIENT, 7000, SERVER), 1024, 6999);
	f = ends_frame(WAN, IPPROTO_UDP, (struct ends){OWN, 7000, SERVER, 53});
	gateway_host_pass(g, f);
	assert_int_equal(g->n_sent, 1);
	gateway_free(g);
}

// The result of the next look-up of ports, or of all.
static enum { TRUTH, FIRST_FREE, ALL_TAKEN, ALWAYS_FREE } result;

unsigned int __real_flow_ports_find(
	const struct flow_table *t, const uint32_t hash[], unsigned int n);
unsigned int __wrap_flow_ports_find(
	const struct flow_table *t, const uint32_t hash[], unsigned int n);

unsigned int __wrap_flow_ports_find(
	const struct flow_table *t, const uint32_t hash[], unsigned int n)
{
	const unsigned int found[] = {[TRUTH] = __real_flow_ports_find(t, hash, n),
		[FIRST_FREE] = 0,
		[ALL_TAKEN] = n,
		[ALWAYS_FREE] = 0};
	const unsigned int seen = found[result];

	if (result != ALWAYS_FREE)
		result = TRUTH;
	return seen;
}

static bool own_seems_free; // the port of the next sender, by its first bucket

bool __real_flow_port_look(const struct flow_table *t, uint32_t hash);
bool __wrap_flow_port_look(const struct flow_table *t, uint32_t hash);

bool __wrap_flow_port_look(const struct flow_table *t, uint32_t hash)
{
	const bool seen = __real_flow_port_look(t, hash) || own_seems_free;

	own_seems_free = false;
	return seen;
}

// The last free port is in the last block, and the look-up begins again with the first port of all.
static void test_last_port_of_the_last_block(void **state)
{
	struct gateway *g = gateway_of(RULE(
		"to_port = \"1024-1151\"; random = false; per_source = 1000; per_peer = 1000;"));

	(void)state;
	for (uint16_t port = 1024; port <= 1151; port++)
		if (port != 1140)
			assert_int_equal(port_of(g, LAN, CLIENT, port, SERVER), port);
	own_seems_free = true;
	assert_int_equal(port_of(g, LAN, OTHER, 1151, SERVER), 1140);
	assert_false(own_seems_free);
	gateway_free(g);
}

// A worker finds a port free that another one takes before it.
static void test_port_taken_meanwhile(void **state)
{
	struct gateway *g = gateway_of(RULE(""));

	(void)state;
	assert_int_equal(port_of(g, LAN, CLIENT, 7000, SERVER), 7000);
	result = FIRST_FREE;
	assert_int_not_equal(port_of(g, LAN, OTHER, 7000, SERVER), 7000);
	assert_int_equal(result, TRUTH);
	gateway_free(g);
}

// Another worker takes each port that is found, every time.
static void test_ports_taken_every_time(void **state)
{
	struct gateway *g = gateway_of(RULE("to_port = \"5000\";"));

	(void)state;
	port_of(g, LAN, CLIENT, 7000, SERVER);
	result = ALWAYS_FREE;
	expect_refused(g, LAN, OTHER, 7000, SERVER, DROP_NAT_PORTS);
	result = TRUTH;
	expect_event(g, EVENT_NAT_EXHAUSTED, LAN, OTHER);
	expect_no_event(g);
	assert_int_equal(running_nat_sum(g->snapshot, "out").asked, 1);
	assert_int_equal(running_nat_sum(g->snapshot, "out").packets, 1);
	gateway_free(g);
}

// A port seems in use because of another key with the same tag: it is kept if the sender chose it,
// and found if the rule has no other.
static void test_port_seems_taken(void **state)
{
	static const struct {
		const char *rule;
		uint16_t port;
	} cases[] = {{RULE(""), 7000}, {RULE("to_port = \"5000\";"), 5000}};

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(cases); i++) {
		struct gateway *g = gateway_of(cases[i].rule);

		result = ALL_TAKEN;
		assert_int_equal(port_of(g, LAN, CLIENT, 7000, SERVER), cases[i].port);
		assert_int_equal(result, TRUTH);
		gateway_free(g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_last_ports_are_found),
		pipeline_test(test_last_port_of_the_last_block),
		pipeline_test(test_identifiers_of_each_type),
		pipeline_test(test_ports_in_order),
		pipeline_test(test_few_ports_in_a_full_block),
		pipeline_test(test_sources_and_peers_are_limited),
		pipeline_test(test_peers_of_tunnels_are_limited),
		pipeline_test(test_ended_flows_count_no_more),
		pipeline_test(test_own_ports_are_not_given),
		pipeline_test(test_burst_has_one_binding),
		pipeline_test(test_burst_of_equal_ports),
		pipeline_test(test_equal_ports_to_one_destination),
		pipeline_test(test_netmap_keeps_ports),
		pipeline_test(test_host_and_client_with_one_port),
		pipeline_test(test_port_taken_meanwhile),
		pipeline_test(test_ports_taken_every_time),
		pipeline_test(test_port_seems_taken),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
