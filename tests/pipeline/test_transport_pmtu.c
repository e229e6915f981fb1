// SPDX-License-Identifier: BSD-3-Clause
// ICMP errors about the size of ESP packets that the gateway has made in transport mode (RFC 4301
// 8.2): routers send them to the host.
#include <netinet/in.h>

#include "line_memory.h"
#include "packet_v6.h"
#include "site_transport.h"
#include "udp.h"

// A router sends an error with the path MTU for an ESP packet of the gateway to the host.
static struct frame too_big(const struct frame *about, uint16_t mtu)
{
	uint8_t packet[FRAME_MAX], *icmp;
	uint16_t len;

	if (frame_packet(about)[0] >> 4 == 6) {
		len = error6_write(
			packet, "2001:db8:f::9", "2001:db8:1::5", 2, 0, frame_packet(about), 100);
		icmp = packet + IP6_LEN;
		put32(icmp + 4, mtu);
		put16(icmp + 2, 0);
		put16(icmp + 2, ip6_checksum(packet, IP6_LEN, len, IPPROTO_ICMPV6));
		return frame_raw6(WAN, packet, len);
	}
	len = error_write(packet, "192.0.2.254", "10.1.0.5", 3, 4, frame_packet(about));
	icmp = packet + IP_LEN;
	put16(icmp + 6, mtu);
	put16(icmp + 2, 0);
	put16(icmp + 2, checksum(icmp, len - IP_LEN));
	return frame_raw(WAN, packet, len);
}

static void check_path_mtu(struct gateway *a, const struct frame *in, const void *peer)
{
	struct frame wire = *gateway_expect_sent(a, in, WAN), f = too_big(&wire, 1300), other;
	bool v4 = frame_packet(&wire)[0] >> 4 == 4;
	uint8_t *ip = wire.b + (wire.len - frame_packet_len(&wire));
	uint8_t *esp = ip + (v4 ? IP_LEN : IP6_LEN) + (ip[v4 ? 9 : 6] == IPPROTO_UDP ? UDP_LEN : 0);
	struct event e;

	gateway_pass(a, &f, 1);
	expect_drops(a, DROP_NONE, 0);
	assert_int_equal(a->n_sent, 0);
	assert_int_equal(a->last.local, 1);
	if (rte_ring_dequeue_elem(a->w->events, &e, sizeof(e)) < 0)
		fail_msg("no event");
	assert_int_equal(e.kind, EVENT_PMTU);
	assert_int_equal(e.mtu, 1300);
	assert_memory_equal(&e.addr, peer, sizeof(e.addr));
	other = too_big(&wire, 200);
	gateway_expect_drop(a, &other, DROP_PMTU_IMPLAUSIBLE);
	esp[4] ^= 1; // of the sequence number
	other = too_big(&wire, 1300);
	gateway_expect_drop(a, &other, DROP_PMTU_IMPLAUSIBLE);
	esp[0] ^= 1; // of the SPI
	other = too_big(&wire, 1300);
	gateway_expect_drop(a, &other, DROP_ICMP_UNRELATED);
}

// ESP in UDP (RFC 3948).
static void test_path_mtu_in_udp(void **state)
{
	struct gateway *a = site_transport(1, (struct site){.sa = IN_UDP});
	struct frame six =
		frame_ip6(LAN, (struct ipv6)FROM_TO("2001:db8:1::5", "2001:db8:2::5", .len = 1400));

	(void)state;
	check_path_mtu(a, &six, ip6_octets("2001:db8:2::5"));
	gateway_free(a);
}

// The host cannot process errors about ESP; the gateway can.
static void test_path_mtu(void **state)
{
	struct gateway *a = site_transport(1, (struct site){0});
	struct frame four = frame_ip(
		LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5", .frag = DF, .len = 1400));
	struct frame six =
		frame_ip6(LAN, (struct ipv6)FROM_TO("2001:db8:1::5", "2001:db8:2::5", .len = 1400));
	struct ip_addr remote = ip_addr_from_v4(rte_cpu_to_be_32(ip_number("10.2.0.5")));
	struct sa_out *sa = gateway_sa_out(a, "o1");

	(void)state;
	check_path_mtu(a, &four, &remote);
	check_path_mtu(a, &six, ip6_octets("2001:db8:2::5"));
	line_free(sa_out_path_set(sa, sa_path_resized(&sa->sa, sa_out_path(sa), 1300)));
	gateway_expect_drop(a, &four, DROP_TOO_BIG);
	expect_error(frame_packet(&a->sent[0]), frame_packet_len(&a->sent[0]),
		(struct icmp_error){ICMP_UNREACHABLE, ICMP_UNREACH_NEEDFRAG, 1266}, "10.1.0.1",
		"10.1.0.5", &four);
	gateway_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_path_mtu),
		pipeline_test(test_path_mtu_in_udp),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
