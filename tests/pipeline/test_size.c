// SPDX-License-Identifier: BSD-3-Clause
// Packets that are too large. Proves that they are fragmented before encapsulation, or dropped with
// an error that has the size that fits (RFC 791, RFC 1191, RFC 4301 8), for every algorithm.
#include "peer.h"
#include "site.h"

// Copies the payload of a fragment to its offset in whole, and returns its end. The header of the
// first fragment becomes whole's.
static unsigned int add_fragment(uint8_t *whole, const uint8_t *f, uint16_t len)
{
	unsigned int hdr = (f[0] & 15) * 4u, at = (be16(f + 6) & 0x1fffu) * 8;

	assert_int_equal(checksum(f, hdr), 0);
	assert_int_equal(be16(f + 2), len);
	assert_int_equal(be16(f + 6) & 0xc000, 0);
	if (at == 0)
		memcpy(whole, f, hdr);
	if ((be16(f + 6) & MF) != 0)
		assert_int_equal((len - hdr) % 8, 0);
	memcpy(whole + (whole[0] & 15) * 4 + at, f + hdr, len - hdr);
	return (whole[0] & 15) * 4u + at + len - hdr;
}

// The fragments sent, opened if there is a peer, make up the original packet.
static void expect_fragments(
	struct gateway *g, const struct peer *peer, const struct frame *in, uint16_t mtu)
{
	uint8_t whole[FRAME_MAX];
	unsigned int len = frame_packet_len(in), end = 0;

	expect_drops(g, DROP_NONE, 0);
	assert_int_equal(g->last.originated, g->n_sent - 1);
	for (unsigned int i = 0; i < g->n_sent; i++) {
		uint8_t part[FRAME_MAX];
		uint16_t part_len = frame_packet_len(&g->sent[i]);

		if (peer != NULL)
			part_len = peer_open(peer, &g->sent[i], part);
		else
			memcpy(part, frame_packet(&g->sent[i]), part_len);
		assert_in_range(part_len, 21, mtu);
		assert_int_equal((be16(part + 6) & MF) != 0, i + 1 < g->n_sent);
		assert_int_equal(be16(part + 4), be16(frame_packet(in) + 4)); // identification
		assert_int_equal(part[8], frame_packet(in)[8] - 1);
		if (i + 1 < g->n_sent && frame_packet(in)[0] == 0x45) // as few as possible
			assert_in_range(part_len, mtu - 7, mtu);
		end = add_fragment(whole, part, part_len);
	}
	assert_int_equal(end, len);
	assert_memory_equal(whole + 12, frame_packet(in) + 12, len - 12);
}

// Octets of the ESP packet around an inner one, by summing its fields (RFC 4303 2).
static unsigned int esp_len(const struct conf_sa *sa, unsigned int inner)
{
	unsigned int text = inner + 2;

	while (text % sa->opt.cipher->block != 0)
		text++;
	return IP_LEN + 8 + sa->opt.cipher->iv_len + text +
	       alg_pair_icv_len(sa->opt.cipher, sa->opt.auth);
}

static uint16_t largest_inner(const struct conf_sa *sa, unsigned int mtu)
{
	uint16_t inner = 0;

	while (esp_len(sa, inner + 1u) <= mtu)
		inner++;
	return inner;
}

static void check_fits(struct gateway *g, const struct peer *b, struct ipv4 ip)
{
	struct frame f = frame_ip(LAN, ip);
	uint8_t inner[FRAME_MAX];

	gateway_expect_sent(g, &f, WAN);
	assert_int_equal(peer_open(b, &g->sent[0], inner), ip.len);
	// DF of the inner packet is copied to the outer header (RFC 4301 8.1).
	assert_int_equal(be16(frame_packet(&g->sent[0]) + 6), ip.frag & DF);
}

static void check_refused(struct gateway *g, struct ipv4 ip, uint16_t fits)
{
	struct icmp_error error = {3, 4, fits};

	ip.frag = DF;

	struct frame f = frame_ip(LAN, ip);

	gateway_expect_drop(g, &f, DROP_TOO_BIG);
	expect_all_sent(g, 1, LAN);
	expect_error(frame_packet(&g->sent[0]), frame_packet_len(&g->sent[0]), error, "10.1.0.1",
		ip.src, &f);
}

static void check_fragmented(struct gateway *g, const struct peer *b, struct ipv4 ip, uint16_t fits)
{
	struct frame f = frame_ip(LAN, ip);

	gateway_pass(g, &f, 1);
	expect_fragments(g, b, &f, fits);
}

static void check_protected(const char *cipher, const char *auth, unsigned int mtu)
{
	struct gateway *g = site_a((struct site){.cipher = cipher, .auth = auth, .mtu = mtu});
	struct peer b = peer_new(g, "to-b");
	uint16_t fits = largest_inner(b.sa, mtu);
	struct ipv4 ip = {.src = "10.1.0.5", .dst = "10.2.0.5", .id = 77, .len = fits};

	print_message("%s %s, mtu %u: %u\n", cipher, auth, mtu, fits);
	assert_int_equal(sa_out_path(gateway_sa_out(g, "to-b"))->mtu, fits);
	check_fits(g, &b, ip);
	ip.frag = DF;
	check_fits(g, &b, ip);
	for (ip.len = (uint16_t)(fits + 1); ip.len <= 1500; ip.len = (uint16_t)(ip.len + 37)) {
		ip.frag = 0;
		check_refused(g, ip, fits);
		check_fragmented(g, &b, ip, fits);
	}
	ip.len = 1500;
	check_refused(g, ip, fits);
	check_fragmented(g, &b, ip, fits);
	peer_free(&b);
	gateway_free(g);
}

static void test_protected(void **state)
{
	static const unsigned int mtus[] = {1500, 1499, 1400, 577, 576};

	(void)state;
	for (const struct cipher_alg *c = cipher_algs; c->name != NULL; c++)
		for (const struct auth_alg *a = auth_algs; a->name != NULL; a++)
			for (size_t i = 0; alg_pair_ok(c, a) && i < COUNT_OF(mtus); i++)
				check_protected(c->name, a->name, mtus[i]);
}

// Every size from the smallest to the largest, without knowing the limit.
static void test_every_size(void **state)
{
	struct gateway *g = site_a((struct site){.cipher = "aes-128-cbc", .auth = "hmac-sha1-96"});
	struct peer b = peer_new(g, "to-b");
	struct ipv4 ip = {.src = "10.1.0.5", .dst = "10.2.0.5", .proto = 253};

	(void)state;
	for (ip.len = 20; ip.len <= 1500; ip.len++) {
		struct frame f = frame_ip(LAN, ip);

		gateway_pass(g, &f, 1);
		assert_int_equal(g->n_sent, ip.len <= 1438 ? 1 : 2);
		if (g->n_sent > 1)
			expect_fragments(g, &b, &f, 1438);
	}
	peer_free(&b);
	gateway_free(g);
}

// In clear, to the DMZ with its 600 octets.

static void test_clear(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct ipv4 ip = {.src = "10.1.0.5", .dst = "10.7.0.5", .id = 99};

	(void)state;
	for (ip.len = 590; ip.len <= 1500; ip.len++) {
		struct frame f = frame_ip(LAN, ip);

		gateway_pass(g, &f, 1);
		// 576 octets of payload in each: a multiple of 8
		expect_all_sent(g, ip.len <= 600 ? 1 : ip.len <= 20 + 2 * 576 ? 2 : 3, DMZ);
		if (g->n_sent > 1)
			expect_fragments(g, NULL, &f, 600);
	}
	gateway_free(g);
}

static void test_clear_dropped(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct ipv4 ip = {.src = "10.1.0.5", .dst = "10.7.0.5", .frag = DF, .len = 600};
	struct frame f = frame_ip(LAN, ip);

	(void)state;
	gateway_expect_sent(g, &f, DMZ);
	ip.len = 601;
	f = frame_ip(LAN, ip);
	gateway_expect_drop(g, &f, DROP_TOO_BIG);
	expect_all_sent(g, 1, LAN);
	expect_error(frame_packet(&g->sent[0]), frame_packet_len(&g->sent[0]),
		(struct icmp_error){3, 4, 600}, "10.1.0.1", "10.1.0.5", &f);
	gateway_free(g);
}

// RFC 791 3.1: later fragments have only the options with the copied flag.
static void test_only_copied_options_in_later_fragments(void **state)
{
	static const uint8_t options[] = {
		0x94, 4, 0, 0,             // router alert, copied
		0x07, 7, 4, 0, 0, 0, 0, 1, // record route, not copied
	};
	struct gateway *g = site_a((struct site){0});
	struct ipv4 ip = {.src = "10.1.0.5", .dst = "10.7.0.5", .len = 1400, .options = 12};
	struct frame f = frame_ip(LAN, ip);

	(void)state;
	memcpy(f.b + ETH_LEN + IP_LEN, options, sizeof(options));
	ip_checksum_update(f.b + ETH_LEN);
	gateway_pass(g, &f, 1);
	expect_all_sent(g, 3, DMZ);
	for (unsigned int i = 0; i < 3; i++) {
		const uint8_t *p = frame_packet(&g->sent[i]);

		assert_int_equal(p[0], i == 0 ? 0x48 : 0x46);
		assert_memory_equal(p + IP_LEN, options, i == 0 ? sizeof(options) : 4);
	}
	expect_fragments(g, NULL, &f, 600);
	gateway_free(g);
}

// A burst that becomes several, of fragments and of packets that are not fragmented.
static void test_burst_becomes_several(void **state)
{
	static struct frame f[RX_BURST_MAX];
	struct gateway *g = site_a((struct site){.mtu = 576, .lan_mtu = 2300});
	struct ipv4 ip = {.src = "10.1.0.5", .dst = "10.2.0.5", .len = 2034};

	(void)state;
	for (unsigned int i = 0; i < RX_BURST_MAX; i++)
		f[i] = frame_ip(LAN, ip);
	gateway_pass(g, f, RX_BURST_MAX);
	expect_drops(g, DROP_NONE, 0);
	expect_all_sent(g, RX_BURST_MAX * 5, WAN);
	ip.len = 400;
	for (unsigned int i = 0; i < 10; i++)
		f[2 * i + 1] = frame_ip(LAN, ip);
	gateway_pass(g, f, RX_BURST_MAX);
	expect_drops(g, DROP_NONE, 0);
	expect_all_sent(g, (RX_BURST_MAX - 10) * 5 + 10, WAN);
	ip.dst = "10.7.0.5";
	ip.len = 1900;
	for (unsigned int i = 0; i < RX_BURST_MAX; i++)
		f[i] = frame_ip(LAN, ip);
	gateway_pass(g, f, RX_BURST_MAX);
	expect_drops(g, DROP_NONE, 0);
	expect_all_sent(g, RX_BURST_MAX * 4, DMZ);
	gateway_free(g);
}

static void test_no_buffers(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame f =
		frame_ip(LAN, (struct ipv4){.src = "10.1.0.5", .dst = "10.2.0.5", .len = 1500});
	struct rte_mbuf *m = frame_mbuf(&f), *hoard = NULL, *last;

	(void)state;
	while ((last = rte_pktmbuf_alloc(harness_pool)) != NULL) {
		last->next = hoard;
		hoard = last;
	}
	gateway_pass_mbufs(g, &m, 1);
	expect_drops(g, DROP_FRAGMENT_FAILED, 1);
	for (; hoard != NULL; hoard = last) {
		last = hoard->next;
		hoard->next = NULL;
		rte_pktmbuf_free(hoard);
	}
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_protected),
		pipeline_test(test_every_size),
		pipeline_test(test_clear),
		pipeline_test(test_clear_dropped),
		pipeline_test(test_only_copied_options_in_later_fragments),
		pipeline_test(test_burst_becomes_several),
		pipeline_test(test_no_buffers),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
