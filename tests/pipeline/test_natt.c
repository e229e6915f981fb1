// SPDX-License-Identifier: BSD-3-Clause
// ESP in UDP (RFC 3948). Proves which packets are sent, and which UDP datagrams are processed as
// ESP.
#include <netinet/in.h>

#include "esp_out.h"
#include "peer.h"
#include "site.h"
#include "site_v6.h"
#include "udp.h"

static const struct ipv4 to_b = FROM_TO("10.1.0.5", "10.2.0.5"),
			 to_a = FROM_TO("10.2.0.5", "10.1.0.5");

// A datagram to the gateway's port for ESP in UDP.
static struct frame datagram(const void *payload, uint16_t len)
{
	struct frame f =
		frame_ip(WAN, (struct ipv4)FROM_TO("192.0.2.2", "192.0.2.1",
				      .len = (uint16_t)(28 + len), .sport = NATT, .dport = NATT));

	memcpy(f.b + ETH_LEN + 28, payload, len);
	return f;
}

// Packets sent by A are ESP without the UDP header, for every size that fits; larger ones cause an
// error with the MTU.
static void test_sent(void **state)
{
	struct gateway *a = site_a((struct site){.sa = IN_UDP});
	struct peer b = peer_new(a, "to-b");
	struct ipv4 ip = to_b;
	uint8_t inner[FRAME_MAX];

	(void)state;
	ip.frag = DF;
	for (ip.len = 28; ip.len <= 1438; ip.len++) {
		struct frame in = frame_ip(LAN, ip);
		struct frame esp = udp_remove(gateway_expect_sent(a, &in, WAN), NATT, NATT);

		assert_int_equal(peer_open(&b, &esp, inner), ip.len);
		in = frame_after_hops(&in, 1);
		assert_memory_equal(inner, frame_packet(&in), ip.len);
	}

	struct frame in = frame_ip(LAN, ip);

	gateway_expect_drop(a, &in, DROP_TOO_BIG);
	assert_int_equal(a->n_sent, 1);
	assert_int_equal(be16(frame_packet(&a->sent[0]) + IP_LEN + 6), 1438);
	peer_free(&b);
	gateway_free(a);
}

static void test_ports(void **state)
{
	struct gateway *a = site_a((struct site){.sa = " udp = { local_port = 1024; };"});
	struct frame f = frame_ip(LAN, to_b), wire;
	struct peer peer;

	(void)state;
	wire = *gateway_expect_sent(a, &f, WAN);
	udp_remove(&wire, 1024, NATT);
	peer = peer_new(a, "from-b");
	f = peer_seal_ip(&peer, 1, to_a);
	f = udp_insert(&f, NATT, 1024);
	gateway_expect_sent(a, &f, LAN);
	f = peer_seal_ip(&peer, 2, to_a);
	f = udp_insert(&f, 1024, NATT);
	gateway_expect_drop(a, &f, DROP_LOCAL_UNSERVED); // no SA has the port
	peer_free(&peer);
	gateway_free(a);
}

// Through both gateways and in both families; over IPv6 with a checksum.
static void test_through_both_gateways(void **state)
{
	(void)state;
	for (enum outer outer = OVER_V4; outer <= OVER_V6; outer++) {
		struct gateway *a = site_v6_a(outer, (struct site){.sa = IN_UDP});
		struct gateway *b = site_v6_b(outer, (struct site){.sa = IN_UDP});
		uint16_t ip_len = outer == OVER_V4 ? IP_LEN : IP6_LEN;
		struct frame in[] = {
			frame_ip(LAN, to_b), frame_ip6(LAN, (struct ipv6)FROM_TO("2001:db8:1::5",
								    "2001:db8:2::5", .len = 1300))};

		for (size_t i = 0; i < COUNT_OF(in); i++) {
			struct frame wire = *gateway_expect_sent(a, &in[i], WAN);
			const uint8_t *p = frame_packet(&wire), *udp = p + ip_len;

			assert_int_equal(p[outer == OVER_V4 ? 9 : 6], IPPROTO_UDP);
			assert_int_equal(be16(udp), NATT);
			assert_int_equal(be16(udp + 2), NATT);
			assert_int_equal(be16(udp + 4), frame_packet_len(&wire) - ip_len);
			if (outer == OVER_V4) {
				assert_int_equal(be16(udp + 6), 0);
			} else {
				assert_int_not_equal(be16(udp + 6), 0);
				assert_int_equal(ip6_checksum(p, IP6_LEN, frame_packet_len(&wire),
							 IPPROTO_UDP),
					0);
			}
			memcpy(wire.b, mac_of_port(WAN), 6);
			wire.b[ETH_LEN + ip_len + 7] ^= 1; // the checksum is not verified
			gateway_expect_sent(b, &wire, LAN);
			assert_int_equal(b->sent[0].len, in[i].len);
			assert_memory_equal(b->sent[0].b + ETH_LEN + 40, in[i].b + ETH_LEN + 40,
				in[i].len - ETH_LEN - 40u);
		}
		gateway_free(a);
		gateway_free(b);
	}
}

// RFC 6935: over IPv6 without, if the SA has that option; no receiver needs one.
static void test_no_checksum(void **state)
{
	static const struct site without = {
		.sa_in = IN_UDP, .sa_out = "udp = { checksum = false; };"};
	struct gateway *a = site_v6_a(OVER_V6, without), *b = site_v6_b(OVER_V6, without);
	struct frame in = frame_ip(LAN, to_b), wire = *gateway_expect_sent(a, &in, WAN);

	(void)state;
	assert_int_equal(frame_packet(&wire)[6], IPPROTO_UDP);
	assert_int_equal(be16(frame_packet(&wire) + IP6_LEN + 6), 0);
	memcpy(wire.b, mac_of_port(WAN), 6);
	gateway_expect_sent(b, &wire, LAN);
	gateway_free(a);
	gateway_free(b);
}

// An SA is in UDP or it is not.
static void test_sa_is_in_udp_or_not(void **state)
{
	struct gateway *a = site_a((struct site){.sa = IN_UDP});
	struct peer b = peer_new(a, "from-b"), c = peer_new(a, "from-c");
	struct frame f;

	(void)state;
	f = peer_seal_ip(&b, 1, to_a);
	gateway_expect_drop(a, &f, DROP_UDP_ENCAP);
	assert_int_equal(sa_dropped(gateway_sa_counted(a, "from-b"), DROP_UDP_ENCAP), 1);
	f = udp_insert(&f, NATT, NATT);
	gateway_expect_sent(a, &f, LAN);
	gateway_expect_drop(a, &f, DROP_REPLAY);
	f = peer_seal_ip(&b, 2, to_a);
	f = udp_insert(&f, NATT, NATT);
	f.b[f.len - 1] ^= 1;
	gateway_expect_drop(a, &f, DROP_AUTH);
	f = peer_seal_ip(&b, 2, to_a);
	put32(f.b + ETH_LEN + IP_LEN, 0x1234);
	f = udp_insert(&f, NATT, NATT);
	gateway_expect_drop(a, &f, DROP_NO_SA);

	f = peer_seal_ip(&c, 1, (struct ipv4)FROM_TO("10.3.0.5", "10.1.0.5"));
	f = udp_insert(&f, NATT, NATT);
	gateway_expect_drop(a, &f, DROP_UDP_ENCAP);
	assert_int_equal(sa_dropped(gateway_sa_counted(a, "from-c"), DROP_UDP_ENCAP), 1);
	peer_free(&b);
	peer_free(&c);
	gateway_free(a);
}

// Datagrams to the port that are not ESP.
static void test_datagrams_without_esp(void **state)
{
	static const uint8_t zeros[64], ones[64] = {[0 ... 63] = 0xff},
					spi[] = {0, 0, 0x10, 0x02, 0, 0, 0, 1};
	static const struct {
		const char *name;
		const uint8_t *payload;
		uint16_t len;
		enum drop drop; // none: consumed
	} rows[] = {
		{"keepalive", ones, 1, DROP_NONE},
		{"nothing", ones, 0, DROP_FRAME_SHORT},
		{"another octet", zeros, 1, DROP_FRAME_SHORT},
		{"two octets", ones, 2, DROP_FRAME_SHORT},
		{"half a marker", zeros, 3, DROP_FRAME_SHORT},
		{"half an ESP header", ones, 7, DROP_FRAME_SHORT},
		{"marker", zeros, 4, DROP_FRAME_SHORT},
		{"marker and half an IKE header", zeros, 18, DROP_NO_SA},
		{"IKE", zeros, 64, DROP_LOCAL_UNSERVED},
		{"unknown SPI", ones, 64, DROP_NO_SA},
		{"an ESP header and no more", spi, 8, DROP_ESP_SHORT},
	};
	struct gateway *a = site_a((struct site){.sa = IN_UDP});

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct frame f = datagram(rows[i].payload, rows[i].len);

		print_message("%s\n", rows[i].name);
		if (rows[i].drop != DROP_NONE) {
			gateway_expect_drop(a, &f, rows[i].drop);
			// Port unreachable, about datagrams that no SA and no service accepts.
			assert_int_equal(a->n_sent, rows[i].drop == DROP_LOCAL_UNSERVED);
			continue;
		}
		gateway_pass(a, &f, 1);
		expect_drops(a, DROP_NONE, 0);
		assert_int_equal(a->n_sent, 0);
		assert_int_equal(a->last.local, 1);
		assert_int_equal(a->last.keepalives_in, 1);
	}
	gateway_free(a);
}

// The same port and SPI in a packet out of the SA: a decapsulated packet is not decapsulated again.
static void test_decapsulated_once(void **state)
{
	static const uint8_t spi[4] = {0, 0, 0x10, 0x02};
	struct gateway *a = site_a((struct site){.sa = IN_UDP});
	struct peer b = peer_new(a, "from-b");
	struct ipv4 ip = FROM_TO("10.2.0.5", "10.1.0.1", .sport = NATT, .dport = NATT);
	uint8_t text[FRAME_MAX];
	struct frame f;
	uint16_t len;

	(void)state;
	len = ip_write(text, ip);
	memcpy(text + IP_LEN + UDP_LEN, spi, sizeof(spi));
	len = peer_trailer(&b, text, len, IPPROTO_IPIP);
	f = peer_seal(&b, (struct esp){.seq = 1, .text = text, .text_len = len});
	f = udp_insert(&f, NATT, NATT);
	gateway_expect_drop(a, &f, DROP_LOCAL_UNSERVED);
	expect_all_sent(a, 1, WAN); // port unreachable, in ESP
	peer_free(&b);
	gateway_free(a);
}

// Appends octets that belong to the IP packet, not to its datagram.
static void pad(struct frame *f, uint16_t by)
{
	uint8_t *ip = f->b + ETH_LEN;

	memset(f->b + f->len, 0x5a, by);
	f->len = (uint16_t)(f->len + by);
	if (ip[0] >> 4 == 6) {
		put16(ip + 4, be16(ip + 4) + by);
	} else {
		put16(ip + 2, frame_packet_len(f));
		ip_checksum_update(ip);
	}
}

// A datagram may be shorter than its IP packet (RFC 768).
static void test_datagram_shorter_than_packet(void **state)
{
	struct frame in = frame_ip(LAN, to_b), wire;

	(void)state;
	for (enum outer outer = OVER_V4; outer <= OVER_V6; outer++) {
		struct gateway *a = site_v6_a(outer, (struct site){.sa = IN_UDP});
		struct gateway *b = site_v6_b(outer, (struct site){.sa = IN_UDP});

		for (uint16_t by = 1; by <= 64; by++) {
			wire = frame_carry(gateway_expect_sent(a, &in, WAN));
			pad(&wire, by);
			gateway_expect_sent(b, &wire, LAN);
			assert_int_equal(b->sent[0].len, in.len);
		}
		gateway_free(a);
		gateway_free(b);
	}
}

static void test_padded_others(void **state)
{
	static const uint8_t keepalive = 0xff, ike[64];
	struct gateway *a = site_a((struct site){.sa = IN_UDP});
	struct frame f = datagram(&keepalive, 1);

	(void)state;
	pad(&f, 5);
	gateway_pass(a, &f, 1);
	expect_drops(a, DROP_NONE, 0);
	assert_int_equal(a->last.keepalives_in, 1);
	f = datagram(ike, sizeof(ike));
	pad(&f, 5);
	gateway_expect_drop(a, &f, DROP_LOCAL_UNSERVED);
	f = frame_ip(LAN,
		(struct ipv4)FROM_TO("10.1.0.5", "198.51.100.9", .sport = NATT, .dport = NATT));
	pad(&f, 7);
	gateway_expect_sent(a, &f, WAN); // forwarded unchanged
	assert_int_equal(a->sent[0].len, f.len);
	gateway_free(a);
}

// A header with a wrong length: no error is sent about a packet that may not be a datagram.
static void test_wrong_udp_length_drops(void **state)
{
	struct gateway *a = site_a((struct site){.sa = IN_UDP});
	struct peer b = peer_new(a, "from-b");
	struct frame f = peer_seal_ip(&b, 1, to_a);
	const struct frame right = udp_insert(&f, NATT, NATT);
	uint8_t *len = f.b + ETH_LEN + IP_LEN + 4;

	(void)state;
	f = right;
	put16(len, be16(len) - 1);
	gateway_expect_drop(a, &f, DROP_ESP_SHORT);
	f = right;
	put16(len, be16(len) + 1);
	gateway_expect_drop(a, &f, DROP_CT_INVALID);
	assert_int_equal(a->n_sent, 0);
	f = right;
	put16(len, UDP_LEN - 1);
	gateway_expect_drop(a, &f, DROP_CT_INVALID);
	assert_int_equal(a->n_sent, 0);
	for (uint16_t left = 0; left < UDP_LEN; left++) {
		f = frame_raw(WAN, frame_packet(&right), (uint16_t)(IP_LEN + left));
		put16(f.b + ETH_LEN + 2, IP_LEN + left);
		ip_checksum_update(f.b + ETH_LEN);
		gateway_expect_drop(a, &f, DROP_CT_INVALID);
		assert_int_equal(a->n_sent, 0);
	}
	peer_free(&b);
	gateway_free(a);
}

// The same between other hosts is forwarded.
static void test_transit_is_forwarded(void **state)
{
	static const uint8_t keepalive = 0xff, spi[60] = {0, 0, 0x10, 0x02};
	struct gateway *a = site_a((struct site){.sa = IN_UDP});
	struct ipv4 ip = FROM_TO("10.1.0.5", "198.51.100.9", .sport = NATT, .dport = NATT);
	struct frame f;

	(void)state;
	ip.len = 29;
	f = frame_ip(LAN, ip);
	f.b[f.len - 1] = keepalive;
	gateway_expect_sent(a, &f, WAN);
	ip.len = 28 + sizeof(spi);
	f = frame_ip(LAN, ip);
	memcpy(f.b + f.len - sizeof(spi), spi, sizeof(spi));
	gateway_expect_sent(a, &f, WAN);
	assert_memory_equal(a->sent[0].b + f.len - sizeof(spi), spi, sizeof(spi));
	gateway_free(a);
}

// With IP options, and in fragments.
static void test_outer(void **state)
{
	struct gateway *a = site_a((struct site){.sa = IN_UDP});
	struct peer b = peer_new(a, "from-b");
	uint8_t text[FRAME_MAX];
	uint16_t len = peer_trailer(&b, text, ip_write(text, to_a), IPPROTO_IPIP);
	struct frame f =
		peer_seal(&b, (struct esp){.seq = 1, .text = text, .text_len = len, .options = 8});
	struct frame part[2];

	(void)state;
	f = udp_insert(&f, NATT, NATT);
	gateway_expect_sent(a, &f, LAN);

	f = peer_seal_ip(&b, 2, to_a);
	f = udp_insert(&f, NATT, NATT);
	part[0] = frame_raw(WAN, frame_packet(&f), IP_LEN + 64);
	part[1] = frame_raw(WAN, frame_packet(&f), IP_LEN);
	part[1].len = (uint16_t)(f.len - 64);
	memcpy(part[1].b + ETH_LEN + IP_LEN, frame_packet(&f) + IP_LEN + 64,
		frame_packet_len(&f) - IP_LEN - 64u);
	put16(part[0].b + ETH_LEN + 6, MF);
	put16(part[1].b + ETH_LEN + 6, 64 / 8);
	for (unsigned int i = 0; i < 2; i++) {
		put16(part[i].b + ETH_LEN + 2, frame_packet_len(&part[i]));
		ip_checksum_update(part[i].b + ETH_LEN);
	}
	gateway_pass(a, part, 2);
	expect_drops(a, DROP_NONE, 0);
	expect_all_sent(a, 1, LAN);
	peer_free(&b);
	gateway_free(a);
}

// NAT-keepalives as the control thread sends them.
static void test_keepalive(void **state)
{
	(void)state;
	for (enum outer outer = OVER_V4; outer <= OVER_V6; outer++) {
		struct gateway *a = site_v6_a(outer, (struct site){.sa = IN_UDP});
		struct gateway *b = site_v6_b(outer, (struct site){.sa = IN_UDP});
		struct rte_mbuf *m = rte_pktmbuf_alloc(harness_pool);
		const uint8_t *ip = rte_pktmbuf_mtod(m, const uint8_t *);
		struct frame f;

		esp_out_keepalive(m, sa_out_path(gateway_sa_out(a, "out")));
		if (outer == OVER_V4) {
			assert_int_equal(m->data_len, 29);
			assert_int_equal(be16(ip + 6), DF);
			assert_int_equal(checksum(ip, IP_LEN), 0);
			assert_int_equal(be16(ip + 24), 9);
			assert_int_equal(be16(ip + 26), 0);
			f = frame_raw(WAN, ip, 29);
		} else {
			assert_int_equal(m->data_len, 49);
			assert_int_equal(be16(ip + 44), 9);
			assert_int_equal(ip6_checksum(ip, IP6_LEN, 49, IPPROTO_UDP), 0);
			f = frame_raw6(WAN, ip, 49);
		}
		assert_int_equal(ip[m->data_len - 1], 0xff);
		rte_pktmbuf_free(m);
		gateway_pass(b, &f, 1);
		assert_int_equal(b->last.keepalives_in, 1);
		gateway_free(a);
		gateway_free(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_sent),
		pipeline_test(test_ports),
		pipeline_test(test_through_both_gateways),
		pipeline_test(test_no_checksum),
		pipeline_test(test_sa_is_in_udp_or_not),
		pipeline_test(test_datagrams_without_esp),
		pipeline_test(test_decapsulated_once),
		pipeline_test(test_datagram_shorter_than_packet),
		pipeline_test(test_padded_others),
		pipeline_test(test_wrong_udp_length_drops),
		pipeline_test(test_transit_is_forwarded),
		pipeline_test(test_outer),
		pipeline_test(test_keepalive),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
