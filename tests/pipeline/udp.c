// SPDX-License-Identifier: BSD-3-Clause
#include "udp.h"

#include <netinet/in.h>

#include "harness.h"
#include "packet_v6.h"

struct frame udp_insert(const struct frame *f, uint16_t sport, uint16_t dport)
{
	struct frame u = *f;
	uint8_t *ip = u.b + ETH_LEN;
	bool v4 = ip[0] >> 4 == 4;
	uint8_t *udp = ip + (v4 ? (ip[0] & 15) * 4 : IP6_LEN);
	uint16_t len = (uint16_t)(f->len - (udp - u.b) + UDP_LEN);

	memmove(udp + UDP_LEN, udp, len - UDP_LEN);
	put16(udp, sport);
	put16(udp + 2, dport);
	put16(udp + 4, len);
	put16(udp + 6, 0);
	u.len = (uint16_t)(u.len + UDP_LEN);
	ip[v4 ? 9 : 6] = IPPROTO_UDP;
	put16(ip + (v4 ? 2 : 4), v4 ? frame_packet_len(&u) : len);
	if (v4)
		ip_checksum_update(ip);
	else
		put16(udp + 6, ip6_checksum(ip, IP6_LEN, frame_packet_len(&u), IPPROTO_UDP));
	return u;
}

struct frame udp_remove(const struct frame *f, uint16_t sport, uint16_t dport)
{
	struct frame e = *f;
	uint8_t *ip = e.b + ETH_LEN, *udp = ip + IP_LEN;

	assert_int_equal(ip[0], 0x45);
	assert_int_equal(ip[9], IPPROTO_UDP);
	assert_int_equal(be16(udp), sport);
	assert_int_equal(be16(udp + 2), dport);
	assert_int_equal(be16(udp + 4), frame_packet_len(f) - IP_LEN);
	assert_int_equal(be16(udp + 6), 0);
	memmove(udp, udp + UDP_LEN, f->len - (size_t)(udp - e.b) - UDP_LEN);
	e.len = (uint16_t)(e.len - UDP_LEN);
	ip[9] = IPPROTO_ESP;
	put16(ip + 2, frame_packet_len(&e));
	ip_checksum_update(ip);
	return e;
}
