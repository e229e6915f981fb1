// SPDX-License-Identifier: BSD-3-Clause
// Packets that are held for a group that is about to become active here (test_hold.c): how much
// strangers may take, how often all are evaluated, and how many are sent when the group is active.
// The test plays the control thread.
#include <netinet/in.h>

#include "addrs.h"
#include "expected_group.h"
#include "hold.h"

#define N    HARNESS_HOLD_MAX
#define ROOM (N - RX_BURST_MAX) // packets that leave room for a burst

static void learn(uint16_t port, const char *text)
{
	const struct rte_ether_addr mac = {{2, 0, 0, 0, 7, 7}};
	const struct ip_addr a = addr_of(text);

	neigh_learn(harness_neigh, port, &a, &mac, true, 0);
}

// All packets go to one station, whose link address is not known yet: they wait for it, however
// many, and beside packets that were not held, whose limits stay.
static void test_unresolved(void **state)
{
	struct gateway *g = site_a((struct site){.hold = 4});
	struct frame other = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.7.0.77"));
	struct peer b = peer_new(g, "from-b");
	struct frame f[N];

	(void)state;
	for (unsigned int i = 0; i < N; i++)
		f[i] = peer_seal_ip(&b, i + 1, numbered(i, "10.2.0.5", "10.1.0.77"));
	gateway_pass(g, &other, 1);
	group_set(g, DAD_EXPECTED);
	expect_held(g, f, N);
	group_set(g, DAD_ASSIGNED);
	gateway_pass(g, NULL, 0);
	expect_drops(g, DROP_NONE, 0);
	assert_int_equal(g->n_sent, 0);
	assert_int_equal(g->w->n_held, 1 + N);
	for (unsigned int i = 1; i < 4; i++)
		gateway_pass(g, &other, 1);
	assert_int_equal(g->w->n_held, 4 + N);
	gateway_expect_drop(g, &other, DROP_NEIGH_HOLD_FULL);
	learn(LAN, "10.1.0.77");
	gateway_wait(g, 10000);
	expect_all_sent(g, N, LAN);
	for (unsigned int i = 0; i < N; i++)
		assert_int_equal(number_of(frame_packet(&g->sent[i])), i);
	assert_int_equal(worker_held(g->w), 4);
	peer_free(&b);
	gateway_free(g);
}

// 10.1.0.5 as an address of the group.
static void source_set(struct gateway *g, enum dad_state state)
{
	group_address_set(LAN, "10.1.0.5", state);
	g->snapshot->flow_generation = snapshot_generation_next(g->snapshot->flow_generation);
}

// As many as may have been held by all workers, and no more.
static void test_unresolved_limit(void **state)
{
	struct gateway *g = site_a((struct site){0});
	unsigned int left = HARNESS_WORKERS * N;
	struct frame f[N];

	(void)state;
	for (unsigned int i = 0; i < N; i++)
		f[i] = frame_ip(LAN, numbered(i, "10.1.0.5", "10.7.0.77"));
	for (; left > 0; left -= N) {
		source_set(g, DAD_EXPECTED);
		expect_held(g, f, N);
		source_set(g, DAD_ASSIGNED);
		gateway_pass(g, NULL, 0);
		expect_drops(g, DROP_NONE, 0);
	}
	source_set(g, DAD_EXPECTED);
	expect_held(g, f, 1);
	source_set(g, DAD_ASSIGNED);
	gateway_pass(g, NULL, 0);
	expect_drops(g, DROP_NEIGH_HOLD_FULL, 1);
	group_addresses_end((const char *const[]){"10.1.0.5"}, 1);
	gateway_free(g);
}

// Anybody can ping the address: that leaves half for ESP, also after all were evaluated again.
static void test_from_outside(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct peer b = peer_new(g, "from-b");
	struct frame ping[N / 2], f[N];

	(void)state;
	for (unsigned int i = 0; i < N / 2; i++)
		ping[i] = frame_ip(WAN, (struct ipv4)FROM_TO("192.0.2.254", GROUP_ADDRESS,
						.proto = IPPROTO_ICMP, .icmp_type = 8));
	group_set(g, DAD_EXPECTED);
	expect_held(g, ping, N / 2);
	gateway_expect_drop(g, ping, DROP_STANDBY);
	group_set(g, DAD_EXPECTED);
	gateway_expect_drop(g, ping, DROP_STANDBY);
	esp_in(f, &b, N / 2);
	expect_held(g, f, N / 4);
	esp_out(f + N / 4, N / 4);
	expect_held(g, f + N / 4, N / 4);
	gateway_expect_drop(g, f, DROP_STANDBY);
	peer_free(&b);
	gateway_free(g);
}

// In the middle of a change nothing is evaluated more than once in a millisecond, which is a pass
// with packets.
static void test_once_in_a_millisecond(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame f[50];
	uint64_t before;

	(void)state;
	esp_out(f, COUNT_OF(f));
	group_set(g, DAD_EXPECTED);
	expect_held(g, f, COUNT_OF(f));
	dad_roles_begin(harness_dad);
	gateway_pass(g, NULL, 0);
	for (unsigned int ms = 0; ms < 3; ms++) {
		before = g->w->counters.passes;
		for (unsigned int i = 0; i < 10; i++)
			gateway_pass(g, NULL, 0);
		assert_int_equal(g->w->counters.passes, before);
		g->now += 1000;
		gateway_pass(g, NULL, 0);
		assert_int_equal(g->w->counters.passes, before + 1);
	}
	dad_roles_end(harness_dad);
	before = g->w->counters.passes;
	gateway_pass(g, NULL, 0);
	assert_int_equal(g->w->counters.passes, before + 1);
	assert_int_equal(worker_held(g->w), COUNT_OF(f));
	gateway_free(g);
}

// In a change, a packet that may pass before the held ones are evaluated again: one of others does,
// of ESP also where there is room for less than a burst.
static void test_followers(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct peer b = peer_new(g, "from-b"), c = peer_new(g, "from-c");
	struct frame of_c = peer_seal_ip(&c, 1, numbered(1, "10.3.0.5", "10.1.0.5"));
	struct frame f[ROOM + 1];

	(void)state;
	esp_in(f, &b, ROOM + 1);
	group_set(g, DAD_EXPECTED);
	expect_held(g, f, 10);
	dad_roles_begin(harness_dad);
	gateway_pass(g, NULL, 0);
	group_sas_set(g, "to-b", "from-b", false);
	gateway_expect_sent(g, &of_c, LAN);
	expect_held(g, f + 10, ROOM - 10);
	gateway_pass(g, f + ROOM, 1);
	gateway_pass(g, NULL, 0);
	expect_drops(g, DROP_NONE, 0);
	expect_all_sent(g, ROOM + 1, LAN);
	for (unsigned int i = 0; i < ROOM + 1; i++)
		assert_int_equal(number_of(frame_packet(&g->sent[i])), i);
	dad_roles_end(harness_dad);
	peer_free(&b);
	peer_free(&c);
	gateway_free(g);
}

// Anybody can send these, from the addresses of the peer.
static void test_followers_without_an_sa(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct peer b = peer_new(g, "from-b");
	struct frame f[20];

	(void)state;
	esp_in(f, &b, 20);
	group_set(g, DAD_EXPECTED);
	expect_held(g, f, 10);
	dad_roles_begin(harness_dad);
	gateway_pass(g, NULL, 0);
	for (unsigned int i = 10; i < 20; i++)
		((struct rte_esp_hdr *)(frame_packet(&f[i]) + 20))->spi = RTE_BE32(0x99999999);
	gateway_pass(g, f + 10, 10);
	assert_int_equal(g->w->hold.n, 10);
	dad_roles_end(harness_dad);
	peer_free(&b);
	gateway_free(g);
}

static unsigned int n_sent_frozen;

// Sends, and is frozen meanwhile.
static void send_frozen(void *gateway, uint16_t port)
{
	struct gateway *g = gateway;
	struct tx_buffer *tx = &g->w->tx[port];

	rte_pktmbuf_free_bulk(tx->m, tx->n);
	g->w->counters.tx += tx->n;
	n_sent_frozen += tx->n;
	tx->n = 0;
	atomic_store(&g->w->deadline.until, 0);
}

// No more than one burst is sent, and no other frames are processed, until the worker may run.
static void test_frozen(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame f[N];

	(void)state;
	esp_out(f, N);
	group_set(g, DAD_EXPECTED);
	expect_held(g, f, N);
	group_set(g, DAD_ASSIGNED);
	worker_sender_set(g->w, send_frozen, g);
	n_sent_frozen = 0;
	gateway_pass(g, f, 2);
	assert_int_equal(n_sent_frozen, RX_BURST_MAX);
	assert_int_equal(g->n_sent, 0);
	expect_drops(g, DROP_SHUTDOWN, 2);
	assert_int_equal(worker_held(g->w), N - RX_BURST_MAX);
	worker_sender_set(g->w, NULL, NULL);
	atomic_store(&g->w->deadline.until, UINT64_MAX);
	gateway_pass(g, NULL, 0);
	expect_drops(g, DROP_NONE, 0);
	expect_all_sent(g, N - RX_BURST_MAX, WAN);
	assert_int_equal(esp_seq(&g->sent[0]), RX_BURST_MAX + 1);
	gateway_free(g);
}

static struct pkt received(struct gateway *g, const struct frame *f)
{
	struct pkt p = {.m = frame_mbuf(f), .iface = f->port};

	g->w->counters.rx++;
	rte_pktmbuf_adj(p.m, ETH_LEN);
	ip_layout_read(&p.ip, pkt_ip(&p));
	p.esp_off = p.ip.l4_off;
	return p;
}

// A change was complete after a packet was refused, and before that is held: it is evaluated again,
// once.
static void test_complete_meanwhile(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct peer b = peer_new(g, "from-b");
	struct frame in, out;
	struct pkt p;

	(void)state;
	esp_in(&in, &b, 1);
	esp_out(&out, 1);
	group_set(g, DAD_STANDBY);
	gateway_expect_drop(g, &in, DROP_STANDBY);
	group_set(g, DAD_ASSIGNED);
	p = received(g, &out);
	assert_int_equal(hold_instead(g->w, &p, DROP_STANDBY), DROP_NONE);
	gateway_pass(g, NULL, 0);
	expect_all_sent(g, 1, WAN);
	p = received(g, &in);
	p.sa_in = gateway_sa_in(g, "from-b");
	assert_int_equal(hold_instead_esp(g->w, &p, DROP_STANDBY), DROP_NONE);
	gateway_pass(g, NULL, 0);
	expect_all_sent(g, 1, LAN);
	p = received(g, &out);
	p.released = true;
	assert_int_equal(hold_instead(g->w, &p, DROP_STANDBY), DROP_STANDBY);
	rte_pktmbuf_free(p.m);
	g->w->counters.rx--;
	peer_free(&b);
	gateway_free(g);
}

// Of all packet buffers, and of a ring between workers.
static void test_share(void **state)
{
	(void)state;
	assert_int_equal(hold_max_of(4096, 1), 512);
	assert_int_equal(hold_max_of(4096, 4), 128);
	assert_int_equal(hold_max_of(65536, 1), 1024);
	assert_int_equal(hold_max_of(65536, 3), 341);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		group_test(test_unresolved),
		group_test(test_unresolved_limit),
		group_test(test_from_outside),
		group_test(test_once_in_a_millisecond),
		group_test(test_followers),
		group_test(test_followers_without_an_sa),
		group_test(test_frozen),
		group_test(test_complete_meanwhile),
		group_test(test_share),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
