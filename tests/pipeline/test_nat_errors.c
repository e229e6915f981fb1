// SPDX-License-Identifier: BSD-3-Clause
// ICMP errors about translated packets: their policy, their place in a burst, and those about
// fragments.
#include <netinet/in.h>

#include "addrs.h"
#include "datagram.h"
#include "peer.h"
#include "site_nat.h"

static struct frame error_about(uint16_t port, const char *src, const char *dst, uint8_t type,
	uint8_t code, const uint8_t *about)
{
	uint8_t packet[FRAME_MAX];

	return frame_raw(port, packet, error_write(packet, src, dst, type, code, about));
}

// The error is about a packet with these ends, and so is its checksum.
static void expect_quotes(const uint8_t *packet, struct ends e)
{
	const uint8_t *quoted = packet + IP_LEN + 8;

	assert_int_equal(packet[9], IPPROTO_ICMP);
	assert_int_equal(checksum(packet, IP_LEN), 0);
	assert_int_equal(checksum(packet + IP_LEN, be16(packet + 2) - IP_LEN), 0);
	assert_int_equal(checksum(quoted, IP_LEN), 0);
	assert_int_equal(be32(quoted + 12), ip_number(e.src));
	assert_int_equal(be32(quoted + 16), ip_number(e.dst));
	assert_int_equal(be16(quoted + IP_LEN), e.sport);
	assert_int_equal(be16(quoted + IP_LEN + 2), e.dport);
}

// A policy protects TCP between the networks on the wire, another bypasses the rest: an error of a
// host inside is of ICMP, but quotes a segment that came out of the tunnel, and goes back into it.
static void test_about_protected_traffic(void **state)
{
	struct gateway *g = site_a((struct site){.tunnel = "proto = \"tcp\";",
		.policies = ", { name = \"open\"; local = \"10.1.0.0/24\"; remote = "
			    "\"10.2.0.0/24\"; action = \"bypass\"; }",
		.more = "nat = ( { name = \"back\"; action = \"netmap\"; source = "
			"\"10.2.0.0/24\"; destination = \"10.1.0.0/24\"; to = \"10.7.0.0/24\"; "
			"replaces = \"destination\"; } );"});
	struct peer to_b = peer_new(g, "to-b"), from_b = peer_new(g, "from-b");
	uint8_t packet[FRAME_MAX];
	const uint16_t len =
		ends_write(packet, IPPROTO_TCP, (struct ends){"10.2.0.5", 2000, CLIENT, 80});
	struct frame f = peer_seal_packet(&from_b, 1, packet, len);

	(void)state;
	f = error_about(
		DMZ, "10.7.0.5", "10.2.0.5", 3, 3, frame_packet(gateway_expect_sent(g, &f, DMZ)));
	peer_open(&to_b, gateway_expect_sent(g, &f, WAN), packet);
	assert_int_equal(be32(packet + 12), ip_number(CLIENT));
	assert_int_equal(be32(packet + 16), ip_number("10.2.0.5"));
	expect_quotes(packet, (struct ends){"10.2.0.5", 2000, CLIENT, 80});
	peer_free(&to_b);
	peer_free(&from_b);
	gateway_free(g);
}

// The gateway's own errors about packets out of a tunnel, whose destination is translated, come
// from the destination that their sender knows: its own addresses may mean others there.
static void test_own_into_a_tunnel(void **state)
{
	struct gateway *g = site_a((struct site){
		.more = "nat = ( { name = \"back\"; action = \"netmap\"; source = "
			"\"10.2.0.0/24\"; destination = \"10.1.0.0/24\"; to = \"10.7.0.0/24\"; "
			"replaces = \"destination\"; } );"});
	struct peer to_b = peer_new(g, "to-b"), from_b = peer_new(g, "from-b");
	const struct ends e = {"10.2.0.5", 2000, CLIENT, 80};
	uint8_t packet[FRAME_MAX], error[FRAME_MAX];
	const uint16_t len = ends_write(packet, IPPROTO_UDP, e);

	(void)state;
	for (uint32_t seq = 1; seq <= 3;
		seq++) { // before there is a flow, the packet that begins it, and afterwards
		struct frame f;

		packet[8] = seq == 2 ? 64 : 1; // time to live
		ip_checksum_update(packet);
		f = peer_seal_packet(&from_b, seq, packet, len);
		if (seq == 2) {
			gateway_expect_sent(g, &f, DMZ);
			continue;
		}
		gateway_expect_drop(g, &f, DROP_TTL);
		expect_all_sent(g, 1, WAN);
		peer_open(&to_b, &g->sent[0], error);
		assert_int_equal(be32(error + 12), ip_number(CLIENT));
		assert_int_equal(be32(error + 16), ip_number("10.2.0.5"));
		expect_quotes(error, e);
	}
	peer_free(&to_b);
	peer_free(&from_b);
	gateway_free(g);
}

// An error in the burst of the packet that begins its flow is translated, as those after it.
static void test_in_the_burst_of_its_flow(void **state)
{
	struct gateway *g = site_a((struct site){.policies = POLICIES, .more = MASQUERADE});
	uint8_t reply[FRAME_MAX];
	struct frame f[2] = {ends_frame(LAN, IPPROTO_UDP, (struct ends){CLIENT, 4000, SERVER, 53})};

	(void)state;
	ends_write(reply, IPPROTO_UDP, (struct ends){SERVER, 53, CLIENT, 4000});
	f[1] = error_about(LAN, CLIENT, SERVER, 3, 3, reply);
	gateway_pass(g, f, 2);
	expect_drops(g, DROP_NONE, 0);
	expect_all_sent(g, 2, WAN);
	assert_int_equal(be32(frame_packet(&g->sent[1]) + 12), ip_number(OWN));
	expect_quotes(frame_packet(&g->sent[1]), (struct ends){SERVER, 53, OWN, 4000});
	gateway_free(g);
}

// A packet from outside with the ends that a reply has after its translation is rejected: the error
// quotes it as it was sent, with nothing of the connection's translation.
static void test_about_untranslated_reply(void **state)
{
	struct gateway *g = site_a((struct site){.policies = POLICIES,
		.more = MASQUERADE "rules = ( { name = \"out\"; action = \"accept\"; source = "
				   "\"10.1.0.0/24\"; } ); default_action = \"reject\";"});
	const struct ends unasked = {SERVER, 53, CLIENT, 4000};
	struct frame f = ends_frame(LAN, IPPROTO_UDP, (struct ends){CLIENT, 4000, SERVER, 53});

	(void)state;
	gateway_expect_sent(g, &f, WAN);
	f = ends_frame(WAN, IPPROTO_UDP, unasked);
	gateway_expect_drop(g, &f, DROP_RULE_REJECT);
	expect_all_sent(g, 1, WAN);
	assert_int_equal(be32(frame_packet(&g->sent[0]) + 12), ip_number(OWN));
	expect_quotes(frame_packet(&g->sent[0]), unasked);
	gateway_free(g);
}

// The next hop of held packets does not answer.
static void wait_in_vain(struct gateway *g, uint16_t port, const char *next)
{
	const struct ip_addr silent = addr_of(next);

	neigh_resolve(harness_neigh, port, &silent, 0, 0);
	for (uint64_t now = 100; now <= 3000; now += 100)
		neigh_tick(harness_neigh, now);
	gateway_wait(g, 5000);
}

// A datagram is sent in fragments, which wait for a host that does not answer: the client learns of
// its own.
static void test_held_fragments(void **state)
{
	struct gateway *g = site_a((struct site){
		.policies = ", { name = \"own\"; local = \"192.0.2.1\"; remote = \"192.0.2.0/24\"; "
			    "action = \"bypass\"; }",
		.more = "nat = ( { name = \"out\"; action = \"source\"; out = \"wan\"; to = "
			"\"port\"; } );"});
	struct frame f[2];
	unsigned int n;

	(void)state;
	datagram_fill(2000, 53);
	n = pieces(f, LAN, (struct ipv4)FROM_TO(CLIENT, "192.0.2.77", .id = 7), 1400);
	gateway_pass(g, f, n);
	expect_drops(g, DROP_NONE, 0);
	assert_int_equal(worker_held(g->w), n);
	wait_in_vain(g, WAN, "192.0.2.77");
	expect_drops(g, DROP_NEIGH_FAILED, n);
	expect_all_sent(g, 1, LAN);
	assert_int_equal(be32(frame_packet(&g->sent[0]) + 12), ip_number("10.1.0.1"));
	assert_int_equal(be32(frame_packet(&g->sent[0]) + 16), ip_number(CLIENT));
	expect_quotes(frame_packet(&g->sent[0]), (struct ends){CLIENT, 9, "192.0.2.77", 53});
	gateway_free(g);
}

// Passes a packet, which is held, and ends all flows.
static void hold_and_flush(struct gateway *g, uint16_t in, struct ends e)
{
	const struct flow_filter all = {0};
	const struct frame f = ends_frame(in, IPPROTO_UDP, e);
	const uint64_t held = worker_held(g->w);

	gateway_pass(g, &f, 1);
	expect_drops(g, DROP_NONE, 0);
	assert_int_equal(worker_held(g->w), held + 1);
	assert_int_equal(flow_flush(g->flows, &all), 0);
	for (unsigned int i = 0; i < 6; i++)
		flow_tick(g->flows, i % g->conf->n_workers, g->w->now_ms, UINT16_MAX);
	assert_int_equal(flow_count(g->flows), 0);
}

static void learn(uint16_t port, const char *neighbour)
{
	const struct ip_addr addr = addr_of(neighbour);
	const struct rte_ether_addr mac = {{2, 0, 0, 0, 7, 8}};

	neigh_learn(harness_neigh, port, &addr, &mac, true, 0);
}

static void expect_error_about(const struct frame *sent, struct ends about)
{
	assert_int_equal(be32(frame_packet(sent) + 16), ip_number(about.src));
	expect_quotes(frame_packet(sent), about);
}

#define TO_HELD                                                                                    \
	", { name = \"own\"; local = \"192.0.2.1\"; action = \"bypass\"; },"                       \
	"{ name = \"inside\"; local = \"10.1.0.0/24\"; action = \"bypass\"; }"

// While packets wait for a host that does not answer, their flows end, and the port of the first is
// given to the second: each client learns of its own.
static void test_held_without_flow(void **state)
{
	struct gateway *g = site_a((struct site){.policies = TO_HELD,
		.more = "nat = ( { name = \"out\"; action = \"source\"; out = \"wan\"; to = "
			"\"port\"; } );"});
	const struct ends first = {CLIENT, 4000, "192.0.2.77", 53};
	const struct ends second = {OTHER, 4000, "192.0.2.77", 53};

	(void)state;
	learn(LAN, OTHER);
	hold_and_flush(g, LAN, first);
	hold_and_flush(g, LAN, second);
	wait_in_vain(g, WAN, "192.0.2.77");
	expect_drops(g, DROP_NEIGH_FAILED, 2);
	expect_all_sent(g, 2, LAN);
	expect_error_about(&g->sent[0], first);
	expect_error_about(&g->sent[1], second);
	gateway_free(g);
}

// The same for one whose destination is translated: nobody outside learns of that.
static void test_held_for_a_service_without_flow(void **state)
{
	struct gateway *g = site_a((struct site){.policies = TO_HELD,
		.more = "nat = ( { name = \"web\"; action = \"destination\"; destination = "
			"\"192.0.2.1\"; proto = \"udp\"; destination_port = \"443\"; to = "
			"\"10.1.0.77\"; } );"});
	const struct ends e = {SERVER, 4000, OWN, 443};

	(void)state;
	hold_and_flush(g, WAN, e);
	wait_in_vain(g, LAN, "10.1.0.77");
	expect_drops(g, DROP_NEIGH_FAILED, 1);
	expect_all_sent(g, 1, WAN);
	expect_error_about(&g->sent[0], e);
	gateway_free(g);
}

// A packet that waits is sent as it was translated, also if its flow ends meanwhile.
static void test_sent_without_flow(void **state)
{
	struct gateway *g = site_a((struct site){.policies = TO_HELD,
		.more = "nat = ( { name = \"out\"; action = \"source\"; out = \"wan\"; to = "
			"\"port\"; } );"});
	(void)state;
	hold_and_flush(g, LAN, (struct ends){CLIENT, 4000, "192.0.2.78", 53});
	learn(WAN, "192.0.2.78");
	gateway_wait(g, 5000);
	expect_all_sent(g, 1, WAN);
	expect_ends(&g->sent[0], (struct ends){OWN, 4000, "192.0.2.78", 53});
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_about_protected_traffic),
		pipeline_test(test_own_into_a_tunnel),
		pipeline_test(test_in_the_burst_of_its_flow),
		pipeline_test(test_about_untranslated_reply),
		pipeline_test(test_held_fragments),
		pipeline_test(test_held_without_flow),
		pipeline_test(test_held_for_a_service_without_flow),
		pipeline_test(test_sent_without_flow),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
