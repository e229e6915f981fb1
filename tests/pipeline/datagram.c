// SPDX-License-Identifier: BSD-3-Clause
#include "datagram.h"

#include <netinet/in.h>

#include "packet_v6.h"

struct datagram whole, arrived;

void datagram_fill(uint32_t len, uint16_t dport)
{
	whole.len = len;
	for (uint32_t i = 0; i < len; i++)
		whole.b[i] = (uint8_t)(i * 7 + i / 251);
	upper_write(whole.b, (uint16_t)(len - 8), IPPROTO_UDP, 9, dport);
	memset(&arrived, 0, sizeof(arrived));
}

struct frame piece(uint16_t port, struct ipv4 ip, uint32_t off, uint32_t len)
{
	struct frame f;

	len = RTE_MIN(len, whole.len - off);
	ip.len = (uint16_t)(IP_LEN + ip.options + len);
	ip.frag |= (uint16_t)(off / 8 | (off + len < whole.len ? MF : 0));
	f = frame_ip(port, ip);
	memcpy(f.b + ETH_LEN + IP_LEN + ip.options, whole.b + off, len);
	return f;
}

unsigned int pieces(struct frame f[], uint16_t port, struct ipv4 ip, uint32_t step)
{
	unsigned int n = 0;

	for (uint32_t off = 0; off < whole.len; off += step)
		f[n++] = piece(port, ip, off, step);
	return n;
}

void collect(const uint8_t *packet, uint16_t len)
{
	bool v4 = packet[0] >> 4 == 4;
	uint16_t head_len = v4 ? (packet[0] & 15) * 4 : IP6_LEN;
	uint32_t off = 0;

	if (v4)
		off = (be16(packet + 6) & 0x1fffu) * 8;
	else if (packet[6] == IPPROTO_FRAGMENT) {
		off = be16(packet + IP6_LEN + 2) & 0xfff8u;
		head_len = IP6_LEN + 8;
	}
	assert_in_range(off + len - head_len, 1, 65535);
	memcpy(arrived.b + off, packet + head_len, len - head_len);
	arrived.len += len - head_len;
}

void collect_all(const struct gateway *g, const struct peer *peer)
{
	static uint8_t inner[FRAME_MAX];

	for (unsigned int i = 0; i < g->n_sent; i++) {
		if (peer != NULL)
			collect(inner, peer_open(peer, &g->sent[i], inner));
		else
			collect(frame_packet(&g->sent[i]), frame_packet_len(&g->sent[i]));
	}
}

void expect_complete(void)
{
	assert_int_equal(arrived.len, whole.len);
	assert_memory_equal(arrived.b, whole.b, whole.len);
}

struct frame sealed(const struct peer *peer, uint32_t seq, const struct frame *f)
{
	return peer_seal_packet(peer, seq, frame_packet(f), frame_packet_len(f));
}
