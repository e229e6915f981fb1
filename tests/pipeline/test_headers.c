// SPDX-License-Identifier: BSD-3-Clause
// Fields that are copied between outer and inner header, for all four mixes of families and all
// options of an SA: DSCP (RFC 2983), ECN (RFC 6040), time to live and flow label (RFC 4301 5.1.2).
#include "site_v6.h"

#define ECN  3
#define DSCP (uint8_t) ~ECN

// A pair of gateways whose tunnel has options at the ends A, which sends, and B.
struct ends {
	struct gateway *a, *b;
};

static struct ends ends_new(enum outer outer, const char *sa_out, const char *sa_in)
{
	return (struct ends){
		site_v6_a(outer, (struct site){.sa_out = sa_out}),
		site_v6_b(outer, (struct site){.sa_in = sa_in}),
	};
}

static void ends_free(struct ends *e)
{
	gateway_free(e->a);
	gateway_free(e->b);
}

static struct frame inner_frame(bool six, uint8_t tos)
{
	if (six)
		return frame_ip6(LAN, (struct ipv6)FROM_TO("2001:db8:1::5", "2001:db8:2::5",
					      .tos = tos, .flow_label = 0xabcde));
	return frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5", .tos = tos));
}

static bool is_v6(const struct frame *f)
{
	return be16(f->b + 12) == 0x86dd;
}

static uint8_t tos_of(const struct frame *f)
{
	const uint8_t *p = frame_packet(f);

	return is_v6(f) ? (uint8_t)(be16(p) >> 4) : p[1];
}

static void tos_write(struct frame *f, uint8_t tos)
{
	uint8_t *p = f->b + ETH_LEN;

	if (is_v6(f)) {
		put16(p, (be16(p) & 0xf00fu) | (unsigned int)tos << 4);
	} else {
		p[1] = tos;
		ip_checksum_update(p);
	}
}

// RFC 6040 4.1, figure 3: the outer mark by the inner (not-ECT, ECT(1), ECT(0), CE).
static const uint8_t normal[4] = {0, 1, 2, 3}, compatibility[4] = {0, 0, 0, 0};

// The TOS of the outer header, for every TOS of the inner one: DSCP copied, or fixed.
static const struct outbound {
	const char *sa;
	uint8_t dscp_copied, dscp;
	const uint8_t *ecn;
} outbound[] = {
	{"", DSCP, 0, normal},
	{"dscp = \"copy\"; ecn = true;", DSCP, 0, normal},
	{"ecn = false;", DSCP, 0, compatibility},
	{"dscp = 0;", 0, 0, normal},
	{"dscp = 63;", 0, 63 << 2, normal},
	{"dscp = \"ef\"; ecn = false;", 0, 46 << 2, compatibility},
};

static void check_outbound(enum outer outer, const struct outbound *row)
{
	struct ends e = ends_new(outer, row->sa, NULL);

	for (unsigned int i = 0; i < 512; i++) {
		uint8_t tos = (uint8_t)i;
		struct frame in = inner_frame(i >= 256, tos);
		struct frame wire = frame_carry(gateway_expect_sent(e.a, &in, WAN));
		uint8_t right =
			(uint8_t)((tos & row->dscp_copied) | row->dscp | row->ecn[tos & ECN]);

		if (tos_of(&wire) != right || is_v6(&wire) != (outer == OVER_V6))
			fail_msg("%s: inner 0x%02x, outer 0x%02x", row->sa, tos, tos_of(&wire));
		// The inner header is unchanged, and the outer one's checksum right.
		expect_arrived(gateway_expect_sent(e.b, &wire, LAN), &in);
	}
	ends_free(&e);
}

static void test_outbound(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(outbound); i++) {
		check_outbound(OVER_V4, &outbound[i]);
		check_outbound(OVER_V6, &outbound[i]);
	}
}

// RFC 6040 4.2, figure 4: rows are the inner mark, columns the outer.
#define DROPPED 0xff
static const uint8_t combined[4][4] = {
	{0, 0, 0, DROPPED},
	{1, 1, 1, 3},
	{2, 1, 2, 3},
	{3, 3, 3, 3},
};
static const uint8_t inner_only[4][4] = {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}};

static const struct inbound {
	const char *sa;
	bool outer_dscp;
	const uint8_t (*ecn)[4];
} inbound[] = {
	{"", false, combined},
	{"dscp = \"keep\"; ecn = true;", false, combined},
	{"ecn = false;", false, inner_only},
	{"dscp = \"copy\";", true, combined},
	{"dscp = \"copy\"; ecn = false;", true, inner_only},
};

// One cell. DSCP of both headers differ, in every bit.
static void check_cell(
	const struct ends *e, const struct inbound *row, bool six, uint8_t inner, uint8_t outer)
{
	uint8_t inner_dscp = 0xa8, outer_dscp = 0x54, ecn = row->ecn[inner][outer];
	struct frame in = inner_frame(six, inner_dscp | inner);
	struct frame wire = frame_carry(gateway_expect_sent(e->a, &in, WAN));

	tos_write(&wire, outer_dscp | outer);
	if (ecn == DROPPED) {
		gateway_expect_drop(e->b, &wire, DROP_ECN);
		return;
	}
	tos_write(&in, (row->outer_dscp ? outer_dscp : inner_dscp) | ecn);
	expect_arrived(gateway_expect_sent(e->b, &wire, LAN), &in);
}

static void test_inbound(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(inbound); i++)
		for (enum outer outer = OVER_V4; outer <= OVER_V6; outer++) {
			struct ends e = ends_new(outer, NULL, inbound[i].sa);

			for (unsigned int cell = 0; cell < 32; cell++)
				check_cell(&e, &inbound[i], cell / 16 != 0, cell / 4 % 4, cell % 4);
			ends_free(&e);
		}
}

static void test_ttl(void **state)
{
	static const struct {
		const char *sa;
		uint8_t ttl;
	} rows[] = {{"", 64}, {"ttl = 1;", 1}, {"ttl = 255;", 255}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		for (enum outer outer = OVER_V4; outer <= OVER_V6; outer++) {
			struct ends e = ends_new(outer, rows[i].sa, NULL);
			struct frame in = inner_frame(true, 0);
			struct frame wire = frame_carry(gateway_expect_sent(e.a, &in, WAN));

			assert_int_equal(
				frame_packet(&wire)[outer == OVER_V4 ? 8 : 7], rows[i].ttl);
			expect_arrived(gateway_expect_sent(e.b, &wire, LAN), &in);
			ends_free(&e);
		}
}

static void check_flow_label(const char *sa, bool six, uint32_t right)
{
	struct ends e = ends_new(OVER_V6, sa, NULL);
	struct frame in = inner_frame(six, 0xb9);
	struct frame wire = frame_carry(gateway_expect_sent(e.a, &in, WAN));

	assert_int_equal(be32(frame_packet(&wire)), 0x6b900000 | right);
	// A flow label set by a router on the path is not copied to the inner header.
	put32(wire.b + ETH_LEN, 0x6b900000 | 0x54321);
	expect_arrived(gateway_expect_sent(e.b, &wire, LAN), &in);
	ends_free(&e);
}

static void test_flow_label(void **state)
{
	(void)state;
	check_flow_label("", true, 0);
	check_flow_label("flow_label = \"zero\";", true, 0);
	check_flow_label("flow_label = \"copy\";", true, 0xabcde);
	check_flow_label("flow_label = \"copy\";", false, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_outbound),
		pipeline_test(test_inbound),
		pipeline_test(test_ttl),
		pipeline_test(test_flow_label),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
