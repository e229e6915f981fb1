// SPDX-License-Identifier: BSD-3-Clause
// DPDK's librte_ipsec on a cryptodev as the peer of our SAs. Proves that each side opens the
// packets of the other, in both modes and families, of all algorithms, packets of up to 9000
// octets, without and with ESN, across 2^32 too, there also out of order.
#include <rte_ip.h>
#include <rte_mbuf.h>

#include "addrs.h"
#include "dpdk_compat.h"
#include "eal.h"
#include "esp_out.h"
#include "esp_single.h"
#include "ipv4.h"
#include "librte_peer.h"
#include "test.h"

#define INNER_MAX 9000
#define HEADROOM  128
#define WINDOW    64

static const struct mix mixes[] = {
	{"IPv4 in IPv4", SA_TUNNEL, false, false},
	{"IPv6 in IPv4", SA_TUNNEL, false, true},
	{"IPv4 in IPv6", SA_TUNNEL, true, false},
	{"IPv6 in IPv6", SA_TUNNEL, true, true},
	{"IPv4 transport", SA_TRANSPORT, false, false},
	{"IPv6 transport", SA_TRANSPORT, true, true},
};

static struct rte_mempool *mbufs;
static unsigned int compared;

static int group_setup(void **state)
{
	(void)state;
	eal_start();
	mbufs = rte_pktmbuf_pool_create(
		"mbufs", 63, 0, 0, HEADROOM + INNER_MAX + 256, SOCKET_ID_ANY);
	return mbufs == NULL ? -1 : peer_devices_start();
}

static int group_teardown(void **state)
{
	(void)state;
	peer_devices_stop();
	eal_stop();
	return 0;
}

static void headers_write(uint8_t *to, uint16_t len, bool v6)
{
	struct rte_ipv4_hdr ip = {
		.version_ihl = RTE_IPV4_VHL_DEF,
		.total_length = rte_cpu_to_be_16(len),
		.time_to_live = 9,
		.next_proto_id = 253,
		.src_addr = RTE_BE32(0x0a010005),
		.dst_addr = RTE_BE32(0x0a020005),
	};
	struct rte_ipv6_hdr ip6 = {
		.vtc_flow = RTE_BE32(0x60012345),
		.payload_len = rte_cpu_to_be_16((uint16_t)(len - sizeof(ip6))),
		.proto = 253,
		.hop_limits = 9,
	};
	const struct ip_addr src = {.b = {0x20, 1, 0xd, 0xb8, [15] = 1}};
	const struct ip_addr dst = {.b = {0x20, 1, 0xd, 0xb8, [15] = 2}};

	ipv6_src_set(&ip6, &src);
	ipv6_dst_set(&ip6, &dst);
	ipv4_checksum_set(&ip);
	if (v6)
		memcpy(to, &ip6, sizeof(ip6));
	else
		memcpy(to, &ip, sizeof(ip));
}

static struct rte_mbuf *inner_packet(uint16_t len, bool v6)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(mbufs);
	static uint64_t seed = 4303;

	assert_non_null(m);

	uint8_t *b = (uint8_t *)rte_pktmbuf_append(m, len);

	for (uint16_t i = 0; i < len; i++)
		b[i] = (uint8_t)random_u64(&seed);
	headers_write(b, len, v6);
	return m;
}

static void expect_inner(const struct rte_mbuf *m, const uint8_t *inner, uint16_t len)
{
	assert_int_equal(rte_pktmbuf_data_len(m), len);
	assert_memory_equal(rte_pktmbuf_mtod(m, void *), inner, len);
}

static void seal_here(struct sa_out *out, struct rte_mbuf *m, uint64_t seq)
{
	struct crypto_op op;

	assert_int_equal(esp_out_frame(&op, out, m, seq, 0), DROP_NONE);
	crypto_seal(&op, 1, 0);
	assert_true(op.ok);
}

static enum verdict open_here(struct sa_in *in, struct rte_mbuf *m, const struct mix *mix)
{
	uint16_t off = mix->v6 ? sizeof(struct rte_ipv6_hdr) : sizeof(struct rte_ipv4_hdr);
	const struct ip_layout outer = {.l4_off = off, .v4 = !mix->v6};
	struct crypto_op op;
	enum drop d = single_check(&op, in, m, off);

	if (d == DROP_REPLAY)
		return PACKET_REPLAYED;
	assert_int_equal(d, DROP_NONE);
	crypto_open(&op, 1, 0);
	if (!op.ok)
		return PACKET_FORGED;
	assert_true(replay_commit(&in->sa.per_packet.replay, op.seq));
	assert_int_equal(single_finish(&op, in, m, &outer), DROP_NONE);
	return PACKET_GOOD;
}

static void check_to_peer(struct sa_out *out, struct peer *p, uint16_t len, const struct mix *mix)
{
	struct rte_mbuf *m = inner_packet(len, mix->inner_v6);
	uint64_t seq = sa_out_seq_alloc(out, 1);
	uint8_t inner[INNER_MAX];

	memcpy(inner, rte_pktmbuf_mtod(m, void *), len);
	seal_here(out, m, seq);
	if (peer_process(p, m) != PACKET_GOOD)
		fail_msg("%s: number %lu of %u octets is not opened", mix->name, seq, len);
	if (mix->mode == SA_TRANSPORT && !mix->v6)
		ipv4_checksum_set(rte_pktmbuf_mtod(m, struct rte_ipv4_hdr *));
	expect_inner(m, inner, len);
	rte_pktmbuf_free(m);
}

static void check_from_peer(struct sa_in *in, struct peer *p, uint16_t len, const struct mix *mix)
{
	struct rte_mbuf *m = inner_packet(len, mix->inner_v6);
	uint64_t seq = replay_top(&in->sa.per_packet.replay) + 1;
	uint8_t inner[INNER_MAX];

	memcpy(inner, rte_pktmbuf_mtod(m, void *), len);
	assert_int_equal(peer_process(p, m), PACKET_GOOD);
	if (open_here(in, m, mix) != PACKET_GOOD)
		fail_msg("%s: number %lu of %u octets is not opened", mix->name, seq, len);
	expect_inner(m, inner, len);
	rte_pktmbuf_free(m);
}

// All small sizes, and some of the larger ones, or all if the test is to run longer.
static void check_sizes(struct sa_out *out, struct sa_in *in, struct peer *opens,
	struct peer *seals, const struct mix *mix)
{
	unsigned int least =
		mix->inner_v6 ? sizeof(struct rte_ipv6_hdr) : sizeof(struct rte_ipv4_hdr);
	unsigned int step = rounds(1) > 1 ? 1 : 37;

	for (unsigned int len = least; len <= INNER_MAX; len += len < 160 ? 1 : step) {
		check_to_peer(out, opens, (uint16_t)len, mix);
		check_from_peer(in, seals, (uint16_t)len, mix);
	}
}

static const char nexthop; // not verified

// Both directions of our end, with the same keys; they continue after number before.
struct ends {
	struct crypto_key key;
	struct sa_params params;
	struct sa_out *out;
	struct sa_in *in;
};

static void ends_init(struct ends *e, const struct crypto_key *key, const struct mix *mix,
	uint32_t window, uint64_t before)
{
	e->key = *key;
	e->params = (struct sa_params){.opt = {.spi = 0x1001,
					       .mode = mix->mode,
					       .cipher = key->cipher,
					       .auth = key->auth,
					       .esn = key->esn,
					       .replay_window = window,
					       .dscp = SA_DSCP_COPY,
					       .ecn = true,
					       .ttl = 64},
		.live = {.name = "a"},
		.cipher_key = key->cipher_key,
		.auth_key = key->auth_key,
		.engine = "auto",
		.nexthop = (const void *)&nexthop,
		.n_workers = 1};
	e->params.opt.local = addr_of(mix->v6 ? "2001:db8::1" : "192.0.2.1");
	e->params.opt.remote = addr_of(mix->v6 ? "2001:db8::2" : "192.0.2.2");
	e->out = sa_out_new(&e->params);
	e->in = sa_in_new(&e->params);
	assert_non_null(e->out);
	assert_non_null(e->in);
	e->out->seq = before;
	e->in->sa.per_packet.replay.ring->top = before;
}

static void ends_fini(struct ends *e)
{
	sa_free(&e->out->sa);
	sa_free(&e->in->sa);
}

static const uint8_t octets[CRYPTO_AUTH_KEY_MAX + 3] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

static void check_pair(
	const struct cipher_alg *c, const struct auth_alg *a, bool esn, const struct mix *mix)
{
	const struct crypto_key key = {c, a, octets, octets + 3, esn, 0};
	// With ESN, 200 packets before 2^32.
	uint64_t before = esn ? UINT32_MAX - 200 : 0;
	struct peer opens, seals;
	struct ends e;

	ends_init(&e, &key, mix, WINDOW, before);
	assert_true(peer_init(&opens, &key, e.out, mix, WINDOW, false, before));
	assert_true(peer_init(&seals, &key, e.out, mix, WINDOW, true, before + 1));
	check_sizes(e.out, e.in, &opens, &seals, mix);
	compared++;
	peer_fini(&opens);
	peer_fini(&seals);
	ends_fini(&e);
}

// Not GMAC with ESN: librte_ipsec 22.11 has the upper half of the number after the text, as for
// HMAC, where RFC 4543 3.3 has it after the SPI, as for GCM.
static void check_every_algorithm(const struct mix *mix)
{
	print_message("%s\n", mix->name);
	for (const struct cipher_alg *c = cipher_algs; c->name != NULL; c++)
		for (const struct auth_alg *a = auth_algs; a->name != NULL; a++) {
			if (!alg_pair_ok(c, a))
				continue;
			check_pair(c, a, false, mix);
			if (c->mode != CIPHER_GMAC)
				check_pair(c, a, true, mix);
		}
}

static void test_every_mix(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(mixes); i++)
		check_every_algorithm(&mixes[i]);
	assert_int_equal(compared, COUNT_OF(mixes) * (2 * (7 * 4 + 13) - 3));
}

#define EDGE (UINT64_C(1) << 32)
#define FAR  (EDGE + EDGE / 2)

// The order of numbers: near, then that many windows and packets further; and their handling by RFC
// 4303 A2. A number below the window is assumed to be of the next subspace, and its ICV is wrong.
struct arrival {
	uint64_t near;
	int windows, packets;
	enum verdict right;
};

static const struct arrival arrivals[] = {
	// In the subspace before.
	{EDGE, -1, -5, PACKET_GOOD},
	{EDGE, -2, -4, PACKET_GOOD},
	{EDGE, -2, -5, PACKET_FORGED},
	{EDGE, -2, -4, PACKET_REPLAYED},
	{EDGE, -1, -5, PACKET_REPLAYED},
	// A jump over more than the window.
	{EDGE, 0, -3, PACKET_GOOD},
	{EDGE, -1, -5, PACKET_FORGED},
	{EDGE, -1, -3, PACKET_FORGED},
	{EDGE, -1, -2, PACKET_GOOD},
	// Across: the window lies in both subspaces.
	{EDGE, 0, 5, PACKET_GOOD},
	{EDGE, 0, 0, PACKET_GOOD},
	{EDGE, 0, -1, PACKET_GOOD},
	{EDGE, 0, -40, PACKET_GOOD},
	{EDGE, 0, -3, PACKET_REPLAYED},
	{EDGE, 0, -40, PACKET_REPLAYED},
	{EDGE, -1, 6, PACKET_GOOD},
	{EDGE, -1, 5, PACKET_FORGED},
	{EDGE, -1, -2, PACKET_FORGED},
	{EDGE, 0, -1, PACKET_REPLAYED},
	{EDGE, 0, 0, PACKET_REPLAYED},
	{EDGE, 0, 5, PACKET_REPLAYED},
	// Two numbers of the subspace before remain in the window.
	{EDGE, 1, -3, PACKET_GOOD},
	{EDGE, 0, -2, PACKET_GOOD},
	{EDGE, 0, -1, PACKET_REPLAYED},
	{EDGE, 0, -3, PACKET_FORGED},
	// None remains, not even one that has never been received.
	{EDGE, 1, -1, PACKET_GOOD},
	{EDGE, 0, -1, PACKET_FORGED},
	{EDGE, 0, -4, PACKET_FORGED},
	{EDGE, 0, 0, PACKET_REPLAYED},
	{EDGE, 0, 1, PACKET_GOOD},
	// Jumps, up to the largest possible; a larger one has the lower half of a number in the
	// window.
	{EDGE, 3, 0, PACKET_GOOD},
	{EDGE, 2, 0, PACKET_FORGED},
	{EDGE, 2, 1, PACKET_GOOD},
	{FAR, 0, 0, PACKET_GOOD},
	{FAR + EDGE, 0, 0, PACKET_REPLAYED},
	{FAR + EDGE, -1, 1, PACKET_FORGED},
	{FAR + EDGE, -1, 0, PACKET_GOOD},
	// Across, to a subspace that is not the second.
	{3 * EDGE, 0, -1, PACKET_GOOD},
	{3 * EDGE, 0, 1, PACKET_GOOD},
	{3 * EDGE, 0, -2, PACKET_GOOD},
	{3 * EDGE, 0, -1, PACKET_REPLAYED},
	{3 * EDGE, -1, 1, PACKET_FORGED},
	{3 * EDGE, -1, 2, PACKET_GOOD},
	{3 * EDGE, 0, 0, PACKET_GOOD},
};

static void expect_verdict(enum verdict v, const struct arrival *a, uint64_t seq, const char *whose)
{
	static const char *const names[] = {"good", "replayed", "forged"};

	if (v != a->right)
		fail_msg("arrival %zu, number %#lx: %s is %s, not %s", (size_t)(a - arrivals), seq,
			whose, names[v], names[a->right]);
}

// One packet to the peer, and one from the peer. In one respect librte_ipsec 22.11 is
// wrong: it marks numbers in a variable of 32 bits by their lower six, so that those with the
// highest of the six set stay unmarked, and it opens them repeatedly.
static void check_arrival(
	struct ends *e, struct peer *opens, const struct arrival *a, const struct mix *mix)
{
	uint64_t seq =
		a->near + (uint64_t)(a->windows * (int)e->params.opt.replay_window + a->packets);
	struct rte_mbuf *m = inner_packet(100, mix->inner_v6);
	struct rte_mbuf *back = inner_packet(100, mix->inner_v6);
	enum verdict verdict;
	struct peer seals;

	seal_here(e->out, m, seq);
	verdict = peer_process(opens, m);
	if (a->right != PACKET_REPLAYED || (seq & 32) == 0)
		expect_verdict(verdict, a, seq, "our packet");
	rte_pktmbuf_free(m);
	assert_true(peer_init(&seals, &e->key, e->out, mix, 0, true, seq));
	assert_int_equal(peer_process(&seals, back), PACKET_GOOD);
	expect_verdict(open_here(e->in, back, mix), a, seq, "their packet");
	rte_pktmbuf_free(back);
	peer_fini(&seals);
}

static void check_order(const char *cipher, const char *auth, uint32_t window)
{
	const struct crypto_key key = {
		cipher_alg_find(cipher), auth_alg_find(auth), octets, octets + 3, true, 0};
	uint64_t before = EDGE - 3 * window;
	struct peer opens;
	struct ends e;

	ends_init(&e, &key, &mixes[0], window, before);
	assert_true(peer_init(&opens, &key, e.out, &mixes[0], window, false, before));
	for (size_t i = 0; i < COUNT_OF(arrivals); i++)
		check_arrival(&e, &opens, &arrivals[i], &mixes[0]);
	peer_fini(&opens);
	ends_fini(&e);
}

// Sizes that librte_ipsec uses as they are: it rounds smaller ones up to 64, and of others, such as
// 128, its ring is a word too short for a window that begins and ends in the middle of one.
static void test_out_of_order(void **state)
{
	static const uint32_t windows[] = {64, 960};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(windows); i++) {
		check_order("aes-128-cbc", "hmac-sha2-256-128", windows[i]);
		check_order("aes-128-gcm", "none", windows[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_mix),
		cmocka_unit_test(test_out_of_order),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
