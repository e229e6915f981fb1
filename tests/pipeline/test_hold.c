// SPDX-License-Identifier: BSD-3-Clause
// Packets for or of a group that is about to become active here: they are held, and continue in
// their order when it is; they are dropped as before, and counted once, if it does not become so.
// The test plays the control thread.
#include <netinet/in.h>

#include "datagram.h"
#include "expected_group.h"
#include "site_nat.h"
#include "site_v6.h"

#define HELD 70 // more than a pass takes

// Before they are accepted by the window, and before those of the pass.
static void test_esp_in(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct peer b = peer_new(g, "from-b");
	struct frame f[HELD + 2];

	(void)state;
	esp_in(f, &b, HELD + 2);
	group_set(g, DAD_STANDBY);
	gateway_expect_drop(g, &f[0], DROP_STANDBY);
	group_set(g, DAD_EXPECTED);
	expect_held(g, f, HELD);
	expect_idle(g);
	assert_int_equal(replay_top(&gateway_sa_in(g, "from-b")->sa.per_packet.replay), 0);
	group_set(g, DAD_ASSIGNED);
	gateway_pass(g, f + HELD, 2);
	expect_drops(g, DROP_NONE, 0);
	expect_all_sent(g, HELD + 2, LAN);
	for (unsigned int i = 0; i < HELD + 2; i++)
		assert_int_equal(number_of(frame_packet(&g->sent[i])), i);
	assert_int_equal(worker_held(g->w), 0);
	peer_free(&b);
	gateway_free(g);
}

// A worker without traffic does it as well. Policies count each packet once.
static void test_esp_out(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct peer to_b = peer_new(g, "to-b");
	struct frame f[HELD];
	uint8_t inner[FRAME_MAX];

	(void)state;
	esp_out(f, HELD);
	group_set(g, DAD_EXPECTED);
	expect_held(g, f, HELD);
	assert_int_equal(sa_out_seq(gateway_sa_out(g, "to-b")), 0);
	assert_int_equal(gateway_policy_decided(g, "b").packets, 0);
	group_set(g, DAD_ASSIGNED);
	gateway_pass(g, NULL, 0);
	expect_drops(g, DROP_NONE, 0);
	expect_all_sent(g, HELD, WAN);
	for (unsigned int i = 0; i < HELD; i++) {
		assert_int_equal(esp_seq(&g->sent[i]), i + 1);
		peer_open(&to_b, &g->sent[i], inner);
		assert_int_equal(number_of(inner), i);
	}
	assert_int_equal(gateway_policy_decided(g, "b").packets, HELD);
	expect_idle(g);
	peer_free(&to_b);
	gateway_free(g);
}

// Both directions of translated connections.
static void test_nat(void **state)
{
	struct gateway *g = site_a((struct site){.policies = POLICIES, .more = MASQUERADE});
	struct frame out = ends_frame(LAN, IPPROTO_UDP, (struct ends){CLIENT, 4000, SERVER, 53});
	struct frame fresh = ends_frame(LAN, IPPROTO_UDP, (struct ends){CLIENT, 4001, SERVER, 53});
	struct frame reply = ends_frame(WAN, IPPROTO_UDP, (struct ends){SERVER, 53, OWN, 4000});

	(void)state;
	gateway_expect_sent(g, &out, WAN);
	group_set(g, DAD_EXPECTED);
	expect_held(g, &reply, 1);
	expect_held(g, &out, 1);
	expect_held(g, &fresh, 1);
	group_set(g, DAD_ASSIGNED);
	gateway_pass(g, &fresh, 1);
	expect_drops(g, DROP_NONE, 0);
	assert_int_equal(g->n_sent, 4);
	expect_ends(&g->sent[0], (struct ends){SERVER, 53, CLIENT, 4000});
	expect_ends(&g->sent[1], (struct ends){OWN, 4000, SERVER, 53});
	expect_ends(&g->sent[2], (struct ends){OWN, 4001, SERVER, 53});
	expect_ends(&g->sent[3], (struct ends){OWN, 4001, SERVER, 53});
	gateway_free(g);
}

// Packets of no group pass, also while others are held.
static void test_others_pass(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame plain = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "198.51.100.9"));
	struct frame ping = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.1.0.1",
						  .proto = IPPROTO_ICMP, .icmp_type = 8));
	struct frame f;

	(void)state;
	esp_out(&f, 1);
	group_set(g, DAD_EXPECTED);
	expect_held(g, &f, 1);
	gateway_expect_sent(g, &plain, WAN);
	gateway_expect_sent(g, &ping, LAN);
	assert_int_equal(worker_held(g->w), 1);
	group_set(g, DAD_ASSIGNED);
	gateway_pass(g, &plain, 1);
	expect_all_sent(g, 2, WAN);
	assert_int_equal(esp_seq(&g->sent[0]), 1);
	gateway_free(g);
}

// Pings of its address, and fragments of such a ping.
static void test_local(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct ipv4 ip =
		FROM_TO("192.0.2.254", OWN, .proto = IPPROTO_ICMP, .icmp_type = 8, .len = 100);
	struct frame ping = frame_ip(WAN, ip), part[2] = {ping, ping};

	(void)state;
	part[0].len = ETH_LEN + IP_LEN + 24;
	put16(part[0].b + ETH_LEN + 2, IP_LEN + 24);
	put16(part[0].b + ETH_LEN + 6, 0x2000);
	ip_checksum_update(part[0].b + ETH_LEN);
	memmove(part[1].b + ETH_LEN + IP_LEN, ping.b + ETH_LEN + IP_LEN + 24,
		ping.len - ETH_LEN - IP_LEN - 24u);
	part[1].len = (uint16_t)(ping.len - 24);
	put16(part[1].b + ETH_LEN + 2, (uint16_t)(part[1].len - ETH_LEN));
	put16(part[1].b + ETH_LEN + 6, 3);
	ip_checksum_update(part[1].b + ETH_LEN);
	group_set(g, DAD_EXPECTED);
	expect_held(g, &ping, 1);
	expect_held(g, part, 2);
	group_set(g, DAD_ASSIGNED);
	gateway_pass(g, NULL, 0);
	expect_all_sent(g, 2, WAN);
	assert_int_equal(g->sent[0].len, ping.len);
	assert_int_equal(g->sent[1].len, ping.len);
	gateway_free(g);
}

// Holds a datagram of more octets than a buffer has, in fragments that are reassembled first: the
// gateway translates.
static void reassembled_hold(struct gateway *g, struct ipv4 ip, uint16_t port, enum drop reason)
{
	struct frame f[8];

	datagram_fill(4000, 9);
	if (ip.proto == IPPROTO_ICMP) {
		put32(whole.b, (uint32_t)ip.icmp_type << 24);
		put16(whole.b + 2, checksum(whole.b, whole.len));
	}
	gateway_pass(g, f, pieces(f, port, ip, 1400));
	expect_drops(g, reason, reason != DROP_NONE);
	assert_int_equal(g->n_sent, 0);
}

static void test_reassembled(void **state)
{
	struct gateway *g = site_a((struct site){.policies = POLICIES, .more = MASQUERADE});
	struct peer to_b = peer_new(g, "to-b");

	(void)state;
	group_set(g, DAD_EXPECTED);
	reassembled_hold(g, (struct ipv4)FROM_TO(CLIENT, "10.2.0.5"), LAN, DROP_NONE);
	assert_int_equal(worker_held(g->w), 1);
	assert_in_range(g->w->hold.n_buffers, 2, 4);
	group_set(g, DAD_ASSIGNED);
	gateway_pass(g, NULL, 0);
	expect_drops(g, DROP_NONE, 0);
	collect_all(g, &to_b);
	expect_complete();
	assert_int_equal(worker_held(g->w), 0);
	assert_int_equal(g->w->hold.n_buffers, 0);
	peer_free(&to_b);
	gateway_free(g);
}

// The gateway itself reads it: a ping.
static void test_reassembled_local(void **state)
{
	struct gateway *g = site_a((struct site){.policies = POLICIES, .more = MASQUERADE});
	struct ipv4 ip = FROM_TO("192.0.2.254", OWN, .proto = IPPROTO_ICMP, .icmp_type = 8);

	(void)state;
	group_set(g, DAD_EXPECTED);
	reassembled_hold(g, ip, WAN, DROP_NONE);
	group_set(g, DAD_ASSIGNED);
	gateway_pass(g, NULL, 0);
	expect_drops(g, DROP_NONE, 0);
	assert_int_equal(g->n_sent, 3);
	gateway_free(g);
}

// All its buffers count.
static void test_reassembled_limit(void **state)
{
	struct gateway *g = site_a((struct site){.policies = POLICIES, .more = MASQUERADE});
	struct frame f[HARNESS_HOLD_MAX - 1];

	(void)state;
	esp_out(f, HARNESS_HOLD_MAX - 1);
	group_set(g, DAD_EXPECTED);
	expect_held(g, f, HARNESS_HOLD_MAX - 1);
	reassembled_hold(g, (struct ipv4)FROM_TO(CLIENT, SERVER), LAN, DROP_STANDBY);
	expect_held(g, f, 1);
	gateway_free(g);
}

// Stations get an answer, which is not so for a standby group. It makes no conflict of the other
// gateway's announcements.
static void test_arp(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame request = frame_arp(WAN, 1, "192.0.2.2", OWN);
	struct frame announced = frame_arp(WAN, 1, OWN, OWN);

	(void)state;
	group_set(g, DAD_STANDBY);
	gateway_expect_drop(g, &request, DROP_STANDBY);
	group_set(g, DAD_EXPECTED);
	gateway_expect_sent(g, &request, WAN);
	expect_event(g, EVENT_NEIGH_HEARD, WAN, "192.0.2.2");
	gateway_pass(g, &announced, 1);
	expect_drops(g, DROP_NONE, 0);
	expect_no_event(g);
	gateway_free(g);
}

static void test_neighbour_discovery(void **state)
{
	struct gateway *g = site_v6_a(OVER_V6, (struct site){0});
	struct frame asks =
		frame_nd(LAN, 135, "2001:db8:1::5", "ff02::1:ff00:1", "2001:db8:1::1", 0);
	struct frame announced = frame_nd(LAN, 136, "2001:db8:1::1", "ff02::1", "2001:db8:1::1", 0);

	(void)state;
	group_address_set(LAN, "2001:db8:1::1", DAD_STANDBY);
	gateway_expect_drop(g, &asks, DROP_STANDBY);
	group_address_set(LAN, "2001:db8:1::1", DAD_EXPECTED);
	gateway_expect_sent(g, &asks, LAN);
	expect_event(g, EVENT_ND_SOLICITED, LAN, "2001:db8:1::5");
	gateway_pass(g, &announced, 1);
	expect_drops(g, DROP_NONE, 0);
	gateway_free(g);
}

// The queue has a limit. Packets that exceed it are dropped, and the others continue.
static void test_limit(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame f[HARNESS_HOLD_MAX + 10];

	(void)state;
	esp_out(f, HARNESS_HOLD_MAX + 10);
	group_set(g, DAD_EXPECTED);
	for (unsigned int round = 0; round < 3; round++) {
		const unsigned int before = round * HARNESS_HOLD_MAX;

		expect_held(g, f, HARNESS_HOLD_MAX);
		gateway_pass(g, f + HARNESS_HOLD_MAX, 10);
		expect_drops(g, DROP_STANDBY, 10);
		group_set(g, DAD_ASSIGNED);
		gateway_pass(g, NULL, 0);
		expect_drops(g, DROP_NONE, 0);
		assert_int_equal(g->n_sent, HARNESS_HOLD_MAX);
		assert_int_equal(esp_seq(&g->sent[0]), before + 1);
		group_set(g, DAD_EXPECTED);
	}
	gateway_free(g);
}

// The group does not become active: it is standby as before.
static void test_standby(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct peer b = peer_new(g, "from-b");
	struct frame in[HELD], out[HELD];

	(void)state;
	esp_in(in, &b, HELD);
	esp_out(out, HELD);
	group_set(g, DAD_EXPECTED);
	expect_held(g, in, HELD);
	expect_held(g, out, HELD);
	group_set(g, DAD_STANDBY);
	gateway_pass(g, NULL, 0);
	expect_drops(g, DROP_STANDBY, 2 * HELD);
	assert_int_equal(worker_held(g->w), 0);
	assert_int_equal(g->w->hold.n_buffers, 0);
	gateway_expect_drop(g, &in[0], DROP_STANDBY);
	expect_idle(g);
	peer_free(&b);
	gateway_free(g);
}

// While roles change, some packets may pass before all do: no pass lasts for ever, and the order
// stays, also of packets that come before the held ones are evaluated again.
static void test_middle_of_a_change(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct peer b = peer_new(g, "from-b");
	struct frame f[HELD + 2];

	(void)state;
	esp_in(f, &b, HELD + 2);
	group_set(g, DAD_EXPECTED);
	expect_held(g, f, HELD - 1);
	dad_roles_begin(harness_dad);
	expect_held(g, f + HELD - 1, 1);
	expect_idle(g);
	group_sas_set(g, "to-b", "from-b", false); // but the address is still that of a standby
	expect_held(g, f + HELD, 1);
	g->now += 1000;
	gateway_pass(g, f + HELD + 1, 1);
	expect_drops(g, DROP_NONE, 0);
	expect_all_sent(g, HELD + 2, LAN);
	for (unsigned int i = 0; i < HELD + 2; i++)
		assert_int_equal(number_of(frame_packet(&g->sent[i])), i);
	dad_roles_end(harness_dad);
	peer_free(&b);
	gateway_free(g);
}

// Two groups, of which one becomes active: packets of the other one are held again, in their order.
static void test_two_groups(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct peer b = peer_new(g, "from-b");
	struct frame ping = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.1.0.1",
						  .proto = IPPROTO_ICMP, .icmp_type = 8));
	struct frame f[HELD];

	(void)state;
	esp_in(f, &b, HELD);
	group_set(g, DAD_EXPECTED);
	group_address_set(LAN, "10.1.0.1", DAD_EXPECTED);
	for (unsigned int i = 0; i < HELD; i++) {
		expect_held(g, &f[i], 1);
		if (i % 10 == 0)
			expect_held(g, &ping, 1);
	}
	group_address_set(LAN, "10.1.0.1", DAD_ASSIGNED);
	gateway_pass(g, NULL, 0);
	expect_drops(g, DROP_NONE, 0);
	expect_all_sent(g, 7, LAN);
	assert_int_equal(worker_held(g->w), HELD);
	group_set(g, DAD_ASSIGNED);
	gateway_pass(g, NULL, 0);
	expect_all_sent(g, HELD, LAN);
	for (unsigned int i = 0; i < HELD; i++)
		assert_int_equal(number_of(frame_packet(&g->sent[i])), i);
	peer_free(&b);
	gateway_free(g);
}

// Packets out of the tunnel of another SA, while the configuration is replaced; and when that
// lacks it.
static void test_from_tunnel(void **state)
{
	for (unsigned int removed = 0; removed < 2; removed++) {
		struct gateway *g = site_a((struct site){0});
		struct peer c = peer_new(g, "from-c");
		struct frame f = peer_seal_ip(&c, 1, numbered(1, "10.3.0.5", "10.2.0.5"));
		char text[8192];
		struct conf *conf;

		(void)state;
		group_set(g, DAD_EXPECTED);
		expect_held(g, &f, 1);
		site_a_conf(text, sizeof(text), (struct site){0});
		if (removed)
			memcpy(strstr(text, "0x2002"), "0x2009", 6);
		conf = harness_conf(text, strlen(text), stderr);
		assert_non_null(conf);
		gateway_reload(g, conf);
		conf_free(conf);
		group_set(g, DAD_ASSIGNED);
		gateway_pass(g, NULL, 0);
		if (removed)
			expect_drops(g, DROP_NO_SA, 1);
		else
			expect_all_sent(g, 1, WAN);
		peer_free(&c);
		gateway_free(g);
	}
}

// A port that has left the configuration meanwhile takes no frames.
static void test_removed_port(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame f;

	(void)state;
	esp_out(&f, 1);
	group_set(g, DAD_EXPECTED);
	expect_held(g, &f, 1);
	memset(&g->snapshot->port[LAN].mac, 0, sizeof(g->snapshot->port[LAN].mac));
	group_set(g, DAD_ASSIGNED);
	gateway_pass(g, NULL, 0);
	expect_drops(g, DROP_STANDBY, 1);
	gateway_free(g);
}

// A worker that stops, or was frozen, has no packets any more.
static void test_stop(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame f[HELD];

	(void)state;
	esp_out(f, HELD);
	group_set(g, DAD_EXPECTED);
	expect_held(g, f, HELD);
	pipeline_stop(g->w);
	assert_int_equal(g->w->counters.drops[DROP_SHUTDOWN], HELD);
	assert_int_equal(worker_held(g->w), 0);
	group_set(g, DAD_ASSIGNED);
	expect_idle(g);
	group_set(g, DAD_EXPECTED);
	expect_held(g, f, 1);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		group_test(test_esp_in),
		group_test(test_esp_out),
		group_test(test_nat),
		group_test(test_others_pass),
		group_test(test_local),
		group_test(test_reassembled),
		group_test(test_reassembled_local),
		group_test(test_reassembled_limit),
		group_test(test_arp),
		group_test(test_neighbour_discovery),
		group_test(test_limit),
		group_test(test_standby),
		group_test(test_middle_of_a_change),
		group_test(test_two_groups),
		group_test(test_from_tunnel),
		group_test(test_removed_port),
		group_test(test_stop),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
