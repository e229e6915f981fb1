// SPDX-License-Identifier: BSD-3-Clause
#include "large.h"

#include <netinet/in.h>

uint8_t large_raw[FRAME_RAW];

static uint8_t inner[FRAME_MAX], got[IP_MAX];

uint16_t large_head(struct large l)
{
	return l.v6 ? IP6_LEN : IP_LEN;
}

static uint8_t octet(uint32_t i)
{
	return (uint8_t)(i * 7 + i / 251);
}

void large_write(struct large l)
{
	uint8_t *ip = large_raw + ETH_LEN, *tcp = ip + large_head(l);

	if (l.v6)
		ip6_write(ip, (struct ipv6)FROM_TO(l.src ? l.src : "2001:db8:1::5",
				      l.dst ? l.dst : "2001:db8:2::5",
				      .proto = l.proto ? l.proto : IPPROTO_TCP, .len = 100));
	else
		ip_write(ip,
			(struct ipv4)FROM_TO(l.src ? l.src : "10.1.0.5", l.dst ? l.dst : "10.2.0.5",
				.proto = l.proto ? l.proto : IPPROTO_TCP, .len = 60, .frag = l.frag,
				.id = 77));
	memcpy(large_raw, mac_of_port(LAN), 6);
	memcpy(large_raw + 6, mac_of_neighbour(LAN), 6);
	put16(large_raw + 12, l.v6 ? 0x86dd : 0x0800);
	put16(ip + (l.v6 ? 4 : 2), l.len - (l.v6 ? IP6_LEN : 0));
	if (!l.v6)
		ip_checksum_update(ip);
	memset(tcp, 0, TCP_LEN);
	put16(tcp, 40000);
	put16(tcp + 2, 80);
	put32(tcp + 4, l.seq ? l.seq : ISN);
	put32(tcp + 8, 1);
	tcp[12] = 5 << 4;
	tcp[13] = l.flags ? l.flags : ACK;
	put16(tcp + 14, 60000);
	for (uint32_t i = large_head(l) + TCP_LEN; i < l.len; i++)
		ip[i] = octet(i - large_head(l) - TCP_LEN);
}

struct rte_mbuf *large_raw_mbuf(struct large l)
{
	uint32_t all = ETH_LEN + l.len, step = l.first ? l.first : FIRST;
	struct rte_mbuf *head = NULL, **next = &head, *m;

	for (uint32_t done = 0; done < all; done += m->data_len, next = &m->next, step = FIRST) {
		uint16_t len = (uint16_t)RTE_MIN(step, all - done);

		m = rte_pktmbuf_alloc(harness_pool);
		assert_non_null(m);
		memcpy(rte_pktmbuf_append(m, len), large_raw + done, len);
		*next = m;
		if (done == 0)
			continue;
		head->nb_segs++;
		head->pkt_len += len;
	}
	head->port = LAN;
	head->ol_flags |= RTE_MBUF_F_RX_LRO | RTE_MBUF_F_RX_L4_CKSUM_NONE;
	head->tso_segsz = l.size;
	return head;
}

struct rte_mbuf *large_mbuf(struct large l)
{
	large_write(l);
	return large_raw_mbuf(l);
}

void large_pass(struct gateway *g, struct large l)
{
	struct rte_mbuf *m = large_mbuf(l);

	gateway_pass_mbufs(g, &m, 1);
}

static void expect_tcp_sum(const uint8_t *ip, uint16_t len, bool v6)
{
	uint8_t pseudo[FRAME_MAX];

	if (v6) {
		assert_int_equal(ip6_checksum(ip, IP6_LEN, len, IPPROTO_TCP), 0);
		return;
	}
	memcpy(pseudo, ip + 12, 8);
	put16(pseudo + 8, IPPROTO_TCP);
	put16(pseudo + 10, len - IP_LEN);
	memcpy(pseudo + 12, ip + IP_LEN, len - IP_LEN);
	assert_int_equal(checksum(pseudo, len - IP_LEN + 12u), 0);
	assert_int_equal(checksum(ip, IP_LEN), 0);
}

uint32_t large_part(struct large l, const uint8_t *ip, uint16_t len, uint32_t number)
{
	const uint16_t head = large_head(l);
	const uint8_t *tcp = ip + head;
	const uint32_t off = be32(tcp + 4) - (l.seq ? l.seq : ISN);
	const uint8_t flags = l.flags ? l.flags : ACK;
	const bool last = off + len - head - TCP_LEN == l.len - head - TCP_LEN;

	assert_int_equal(be16(ip + (l.v6 ? 4 : 2)), l.v6 ? len - IP6_LEN : len);
	if (!l.v6) {
		assert_int_equal(be16(ip + 6), l.frag);
		assert_int_equal(be16(ip + 4), 77 + number);
	}
	expect_tcp_sum(ip, len, l.v6);
	assert_int_equal(tcp[13], flags & ~(last ? 0 : FIN | PSH) & ~(number > 0 ? CWR : 0));
	assert_in_range(off + len - head - TCP_LEN, 1, sizeof(got));
	memcpy(got + off, tcp + TCP_LEN, len - head - TCP_LEN);
	return len - head - TCP_LEN;
}

void expect_parts(
	struct gateway *g, struct large l, const struct peer *peer, unsigned int n, uint16_t size)
{
	uint32_t done = 0, payload = l.len - large_head(l) - TCP_LEN;

	expect_drops(g, DROP_NONE, 0);
	assert_int_equal(g->n_sent, n);
	assert_int_equal(g->last.rx, 1);
	assert_int_equal(g->last.originated, n - 1);
	for (unsigned int i = 0; i < n; i++) {
		const struct frame *f = &g->sent[i];
		const uint8_t *ip = peer != NULL ? inner : frame_packet(f);
		uint16_t len = peer != NULL ? peer_open(peer, f, inner) : frame_packet_len(f);
		uint32_t part = large_part(l, ip, len, i);

		assert_int_equal(part, RTE_MIN(size, payload - done));
		done += part;
	}
	assert_int_equal(done, payload);
	for (uint32_t i = 0; i < payload; i++)
		assert_int_equal(got[i], octet(i));
}

unsigned int large_parts(struct large l, uint16_t size)
{
	return (l.len - large_head(l) - TCP_LEN + size - 1u) / size;
}

void check_parts(struct gateway *g, struct large l, const struct peer *peer)
{
	large_pass(g, l);
	expect_parts(g, l, peer, large_parts(l, l.size), l.size);
}
