// SPDX-License-Identifier: BSD-3-Clause
// Limits of packets to and from the host behind a port. Proves that a flood, with forged sources or
// not, leaves other services, other peers and established connections their share.
#include <netinet/in.h>

#include "peer.h"
#include "site.h"

enum { FIN = 1, SYN = 2, RST = 4, ACK = 16 };

#define SSH    22
#define BGP    179
#define HOST   "10.1.0.1"
#define SERVER 5000u // initial sequence number of the host
#define CLIENT 1000u // of others

static const char rules[] =
	"rules = ("
	" { name = \"ssh\"; host = true; action = \"accept\"; proto = \"tcp\"; destination_port = "
	"\"22\"; },"
	" { name = \"bgp\"; host = true; action = \"accept\"; proto = \"tcp\"; destination_port = "
	"\"179\"; },"
	" { name = \"snmp\"; host = true; action = \"accept\"; proto = \"udp\"; destination_port = "
	"\"161\"; } );";

// Gateway A with a host behind port LAN.
static struct gateway *gateway_with_host(unsigned int packets_per_second)
{
	char more[1024];

	snprintf(more, sizeof(more), "%s host = { packets_per_second = %u; };", rules,
		packets_per_second);
	return site_a_host(LAN, (struct site){.more = more});
}

struct segment {
	const char *client;
	uint16_t port, service; // of the client and the host
	uint8_t flags;
	uint32_t seq, ack;
	bool of_host;
};

static struct frame segment(struct segment s)
{
	struct ipv4 ip = FROM_TO(s.of_host ? HOST : s.client, s.of_host ? s.client : HOST,
		.proto = IPPROTO_TCP, .len = 40, .sport = s.of_host ? s.service : s.port,
		.dport = s.of_host ? s.port : s.service);
	struct frame f = frame_ip(LAN, ip);
	uint8_t *tcp = f.b + ETH_LEN + IP_LEN;

	put32(tcp + 4, s.seq);
	put32(tcp + 8, s.ack);
	tcp[13] = s.flags;
	put16(tcp + 14, 8192);
	return f;
}

static struct frame udp(const char *from, const char *to, uint16_t sport, uint16_t dport)
{
	return frame_ip(LAN, (struct ipv4)FROM_TO(from, to, .sport = sport, .dport = dport));
}

static void expect_accepted(struct gateway *g, const struct frame *f)
{
	gateway_host_pass(g, *f);
	expect_drops(g, DROP_NONE, 0); // sent, or held for a neighbour
}

// The same packet again and again, until the limit drops it. Returns how many have passed.
static unsigned int flood(struct gateway *g, const struct frame *f)
{
	for (unsigned int i = 0; i < 2000; i++) {
		gateway_pass(g, f, 1);
		if (g->n_punted == 1)
			continue;
		expect_drops(g, DROP_HOST_LIMIT, 1);
		return i;
	}
	fail_msg("nothing is limited");
	return 0;
}

// A connection to the host; returns a segment of the client.
static struct frame open_connection(
	struct gateway *g, const char *client, uint16_t port, uint16_t service)
{
	struct frame syn = segment((struct segment){client, port, service, SYN, CLIENT, 0, false});
	struct frame answer = segment(
		(struct segment){client, port, service, SYN | ACK, SERVER, CLIENT + 1, true});
	struct frame ack = segment(
		(struct segment){client, port, service, ACK, CLIENT + 1, SERVER + 1, false});

	gateway_expect_punted(g, syn);
	expect_accepted(g, &answer);
	gateway_expect_punted(g, ack);
	return ack;
}

static void test_services(void **state)
{
	struct gateway *g = gateway_with_host(10);
	struct frame open = open_connection(g, "10.1.0.6", 9, SSH);
	struct frame ssh = segment((struct segment){"10.1.0.5", 1, SSH, SYN, CLIENT, 0, false});
	struct frame bgp = segment((struct segment){"10.1.0.5", 1, BGP, SYN, CLIENT, 0, false});
	struct frame snmp = udp("10.1.0.5", HOST, 1, 161), own = udp(HOST, "10.1.0.6", 5000, 53);
	struct frame answer = udp("10.1.0.6", HOST, 53, 5000);

	(void)state;
	expect_accepted(g, &own);
	flood(g, &ssh);
	gateway_expect_punted(g, bgp);
	gateway_expect_punted(g, snmp);
	gateway_expect_punted(g, answer);
	gateway_expect_punted(g, open);
	g->now += TSC_HZ / 10;
	gateway_expect_punted(g, ssh);
	gateway_expect_drop(g, &ssh, DROP_HOST_LIMIT);
	gateway_free(g);
}

// Rules in another order after a reload.
static void test_services_after_reload(void **state)
{
	static const char other_order[] =
		"rules = ("
		" { name = \"bgp\"; host = true; action = \"accept\"; proto = \"tcp\"; "
		"destination_port = \"179\"; },"
		" { name = \"ssh\"; host = true; action = \"accept\"; proto = \"tcp\"; "
		"destination_port = \"22\"; } ); host = { packets_per_second = 10; };";
	struct gateway *g = gateway_with_host(10);
	struct frame ssh = segment((struct segment){"10.1.0.5", 1, SSH, SYN, CLIENT, 0, false});
	struct frame bgp = segment((struct segment){"10.1.0.5", 1, BGP, SYN, CLIENT, 0, false});
	struct conf *conf;
	char text[8192];

	(void)state;
	site_a_conf(
		text, sizeof(text), (struct site){.more = other_order, .wan = "host = \"gw0\";"});
	conf = harness_conf(text, strlen(text), stderr);
	assert_non_null(conf);
	gateway_reload(g, conf);
	conf_free(conf);
	flood(g, &bgp);
	gateway_expect_punted(g, ssh);
	gateway_free(g);
}

// A stranger who forges his source cannot have an established connection.
static void test_forged_reset_has_no_effect(void **state)
{
	struct gateway *g = gateway_with_host(10);
	struct frame open = open_connection(g, "10.1.0.6", 9, SSH);
	struct frame syn = segment((struct segment){"10.1.0.5", 1, SSH, SYN, CLIENT, 0, false});
	struct frame rst = segment((struct segment){"10.1.0.5", 1, SSH, RST, CLIENT + 1, 0, false});

	(void)state;
	gateway_expect_punted(g, syn);
	flood(g, &rst);
	gateway_expect_punted(g, open);
	gateway_free(g);
}

// One answer does not make a UDP flow established.
static void test_one_answer_establishes_nothing(void **state)
{
	struct gateway *g = gateway_with_host(10);
	struct frame known = udp("10.1.0.6", HOST, 1, 161), reply = udp(HOST, "10.1.0.6", 161, 1);
	struct frame other = udp("10.1.0.5", HOST, 1, 161), answer = udp(HOST, "10.1.0.5", 161, 1);

	(void)state;
	gateway_expect_punted(g, known);
	expect_accepted(g, &reply);
	g->now += 3 * TSC_HZ;
	gateway_expect_punted(g, known);
	gateway_expect_punted(g, other);
	expect_accepted(g, &answer);
	flood(g, &other);
	gateway_expect_punted(g, known);
	gateway_free(g);
}

// Answers to a flood, which a worker takes from the host, take nothing of open connections either.
static void test_answers_to_flood_take_nothing(void **state)
{
	struct gateway *g = gateway_with_host(10);
	struct frame syn = segment((struct segment){"10.1.0.5", 1, SSH, SYN, CLIENT, 0, false});
	struct frame answer =
		segment((struct segment){"10.1.0.5", 1, SSH, SYN | ACK, SERVER, CLIENT + 1, true});
	struct frame own =
		segment((struct segment){"10.1.0.6", 9, SSH, ACK, SERVER + 1, CLIENT + 1, true});

	(void)state;
	open_connection(g, "10.1.0.6", 9, SSH);
	g->now += TSC_HZ;
	gateway_expect_punted(g, syn);
	for (unsigned int i = 0; i < 10; i++)
		expect_accepted(g, &answer);
	gateway_host_pass(g, answer);
	expect_drops(g, DROP_HOST_LIMIT, 1);
	for (unsigned int i = 0; i < 10; i++)
		expect_accepted(g, &own);
	gateway_host_pass(g, own);
	expect_drops(g, DROP_HOST_LIMIT, 1);
	gateway_free(g);
}

// A peer has a part of the limit of all. Others may have the same one by chance, but not all three.
static void test_peer_has_its_part(void **state)
{
	static const char *const others[] = {"10.1.0.6", "10.1.0.7", "10.1.0.8"};
	struct gateway *g = gateway_with_host(10);
	struct frame flooding = open_connection(g, "10.1.0.5", 1, SSH), f[3];

	(void)state;
	for (unsigned int i = 0; i < 3; i++)
		f[i] = open_connection(g, others[i], 1, SSH);
	flood(g, &flooding);
	gateway_pass(g, f, 3);
	assert_in_range(g->n_punted, 1, 3);
	gateway_free(g);
}

// New connections fill half of the host's ring.
static void test_new_connections_fill_half_the_ring(void **state)
{
	struct gateway *g = gateway_with_host(100000);
	struct frame syn = segment((struct segment){"10.1.0.5", 1, SSH, SYN, CLIENT, 0, false});
	struct frame open = open_connection(g, "10.1.0.6", 9, SSH), f[RX_BURST_MAX];
	unsigned int half = rte_ring_get_capacity(g->to_host) / 2;

	(void)state;
	gateway_expect_punted(g, syn);
	for (unsigned int i = 0; i < RX_BURST_MAX; i++)
		f[i] = i + 1 < RX_BURST_MAX ? syn : open;
	gateway_pass(g, f, RX_BURST_MAX);
	assert_int_equal(g->n_punted, half + 1);
	expect_drops(g, DROP_RING_FULL, RX_BURST_MAX - half - 1);
	gateway_free(g);
}

// The workers of a gateway divide the rate of new connections.
static void test_workers_divide_the_rate(void **state)
{
	struct gateway *g = gateway_with_host(64 * 200);
	struct worker *const workers[] = {g->w, g->w, g->w, g->w};
	struct frame syn = segment((struct segment){"10.1.0.5", 1, SSH, SYN, CLIENT, 0, false});

	(void)state;
	assert_int_equal(flood(g, &syn), 200);
	worker_peers_set(g->w, workers, 4);
	g->now += TSC_HZ;
	assert_int_equal(flood(g, &syn), 50);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_services),
		pipeline_test(test_services_after_reload),
		pipeline_test(test_forged_reset_has_no_effect),
		pipeline_test(test_one_answer_establishes_nothing),
		pipeline_test(test_answers_to_flood_take_nothing),
		pipeline_test(test_peer_has_its_part),
		pipeline_test(test_new_connections_fill_half_the_ring),
		pipeline_test(test_workers_divide_the_rate),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
