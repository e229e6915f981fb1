// SPDX-License-Identifier: BSD-3-Clause
// Sequence numbers: the replay window, within a burst and across bursts, and the numbers that the
// gateway allocates (RFC 4303 3.3.3, 3.4.3).
#include "peer.h"
#include "site.h"

static const struct ipv4 inward = {.src = "10.2.0.5", .dst = "10.1.0.5"};
static const struct ipv4 outward = {.src = "10.1.0.5", .dst = "10.2.0.5"};

// A burst with these numbers: that many are accepted, the others are replays.
static void check_burst(struct gateway *g, const struct peer *b, const uint64_t seq[],
	unsigned int n, unsigned int accepted)
{
	static struct frame f[RX_BURST_MAX];

	for (unsigned int i = 0; i < n; i++)
		f[i] = peer_seal_ip(b, seq[i], inward);
	gateway_pass(g, f, n);
	expect_drops(g, DROP_REPLAY, n - accepted);
	expect_all_sent(g, accepted, LAN);
}

static void test_within_burst(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct peer b = peer_new(g, "from-b");

	(void)state;
	check_burst(g, &b, (uint64_t[]){1, 1}, 2, 1);
	check_burst(g, &b, (uint64_t[]){2, 3, 2, 3, 2}, 5, 2);
	check_burst(g, &b, (uint64_t[]){10, 9, 8, 7, 6, 5, 4}, 7, 7); // out of order
	check_burst(g, &b, (uint64_t[]){0}, 1, 0);
	// A number that an earlier packet of the burst moves below the window.
	check_burst(g, &b, (uint64_t[]){200, 136, 137}, 3, 2);
	// Those after 10, and 137 after 200; no number that was not accepted.
	assert_int_equal(gateway_sa_counted(g, "from-b")->reordered, 7);
	check_burst(g, &b, (uint64_t[]){199}, 1, 1); // in another burst
	assert_int_equal(gateway_sa_counted(g, "from-b")->reordered, 8);
	peer_free(&b);
	gateway_free(g);
}

static void test_whole_burst_again(void **state)
{
	static struct frame f[RX_BURST_MAX];
	struct gateway *g = site_a((struct site){0});
	struct peer b = peer_new(g, "from-b");

	(void)state;
	for (uint32_t i = 0; i < RX_BURST_MAX; i++)
		f[i] = peer_seal_ip(&b, i + 1, inward);
	gateway_pass(g, f, RX_BURST_MAX);
	expect_drops(g, DROP_NONE, 0);
	expect_all_sent(g, RX_BURST_MAX, LAN);
	for (unsigned int i = 0; i < 3; i++) {
		gateway_pass(g, f, RX_BURST_MAX);
		expect_drops(g, DROP_REPLAY, RX_BURST_MAX);
		assert_int_equal(g->n_sent, 0);
	}
	assert_int_equal(
		sa_dropped(gateway_sa_counted(g, "from-b"), DROP_REPLAY), 3 * RX_BURST_MAX);
	peer_free(&b);
	gateway_free(g);
}

// Replays are detected before decryption: only one packet in a second is decrypted, as a sample
// that shows whether it is forged.
static void test_before_crypto(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct peer b = peer_new(g, "from-b");
	struct frame f = peer_seal_ip(&b, 1, inward);

	(void)state;
	gateway_expect_sent(g, &f, LAN);
	f.b[f.len - 1] ^= 1;
	gateway_expect_drop(g, &f, DROP_REPLAY_FORGED);
	for (unsigned int i = 0; i < 10; i++)
		gateway_expect_drop(g, &f, DROP_REPLAY);
	g->now += TSC_HZ;
	gateway_expect_drop(g, &f, DROP_REPLAY_FORGED);
	gateway_expect_drop(g, &f, DROP_REPLAY);
	peer_free(&b);
	gateway_free(g);
}

// An authenticated packet of the sample is a replay all the same, and does not move the window.
static void test_sample_is_genuine(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct peer b = peer_new(g, "from-b");
	struct frame old = peer_seal_ip(&b, 3, inward);

	(void)state;
	check_burst(g, &b, (uint64_t[]){1, 200}, 2, 2);
	for (unsigned int i = 0; i < 3; i++, g->now += TSC_HZ)
		gateway_expect_drop(g, &old, DROP_REPLAY);
	check_burst(g, &b, (uint64_t[]){200, 201, 137, 138}, 4, 2);
	peer_free(&b);
	gateway_free(g);
}

// However many forged packets one burst has, and whatever their SAs, one is decrypted.
static void test_sample_of_burst(void **state)
{
	static struct frame f[2 * RX_BURST_MAX / 4];
	struct gateway *g = site_a((struct site){0});
	struct peer b = peer_new(g, "from-b"), c = peer_new(g, "from-c");
	const unsigned int half = COUNT_OF(f) / 2;

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(f); i++) {
		f[i] = i < half ? peer_seal_ip(&b, 0, inward)
				: peer_seal_ip(&c, 0,
					  (struct ipv4){.src = "10.3.0.5", .dst = "10.1.0.5"});
		f[i].b[f[i].len - 1] ^= 1;
	}
	gateway_pass(g, f, COUNT_OF(f));
	assert_int_equal(g->last.drops[DROP_REPLAY_FORGED], 1);
	assert_int_equal(g->last.drops[DROP_REPLAY], COUNT_OF(f) - 1);
	g->now += TSC_HZ / 1000; // the other SA has its turn
	gateway_pass(g, f, COUNT_OF(f));
	assert_int_equal(g->last.drops[DROP_REPLAY_FORGED], 1);
	assert_int_equal(g->last.drops[DROP_REPLAY], COUNT_OF(f) - 1);
	g->now += TSC_HZ / 1000;
	gateway_pass(g, f, COUNT_OF(f));
	assert_int_equal(g->last.drops[DROP_REPLAY_FORGED], 0);
	peer_free(&c);
	peer_free(&b);
	gateway_free(g);
}

// Another member of a fleet may accept higher ones.
static void test_no_number_above_the_end(void **state)
{
	struct gateway *g = site_a((struct site){.sa = "esn = true;"});
	struct peer b = peer_new(g, "from-b");
	struct frame f = peer_seal_ip(&b, 8, inward), forged = peer_seal_ip(&b, 9, inward);

	(void)state;
	replay_end_set(&gateway_sa_in(g, "from-b")->sa.per_packet.replay, 7);
	check_burst(g, &b, (uint64_t[]){6, 7, 7}, 3, 2);
	assert_int_equal(sa_in_above_end(&gateway_sa_in(g, "from-b")->sa), 0);
	gateway_expect_drop(g, &f, DROP_SEQUENCE_UNSAVED);
	assert_int_equal(sa_in_above_end(&gateway_sa_in(g, "from-b")->sa), 8);
	g->now += TSC_HZ / 1000;
	forged.b[forged.len - 1] ^= 1;
	gateway_expect_drop(g, &forged, DROP_REPLAY_FORGED);
	assert_int_equal(sa_in_above_end(&gateway_sa_in(g, "from-b")->sa), 8);
	replay_end_set(&gateway_sa_in(g, "from-b")->sa.per_packet.replay, 8);
	gateway_expect_sent(g, &f, LAN);
	gateway_expect_drop(g, &f, DROP_REPLAY);
	peer_free(&b);
	gateway_free(g);
}

// A forged packet cannot advance the window.
static void test_forged_packet_keeps_window(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct peer b = peer_new(g, "from-b");
	struct frame f = peer_seal_ip(&b, 1, inward);

	(void)state;
	put32(f.b + ETH_LEN + IP_LEN + 4, UINT32_MAX);
	gateway_expect_drop(g, &f, DROP_AUTH);
	check_burst(g, &b, (uint64_t[]){1, 2, 3}, 3, 3);
	peer_free(&b);
	gateway_free(g);
}

static void test_last_numbers(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct peer b = peer_new(g, "from-b");

	(void)state;
	check_burst(g, &b, (uint64_t[]){1, UINT32_MAX - 1, UINT32_MAX, 1, UINT32_MAX}, 5, 3);
	check_burst(g, &b, (uint64_t[]){UINT32_MAX - 63, UINT32_MAX - 64}, 2, 1);
	peer_free(&b);
	gateway_free(g);
}

// The numbers that the gateway allocates: 1, 2, 3, ... for each SA, in the order of the burst.
static void test_numbers_in_order_of_burst(void **state)
{
	static struct frame f[RX_BURST_MAX];
	struct gateway *g = site_a((struct site){0});
	uint32_t b = 0, c = 0;

	(void)state;
	for (unsigned int round = 0; round < 3; round++) {
		for (unsigned int i = 0; i < RX_BURST_MAX; i++) {
			struct ipv4 ip = outward;

			if (i % 5 < 2)
				ip.dst = "10.3.0.5";
			f[i] = frame_ip(LAN, ip);
		}
		gateway_pass(g, f, RX_BURST_MAX);
		expect_all_sent(g, RX_BURST_MAX, WAN);
		for (unsigned int i = 0; i < RX_BURST_MAX; i++)
			assert_int_equal(esp_seq(&g->sent[i]), i % 5 < 2 ? ++c : ++b);
	}
	gateway_free(g);
}

// After the last number nothing is sent; no number is used twice.
static void test_nothing_after_last_number(void **state)
{
	static struct frame f[8];
	struct gateway *g = site_a((struct site){0});
	struct sa_out *sa = gateway_sa_out(g, "to-b");

	(void)state;
	sa->seq = UINT32_MAX - 3;
	for (unsigned int i = 0; i < COUNT_OF(f); i++)
		f[i] = frame_ip(LAN, outward);
	gateway_pass(g, f, COUNT_OF(f));
	expect_drops(g, DROP_SEQUENCE_END, 5);
	expect_all_sent(g, 3, WAN);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(esp_seq(&g->sent[i]), UINT32_MAX - 2 + i);
	for (unsigned int i = 0; i < 100; i++) {
		gateway_pass(g, f, COUNT_OF(f));
		expect_drops(g, DROP_SEQUENCE_END, COUNT_OF(f));
		assert_int_equal(g->n_sent, 0);
	}
	assert_int_equal(
		sa_dropped(&sa->sa.per_worker[0], DROP_SEQUENCE_END), 5 + 100 * COUNT_OF(f));
	gateway_free(g);
}

static const struct {
	const char *cipher, *auth;
} esn_algs[] = {{"aes-128-gcm", "none"}, {"aes-128-cbc", "hmac-sha1-96"},
	{"null", "hmac-sha2-512-256"}, {"aes-256-gmac", "none"}, {"chacha20-poly1305", "none"}};

static struct site esn_site(size_t i)
{
	return (struct site){
		.cipher = esn_algs[i].cipher, .auth = esn_algs[i].auth, .sa = " esn = true;"};
}

static void check_esn_in(size_t alg)
{
	const uint64_t t = UINT64_C(1) << 32;
	struct gateway *g = site_a(esn_site(alg));
	struct peer b = peer_new(g, "from-b");

	// There is no number before the first: those are not numbers of the first subspace.
	check_burst(g, &b, (uint64_t[]){1, 2, t - 2000000000, t - 10}, 4, 3);
	check_burst(g, &b, (uint64_t[]){t - 10}, 1, 1);
	// From one subspace to the next in one burst, out of order and some twice.
	check_burst(g, &b, (uint64_t[]){t + 3, t - 1, t, t + 1, t - 2, t + 3, t - 1, t - 10}, 8, 5);
	check_burst(g, &b, (uint64_t[]){t - 60}, 1, 1);
	// The window advances to t + 32 and begins with t - 31.
	check_burst(g, &b, (uint64_t[]){t + 32, t - 31, t - 31}, 3, 2);
	// A number below it is assumed to be of the next subspace.
	gateway_expect_drop(g, &(struct frame[]){peer_seal_ip(&b, t - 32, inward)}[0], DROP_AUTH);
	gateway_expect_drop(
		g, &(struct frame[]){peer_seal_ip(&b, 3 * t + 100, inward)}[0], DROP_AUTH);
	check_burst(g, &b, (uint64_t[]){2 * t - 40, 2 * t - 40}, 2, 1);
	check_burst(g, &b, (uint64_t[]){2 * t + 5, 2 * t - 40}, 2, 1);
	check_burst(g, &b, (uint64_t[]){3 * t - 60, 3 * t - 60}, 2, 1);
	peer_free(&b);
	gateway_free(g);
}

static void test_esn_in(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(esn_algs); i++)
		check_esn_in(i);
}

static void check_esn_out(size_t alg)
{
	static struct frame f[8];
	struct gateway *g = site_a(esn_site(alg));
	struct peer b = peer_new(g, "to-b");
	uint8_t inner[FRAME_MAX];

	gateway_sa_out(g, "to-b")->seq = UINT32_MAX - 4;
	for (unsigned int i = 0; i < COUNT_OF(f); i++)
		f[i] = frame_ip(LAN, outward);
	gateway_pass(g, f, COUNT_OF(f));
	expect_all_sent(g, COUNT_OF(f), WAN);
	for (uint32_t i = 0; i < COUNT_OF(f); i++) {
		assert_int_equal(esp_seq(&g->sent[i]), UINT32_MAX - 3 + i);
		b.upper = i < 4 ? 0 : 1;
		assert_int_equal(peer_open(&b, &g->sent[i], inner), frame_packet_len(&f[i]));
	}
	peer_free(&b);
	gateway_free(g);
}

static void test_esn_out(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(esn_algs); i++)
		check_esn_out(i);
}

// After the last number with ESN nothing is sent, and the counter does not increase.
static void test_esn_end(void **state)
{
	static struct frame f[8];
	struct gateway *g = site_a(esn_site(0));
	struct sa_out *sa = gateway_sa_out(g, "to-b");

	(void)state;
	sa->seq = sa->seq_max - 3;
	for (unsigned int i = 0; i < COUNT_OF(f); i++)
		f[i] = frame_ip(LAN, outward);
	gateway_pass(g, f, COUNT_OF(f));
	expect_drops(g, DROP_SEQUENCE_END, 5);
	expect_all_sent(g, 3, WAN);
	for (unsigned int i = 0; i < 20000; i++) {
		gateway_pass(g, f, COUNT_OF(f));
		assert_int_equal(g->n_sent, 0);
	}
	assert_true(sa->seq == sa->seq_max);
	gateway_free(g);
}

// That many packets and no more, outbound.
static void test_lifetime_packets(void **state)
{
	static struct frame f[8];
	struct gateway *g = site_a((struct site){.sa = " lifetime = { hard_packets = 11; };"});

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(f); i++)
		f[i] = frame_ip(LAN, outward);
	gateway_pass(g, f, COUNT_OF(f));
	expect_all_sent(g, 8, WAN);
	gateway_pass(g, f, COUNT_OF(f));
	expect_drops(g, DROP_LIFETIME, 5);
	expect_all_sent(g, 3, WAN);
	gateway_pass(g, f, COUNT_OF(f));
	expect_drops(g, DROP_LIFETIME, 8);
	gateway_free(g);
}

// An SA that the control thread has stopped, in either direction.
static void test_lifetime_over(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct peer b = peer_new(g, "from-b");
	struct frame in = peer_seal_ip(&b, 1, inward), out = frame_ip(LAN, outward);

	(void)state;
	gateway_expect_sent(g, &in, LAN);
	gateway_expect_sent(g, &out, WAN);
	sa_stop(&gateway_sa_in(g, "from-b")->sa, LIFETIME_BYTES);
	in = peer_seal_ip(&b, 2, inward);
	gateway_expect_drop(g, &in, DROP_LIFETIME);
	gateway_expect_sent(g, &out, WAN);
	sa_stop(&gateway_sa_out(g, "to-b")->sa, LIFETIME_PACKETS);
	gateway_expect_drop(g, &out, DROP_SEQUENCE_END);
	assert_int_equal(sa_dropped(gateway_sa_counted(g, "from-b"), DROP_LIFETIME), 1);
	peer_free(&b);
	gateway_free(g);
}

// When the last number has been received, each one inside the window is accepted once, however
// late.
static void test_late_at_end(void **state)
{
	enum { WINDOW = 64, OLDEST = WINDOW + 36 };
	struct gateway *g = site_a((struct site){.window = WINDOW});
	struct peer b = peer_new(g, "from-b");
	bool seen[OLDEST] = {false};

	(void)state;
	check_burst(g, &b, (uint64_t[]){UINT32_MAX}, 1, 1);
	sa_stop(&gateway_sa_in(g, "from-b")->sa, LIFETIME_PACKETS);
	seen[0] = true;
	for (unsigned int i = 0; i < 4 * OLDEST; i++) {
		unsigned int late = i * 37 % OLDEST;
		bool accepted = late < WINDOW && !seen[late];

		check_burst(g, &b, (uint64_t[]){UINT32_MAX - late}, 1, accepted);
		seen[late] = true;
	}
	peer_free(&b);
	gateway_free(g);
}

#define STARTS 2
#define IVS    32

// Seals IVS packets, with numbers from 1 on, and keeps their IVs.
static void keep_ivs(const struct site site, uint8_t ivs[IVS][16], size_t iv_len)
{
	struct gateway *g = site_a(site);
	struct frame f = frame_ip(LAN, outward);

	for (unsigned int i = 0; i < IVS; i++) {
		const struct frame *sent = gateway_expect_sent(g, &f, WAN);

		assert_int_equal(esp_seq(sent), i + 1);
		memcpy(ivs[i], frame_packet(sent) + IP_LEN + 8, iv_len);
	}
	gateway_free(g);
}

// No IV repeats under a key, nor when a gateway is started with it again and has lost the numbers.
static void check_ivs(const char *cipher, const char *auth, size_t iv_len)
{
	uint8_t seen[STARTS * IVS][16];

	for (unsigned int i = 0; i < STARTS; i++)
		keep_ivs((struct site){.cipher = cipher, .auth = auth}, &seen[i * IVS], iv_len);
	for (unsigned int i = 0; i < COUNT_OF(seen); i++)
		for (unsigned int k = 0; k < i; k++)
			assert_memory_not_equal(seen[i], seen[k], iv_len);
}

static void test_ivs_never_repeat(void **state)
{
	(void)state;
	check_ivs("aes-128-cbc", "hmac-sha1-96", 16);
	check_ivs("aes-256-gcm", "none", 8);
	check_ivs("aes-128-gmac", "none", 8);
	check_ivs("aes-192-ctr", "hmac-sha2-384-192", 8);
	check_ivs("chacha20-poly1305", "none", 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_within_burst),
		pipeline_test(test_whole_burst_again),
		pipeline_test(test_before_crypto),
		pipeline_test(test_sample_is_genuine),
		pipeline_test(test_sample_of_burst),
		pipeline_test(test_no_number_above_the_end),
		pipeline_test(test_forged_packet_keeps_window),
		pipeline_test(test_last_numbers),
		pipeline_test(test_numbers_in_order_of_burst),
		pipeline_test(test_nothing_after_last_number),
		pipeline_test(test_esn_in),
		pipeline_test(test_esn_out),
		pipeline_test(test_esn_end),
		pipeline_test(test_lifetime_packets),
		pipeline_test(test_lifetime_over),
		pipeline_test(test_late_at_end),
		pipeline_test(test_ivs_never_repeat),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
