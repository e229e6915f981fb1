// SPDX-License-Identifier: BSD-3-Clause
// Proves that frames in several buffers, in shared ones, in full ones and in those larger than any
// link have the same result as a frame in one ordinary buffer, and that packets are sent in
// ordinary buffers.
#include <netinet/in.h>

#include "peer.h"
#include "site_v6.h"

#define PING     8
#define OVERSIZE 9700 // octets of a packet that does not fit into an ordinary buffer
#define WHOLE    FRAME_MAX

// A frame in segments: the first has first octets, the others at most rest.
static struct rte_mbuf *chain(const struct frame *f, uint16_t first, uint16_t rest)
{
	struct rte_mbuf *head = NULL, *last = NULL;

	for (uint16_t done = 0; done < f->len;) {
		uint16_t len = (uint16_t)RTE_MIN(head == NULL ? first : rest, f->len - done);
		struct rte_mbuf *m = rte_pktmbuf_alloc(harness_pool);

		if (m == NULL)
			abort();
		m->port = f->port;
		memcpy(rte_pktmbuf_append(m, len), f->b + done, len);
		done = (uint16_t)(done + len);
		if (head == NULL) {
			head = last = m;
			continue;
		}
		last->next = m;
		last = m;
		head->nb_segs++;
		head->pkt_len += len;
	}
	return head;
}

static void pass_chain(struct gateway *g, const struct frame *f, uint16_t first, uint16_t rest)
{
	struct rte_mbuf *m = chain(f, first, rest);

	gateway_pass_mbufs(g, &m, 1);
}

// The frame passes both gateways, in segments each time.
static void check_through(
	struct gateway *g[2], const struct frame *f, uint16_t first, uint16_t rest)
{
	struct frame wire;

	pass_chain(g[0], f, first, rest);
	expect_drops(g[0], DROP_NONE, 0);
	expect_all_sent(g[0], 1, WAN);
	wire = frame_carry(&g[0]->sent[0]);
	pass_chain(g[1], &wire, first, rest);
	expect_drops(g[1], DROP_NONE, 0);
	expect_all_sent(g[1], 1, LAN);
	expect_arrived(&g[1]->sent[0], f);
}

static void gateways_free(struct gateway *g[2])
{
	gateway_free(g[0]);
	gateway_free(g[1]);
}

// Two buffers, split at every octet of all headers; and buffers of few octets.
static void test_every_split(void **state)
{
	const struct frame f[] = {frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5")),
		frame_ip6(LAN, (struct ipv6)FROM_TO("2001:db8:1::5", "2001:db8:2::5"))};

	(void)state;
	for (enum outer outer = OVER_V4; outer <= OVER_V6; outer++) {
		struct gateway *g[] = {
			site_v6_a(outer, (struct site){0}), site_v6_b(outer, (struct site){0})};

		for (size_t i = 0; i < COUNT_OF(f); i++) {
			for (uint16_t first = 1; first < f[i].len + 100; first++)
				check_through(g, &f[i], first, WHOLE);
			for (uint16_t rest = 1; rest < 20; rest++)
				check_through(g, &f[i], rest, rest);
		}
		gateways_free(g);
	}
}

static void check_jumbo(const char *engine, const char *cipher, const char *auth)
{
	const struct site s = {
		.cipher = cipher, .auth = auth, .mtu = 9000, .lan_mtu = 9000, .more = engine};
	struct gateway *g[] = {site_a(s), site_b(s)};
	const uint16_t fits = sa_out_path(gateway_sa_out(g[0], "to-b"))->mtu;
	const uint16_t len[] = {1500, 2034, 2035, 4096, 8192, (uint16_t)(fits - 1), fits};

	for (size_t i = 0; i < COUNT_OF(len); i++) {
		struct frame f = frame_ip(LAN,
			(struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5", .len = len[i], .frag = DF));

		check_through(g, &f, 2048, 2048);
		check_through(g, &f, 1, 7);
		check_through(g, &f, 2000, 3);
	}
	gateways_free(g);
}

// Up to the largest that fits links of 9000 octets, for every algorithm by both engines.
static void test_jumbo_frames_of_every_algorithm(void **state)
{
	(void)state;
	for (const struct cipher_alg *c = cipher_algs; c->name != NULL; c++)
		for (const struct auth_alg *a = auth_algs; a->name != NULL; a++) {
			if (!alg_pair_ok(c, a))
				continue;
			check_jumbo("engine = \"openssl\";", c->name, a->name);
			check_jumbo("engine = \"auto\";", c->name, a->name);
		}
}

// Packets that are not forwarded: pings of the gateway, ARP, fragments to be reassembled.
static void test_packets_not_forwarded(void **state)
{
	struct gateway *g = site_a((struct site){.mtu = 9000, .lan_mtu = 9000});
	struct peer b = peer_new(g, "to-b");
	struct ipv4 part =
		FROM_TO("10.1.0.5", "10.2.0.5", .proto = 253, .len = 3020, .frag = MF, .id = 7);
	struct frame ping = frame_ip(
			     LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.1.0.1",
					  .proto = IPPROTO_ICMP, .icmp_type = PING, .len = 5000)),
		     arp = frame_arp(LAN, 1, "10.1.0.5", "10.1.0.1"), first, last;
	uint8_t whole[FRAME_MAX];

	(void)state;
	pass_chain(g, &ping, 2048, 2048);
	expect_drops(g, DROP_NONE, 0);
	expect_all_sent(g, 1, LAN);
	assert_memory_equal(g->sent[0].b + ETH_LEN + IP_LEN + 4, ping.b + ETH_LEN + IP_LEN + 4,
		5000 - IP_LEN - 4);
	pass_chain(g, &arp, 1, 1);
	expect_all_sent(g, 1, LAN);
	pass_chain(g, &arp, 13, WHOLE);
	expect_all_sent(g, 1, LAN);

	first = frame_ip(LAN, part);
	part.frag = 3000 / 8;
	last = frame_ip(LAN, part);
	pass_chain(g, &last, 30, 1);
	assert_int_equal(worker_held(g->w), 1);
	pass_chain(g, &first, 2048, 2048);
	expect_drops(g, DROP_NONE, 0);
	expect_all_sent(g, 1, WAN);
	assert_int_equal(peer_open(&b, &g->sent[0], whole), 6020);
	assert_memory_equal(whole + IP_LEN, frame_packet(&first) + IP_LEN, 3000);
	assert_memory_equal(whole + IP_LEN + 3000, frame_packet(&last) + IP_LEN, 3000);
	peer_free(&b);
	gateway_free(g);
}

// The frame's octets, in buffers that have a second owner.
static void expect_untouched(const struct rte_mbuf *const m[], const struct frame *f)
{
	assert_memory_equal(rte_pktmbuf_mtod(m[0], void *), f->b, m[0]->data_len);
	assert_memory_equal(rte_pktmbuf_mtod(m[1], void *), f->b + m[0]->data_len, m[1]->data_len);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(rte_mbuf_refcnt_read(m[i]), 1);
}

// Buffers with a second owner, and indirect buffers: nothing is written to them.
static void test_shared_buffers_are_not_written_to(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5", .len = 1400));
	struct rte_mbuf *own[2], *clone[2];

	(void)state;
	own[0] = chain(&f, 700, WHOLE);
	own[1] = own[0]->next;
	for (unsigned int i = 0; i < 2; i++)
		rte_mbuf_refcnt_update(own[i], 1);
	gateway_pass_mbufs(g, own, 1);
	expect_drops(g, DROP_NONE, 0);
	expect_all_sent(g, 1, WAN);
	expect_untouched((const struct rte_mbuf *const *)own, &f);

	own[0]->next = NULL;
	own[0]->nb_segs = 1;
	own[0]->pkt_len = own[0]->data_len;
	for (unsigned int i = 0; i < 2; i++)
		clone[i] = rte_pktmbuf_clone(own[i], harness_pool);
	assert_int_equal(rte_pktmbuf_chain(clone[0], clone[1]), 0);
	clone[0]->port = LAN;
	gateway_pass_mbufs(g, clone, 1);
	expect_drops(g, DROP_NONE, 0);
	expect_all_sent(g, 1, WAN);
	expect_untouched((const struct rte_mbuf *const *)own, &f);
	rte_pktmbuf_free_bulk(own, 2);
	gateway_free(g);
}

static void keep_extern(void *octets, void *refs)
{
	(void)octets;
	(void)refs;
}

// The same in one segment: a buffer with a second owner, an indirect one, and one whose octets are
// external memory of a driver (mlx5's MPRQ), without room before or after them.
static void check_shared_whole(struct gateway *g, struct frame f, uint16_t to)
{
	static uint8_t octets[2048];
	struct rte_mbuf *own = frame_mbuf(&f), *m;
	struct rte_mbuf_ext_shared_info refs = {.free_cb = keep_extern};

	rte_mbuf_refcnt_update(own, 1);
	gateway_pass_mbufs(g, &own, 1);
	expect_all_sent(g, 1, to);
	assert_memory_equal(rte_pktmbuf_mtod(own, void *), f.b, f.len);
	assert_int_equal(rte_mbuf_refcnt_read(own), 1);

	m = rte_pktmbuf_clone(own, harness_pool);
	m->port = LAN;
	gateway_pass_mbufs(g, &m, 1);
	expect_all_sent(g, 1, to);
	assert_memory_equal(rte_pktmbuf_mtod(own, void *), f.b, f.len);
	assert_int_equal(rte_mbuf_refcnt_read(own), 1);
	rte_pktmbuf_free(own);

	m = rte_pktmbuf_alloc(harness_pool);
	rte_mbuf_ext_refcnt_set(&refs, 1);
	rte_pktmbuf_attach_extbuf(m, octets, RTE_BAD_IOVA, sizeof(octets), &refs);
	m->port = LAN;
	memcpy(rte_pktmbuf_append(m, f.len), f.b, f.len);
	gateway_pass_mbufs(g, &m, 1);
	expect_all_sent(g, 1, to);
	assert_int_equal(rte_mbuf_ext_refcnt_read(&refs), 0);
	assert_memory_equal(octets, f.b, f.len);
	gateway_free(g);
}

static void test_shared_whole(void **state)
{
	(void)state;
	check_shared_whole(site_a((struct site){0}),
		frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.7.0.5")), DMZ);
	check_shared_whole(site_v6_a(OVER_V4, (struct site){0}),
		frame_ip6(LAN, (struct ipv6)FROM_TO("2001:db8:1::5", "2001:db8:9::5")), WAN);
}

// Allocates all buffers of a pool; frees them if it holds any.
static struct rte_mbuf *take_all(struct rte_mempool *pool, struct rte_mbuf *back)
{
	struct rte_mbuf *all = NULL, *m;

	for (; back != NULL; back = m) {
		m = back->next;
		back->next = NULL;
		rte_pktmbuf_free(back);
		if (m == NULL)
			return NULL;
	}
	while ((m = rte_pktmbuf_alloc(pool)) != NULL) {
		m->next = all;
		all = m;
	}
	return all;
}

static void check_no_buffers(struct gateway *g, struct rte_mempool *pool, struct rte_mbuf *m)
{
	struct rte_mbuf *all = take_all(pool, NULL);

	gateway_pass_mbufs(g, &m, 1);
	take_all(pool, all);
	expect_drops(g, DROP_NO_BUFFER, 1);
}

static void test_no_buffers(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct ipv4 ip = FROM_TO("10.1.0.5", "10.2.0.5");
	struct frame f = frame_ip(LAN, ip);

	(void)state;
	check_no_buffers(g, harness_pool, chain(&f, 50, WHOLE));
	check_no_buffers(g, harness_pool, frame_mbuf_at_end(&f));
	ip.len = OVERSIZE;
	f = frame_ip(LAN, ip);
	check_no_buffers(g, harness_large_pool, chain(&f, 2048, 2048));
	gateway_free(g);
}

// Too little room after the packet: it is sealed in another buffer.
static void test_full_buffer(void **state)
{
	struct gateway *g[] = {
		site_a((struct site){.cipher = "aes-256-cbc", .auth = "hmac-sha2-512-256"}),
		site_b((struct site){.cipher = "aes-256-cbc", .auth = "hmac-sha2-512-256"})};

	(void)state;
	for (uint16_t len = 20; len < 120; len++) {
		struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5",
						       .len = len, .proto = 253)),
			     wire;
		struct rte_mbuf *m = frame_mbuf_at_end(&f);

		gateway_pass_mbufs(g[0], &m, 1);
		expect_drops(g[0], DROP_NONE, 0);
		expect_all_sent(g[0], 1, WAN);
		wire = frame_carry(&g[0]->sent[0]);
		m = frame_mbuf_at_end(&wire);
		gateway_pass_mbufs(g[1], &m, 1);
		expect_arrived(&g[1]->sent[0], &f);
	}
	gateways_free(g);
}

// A frame of len octets in segments of 8000, which begins with an IP header and ends with zeros.
static struct rte_mbuf *long_chain(uint32_t len)
{
	struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5", .proto = 253));
	struct rte_mbuf *m = NULL;

	put16(f.b + ETH_LEN + 2, len - ETH_LEN);
	ip_checksum_update(f.b + ETH_LEN);
	for (uint32_t done = 0; done < len; done += f.len) {
		f.len = (uint16_t)RTE_MIN(8000u, len - done);
		if (m == NULL)
			m = chain(&f, WHOLE, WHOLE);
		else
			assert_int_equal(rte_pktmbuf_chain(m, chain(&f, WHOLE, WHOLE)), 0);
	}
	return m;
}

static void expect_long(struct gateway *g, uint32_t len, enum drop drop)
{
	struct rte_mbuf *m = long_chain(len);

	gateway_pass_mbufs(g, &m, 1);
	expect_drops(g, drop, drop != DROP_NONE);
	assert_int_equal(g->n_sent > 0, drop == DROP_NONE);
}

// Longer than any buffer; and packets that fit into a large buffer, the second not with ESP.
static void test_too_long(void **state)
{
	struct gateway *g = site_a((struct site){.sa_out = "fragment = \"after\";"});
	uint32_t room = rte_pktmbuf_data_room_size(harness_large_pool) - RTE_PKTMBUF_HEADROOM;

	(void)state;
	expect_long(g, room + RTE_PKTMBUF_HEADROOM + 1, DROP_FRAME_SCATTERED);
	expect_long(g, 100000, DROP_FRAME_SCATTERED);
	expect_long(g, room - 100, DROP_NONE);
	expect_long(g, room, DROP_NO_ROOM);
	gateway_free(g);
}

// The payloads of fragments, opened if there is a peer, are the payload of the packet.
static void expect_fragments(
	const struct gateway *g, const struct peer *peer, const struct frame *in)
{
	uint8_t whole[FRAME_MAX], part[FRAME_MAX];
	unsigned int end = 0;

	for (unsigned int i = 0; i < g->n_sent; i++) {
		uint16_t len = frame_packet_len(&g->sent[i]);
		unsigned int off;

		memcpy(part, frame_packet(&g->sent[i]), len);
		if (peer != NULL)
			len = peer_open(peer, &g->sent[i], part);
		off = (be16(part + 6) & 0x1fffu) * 8;
		assert_in_range(off + len, IP_LEN, sizeof(whole));
		memcpy(whole + off, part + IP_LEN, len - IP_LEN);
		end = RTE_MAX(end, off + len);
	}
	assert_int_equal(end, frame_packet_len(in));
	assert_memory_equal(whole, frame_packet(in) + IP_LEN, end - IP_LEN);
}

// Larger than the links, as ports may receive it: fragmented before encapsulation, or after, or
// dropped.
static void test_oversize(void **state)
{
	struct gateway *before = site_a((struct site){0});
	struct gateway *b = site_b((struct site){0});
	struct peer peer = peer_new(before, "to-b");
	struct ipv4 ip = FROM_TO("10.1.0.5", "10.2.0.5", .len = OVERSIZE);
	struct frame f = frame_ip(LAN, ip), wire[RX_BURST_MAX];
	struct gateway *after;

	(void)state;
	pass_chain(before, &f, 2048, 2048);
	expect_drops(before, DROP_NONE, 0);
	expect_fragments(before, &peer, &f);
	ip.frag = DF;
	f = frame_ip(LAN, ip);
	pass_chain(before, &f, 2048, 2048);
	expect_drops(before, DROP_TOO_BIG, 1);
	expect_all_sent(before, 1, LAN);
	ip.frag = MF; // fragments are held in ordinary buffers only: in several
	ip.len = OVERSIZE - 8;
	f = frame_ip(LAN, ip);
	pass_chain(before, &f, 2048, 2048);
	expect_drops(before, DROP_NONE, 0);
	assert_int_equal(worker_held(before->w), 1);
	assert_int_equal(rte_mempool_in_use_count(harness_large_pool), 0);
	peer_free(&peer);
	gateway_free(before);

	after = site_a((struct site){.sa_out = "fragment = \"after\";"});
	ip.frag = 0;
	ip.len = OVERSIZE;
	f = frame_ip(LAN, ip);
	pass_chain(after, &f, 2048, 2048);
	expect_drops(after, DROP_NONE, 0);
	for (unsigned int i = 0; i < after->n_sent; i++)
		wire[i] = frame_carry(&after->sent[i]);
	gateway_pass(b, wire, after->n_sent);
	expect_drops(b, DROP_NONE, 0);
	expect_fragments(b, NULL, &f);
	gateway_free(after);
	gateway_free(b);
}

// A packet that is small now leaves its large buffer, or is held outside of it.
static void test_large_becomes_small(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct peer b = peer_new(g, "from-b");
	struct frame arp = frame_arp(LAN, 1, "10.1.0.5", "10.1.0.1"), f;
	uint8_t text[FRAME_MAX] = {0};
	uint16_t len;

	(void)state;
	arp.len = OVERSIZE; // padded
	pass_chain(g, &arp, 2048, 2048);
	expect_drops(g, DROP_NONE, 0);
	expect_all_sent(g, 1, LAN);
	for (unsigned int i = 0; i < 2; i++) {
		const char *to = i == 0 ? "10.1.0.5" : "10.1.0.9";

		ip_write(text, (struct ipv4)FROM_TO("10.2.0.5", to));
		len = peer_trailer(
			&b, text, OVERSIZE - 100, IPPROTO_IPIP); // padding of RFC 4303 2.7
		f = peer_seal(&b, (struct esp){.seq = i + 1, .text = text, .text_len = len});
		pass_chain(g, &f, 2048, 2048);
		expect_drops(g, DROP_NONE, 0);
		if (i == 0)
			expect_all_sent(g, 1, LAN);
		else
			assert_int_equal(worker_held(g->w), 1);
		assert_int_equal(rte_mempool_in_use_count(harness_large_pool), 0);
	}
	peer_free(&b);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_every_split),
		pipeline_test(test_jumbo_frames_of_every_algorithm),
		pipeline_test(test_packets_not_forwarded),
		pipeline_test(test_shared_buffers_are_not_written_to),
		pipeline_test(test_shared_whole),
		pipeline_test(test_no_buffers),
		pipeline_test(test_full_buffer),
		pipeline_test(test_too_long),
		pipeline_test(test_oversize),
		pipeline_test(test_large_becomes_small),
	};

	return cmocka_run_group_tests(tests, harness_start_jumbo, harness_stop);
}
