// SPDX-License-Identifier: BSD-3-Clause
// Parsing of packets: proves which belong to one flow, in which direction, and which are malformed.
#include <rte_tcp.h>

#include "flows.h"

static void test_key(void **state)
{
	struct flow_pkt p = pkt_udp(HOST_A, 1, HOST_B, 2);

	(void)state;
	assert_true(same_flow(p, pkt_udp(HOST_B, 2, HOST_A, 1)));
	assert_int_not_equal(p.dir, pkt_udp(HOST_B, 2, HOST_A, 1).dir);
	assert_int_equal(p.dir, pkt_udp(HOST_A, 1, HOST_B, 2).dir);
	assert_int_equal(p.ip_len, 28);
	assert_false(same_flow(p, pkt_udp(HOST_A, 2, HOST_B, 1)));
	assert_false(same_flow(p, pkt_udp(HOST_B, 1, HOST_A, 2)));
	assert_false(same_flow(p, pkt_udp(HOST_A, 1, HOST_B, 3)));
	assert_false(same_flow(p, pkt_udp(HOST_A, 1, HOST_B + 1, 2)));
	assert_false(same_flow(p, pkt_tcp(HOST_A, 1, HOST_B, 2, SYN, 0, 0)));
	// One host with itself: the ports give the directions.
	assert_true(same_flow(pkt_udp(HOST_A, 1, HOST_A, 2), pkt_udp(HOST_A, 2, HOST_A, 1)));
	assert_int_not_equal(pkt_udp(HOST_A, 1, HOST_A, 2).dir, pkt_udp(HOST_A, 2, HOST_A, 1).dir);
	// Ports that policies match are part of it.
	assert_false(
		same_flow(pkt_other(HOST_A, HOST_B, IPPROTO_SCTP), pkt_other(HOST_A, HOST_B, 99)));
	assert_true(same_flow(pkt_other(HOST_A, HOST_B, 99), pkt_other(HOST_B, HOST_A, 99)));
	assert_int_not_equal(pkt_other(HOST_A, HOST_B, 99).dir, pkt_other(HOST_B, HOST_A, 99).dir);
	// Every address is stored with its own port.
	for (unsigned int i = 0; i < 2; i++) {
		unsigned int a = p.dir ^ i;
		struct ip_addr addr = ip_addr_from_v4(RTE_BE32(i == 0 ? HOST_A : HOST_B));

		assert_true(ip_addr_equal(&p.key.addr[a], &addr));
		assert_int_equal(p.key.port[a], i == 0 ? RTE_BE16(1) : RTE_BE16(2));
	}
}

// A packet with options in its IP header takes another path: it is read the same.
static void test_options(void **state)
{
	static const uint32_t hosts[] = {HOST_A, HOST_B, 0x01000000, 0x00000001, 0xff0000ff};
	static const uint16_t ports[] = {1, 2, 0x100, 0xffff};

	(void)state;
	for (unsigned int i = 0; i < 2 * 25 * 16; i++) {
		uint8_t buf[PACKET_MAX];
		struct segment s = {.src = hosts[i % 5],
			.dst = hosts[i / 5 % 5],
			.sport = ports[i / 25 % 4],
			.dport = ports[i / 100 % 4],
			.flags = i % 3 == 0 ? SYN : ACK,
			.seq = i,
			.len = 9,
			.scale = -1};
		struct rte_ipv4_hdr *ip = i < 400 ? packet_udp(buf, s.src, s.dst, s.sport, s.dport)
						  : packet_tcp(buf, &s);
		struct flow_pkt plain = flow_pkt_of(ip), p;
		uint16_t len = rte_be_to_cpu_16(ip->total_length);

		memmove(ip + 1, buf + sizeof(*ip) - 4, PACKET_MAX - sizeof(*ip));
		ip->version_ihl++;
		ip->total_length = rte_cpu_to_be_16((uint16_t)(len + 4));
		p = flow_pkt_of(ip);
		assert_int_equal(p.ip_len, len + 4);
		p.ip_len = plain.ip_len;
		assert_memory_equal(&p, &plain, sizeof(p));
	}
}

static void test_sctp_ports(void **state)
{
	uint8_t buf[PACKET_MAX];
	struct rte_ipv4_hdr *ip = packet_other(buf, HOST_A, HOST_B, IPPROTO_SCTP);
	struct flow_pkt p = flow_pkt_of(ip);

	(void)state;
	((rte_be16_t *)(ip + 1))[0] = RTE_BE16(7);
	assert_false(same_flow(p, flow_pkt_of(ip)));
	ip->total_length = RTE_BE16(23); // no room for ports
	assert_true(same_flow(p, flow_pkt_of(ip)));
}

static void test_icmp_key(void **state)
{
	struct flow_pkt p = pkt_icmp(HOST_A, HOST_B, 8, 5);

	(void)state;
	assert_true(same_flow(p, pkt_icmp(HOST_B, HOST_A, 0, 5)));
	assert_int_not_equal(p.dir, pkt_icmp(HOST_B, HOST_A, 0, 5).dir);
	assert_false(same_flow(p, pkt_icmp(HOST_B, HOST_A, 0, 6)));
	// A request of the other end with the same identifier is not a reply.
	assert_false(same_flow(p, pkt_icmp(HOST_B, HOST_A, 8, 5)));
	assert_false(same_flow(p, pkt_icmp(HOST_A, HOST_B, 0, 5)));
	assert_true(same_flow(pkt_icmp(HOST_B, HOST_A, 8, 5), pkt_icmp(HOST_A, HOST_B, 0, 5)));
	assert_true(same_flow(pkt_icmp(HOST_A, HOST_B, 13, 5), pkt_icmp(HOST_B, HOST_A, 14, 5)));
	assert_true(same_flow(pkt_icmp(HOST_A, HOST_B, 15, 5), pkt_icmp(HOST_B, HOST_A, 16, 5)));
	assert_true(same_flow(pkt_icmp(HOST_A, HOST_B, 17, 5), pkt_icmp(HOST_B, HOST_A, 18, 5)));
	assert_false(same_flow(p, pkt_icmp(HOST_A, HOST_B, 13, 5)));
	// Neither query nor error: by addresses and type.
	assert_true(same_flow(pkt_icmp(HOST_A, HOST_B, 42, 5), pkt_icmp(HOST_B, HOST_A, 42, 6)));
}

static void test_malformed(void **state)
{
	uint8_t buf[PACKET_MAX];
	struct rte_ipv4_hdr *ip;
	struct flow_pkt p;

	(void)state;
	for (uint16_t len = 0; len < 8; len++) {
		ip = packet_udp(buf, HOST_A, HOST_B, 1, 2);
		ip->total_length = rte_cpu_to_be_16((uint16_t)(20 + len));
		assert_int_equal(flow_pkt_of_ip(&p, ip), DROP_CT_INVALID);
		ip = packet_icmp(buf, HOST_A, HOST_B, 8, 2);
		ip->total_length = rte_cpu_to_be_16((uint16_t)(20 + len));
		assert_int_equal(flow_pkt_of_ip(&p, ip), DROP_CT_INVALID);
	}
	ip = packet_udp(buf, HOST_A, HOST_B, 1, 2);
	((rte_be16_t *)(ip + 1))[2] = RTE_BE16(7);
	assert_int_equal(flow_pkt_of_ip(&p, ip), DROP_CT_INVALID);
	((rte_be16_t *)(ip + 1))[2] = RTE_BE16(9);
	assert_int_equal(flow_pkt_of_ip(&p, ip), DROP_CT_INVALID);
}

static void test_icmp_error_malformed(void **state)
{
	uint8_t buf[PACKET_MAX], error[PACKET_MAX];
	struct rte_ipv4_hdr *about = packet_udp(buf, HOST_A, HOST_B, 1, 2), *ip;
	struct flow_pkt p;

	(void)state;
	for (uint16_t len = 0; len < 28; len++)
		assert_int_equal(
			flow_pkt_of_ip(&p, packet_error(error, HOST_B, HOST_A, about, len)),
			DROP_CT_INVALID);
	// To a host that has not sent the quoted packet.
	ip = packet_error(error, HOST_B, HOST_A + 1, about, 28);
	assert_int_equal(flow_pkt_of_ip(&p, ip), DROP_ICMP_UNRELATED);
	about->fragment_offset = RTE_BE16(RTE_IPV4_HDR_MF_FLAG); // the first shows ports
	assert_int_equal(
		flow_pkt_of_ip(&p, packet_error(error, HOST_B, HOST_A, about, 28)), DROP_NONE);
	assert_int_not_equal(p.key.port[0], p.key.port[1]);
	about->fragment_offset = RTE_BE16(1);
	assert_int_equal(flow_pkt_of_ip(&p, packet_error(error, HOST_B, HOST_A, about, 28)),
		DROP_ICMP_UNRELATED);
	about->fragment_offset = 0;
	about->version_ihl = 0x65;
	assert_int_equal(flow_pkt_of_ip(&p, packet_error(error, HOST_B, HOST_A, about, 28)),
		DROP_CT_INVALID);
	about->version_ihl = 0x46; // options beyond the end
	assert_int_equal(flow_pkt_of_ip(&p, packet_error(error, HOST_B, HOST_A, about, 28)),
		DROP_CT_INVALID);
	about = packet_icmp(buf, HOST_A, HOST_B, 11, 0); // an error about an error
	assert_int_equal(flow_pkt_of_ip(&p, packet_error(error, HOST_B, HOST_A, about, 28)),
		DROP_ICMP_UNRELATED);
}

// Of all 64 combinations of flags, these occur (RFC 9293 3.10.7).
static void test_flags(void **state)
{
	static const uint8_t sane[] = {SYN, SYN | ACK, ACK, FIN | ACK, RST, RST | ACK};

	(void)state;
	for (unsigned int flags = 0; flags < 64; flags++) {
		uint8_t buf[PACKET_MAX];
		struct flow_pkt p;
		bool expected = false;

		for (size_t i = 0; i < COUNT_OF(sane); i++)
			expected |= (flags & ~(unsigned int)(PSH | URG)) == sane[i];
		for (unsigned int ecn = 0; ecn < 4; ecn++) {
			packet_tcp(buf, &(struct segment){.src = 1,
						.dst = 2,
						.flags = (uint8_t)(flags | ecn << 6),
						.scale = -1});
			assert_int_equal(flow_pkt_of_ip(&p, (void *)buf),
				expected ? DROP_NONE : DROP_CT_INVALID);
		}
	}
}

static void test_header_lengths(void **state)
{
	uint8_t buf[PACKET_MAX];
	struct rte_ipv4_hdr *ip = packet_tcp(
		buf, &(struct segment){.src = 1, .dst = 2, .flags = SYN, .len = 20, .scale = -1});
	struct rte_tcp_hdr *tcp = (struct rte_tcp_hdr *)(ip + 1);
	struct flow_pkt p;

	(void)state;
	for (unsigned int words = 0; words < 16; words++) {
		tcp->data_off = (uint8_t)(words << 4);
		assert_int_equal(flow_pkt_of_ip(&p, ip),
			words >= 5 && words <= 10 ? DROP_NONE : DROP_CT_INVALID);
		if (words >= 5 && words <= 10)
			assert_int_equal(p.seq_len, 1 + 20 - 4 * (words - 5));
	}
	tcp->data_off = 5 << 4;
	for (uint16_t len = 0; len <= 40; len++) {
		ip->total_length = rte_cpu_to_be_16((uint16_t)(sizeof(*ip) + len));
		assert_int_equal(flow_pkt_of_ip(&p, ip), len >= 20 ? DROP_NONE : DROP_CT_INVALID);
	}
}

static void test_scale_option(void **state)
{
	static const struct {
		uint8_t options[8];
		uint8_t scale;
	} rows[] = {
		{{3, 3, 7, 0, 0, 0, 0, 0}, 7},
		{{1, 1, 1, 1, 1, 3, 3, 9}, 9},
		{{2, 4, 5, 180, 3, 3, 0, 0}, 0},
		{{3, 3, 15, 0, 0, 0, 0, 0}, 14},
		{{0, 3, 3, 7, 0, 0, 0, 0}, FLOW_NO_SCALE}, // beyond the end
		{{1, 1, 1, 1, 1, 1, 3, 3}, FLOW_NO_SCALE}, // truncated
		{{1, 1, 1, 1, 1, 1, 1, 3}, FLOW_NO_SCALE},
		{{8, 0, 3, 3, 7, 0, 0, 0}, FLOW_NO_SCALE}, // a wrong length
		{{8, 1, 3, 3, 7, 0, 0, 0}, FLOW_NO_SCALE},
		{{8, 200, 3, 3, 7, 0, 0, 0}, FLOW_NO_SCALE},
		{{3, 4, 7, 0, 0, 0, 0, 0}, FLOW_NO_SCALE}, // of an invalid length
		{{1, 1, 1, 1, 1, 1, 1, 1}, FLOW_NO_SCALE},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint8_t buf[PACKET_MAX];
		struct rte_ipv4_hdr *ip = packet_tcp(buf,
			&(struct segment){.src = 1, .dst = 2, .flags = SYN, .len = 8, .scale = -1});
		struct rte_tcp_hdr *tcp = (struct rte_tcp_hdr *)(ip + 1);

		tcp->data_off = 7 << 4;
		memcpy(tcp + 1, rows[i].options, 8);
		assert_int_equal(flow_pkt_of(ip).scale, rows[i].scale);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_key),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_sctp_ports),
		cmocka_unit_test(test_icmp_key),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_icmp_error_malformed),
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_header_lengths),
		cmocka_unit_test(test_scale_option),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
