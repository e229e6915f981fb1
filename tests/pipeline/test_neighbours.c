// SPDX-License-Identifier: BSD-3-Clause
// Packets to unresolved next hops. Proves when they are held, sent and dropped; and the fate of
// packets that ports do not accept. The test plays the control thread.
#include "addrs.h"
#include "peer.h"
#include "site.h"

#define BACK                                                                                       \
	", { name = \"back\"; local = \"10.7.0.0/24\"; remote = \"10.1.0.0/24\"; action = "        \
	"\"bypass\"; }"

static const struct ipv4 to_new = {.src = "10.1.0.5", .dst = "10.7.0.77"};
static const uint8_t new_mac[6] = {2, 0, 0, 0, 7, 7};

static void learn(const char *text)
{
	struct ip_addr a = addr_of(text);
	struct rte_ether_addr mac;

	memcpy(&mac, new_mac, sizeof(mac));
	neigh_learn(harness_neigh, DMZ, &a, &mac, true, 0);
}

// As the control thread does on EVENT_NEIGH_NEEDED; no neighbour answers.
static void resolve_in_vain(const char *text)
{
	struct ip_addr a = addr_of(text);

	neigh_resolve(harness_neigh, DMZ, &a, 0, 0);
	for (uint64_t now = 100; now <= 3000; now += 100)
		neigh_tick(harness_neigh, now);
}

static void test_held_then_sent(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame f = frame_ip(LAN, to_new), right = frame_after_hops(&f, 1);

	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		gateway_pass(g, &f, 1);
		expect_drops(g, DROP_NONE, 0);
		assert_int_equal(g->n_sent, 0);
		assert_int_equal(worker_held(g->w), i + 1);
		expect_event(g, EVENT_NEIGH_NEEDED, DMZ, "10.7.0.77");
		expect_no_event(g);
	}
	gateway_wait(g, 10000);
	assert_int_equal(worker_held(g->w), 3);
	learn("10.7.0.77");
	gateway_wait(g, 10000);
	expect_all_sent(g, 3, DMZ);
	for (unsigned int i = 0; i < 3; i++) {
		assert_memory_equal(g->sent[i].b, new_mac, 6);
		assert_memory_equal(g->sent[i].b + 6, mac_of_port(DMZ), 6);
		assert_memory_equal(g->sent[i].b + 12, right.b + 12, f.len - 12u);
	}
	gateway_expect_sent(g, &f, DMZ);
	assert_int_equal(worker_held(g->w), 0);
	gateway_free(g);
}

// An answer is processed whatever other stations on the link send.
static void test_processed_in_flood(void **state)
{
	static struct frame flood[RX_BURST_MAX];
	static const char *const about[] = {
		"10.1.0.200", "10.1.0.1"}; // for others, for the gateway
	struct gateway *g = site_a((struct site){0});
	struct frame answer = frame_arp(DMZ, 2, "10.7.0.77", "10.7.0.1");
	struct event e;

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(about); i++) {
		for (unsigned int k = 0; k < RX_BURST_MAX; k++)
			flood[k] = frame_arp(LAN, 1, "10.1.0.77", about[i]);
		for (unsigned int n = 0; n < 17; n++) {
			gateway_pass(g, flood, RX_BURST_MAX);
			expect_drops(g, DROP_NONE, 0);
		}
		gateway_pass(g, &answer, 1);
		do
			assert_true(worker_event_dequeue(g->w, &e));
		while (e.port == LAN);
		assert_int_equal(e.kind, EVENT_NEIGH_HEARD);
		assert_int_equal(e.port, DMZ);
		expect_no_event(g);
	}
	gateway_free(g);
}

static void test_in_order(void **state)
{
	static struct frame f[20];
	struct gateway *g = site_a((struct site){0});
	struct ipv4 ip = to_new;

	(void)state;
	for (ip.id = 0; ip.id < COUNT_OF(f); ip.id++) {
		ip.dst = ip.id % 2 == 0 ? "10.7.0.77" : "10.7.0.78";
		f[ip.id] = frame_ip(LAN, ip);
	}
	gateway_pass(g, f, COUNT_OF(f));
	assert_int_equal(worker_held(g->w), COUNT_OF(f));
	learn("10.7.0.78");
	gateway_wait(g, 5000);
	expect_all_sent(g, COUNT_OF(f) / 2, DMZ);
	for (unsigned int i = 0; i < g->n_sent; i++)
		assert_int_equal(be16(frame_packet(&g->sent[i]) + 4), 2 * i + 1);
	assert_int_equal(worker_held(g->w), COUNT_OF(f) / 2);
	learn("10.7.0.77");
	gateway_wait(g, 5000);
	expect_all_sent(g, COUNT_OF(f) / 2, DMZ);
	for (unsigned int i = 0; i < g->n_sent; i++)
		assert_int_equal(be16(frame_packet(&g->sent[i]) + 4), 2 * i);
	gateway_free(g);
}

// The host does not answer: an error is sent about held packets and about later ones.
static void test_unreachable_host(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame f = frame_ip(LAN, to_new);

	(void)state;
	gateway_pass(g, &f, 1);
	resolve_in_vain("10.7.0.77");
	gateway_wait(g, 5000);
	for (unsigned int i = 0; i < 2; i++) {
		expect_drops(g, DROP_NEIGH_FAILED, 1);
		expect_all_sent(g, 1, LAN);
		expect_error(frame_packet(&g->sent[0]), frame_packet_len(&g->sent[0]),
			(struct icmp_error){3, 1, 0}, "10.1.0.1", "10.1.0.5", &f);
		gateway_pass(g, &f, 1);
	}
	learn("10.7.0.77"); // the neighbour is reachable
	gateway_expect_sent(g, &f, DMZ);
	gateway_free(g);
}

// The control thread never reports a result.
static void test_hold_timeout(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame f = frame_ip(LAN, to_new);
	uint64_t since;

	(void)state;
	gateway_pass(g, &f, 1);
	since = g->now;
	gateway_wait(g, 60 * TSC_HZ);
	expect_drops(g, DROP_NEIGH_FAILED, 1);
	expect_all_sent(g, 1, LAN);
	assert_in_range(g->now - since, 4 * TSC_HZ, 6 * TSC_HZ);
	gateway_free(g);
}

// ESP packets are held like all others; no error can be sent about them.
static void test_esp_is_held_without_error(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5"));
	struct ip_addr a;
	struct rte_ether_addr mac = {{2, 0, 0, 0, 2, WAN}};

	(void)state;
	neigh_table_free(harness_neigh); // the link address of B is not known
	dad_free(harness_dad);
	assert_int_equal(harness_test_begin(NULL), 0);
	g->w->neigh = harness_neigh;
	g->w->dad = harness_dad;
	gateway_pass(g, &f, 1);
	expect_event(g, EVENT_NEIGH_NEEDED, WAN, "192.0.2.2");
	assert_int_equal(worker_held(g->w), 1);
	a = addr_of("192.0.2.2");
	neigh_learn(harness_neigh, WAN, &a, &mac, true, 0);
	gateway_wait(g, 5000);
	expect_all_sent(g, 1, WAN);

	struct peer b = peer_new(g, "to-b");
	uint8_t inner[FRAME_MAX];

	assert_int_equal(peer_open(&b, &g->sent[0], inner), 60);
	peer_free(&b);
	f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.3.0.5"));
	gateway_pass(g, &f, 1);
	gateway_wait(g, 60 * TSC_HZ);
	expect_drops(g, DROP_NEIGH_FAILED, 1);
	assert_int_equal(g->n_sent, 0);
	gateway_free(g);
}

// 32 for one next hop, so that an unreachable one leaves room for others.
static void test_hold_limit_of_one(void **state)
{
	static struct frame f[40];
	struct gateway *g = site_a((struct site){0});
	struct frame other = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.7.0.78"));

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(f); i++)
		f[i] = frame_ip(LAN, to_new);
	gateway_pass(g, f, COUNT_OF(f));
	expect_drops(g, DROP_NEIGH_HOLD_FULL, 8);
	assert_int_equal(worker_held(g->w), 32);
	gateway_pass(g, &other, 1);
	expect_drops(g, DROP_NONE, 0);
	learn("10.7.0.77");
	gateway_wait(g, 5000);
	expect_all_sent(g, 32, DMZ);
	gateway_free(g);
}

static void test_hold_limit_of_all(void **state)
{
	struct gateway *g = site_a((struct site){.hold = 5});
	char dst[20][IP_ADDR_STRLEN];

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(dst); i++) {
		snprintf(dst[i], sizeof(dst[i]), "10.7.0.%u", 100 + i);

		struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", dst[i]));

		gateway_pass(g, &f, 1);
		expect_drops(g, DROP_NEIGH_HOLD_FULL, i < 5 ? 0 : 1);
	}
	assert_int_equal(worker_held(g->w), 5);
	gateway_free(g);
}

// Packets to nonexistent hosts of one port: packets to another port's hosts are held, and their
// next hops resolved.
static void test_flood_of_other_port(void **state)
{
	static struct frame flood[RX_BURST_MAX];
	struct gateway *g = site_a((struct site){.hold = 40, .policies = BACK});
	struct frame f[7];
	unsigned int n_solicited = 0;
	char name[IP_ADDR_STRLEN];
	struct event e;

	(void)state;
	for (unsigned int round = 0; round < 3; round++) {
		for (unsigned int i = 0; i < RX_BURST_MAX; i++) {
			snprintf(name, sizeof(name), "10.1.0.%u", 10 + 64 * round + i);
			flood[i] = frame_ip(DMZ, (struct ipv4)FROM_TO("10.7.0.5", name));
		}
		gateway_pass(g, flood, RX_BURST_MAX);
	}
	for (unsigned int i = 0; i < COUNT_OF(f); i++) {
		snprintf(name, sizeof(name), "10.7.0.%u", 100 + i);
		f[i] = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", name));
	}
	gateway_pass(g, f, COUNT_OF(f));
	expect_drops(g, DROP_NEIGH_HOLD_FULL, COUNT_OF(f)); // of the flood
	while (worker_event_dequeue(g->w, &e))
		if (e.kind == EVENT_NEIGH_NEEDED && e.port == DMZ)
			n_solicited++;
	assert_int_equal(n_solicited, COUNT_OF(f));
	for (unsigned int i = 0; i < COUNT_OF(f); i++) {
		snprintf(name, sizeof(name), "10.7.0.%u", 100 + i);
		learn(name);
	}
	gateway_wait(g, 5000);
	expect_all_sent(g, COUNT_OF(f), DMZ);
	gateway_free(g);
}

// The same by one peer, to nonexistent hosts of the port that others send to as well.
static void test_flood_of_peer(void **state)
{
	static struct frame flood[RX_BURST_MAX];
	struct gateway *g = site_a((struct site){.hold = 40, .policies = BACK});
	struct peer b = peer_new(g, "from-b");
	unsigned int n_solicited = 0;
	struct frame f[7];
	char name[IP_ADDR_STRLEN];
	struct event e;

	(void)state;
	for (unsigned int round = 0; round < 3; round++) {
		for (unsigned int i = 0; i < RX_BURST_MAX; i++) {
			snprintf(name, sizeof(name), "10.1.0.%u", 10 + 64 * round + i);
			flood[i] = peer_seal_ip(&b, 1 + round * RX_BURST_MAX + i,
				(struct ipv4)FROM_TO("10.2.0.5", name));
		}
		gateway_pass(g, flood, RX_BURST_MAX);
	}
	for (unsigned int i = 0; i < COUNT_OF(f); i++) {
		snprintf(name, sizeof(name), "10.1.0.%u", 210 + i);
		f[i] = frame_ip(DMZ, (struct ipv4)FROM_TO("10.7.0.5", name));
	}
	gateway_pass(g, f, COUNT_OF(f));
	expect_drops(g, DROP_NEIGH_HOLD_FULL, COUNT_OF(f)); // of the flood
	while (worker_event_dequeue(g->w, &e))
		n_solicited += e.kind == EVENT_NEIGH_NEEDED && e.holder == DMZ;
	assert_int_equal(n_solicited, COUNT_OF(f));
	peer_free(&b);
	gateway_free(g);
}

// A cloud's gateway is on the link of a port that has no network.
static void test_on_link_gateway(void **state)
{
	static const char conf[] =
		"flows = { max = 1024; };\n"
		"ports = ( { name = \"lan\"; device = \"net_null0\"; addresses = [ "
		"\"10.1.0.1/24\" ]; },"
		" { name = \"wan\"; side = \"unprotected\"; device = \"net_null1\"; addresses = [ "
		"\"203.0.113.5/32\" ]; } );\n"
		"routes = ( { to = \"0.0.0.0/0\"; via = \"172.31.1.1\"; port = \"wan\"; } );\n"
		"neighbours = ( { address = \"172.31.1.1\"; mac = \"02:00:00:00:02:01\"; port = "
		"\"wan\"; } );\n"
		"policies = ( { name = \"all\"; action = \"bypass\"; } );\n";
	struct gateway *g = gateway_new(0, conf);
	struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "198.51.100.7"));
	struct frame late =
		frame_ip(WAN, (struct ipv4)FROM_TO("198.51.100.7", "10.1.0.5", .ttl = 1));
	struct frame asked = frame_arp(WAN, 1, "172.31.1.1", "203.0.113.5");

	(void)state;
	gateway_expect_sent(g, &f, WAN);
	assert_memory_equal(g->sent[0].b, mac_of_neighbour(WAN), 6);
	gateway_expect_drop(g, &late, DROP_TTL);
	expect_all_sent(g, 1, WAN);
	expect_error(frame_packet(&g->sent[0]), frame_packet_len(&g->sent[0]),
		(struct icmp_error){11, 0, 0}, "203.0.113.5", "198.51.100.7", &late);
	gateway_expect_sent(g, &asked, WAN);
	expect_event(g, EVENT_NEIGH_HEARD, WAN, "172.31.1.1");
	gateway_free(g);
}

static void test_shutdown(void **state)
{
	static struct frame f[10];
	struct gateway *g = site_a((struct site){0});
	struct counters before;

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(f); i++)
		f[i] = frame_ip(LAN, to_new);
	gateway_pass(g, f, COUNT_OF(f));
	before = g->w->counters;
	pipeline_stop(g->w);
	assert_int_equal(
		g->w->counters.drops[DROP_SHUTDOWN] - before.drops[DROP_SHUTDOWN], COUNT_OF(f));
	assert_int_equal(worker_held(g->w), 0);
	gateway_free(g);
}

// A new snapshot while a packet is held: it is sent all the same, and freeing the old snapshot does
// not affect it.
static void test_new_snapshot(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame f[2] = {frame_ip(LAN, to_new),
		frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.7.0.78"))};

	(void)state;
	gateway_pass(g, f, 2);
	gateway_reload(g, g->conf);
	gateway_pass(g, NULL, 0);
	learn("10.7.0.77");
	gateway_wait(g, 5000);
	expect_all_sent(g, 1, DMZ);
	gateway_wait(g, 60 * TSC_HZ);
	expect_drops(g, DROP_NEIGH_FAILED, 1);
	assert_int_equal(g->n_sent, 0);
	gateway_free(g);
}

// Ports that accept nothing: their buffer fills, then packets are dropped.
static void test_tx_full(void **state)
{
	static struct frame f[RX_BURST_MAX];
	struct gateway *g = site_a((struct site){0});
	unsigned int waiting = 0;

	(void)state;
	for (unsigned int i = 0; i < RX_BURST_MAX; i++)
		f[i] = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5"));
	f[7] = frame_arp(LAN, 1, "10.1.0.5", "10.1.0.1"); // sent by another port
	while (waiting + RX_BURST_MAX - 1 <= TX_MAX) {
		gateway_pass_blocked(g, f, RX_BURST_MAX);
		expect_drops(g, DROP_NONE, 0);
		waiting += RX_BURST_MAX - 1;
	}
	gateway_pass_blocked(g, f, RX_BURST_MAX);
	expect_drops(g, DROP_TX_FULL, waiting + RX_BURST_MAX - 1 - TX_MAX);
	gateway_pass_blocked(g, f, RX_BURST_MAX);
	expect_drops(g, DROP_TX_FULL, RX_BURST_MAX - 1);
	g->n_sent = 0;
	gateway_take(g);
	assert_int_equal(g->n_sent, TX_MAX + 10);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_held_then_sent),
		pipeline_test(test_processed_in_flood),
		pipeline_test(test_in_order),
		pipeline_test(test_unreachable_host),
		pipeline_test(test_hold_timeout),
		pipeline_test(test_esp_is_held_without_error),
		pipeline_test(test_hold_limit_of_one),
		pipeline_test(test_hold_limit_of_all),
		pipeline_test(test_flood_of_other_port),
		pipeline_test(test_flood_of_peer),
		pipeline_test(test_on_link_gateway),
		pipeline_test(test_shutdown),
		pipeline_test(test_new_snapshot),
		pipeline_test(test_tx_full),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
