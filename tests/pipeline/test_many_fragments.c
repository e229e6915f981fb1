// SPDX-License-Identifier: BSD-3-Clause
// Proves that packets which become more fragments than a burst or a port's buffer has room for are
// all delivered, however they are fragmented.
#include <netinet/in.h>

#include "datagram.h"
#include "site_v6.h"

#define LAN_MTU       9000
#define WAN_MTU       1280
#define DATAGRAMS_MAX RX_BURST_MAX
#define WIRE_MAX      SENT_MAX

// Datagrams as hosts send them, in fragments of step octets of payload.
struct batch {
	unsigned int n;
	uint32_t len, step;
	bool v6;
	uint16_t frag; // flags of IPv4
};

static struct datagram got[DATAGRAMS_MAX];
static struct frame wire[WIRE_MAX];

// A datagram that differs from the others.
static void fill(const struct batch *b, uint16_t id)
{
	datagram_fill(b->len, 9);
	for (uint32_t i = 8; i < b->len; i++)
		whole.b[i] = (uint8_t)(whole.b[i] + id);
}

static struct frame fragment_v6(uint16_t id, uint32_t off, uint32_t len)
{
	uint8_t packet[FRAME_MAX] = {0};
	bool more = off + len < whole.len;

	len = RTE_MIN(len, whole.len - off);
	put32(packet, 6u << 28);
	put16(packet + 4, 8 + len);
	packet[6] = IPPROTO_FRAGMENT;
	packet[7] = 64;
	memcpy(packet + 8, ip6_octets("2001:db8:1::5"), 16);
	memcpy(packet + 24, ip6_octets("2001:db8:2::5"), 16);
	packet[IP6_LEN] = IPPROTO_UDP;
	put16(packet + IP6_LEN + 2, off | more);
	put32(packet + IP6_LEN + 4, id);
	memcpy(packet + IP6_LEN + 8, whole.b + off, len);
	return frame_raw6(LAN, packet, (uint16_t)(IP6_LEN + 8 + len));
}

static struct frame part_of(const struct batch *b, const char *dst, uint16_t id, uint32_t off)
{
	struct ipv4 ip = {.src = "10.1.0.5", .dst = dst, .id = id, .frag = b->frag};

	return b->v6 ? fragment_v6(id, off, b->step) : piece(LAN, ip, off, b->step);
}

// All datagrams are complete after one pass, unless they were before.
static void pass_batch(struct gateway *g, const struct batch *b, const char *dst)
{
	static struct frame last[DATAGRAMS_MAX];

	memset(got, 0, sizeof(got));
	for (uint16_t id = 0; id < b->n; id++) {
		uint32_t off = 0;

		fill(b, id);
		for (; off + b->step < b->len; off += b->step) {
			struct frame f = part_of(b, dst, id, off);

			gateway_pass(g, &f, 1);
			expect_drops(g, DROP_NONE, 0);
			assert_int_equal(g->n_sent, 0);
		}
		last[id] = part_of(b, dst, id, off);
	}
	gateway_pass(g, last, b->n);
	expect_drops(g, DROP_NONE, 0);
}

static void collect_sent(const struct gateway *g)
{
	for (unsigned int i = 0; i < g->n_sent; i++) {
		const uint8_t *p = frame_packet(&g->sent[i]);
		uint32_t id = p[0] >> 4 == 4 ? be16(p + 4) : be32(p + IP6_LEN + 4);

		assert_in_range(id, 0, DATAGRAMS_MAX - 1);
		arrived = got[id];
		collect(p, frame_packet_len(&g->sent[i]));
		got[id] = arrived;
	}
}

static void expect_all_complete(const struct batch *b)
{
	for (uint16_t id = 0; id < b->n; id++) {
		fill(b, id);
		arrived = got[id];
		expect_complete();
	}
}

// Through the tunnel, as at least that many frames.
static void check(enum outer outer, const char *sa_out, struct batch batch, unsigned int frames)
{
	const struct site s = {.mtu = WAN_MTU, .lan_mtu = LAN_MTU, .sa_out = sa_out};
	struct gateway *a = site_v6_a(outer, s), *b = site_v6_b(outer, s);
	unsigned int n;

	pass_batch(a, &batch, "10.2.0.5");
	n = a->n_sent;
	assert_in_range(n, frames, WIRE_MAX);
	for (unsigned int i = 0; i < n; i++)
		wire[i] = frame_carry(&a->sent[i]);
	for (unsigned int i = 0; i < n; i += RX_BURST_MAX) {
		gateway_pass(b, wire + i, RTE_MIN(n - i, (unsigned int)RX_BURST_MAX));
		expect_drops(b, DROP_NONE, 0);
		collect_sent(b);
	}
	expect_all_complete(&batch);
	gateway_free(a);
	gateway_free(b);
}

static void test_before(void **state)
{
	const struct batch jumbo = {.n = 64, .len = 8980, .step = 8980},
			   giant = {.n = 12, .len = 65400, .step = 8952};

	(void)state;
	check(OVER_V4, NULL, jumbo, 64 * 8);
	check(OVER_V6, NULL, jumbo, 64 * 8);
	check(OVER_V4, NULL, giant, 12 * 54);
	check(OVER_V6, NULL, giant, 12 * 54);
}

static void test_after(void **state)
{
	const struct batch jumbo = {.n = 64, .len = 8980, .step = 8980},
			   giant = {.n = 12, .len = 60000, .step = 8952};

	(void)state;
	check(OVER_V4, "fragment = \"after\";", jumbo, 64 * 8);
	check(OVER_V6, "fragment = \"after\";", jumbo, 64 * 8);
	check(OVER_V4, "fragment = \"after\";", giant, 12 * 48);
	check(OVER_V6, "fragment = \"after\";", giant, 12 * 48);
}

// In clear, fragmented as they were received, and each fragmented again before encapsulation.
static void test_fragmented_before_and_after(void **state)
{
	const struct batch six = {.n = 14, .len = 65400, .step = 1232, .v6 = true},
			   four = {.n = 14, .len = 60000, .step = 1240, .frag = DF};

	(void)state;
	check(OVER_V6, NULL, six, 14 * 107);
	check(OVER_V4, NULL, six, 14 * 107);
	check(OVER_V4, "df = \"clear\";", four, 14 * 97);
}

// Fragments of 8 octets each: the gateway need not send that many.
static void test_tiny_fragments_become_fewer(void **state)
{
	const struct batch four = {.n = 1, .len = 8000, .step = 8, .frag = DF},
			   six = {.n = 1, .len = 8000, .step = 8, .v6 = true};

	(void)state;
	check(OVER_V4, NULL, four, 8000 / 48);
	check(OVER_V6, NULL, six, 8000 / 16);
}

static void test_clear(void **state)
{
	const struct batch jumbo = {.n = 64, .len = 8980, .step = 8980},
			   giant = {.n = 12, .len = 65400, .step = 8952};
	struct gateway *g = site_a((struct site){.lan_mtu = LAN_MTU});

	(void)state;
	pass_batch(g, &jumbo, "10.7.0.5");
	expect_all_sent(g, 64 * 16, DMZ);
	collect_sent(g);
	expect_all_complete(&jumbo);
	pass_batch(g, &giant, "10.7.0.5");
	expect_all_sent(g, 12 * 114, DMZ);
	collect_sent(g);
	expect_all_complete(&giant);
	gateway_free(g);
}

static int start(void **state)
{
	harness_reassembly_max = 1024;
	return harness_start_jumbo(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_before),
		pipeline_test(test_after),
		pipeline_test(test_fragmented_before_and_after),
		pipeline_test(test_tiny_fragments_become_fewer),
		pipeline_test(test_clear),
	};

	return cmocka_run_group_tests(tests, start, harness_stop);
}
