// SPDX-License-Identifier: BSD-3-Clause
#include "site_nat.h"

#include <netinet/in.h>

// The checksum of a TCP, UDP or ICMP packet.
static unsigned int upper_checksum(const uint8_t *packet, unsigned int len)
{
	uint8_t all[FRAME_MAX] = {0};
	const unsigned int upper = len - IP_LEN;

	if (packet[9] == IPPROTO_ICMP)
		return checksum(packet + IP_LEN, upper);
	memcpy(all, packet + 12, 8);
	put16(all + 8, packet[9]);
	put16(all + 10, upper);
	memcpy(all + 12, packet + IP_LEN, upper);
	return checksum(all, 12 + upper);
}

void upper_checksum_update(uint8_t *packet)
{
	const uint8_t proto = packet[9];
	unsigned int at = IP_LEN + (proto == IPPROTO_TCP ? 16 : proto == IPPROTO_UDP ? 6 : 2);

	unsigned int sum;

	put16(packet + at, 0);
	sum = upper_checksum(packet, be16(packet + 2));
	put16(packet + at, proto == IPPROTO_UDP && sum == 0 ? UINT16_MAX : sum); // 0: none
}

uint16_t ends_write(uint8_t *out, uint8_t proto, struct ends e)
{
	uint16_t len =
		ip_write(out, (struct ipv4)FROM_TO(e.src, e.dst, .proto = proto, .sport = e.sport,
				      .dport = e.dport, .icmp_type = e.dport == 0 ? 0 : 8));

	if (proto == IPPROTO_ICMP)
		put16(out + IP_LEN + 4, e.sport);
	upper_checksum_update(out);
	return len;
}

struct frame ends_frame(uint16_t port, uint8_t proto, struct ends e)
{
	uint8_t packet[FRAME_MAX];
	uint16_t len = ends_write(packet, proto, e);

	return frame_raw(port, packet, len);
}

void expect_ends(const struct frame *f, struct ends e)
{
	const uint8_t *p = frame_packet(f);
	const bool icmp = p[9] == IPPROTO_ICMP;

	assert_int_equal(checksum(p, IP_LEN), 0);
	assert_int_equal(upper_checksum(p, be16(p + 2)), 0);
	assert_int_equal(be32(p + 12), ip_number(e.src));
	assert_int_equal(be32(p + 16), ip_number(e.dst));
	assert_int_equal(be16(p + IP_LEN + (icmp ? 4 : 0)), e.sport);
	if (!icmp)
		assert_int_equal(be16(p + IP_LEN + 2), e.dport);
}

void expect_translated(struct gateway *g, uint16_t in, uint8_t proto, struct ends from,
	uint16_t out, struct ends to)
{
	const struct frame f = ends_frame(in, proto, from);

	expect_ends(gateway_expect_sent(g, &f, out), to);
}
