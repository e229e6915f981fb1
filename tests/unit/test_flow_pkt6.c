// SPDX-License-Identifier: BSD-3-Clause
// Parsing of IPv6 packets. Proves that the result equals that of IPv4 packets with the same
// payload, whatever extension headers are present; and errors of ICMPv6 (RFC 4443).
#include <netinet/icmp6.h>

#include <rte_icmp.h>

#include "flow_lookup.h"
#include "flows.h"
#include "ipv6.h"

#define PACKET6_MAX 512

struct packet {
	_Alignas(8) uint8_t b[PACKET6_MAX];
	uint32_t len;
};

static struct rte_ipv6_hdr *ip_of(struct packet *p)
{
	return (struct rte_ipv6_hdr *)p->b;
}

static bool apart; // whether hosts are in different networks

// 2001:db8:: with an IPv4 address in its last octets: in the same order in memory.
static struct ip_addr addr_of(rte_be32_t v4)
{
	struct ip_addr a = {.b = {0x20, 0x01, 0x0d, 0xb8}};

	if (apart)
		a.w[1] = v4;
	a.w[3] = v4;
	return a;
}

static struct packet packet_of(uint32_t src, uint32_t dst, uint8_t proto)
{
	struct packet p = {.len = sizeof(struct rte_ipv6_hdr)};
	struct ip_addr s = addr_of(rte_cpu_to_be_32(src)), d = addr_of(rte_cpu_to_be_32(dst));

	ip_of(&p)->vtc_flow = RTE_BE32(6u << 28);
	ip_of(&p)->proto = proto;
	ip_of(&p)->hop_limits = 64;
	ipv6_src_set(ip_of(&p), &s);
	ipv6_dst_set(ip_of(&p), &d);
	return p;
}

static void put(struct packet *p, const void *octets, size_t len)
{
	memcpy(p->b + p->len, octets, len);
	p->len += (uint32_t)len;
	ip_of(p)->payload_len = rte_cpu_to_be_16((uint16_t)(p->len - sizeof(struct rte_ipv6_hdr)));
}

static const uint8_t atomic_fragment[8] = {0, 0, 0, 0, 1, 2, 3, 4};

// The packet of IPv4 with another header, and extensions: 0 none, 1 options, 2 a fragment header of
// a whole packet, 3 both.
static struct packet convert(const struct rte_ipv4_hdr *v4, unsigned int extensions)
{
	static const uint8_t options[16] = {0, 1, 1, 12};
	uint8_t proto = v4->next_proto_id;
	struct packet p =
		packet_of(rte_be_to_cpu_32(v4->src_addr), rte_be_to_cpu_32(v4->dst_addr), proto);
	uint8_t *next = &ip_of(&p)->proto;

	if ((extensions & 1) != 0) {
		*next = IPPROTO_DSTOPTS;
		next = p.b + p.len;
		put(&p, options, sizeof(options));
	}
	if ((extensions & 2) != 0) {
		*next = IPPROTO_FRAGMENT;
		next = p.b + p.len;
		put(&p, atomic_fragment, sizeof(atomic_fragment));
	}
	*next = proto;
	put(&p, v4 + 1, rte_be_to_cpu_16(v4->total_length) - sizeof(*v4));
	return p;
}

static void check_same(const struct rte_ipv4_hdr *v4, unsigned int extensions)
{
	struct packet packet = convert(v4, extensions);
	struct flow_pkt a, b;
	enum drop d = flow_pkt_of_ip(&a, v4);

	assert_int_equal(flow_pkt_of_ip(&b, ip_of(&packet)), d);
	if (d != DROP_NONE)
		return;
	for (unsigned int i = 0; i < 2; i++) {
		struct ip_addr addr = addr_of(ip_addr_v4(&a.key.addr[i]));

		assert_true(ip_addr_equal(&b.key.addr[i], &addr));
		b.key.addr[i] = a.key.addr[i];
	}
	assert_int_equal(b.ip_len, packet.len);
	b.ip_len = a.ip_len;
	assert_true(a.v4 && !b.v4);
	b.v4 = a.v4;
	assert_true(a.plain == (!a.icmp_error && (a.tcp_flags & SYN) == 0) && !a.plain_v6);
	assert_true(b.plain_v6 == a.plain && !b.plain);
	b.plain = a.plain;
	b.plain_v6 = a.plain_v6;
	assert_memory_equal(&a, &b, sizeof(a));
}

static void test_like_ipv4(void **state)
{
	uint8_t buf[PACKET_MAX];
	uint64_t seed = 9;

	(void)state;
	for (unsigned int i = 0; i < 20000; i++) {
		struct segment s = {
			.src = random_below(&seed, 3),
			.dst = random_below(&seed, 3),
			.sport = (uint16_t)random_below(&seed, 3),
			.dport = (uint16_t)random_below(&seed, 3),
			.flags = (uint8_t)random_below(&seed, 64),
			.seq = (uint32_t)random_u64(&seed),
			.ack = (uint32_t)random_u64(&seed),
			.window = (uint16_t)random_u64(&seed),
			.len = (uint16_t)random_below(&seed, 60),
			.scale = (int)random_below(&seed, 17) - 1,
		};

		apart = i % 8 < 4;
		check_same(packet_tcp(buf, &s), i % 4);
		check_same(packet_udp(buf, s.src, s.dst, s.sport, s.dport), i % 4);
		check_same(packet_other(buf, s.src, s.dst, IPPROTO_SCTP), i % 4);
		check_same(packet_other(buf, s.src, s.dst, 99), i % 4);
	}
	apart = false;
}

// The read that starts the lookup at once: it has the same result as one after the other.
static void check_lookup(
	const struct flow_table *t, const struct rte_ipv4_hdr *v4, unsigned int extensions)
{
	struct packet packet = convert(v4, extensions);
	struct flow_pkt a, b;
	union flow_place place;
	struct ip_layout at;
	enum drop d = flow_pkt_of_ip(&a, ip_of(&packet));

	assert_true(ip_layout_read(&at, ip_of(&packet)));
	assert_int_equal(flow_lookup_read(t, flow_index(t), &b, ip_of(&packet), &at, &place), d);
	if (d != DROP_NONE)
		return;
	assert_ptr_equal(flow_lookup_start(t, &a).bucket, place.bucket);
	assert_memory_equal(&a, &b, sizeof(a));
}

static void test_lookup(void **state)
{
	uint8_t buf[PACKET_MAX];
	struct flows flows;
	uint64_t seed = 10;

	(void)state;
	flows_init(&flows, 1024, 1, NULL);
	for (unsigned int i = 0; i < 4000; i++) {
		struct segment s = {
			.src = random_below(&seed, 9),
			.dst = random_below(&seed, 9),
			.sport = (uint16_t)random_below(&seed, 3),
			.dport = (uint16_t)random_below(&seed, 3),
			.flags = (uint8_t)random_below(&seed, 64),
			.scale = -1,
		};

		apart = i % 8 < 4;
		check_lookup(flows.t, packet_tcp(buf, &s), i % 4);
		check_lookup(flows.t, packet_udp(buf, s.src, s.dst, s.sport, s.dport), i % 4);
		check_lookup(flows.t, packet_other(buf, s.src, s.dst, IPPROTO_SCTP), i % 4);
	}
	apart = false;
	flows_fini(&flows);
}

static struct packet icmp(uint32_t src, uint32_t dst, uint8_t type, uint16_t id)
{
	struct packet p = packet_of(src, dst, IPPROTO_ICMPV6);
	struct rte_icmp_hdr hdr = {.icmp_type = type, .icmp_ident = rte_cpu_to_be_16(id)};

	put(&p, &hdr, sizeof(hdr));
	return p;
}

static struct flow_pkt read_good(struct packet p)
{
	struct flow_pkt fp;

	assert_int_equal(flow_pkt_of_ip(&fp, ip_of(&p)), DROP_NONE);
	return fp;
}

static void test_echo(void **state)
{
	struct flow_pkt ask = read_good(icmp(1, 2, ICMP6_ECHO_REQUEST, 5));

	(void)state;
	assert_false(ask.icmp_reply);
	assert_true(same_flow(ask, read_good(icmp(2, 1, ICMP6_ECHO_REPLY, 5))));
	assert_true(read_good(icmp(2, 1, ICMP6_ECHO_REPLY, 5)).icmp_reply);
	assert_int_not_equal(ask.dir, read_good(icmp(2, 1, ICMP6_ECHO_REPLY, 5)).dir);
	assert_false(same_flow(ask, read_good(icmp(2, 1, ICMP6_ECHO_REPLY, 6))));
	assert_false(same_flow(ask, read_good(icmp(2, 1, ICMP6_ECHO_REQUEST, 5))));
	assert_true(same_flow(read_good(icmp(1, 2, 139, 5)), read_good(icmp(2, 1, 140, 5))));
	assert_false(same_flow(ask, read_good(icmp(1, 2, 139, 5))));
	assert_true(same_flow(read_good(icmp(1, 2, 150, 5)), read_good(icmp(2, 1, 150, 6))));
}

static void test_echo_states(void **state)
{
	struct flow_pkt ask = read_good(icmp(1, 2, ICMP6_ECHO_REQUEST, 5));
	struct flow_pkt reply = read_good(icmp(2, 1, ICMP6_ECHO_REPLY, 5));
	struct flow *f;
	struct flows s;

	(void)state;
	flows_init(&s, 64, 1, NULL);
	assert_int_equal(flows_pass(&s, 0, &reply, 0, &f), DROP_CT_INVALID);
	flows_pass_to(&s, ask, 0, FLOW_ICMP_NEW, FLOW_CT_NEW);
	flows_pass_to(&s, reply, 0, FLOW_ICMP_REPLIED, FLOW_CT_ESTABLISHED);
	flows_fini(&s);
}

static struct packet error_about(
	uint32_t src, uint32_t dst, uint8_t type, const struct packet *about, uint32_t len)
{
	struct packet p = packet_of(src, dst, IPPROTO_ICMPV6);
	struct rte_icmp_hdr hdr = {.icmp_type = type};

	put(&p, &hdr, sizeof(hdr));
	put(&p, about->b, len);
	return p;
}

static enum drop read_error(
	struct flow_pkt *fp, uint32_t dst, uint8_t type, const struct packet *about, uint32_t len)
{
	struct packet p = error_about(77, dst, type, about, len);

	return flow_pkt_of_ip(fp, ip_of(&p));
}

// Any length of the quote: sufficient or not.
static void test_error_lengths(void **state)
{
	uint8_t buf[PACKET_MAX];
	struct flow_pkt error, quoted;

	(void)state;
	for (unsigned int extensions = 0; extensions < 4; extensions++) {
		struct packet about = convert(packet_tcp(buf, &(struct segment){.src = 1,
								      .dst = 2,
								      .sport = 1000,
								      .dport = 80,
								      .flags = ACK,
								      .seq = 0x12345678,
								      .len = 40,
								      .scale = -1}),
			extensions);
		uint32_t enough = about.len - 60 + 8;

		assert_int_equal(flow_pkt_of_ip(&quoted, ip_of(&about)), DROP_NONE);
		for (uint32_t len = 0; len <= about.len; len++) {
			enum drop d = read_error(&error, 1, ICMP6_PACKET_TOO_BIG, &about, len);

			assert_int_equal(d, len < enough ? DROP_CT_INVALID : DROP_NONE);
			if (d != DROP_NONE)
				continue;
			assert_true(error.icmp_error);
			assert_true(flow_key_equal(&error.key, &quoted.key));
			assert_int_equal(error.dir, !quoted.dir);
			assert_int_equal(error.seq, 0x12345678);
		}
	}
}

static void test_error_rejected(void **state)
{
	uint8_t buf[PACKET_MAX];
	const struct packet about = convert(packet_udp(buf, 1, 2, 7, 8), 0);
	struct packet p = about;
	struct flow_pkt fp;

	(void)state;
	for (unsigned int type = 0; type < 128; type++)
		assert_int_equal(read_error(&fp, 1, (uint8_t)type, &p, p.len), DROP_NONE);
	// To a host that has not sent the quoted packet.
	assert_int_equal(read_error(&fp, 3, 1, &p, p.len), DROP_ICMP_UNRELATED);
	for (uint8_t type = 0; type < 128; type++) { // an error about an error
		p = icmp(1, 2, type, 0);
		assert_int_equal(read_error(&fp, 1, 1, &p, p.len), DROP_ICMP_UNRELATED);
	}
	p = icmp(1, 2, ICMP6_ECHO_REQUEST, 5);
	assert_int_equal(read_error(&fp, 1, 1, &p, p.len), DROP_NONE);
	assert_true(same_flow(fp, read_good(p)));
	p = about;
	p.b[0] = 0x45;
	assert_int_equal(read_error(&fp, 1, 1, &p, p.len), DROP_CT_INVALID);
	p = about;
	memset(p.b + 24, 0, 10); // ::ffff:0:2
	memset(p.b + 34, 0xff, 2);
	assert_int_equal(read_error(&fp, 1, 1, &p, p.len), DROP_CT_INVALID);
	p = packet_of(1, 2, IPPROTO_FRAGMENT);
	put(&p, atomic_fragment, 8);
	put(&p, about.b + 40, 8);
	p.b[40] = IPPROTO_UDP;
	p.b[43] = 1; // the first of several shows ports
	assert_int_equal(read_error(&fp, 1, 1, &p, p.len), DROP_NONE);
	assert_int_not_equal(fp.key.port[0], fp.key.port[1]);
	p.b[43] = 9;
	assert_int_equal(read_error(&fp, 1, 1, &p, p.len), DROP_ICMP_UNRELATED);
	p.b[40] = IPPROTO_FRAGMENT;
	p.b[43] = 0;
	assert_int_equal(read_error(&fp, 1, 1, &p, p.len), DROP_CT_INVALID);
}

// RFC 5927 4.1: only a segment that can have been sent recently is accepted as quoted.
static void test_error_sequence(void **state)
{
	uint8_t buf[PACKET_MAX];
	struct segment s = {
		.src = 1, .dst = 2, .flags = SYN, .seq = 1000, .window = 99, .scale = -1};
	struct packet about = convert(packet_tcp(buf, &s), 0);
	struct flow_pkt syn = read_good(about), fp;
	struct flow *f;
	struct flows flows;

	(void)state;
	flows_init(&flows, 64, 1, NULL);
	flows_pass_to(&flows, syn, 0, FLOW_TCP_SYN_SENT, FLOW_CT_NEW);
	assert_int_equal(read_error(&fp, 1, 1, &about, about.len), DROP_NONE);
	flows_pass_to(&flows, fp, 0, FLOW_TCP_SYN_SENT, FLOW_CT_RELATED);
	s.seq = 5000;
	about = convert(packet_tcp(buf, &s), 0);
	assert_int_equal(read_error(&fp, 1, 1, &about, about.len), DROP_NONE);
	assert_int_equal(flows_pass(&flows, 0, &fp, 0, &f), DROP_ICMP_UNRELATED);
	flows_fini(&flows);
}

static void test_malformed(void **state)
{
	uint8_t buf[PACKET_MAX];
	struct packet p;
	struct flow_pkt fp;

	(void)state;
	for (uint16_t len = 0; len < 8; len++) {
		p = convert(packet_udp(buf, 1, 2, 7, 8), 1);
		ip_of(&p)->payload_len = rte_cpu_to_be_16((uint16_t)(16 + len));
		assert_int_equal(flow_pkt_of_ip(&fp, ip_of(&p)), DROP_CT_INVALID);
		p = icmp(1, 2, ICMP6_ECHO_REQUEST, 5);
		ip_of(&p)->payload_len = rte_cpu_to_be_16(len);
		assert_int_equal(flow_pkt_of_ip(&fp, ip_of(&p)), DROP_CT_INVALID);
	}
	p = convert(packet_udp(buf, 1, 2, 7, 8), 1);
	p.b[41] = 9; // options beyond the end
	assert_int_equal(flow_pkt_of_ip(&fp, ip_of(&p)), DROP_CT_INVALID);
	p = convert(packet_udp(buf, 1, 2, 7, 8), 2);
	p.b[43] = 1; // a fragment
	assert_int_equal(flow_pkt_of_ip(&fp, ip_of(&p)), DROP_CT_INVALID);
	p = packet_of(1, 2, IPPROTO_NONE);
	assert_int_equal(flow_pkt_of_ip(&fp, ip_of(&p)), DROP_NONE);
	assert_int_equal(fp.key.proto, IPPROTO_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_like_ipv4),
		cmocka_unit_test(test_lookup),
		cmocka_unit_test(test_echo),
		cmocka_unit_test(test_echo_states),
		cmocka_unit_test(test_error_lengths),
		cmocka_unit_test(test_error_rejected),
		cmocka_unit_test(test_error_sequence),
		cmocka_unit_test(test_malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
