// SPDX-License-Identifier: BSD-3-Clause
// ICMP errors of routers between the gateways about the size of ESP packets (RFC 1191, RFC 8201,
// RFC 4301 8.2). Proves which are processed, and which are dropped.
#include <netinet/in.h>

#include "esp_probe.h"
#include "line_memory.h"
#include "router.h"
#include "site_transport.h"
#include "site_v6.h"
#include "udp.h"

// A policy that protects everything without another policy.
#define ALL(out, in)                                                                               \
	", { name = \"all\"; action = \"protect\"; out = \"" out "\"; in = \"" in "\"; }"

static void expect_posted(
	struct gateway *g, const struct frame *f, const char *peer, unsigned int mtu)
{
	struct event e;

	gateway_pass(g, f, 1);
	expect_drops(g, DROP_NONE, 0);
	assert_int_equal(g->last.local, 1);
	assert_int_equal(g->n_sent, 0);
	if (!worker_event_dequeue(g->w, &e))
		fail_msg("no event");
	assert_int_equal(e.kind, EVENT_PMTU);
	assert_int_equal(e.mtu, mtu);
	if (strchr(peer, ':') != NULL)
		assert_memory_equal(&e.addr, ip6_octets(peer), 16);
	else
		assert_int_equal(rte_be_to_cpu_32(ip_addr_v4(&e.addr)), ip_number(peer));
}

static void expect_not_posted(struct gateway *g, const struct frame *f)
{
	gateway_expect_drop(g, f, DROP_PMTU_IMPLAUSIBLE);
	assert_int_equal(g->n_sent, 0);
	expect_no_event(g);
}

static void check_v4(struct gateway *g, struct error e, unsigned int mtu)
{
	struct frame about = site_a_esp(g), f;

	e.type = 3;
	e.code = 4;
	e.quoted = e.quoted != 0 ? e.quoted : 28;
	f = error_v4(&about, e);
	expect_posted(g, &f, "192.0.2.2", mtu);
}

static void test_v4(void **state)
{
	struct gateway *g = site_a((struct site){0});

	(void)state;
	check_v4(g, (struct error){.mtu = 1400}, 1400);
	check_v4(g, (struct error){.mtu = 1450, .quoted = 500}, 1450);
	check_v4(g, (struct error){.mtu = 576}, 576);
	// RFC 1191 5, 7.1: the ESP packet has fewer octets than 1492
	check_v4(g, (struct error){.mtu = 0}, 1006);
	gateway_free(g);
}

static void test_v6(void **state)
{
	struct gateway *g = site_v6_a(OVER_V6, (struct site){0});
	struct frame about = site_a_esp(g);
	struct error e = {.type = 2, .mtu = 1400, .quoted = 48};
	struct frame f = error_v6(&about, e);

	(void)state;
	expect_posted(g, &f, "2001:db8:f::2", 1400);
	e.quoted = 1200;
	e.mtu = 1280;
	f = error_v6(&about, e);
	expect_posted(g, &f, "2001:db8:f::2", 1280);
	e.mtu = 1500; // the packet fits
	f = error_v6(&about, e);
	expect_not_posted(g, &f);
	e.mtu = 0x10000 + 1400; // more than any packet has
	f = error_v6(&about, e);
	expect_not_posted(g, &f);
	e.mtu = 1279; // RFC 8201 4
	f = error_v6(&about, e);
	expect_not_posted(g, &f);
	e = (struct error){.type = 2, .mtu = 1400, .quoted = 47};
	f = error_v6(&about, e);
	expect_not_posted(g, &f);
	e.quoted = 48;
	f = error_v6(&about, e);
	f.b[ETH_LEN + IP6_LEN + 2] ^= 1;
	expect_not_posted(g, &f);
	gateway_free(g);
}

// If any octet of the quoted packet is changed, the error is dropped, unless the octet is
// irrelevant.
static void check_forged(struct gateway *g, uint16_t quoted, uint64_t irrelevant)
{
	struct frame about = site_a_esp(g);

	for (unsigned int at = 0; at < quoted; at++) {
		struct error e = {.type = 3, .code = 4, .mtu = 1400, .quoted = quoted};
		struct frame other = about, f;

		other.b[ETH_LEN + at] ^= 0x40;
		f = error_v4(&other, e);
		print_message("octet %u\n", at);
		if ((irrelevant >> at & 1) != 0)
			expect_posted(g, &f, "192.0.2.2", 1400);
		else
			expect_not_posted(g, &f);
	}
	gateway_free(g);
}

#define OCTETS(first, last) ((UINT64_C(2) << (last)) - (UINT64_C(1) << (first)))

static void test_forged(void **state)
{
	// TOS, length if it is more than the MTU, id, DF, time to live, checksum; length and
	// checksum of UDP
	const uint64_t ip = OCTETS(1, 1) | OCTETS(2, 6) | OCTETS(8, 8) | OCTETS(10, 11),
		       udp = OCTETS(24, 27);

	(void)state;
	check_forged(site_a((struct site){0}), 28, ip);
	check_forged(site_a((struct site){.sa = IN_UDP}), 36, ip | udp);
	check_forged(site_a((struct site){.sa = IN_UDP}), 28, ip | udp);
}

// None of it is authenticated; the event has the fields by which the control thread recognises its
// own probe.
static void expect_unproven(struct gateway *g, const struct frame *about, struct error e)
{
	struct frame f = error_v4(about, e);
	struct event got;

	gateway_pass(g, &f, 1);
	expect_drops(g, DROP_NONE, 0);
	assert_true(worker_event_dequeue(g->w, &got));
	assert_int_equal(got.kind, EVENT_PMTU);
	assert_int_equal(got.spi, 0);
	assert_int_equal(got.mtu, e.mtu);
	assert_int_equal(got.quoted_len, frame_packet_len(about));
	assert_int_equal(rte_be_to_cpu_16(got.quoted_id), be16(frame_packet(about) + 4));
	assert_ptr_equal(got.sa, gateway_sa_out(g, "to-b"));
	assert_int_equal(got.generation, gateway_generation(g));
}

// ESP in UDP: SPI and number are after the UDP header, with which the quote of RFC 792 ends.
static void test_in_udp(void **state)
{
	struct gateway *g = site_a((struct site){.sa = IN_UDP});
	struct error e = {.type = 3, .code = 4, .mtu = 1400, .quoted = 36};
	struct frame about = site_a_esp(g), f = error_v4(&about, e);

	(void)state;
	expect_posted(g, &f, "192.0.2.2", 1400);
	for (e.quoted = 28; e.quoted < 36; e.quoted++)
		expect_unproven(g, &about, e);
	e.quoted = 27;
	f = error_v4(&about, e);
	expect_not_posted(g, &f);
	e.quoted = 28;
	e.mtu = (uint32_t)frame_packet_len(&about);
	f = error_v4(&about, e);
	expect_not_posted(g, &f);
	e.mtu = 1400;
	about.b[ETH_LEN + IP_LEN] ^= 1; // from another port
	f = error_v4(&about, e);
	expect_not_posted(g, &f);
	about.b[ETH_LEN + IP_LEN] ^= 1;
	about.b[ETH_LEN + 15] ^= 1; // from another address
	f = error_v4(&about, e);
	expect_not_posted(g, &f);
	gateway_free(g);

	g = site_v6_a(OVER_V6, (struct site){.sa = IN_UDP});
	e = (struct error){.type = 2, .mtu = 1400, .quoted = 56};
	about = site_a_esp(g);
	f = error_v6(&about, e);
	expect_posted(g, &f, "2001:db8:f::2", 1400);
	e.quoted = 55;
	f = error_v6(&about, e);
	expect_not_posted(g, &f);
	e.quoted = 56;
	for (unsigned int at = 40; at < 44; at++) { // ports
		struct frame other = about;

		other.b[ETH_LEN + at] ^= 1;
		f = error_v6(&other, e);
		expect_not_posted(g, &f);
	}
	gateway_free(g);
}

// Errors of other stations use no more of the event ring than the port's share.
static void test_flood_leaves_room_for_others(void **state)
{
	struct gateway *g = site_a((struct site){.sa = IN_UDP});
	struct error e = {.type = 3, .code = 4, .mtu = 1400, .quoted = 28};
	struct frame about = site_a_esp(g), flood[RX_BURST_MAX];
	unsigned int n = 0;
	struct event got;

	(void)state;
	for (unsigned int i = 0; i < RX_BURST_MAX; i++)
		flood[i] = error_v4(&about, e);
	for (unsigned int i = 0; i < 100; i++)
		gateway_pass(g, flood, RX_BURST_MAX);
	while (worker_event_dequeue(g->w, &got))
		n += got.kind == EVENT_PMTU;
	assert_in_range(n, 1, 64);
	gateway_free(g);
}

// Numbers that were not sent yet, or before the last seconds.
static void test_numbers_not_sent_are_not_believed(void **state)
{
	static const struct {
		uint64_t sent, before;
		uint32_t quoted;
		bool believed;
	} rows[] = {
		{100, 0, 100, true},
		{100, 0, 1, true},
		{100, 0, 0, false},
		{100, 0, 101, false},
		{100, 0, UINT32_MAX, false},
		{100, 50, 51, true},
		{100, 50, 50, false},
		{100, 100, 100, false},
		{UINT64_C(50) << 20, 0, 1, true},
		{UINT64_C(50) << 20, 1, 1, false},
		{UINT64_C(0x100000005), 0xffffffef, 0xfffffff0, true},
		{UINT64_C(0x100000005), 0xffffffef, 0xffffffef, false},
		{UINT64_C(0x100000005), 0xffffffef, 6, false},
	};
	struct gateway *g = site_a((struct site){.sa = "esn = true;"});
	struct frame about = site_a_esp(g);

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(rows); i++) {
		struct error e = {.type = 3, .code = 4, .mtu = 1400, .quoted = 28};
		struct frame f;

		gateway_sa_out(g, "to-b")->seq = rows[i].sent;
		gateway_sa_out(g, "to-b")->seq_recent = rows[i].before;
		put32(about.b + ETH_LEN + IP_LEN + 4, rows[i].quoted);
		f = error_v4(&about, e);
		if (rows[i].believed)
			expect_posted(g, &f, "192.0.2.2", 1400);
		else
			expect_not_posted(g, &f);
	}
	gateway_free(g);
}

static void test_not_posted(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame about = site_a_esp(g), f;
	struct error e = {.type = 3, .code = 4, .mtu = 575, .quoted = 28};

	(void)state;
	f = error_v4(&about, e);
	expect_not_posted(g, &f);
	e.mtu = 1400;
	e.quoted = 27;
	f = error_v4(&about, e);
	expect_not_posted(g, &f);
	e.quoted = 20;
	f = error_v4(&about, e);
	expect_not_posted(g, &f);
	e.quoted = 0;
	f = error_v4(&about, e);
	expect_not_posted(g, &f);
	e.quoted = 28;
	f = error_v4(&about, e);
	f.b[ETH_LEN + IP_LEN + 2] ^= 1;
	expect_not_posted(g, &f);
	e.code = 3; // of another kind
	f = error_v4(&about, e);
	gateway_expect_drop(g, &f, DROP_LOCAL_UNSERVED);
	e.code = 4; // from inside
	e.to = "10.1.0.1";
	f = error_v4(&about, e);
	f.port = LAN;
	memcpy(f.b, mac_of_port(LAN), 6);
	put32(f.b + ETH_LEN + 12, ip_number("10.1.0.5"));
	ip_checksum_update(f.b + ETH_LEN);
	gateway_expect_drop(g, &f, DROP_LOCAL_UNSERVED);
	gateway_free(g);
}

// A policy that covers everything does not prevent the processing of errors that quote an ESP
// packet, and only of those.
static void test_all_protected(void **state)
{
	struct gateway *g = site_a((struct site){.policies = ALL("to-b", "from-b")});
	struct error e = {.type = 3, .code = 4, .mtu = 1400, .quoted = 28};
	struct frame about = site_a_esp(g), f = error_v4(&about, e);

	(void)state;
	expect_posted(g, &f, "192.0.2.2", 1400);
	put32(f.b + ETH_LEN + 12, ip_number("10.1.0.77")); // an unused address outside
	ip_checksum_update(f.b + ETH_LEN);
	gateway_expect_drop(g, &f, DROP_IP_SOURCE);
	put32(about.b + ETH_LEN + IP_LEN + 4, 100); // a number that was not sent
	f = error_v4(&about, e);
	expect_not_posted(g, &f);
	e.code = 1;
	f = error_v4(&about, e);
	gateway_expect_drop(g, &f, DROP_CLEAR_TEXT);
	gateway_free(g);

	g = site_v6_a(OVER_V6, (struct site){.policies = ALL("out", "in")});
	about = site_a_esp(g);
	f = error_v6(&about, (struct error){.type = 2, .mtu = 1400, .quoted = 48});
	expect_posted(g, &f, "2001:db8:f::2", 1400);
	gateway_free(g);
}

static void test_settings(void **state)
{
	struct error e = {.type = 3, .code = 4, .mtu = 1399, .quoted = 28};
	struct gateway *g = site_a((struct site){.more = "pmtu = { learn = false; };"});
	struct frame about = site_a_esp(g), f = error_v4(&about, e);

	(void)state;
	gateway_expect_drop(g, &f, DROP_LOCAL_UNSERVED);
	gateway_free(g);
	g = site_a((struct site){.more = "pmtu = { min = 1400; };"});
	about = site_a_esp(g);
	f = error_v4(&about, e);
	expect_not_posted(g, &f);
	e.mtu = 1400;
	f = error_v4(&about, e);
	expect_posted(g, &f, "192.0.2.2", 1400);
	gateway_free(g);
}

// The path that the control thread then builds, as senders see it.
static void test_resized_path_is_used(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct sa_out *sa = gateway_sa_out(g, "to-b");
	struct frame in = frame_ip(
		LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5", .len = 1347, .frag = DF));
	struct sa_path *old = sa_out_path_set(sa, sa_path_resized(&sa->sa, sa_out_path(sa), 1400));

	(void)state;
	assert_int_equal(old->mtu, 1446);
	line_free(old);
	assert_int_equal(sa_out_path(sa)->link_mtu, 1400);
	gateway_expect_drop(g, &in, DROP_TOO_BIG);
	expect_error(frame_packet(&g->sent[0]), frame_packet_len(&g->sent[0]),
		(struct icmp_error){3, 4, 1346}, "10.1.0.1", "10.1.0.5", &in);
	gateway_free(g);
}

// The largest packet of each size, which the peer opens and discards.
static void check_probe(struct gateway *from, struct gateway *to, struct sa_out *sa, bool v4)
{
	for (uint16_t size = 600; size <= 1500; size++) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(harness_pool);
		const uint8_t *ip;
		struct frame f;

		assert_true(esp_probe_make(sa, m, size, 0x1234));
		assert_in_range(m->data_len, size - 3, size);
		ip = rte_pktmbuf_mtod(m, const uint8_t *);
		assert_int_equal(ip[0] >> 4, v4 ? 4 : 6);
		if (v4) {
			assert_int_equal(checksum(ip, IP_LEN), 0);
			assert_int_equal(be16(ip + 4), 0x1234);
			assert_int_equal(be16(ip + 6), DF);
		}
		f = v4 ? frame_raw(WAN, ip, m->data_len) : frame_raw6(WAN, ip, m->data_len);
		gateway_expect_drop(to, &f, DROP_DUMMY);
		rte_pktmbuf_free(m);
	}
	assert_int_equal(sa->sa.per_worker[sa->sa.n_workers - 1].dummies, 901);
	assert_int_equal(from->n_sent, 0);
}

static void test_probe(void **state)
{
	static const char *const udp[] = {NULL, IN_UDP};

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(udp); i++) {
		struct site s = {.sa = udp[i]};
		struct gateway *a, *b;

		for (enum outer outer = OVER_V4; outer <= OVER_V6; outer++) {
			a = site_v6_a(outer, s);
			b = site_v6_b(outer, s);
			check_probe(a, b, gateway_sa_out(a, "out"), outer == OVER_V4);
			gateway_free(a);
			gateway_free(b);
		}
		a = site_transport(1, s);
		b = site_transport(2, s);
		check_probe(a, b, gateway_sa_out(a, "o1"), true);
		check_probe(a, b, gateway_sa_out(a, "o2"), false);
		gateway_free(a);
		gateway_free(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_v4),
		pipeline_test(test_v6),
		pipeline_test(test_forged),
		pipeline_test(test_in_udp),
		pipeline_test(test_flood_leaves_room_for_others),
		pipeline_test(test_numbers_not_sent_are_not_believed),
		pipeline_test(test_not_posted),
		pipeline_test(test_all_protected),
		pipeline_test(test_settings),
		pipeline_test(test_resized_path_is_used),
		pipeline_test(test_probe),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
