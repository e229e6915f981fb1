// SPDX-License-Identifier: BSD-3-Clause
// ICMP errors about translated packets: their policy, their place in a burst, and those about
// fragments.
#include <netinet/in.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_about_protected_traffic),
		pipeline_test(test_in_the_burst_of_its_flow),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
