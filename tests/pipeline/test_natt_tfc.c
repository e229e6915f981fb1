// SPDX-License-Identifier: BSD-3-Clause
// ESP in UDP (RFC 3948) with padding, with dummies (RFC 4303 2.6, 2.7), or fragmented after
// encapsulation, over both families.
#include <netinet/in.h>

#include "site_v6.h"
#include "udp.h"

#define MS (TSC_HZ / 1000)

// The datagram in an IP packet without options is ESP in UDP, with the checksum that its family
// requires.
static void expect_udp(const uint8_t *ip, uint16_t len, enum outer outer)
{
	uint16_t off = outer == OVER_V4 ? IP_LEN : IP6_LEN;

	assert_int_equal(be32(ip + off), NATT << 16 | NATT);
	assert_int_equal(be16(ip + off + 4), len - off);
	if (outer == OVER_V4) {
		assert_int_equal(be16(ip + off + 6), 0);
		return;
	}
	assert_int_not_equal(be16(ip + off + 6), 0);
	assert_int_equal(ip6_checksum(ip, off, len, IPPROTO_UDP), 0);
}

// Octets of an ESP packet of aes-128-gcm in UDP around inner_len.
static uint16_t sealed_len(enum outer outer, uint16_t text_len)
{
	uint16_t padded = (uint16_t)((text_len + 2 + 3) / 4 * 4);

	return (uint16_t)((outer == OVER_V4 ? IP_LEN : IP6_LEN) + UDP_LEN + 8 + 8 + padded + 16);
}

static struct frame inner(uint16_t len)
{
	return frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5", .len = len));
}

static void check_padded(enum outer outer, const char *tfc, uint16_t pad)
{
	struct gateway *a = site_v6_a(outer, (struct site){.sa = IN_UDP, .sa_out = tfc}),
		       *b = site_v6_b(outer, (struct site){.sa = IN_UDP});
	uint16_t largest = outer == OVER_V4 ? 1438 : 1418, padded = pad < largest ? pad : largest;

	for (uint16_t len = 28; len <= largest; len++) {
		struct frame in = inner(len);
		struct frame wire = frame_carry(gateway_expect_sent(a, &in, WAN));

		assert_int_equal(
			frame_packet_len(&wire), sealed_len(outer, len > padded ? len : padded));
		expect_udp(frame_packet(&wire), frame_packet_len(&wire), outer);
		expect_arrived(gateway_expect_sent(b, &wire, LAN), &in);
	}
	gateway_free(a);
	gateway_free(b);
}

static void test_padding(void **state)
{
	(void)state;
	for (enum outer outer = OVER_V4; outer <= OVER_V6; outer++) {
		check_padded(outer, "tfc = { };", UINT16_MAX);
		check_padded(outer, "tfc = { pad = 1001; };", 1001);
	}
}

static void test_dummies(void **state)
{
	(void)state;
	for (enum outer outer = OVER_V4; outer <= OVER_V6; outer++) {
		struct gateway *a = site_v6_a(outer,
				       (struct site){.sa = IN_UDP,
					       .sa_out = "tfc = { pad = 500; dummies = 1000; };"}),
			       *b = site_v6_b(outer, (struct site){.sa = IN_UDP});
		unsigned int n = 0;

		for (unsigned int ms = 0; ms < 100; ms++) {
			a->now += MS;
			gateway_pass(a, NULL, 0);
			for (unsigned int i = 0; i < a->n_sent; i++, n++) {
				struct frame wire = frame_carry(&a->sent[i]);

				assert_int_equal(frame_packet_len(&wire), sealed_len(outer, 500));
				expect_udp(frame_packet(&wire), frame_packet_len(&wire), outer);
				gateway_expect_drop(b, &wire, DROP_DUMMY);
			}
		}
		assert_in_range(n, 95, 100);
		gateway_free(a);
		gateway_free(b);
	}
}

// The UDP header is in the first fragment, and its checksum is that of the whole datagram.
static void test_fragment_after(void **state)
{
	(void)state;
	for (enum outer outer = OVER_V4; outer <= OVER_V6; outer++) {
		struct gateway *a = site_v6_a(outer, (struct site){.sa = IN_UDP,
							     .sa_out = "fragment = \"after\";"}),
			       *b = site_v6_b(outer, (struct site){.sa = IN_UDP});
		uint16_t head = outer == OVER_V4 ? IP_LEN : IP6_LEN + 8, len = 0;
		struct frame in = inner(1500), wire[2];
		uint8_t whole[FRAME_MAX];

		gateway_pass(a, &in, 1);
		expect_drops(a, DROP_NONE, 0);
		expect_all_sent(a, 2, WAN);
		for (unsigned int i = 0; i < 2; i++) {
			const uint8_t *ip = frame_packet(&a->sent[i]);

			assert_int_equal(outer == OVER_V4 ? ip[9] : ip[IP6_LEN], IPPROTO_UDP);
			memcpy(whole + IP6_LEN + len, ip + head,
				frame_packet_len(&a->sent[i]) - head);
			len = (uint16_t)(len + frame_packet_len(&a->sent[i]) - head);
			wire[1 - i] = frame_carry(&a->sent[i]);
		}
		memcpy(whole, frame_packet(&a->sent[0]), IP6_LEN); // for the addresses
		if (outer == OVER_V6)
			expect_udp(whole, (uint16_t)(IP6_LEN + len), outer);
		gateway_pass(b, wire, 2);
		expect_drops(b, DROP_NONE, 0);
		expect_all_sent(b, 1, LAN);
		expect_arrived(&b->sent[0], &in);
		gateway_free(a);
		gateway_free(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_padding),
		pipeline_test(test_dummies),
		pipeline_test(test_fragment_after),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
