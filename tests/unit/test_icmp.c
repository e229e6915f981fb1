// SPDX-License-Identifier: BSD-3-Clause
// ICMP messages: the layout of RFC 792 octet by octet, and the packets about which errors may be
// sent.
#include <netinet/in.h>

#include "icmp.h"
#include "layout.h"
#include "test.h"

#define PACKET_MAX 2000

struct packet {
	_Alignas(8) uint8_t b[PACKET_MAX];
};

static uint16_t sum(const uint8_t *p, size_t len)
{
	uint32_t s = 0;

	for (size_t i = 0; i < len; i += 2)
		s += (uint32_t)p[i] << 8 | (i + 1 < len ? p[i + 1] : 0u);
	while (s > 0xffff)
		s = (s & 0xffff) + (s >> 16);
	return (uint16_t)s;
}

static struct rte_ipv4_hdr *ip_of(struct packet *p)
{
	return (struct rte_ipv4_hdr *)p->b;
}

// A packet from 10.1.0.5 to 10.2.0.5 with a header of hdr octets.
static struct packet packet(uint8_t proto, uint16_t hdr, uint16_t total)
{
	struct packet p;

	for (unsigned int i = 0; i < PACKET_MAX; i++)
		p.b[i] = (uint8_t)(i * 7);
	*ip_of(&p) = (struct rte_ipv4_hdr){
		.version_ihl = (uint8_t)(0x40 | hdr / 4),
		.type_of_service = 0xb9,
		.total_length = rte_cpu_to_be_16(total),
		.packet_id = RTE_BE16(0x1234),
		.fragment_offset = RTE_BE16(0x4000),
		.time_to_live = 17,
		.next_proto_id = proto,
		.src_addr = RTE_BE32(0x0a010005),
		.dst_addr = RTE_BE32(0x0a020005),
	};

	uint16_t c = (uint16_t)~sum(p.b, hdr);

	ip_of(&p)->hdr_checksum = rte_cpu_to_be_16(c);
	return p;
}

static const struct icmp_error too_big = {ICMP_UNREACHABLE, ICMP_UNREACH_NEEDFRAG, 1438};

static void check_error(uint16_t hdr, uint16_t total, uint16_t quoted)
{
	struct packet about = packet(IPPROTO_UDP, hdr, total), out;
	const struct ip_addr source = ip_addr_from_v4(RTE_BE32(0x0a010001));
	const uint8_t head[] = {0x45, 0xc0, (uint8_t)((28 + quoted) >> 8), (uint8_t)(28 + quoted),
		0, 7, 0, 0, 64, 1};
	const uint8_t addrs[] = {10, 1, 0, 1, 10, 1, 0, 5};
	const uint8_t icmp[] = {3, 4};
	const uint8_t mtu[] = {0, 0, 1438 >> 8, 1438 & 0xff};
	uint16_t len;

	memset(&out, 0xa5, sizeof(out));
	len = icmp_error_build(out.b, too_big, &source, RTE_BE16(7), ip_of(&about));
	assert_int_equal(len, 28 + quoted);
	assert_memory_equal(out.b, head, sizeof(head));
	assert_memory_equal(out.b + 12, addrs, sizeof(addrs));
	assert_int_equal(sum(out.b, 20), 0xffff);
	assert_memory_equal(out.b + 20, icmp, sizeof(icmp));
	assert_memory_equal(out.b + 24, mtu, sizeof(mtu)); // RFC 1191 4
	assert_memory_equal(out.b + 28, about.b, quoted);
	assert_int_equal(sum(out.b + 20, len - 20u), 0xffff);
	assert_int_equal(out.b[len], 0xa5);
}

static void test_error(void **state)
{
	(void)state;
	check_error(20, 20, 20);
	check_error(20, 28, 28);
	check_error(20, 33, 33);
	check_error(60, 100, 100);
	check_error(20, 547, 547);
	check_error(20, 548, 548); // 576 in all (RFC 1812 4.3.2.3)
	check_error(20, 549, 548);
	check_error(24, 1500, 548);
}

// RFC 1812 4.3.2.7
static void test_error_allowed(void **state)
{
	static const struct {
		const char *name;
		uint32_t src, dst;
		uint16_t frag;
		uint8_t proto, icmp_type;
		bool allowed;
	} rows[] = {
		{"udp", 0x0a010005, 0x0a020005, 0, 17, 0, true},
		{"first fragment", 0x0a010005, 0x0a020005, 0x2000, 17, 0, true},
		{"later fragment", 0x0a010005, 0x0a020005, 0x2001, 17, 0, false},
		{"last fragment", 0x0a010005, 0x0a020005, 0x0064, 17, 0, false},
		{"echo request", 0x0a010005, 0x0a020005, 0, 1, 8, true},
		{"echo reply", 0x0a010005, 0x0a020005, 0, 1, 0, true},
		{"timestamp", 0x0a010005, 0x0a020005, 0, 1, 13, true},
		{"address mask reply", 0x0a010005, 0x0a020005, 0, 1, 18, true},
		{"unreachable", 0x0a010005, 0x0a020005, 0, 1, 3, false},
		{"source quench", 0x0a010005, 0x0a020005, 0, 1, 4, false},
		{"redirect", 0x0a010005, 0x0a020005, 0, 1, 5, false},
		{"time exceeded", 0x0a010005, 0x0a020005, 0, 1, 11, false},
		{"parameter problem", 0x0a010005, 0x0a020005, 0, 1, 12, false},
		{"unknown type", 0x0a010005, 0x0a020005, 0, 1, 200, false},
		{"from no host", 0, 0x0a020005, 0, 17, 0, false},
		{"from loopback", 0x7f000001, 0x0a020005, 0, 17, 0, false},
		{"from multicast", 0xe0000001, 0x0a020005, 0, 17, 0, false},
		{"from broadcast", 0xffffffff, 0x0a020005, 0, 17, 0, false},
		{"from class E", 0xf0000001, 0x0a020005, 0, 17, 0, true},
		{"to multicast", 0x0a010005, 0xe00000fb, 0, 17, 0, false},
		{"to broadcast", 0x0a010005, 0xffffffff, 0, 17, 0, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct packet p = packet(rows[i].proto, 24, 60);

		ip_of(&p)->src_addr = rte_cpu_to_be_32(rows[i].src);
		ip_of(&p)->dst_addr = rte_cpu_to_be_32(rows[i].dst);
		ip_of(&p)->fragment_offset = rte_cpu_to_be_16(rows[i].frag);
		p.b[24] = rows[i].icmp_type;
		if (icmp_error_allowed(&too_big, ip_of(&p)) != rows[i].allowed)
			fail_msg("%s", rows[i].name);
	}
}

static void test_error_about_empty_icmp(void **state)
{
	struct packet p = packet(IPPROTO_ICMP, 20, 20);

	(void)state;
	p.b[20] = 8; // after the packet
	assert_false(icmp_error_allowed(&too_big, ip_of(&p)));
}

static struct packet echo_request(uint16_t hdr, uint16_t total)
{
	struct packet p = packet(IPPROTO_ICMP, hdr, total);

	p.b[hdr] = 8;
	p.b[hdr + 1] = 0;
	p.b[hdr + 2] = p.b[hdr + 3] = 0;

	uint16_t c = (uint16_t)~sum(p.b + hdr, (size_t)total - hdr);

	p.b[hdr + 2] = (uint8_t)(c >> 8);
	p.b[hdr + 3] = (uint8_t)c;
	return p;
}

static void check_echo(uint16_t hdr, uint16_t total)
{
	struct packet p = echo_request(hdr, total), before = p;

	assert_true(is_echo_request(ip_of(&p)));
	icmp_echo_reply(ip_of(&p));
	assert_int_equal(p.b[hdr], 0);
	assert_int_equal(p.b[hdr + 1], 0);
	assert_int_equal(sum(p.b, hdr), 0xffff);
	assert_int_equal(sum(p.b + hdr, (size_t)total - hdr), 0xffff);
	assert_int_equal(ip_of(&p)->src_addr, RTE_BE32(0x0a020005));
	assert_int_equal(ip_of(&p)->dst_addr, RTE_BE32(0x0a010005));
	assert_int_equal(ip_of(&p)->time_to_live, 64);
	assert_int_equal(ip_of(&p)->total_length, rte_cpu_to_be_16(total));
	// Identifier, sequence number, data, and octets after the packet.
	assert_memory_equal(p.b + hdr + 4, before.b + hdr + 4, PACKET_MAX - hdr - 4u);
	assert_false(is_echo_request(ip_of(&p)));
}

static void test_echo(void **state)
{
	(void)state;
	for (uint16_t len = 8; len < 80; len++)
		check_echo(20, (uint16_t)(20 + len));
	check_echo(20, 1500);
	check_echo(60, 1500);
}

static void test_not_echo(void **state)
{
	struct packet p = echo_request(20, 60);

	(void)state;
	for (unsigned int bit = 0; bit < 40 * 8; bit++) { // type, code, checksum, everything
		p.b[20 + bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_false(is_echo_request(ip_of(&p)));
		p.b[20 + bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	assert_true(is_echo_request(ip_of(&p)));
	ip_of(&p)->fragment_offset = RTE_BE16(0x2000);
	assert_false(is_echo_request(ip_of(&p)));
	ip_of(&p)->fragment_offset = RTE_BE16(0x0001);
	assert_false(is_echo_request(ip_of(&p)));
	ip_of(&p)->fragment_offset = 0;
	ip_of(&p)->next_proto_id = IPPROTO_UDP;
	assert_false(is_echo_request(ip_of(&p)));
	for (uint16_t total = 20; total < 28; total++) {
		p = packet(IPPROTO_ICMP, 20, total);
		memset(p.b + 20, 0, 8);
		p.b[20] = 8;
		p.b[22] = 0xf7;
		p.b[23] = 0xff;
		assert_false(is_echo_request(ip_of(&p)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_error),
		cmocka_unit_test(test_error_allowed),
		cmocka_unit_test(test_error_about_empty_icmp),
		cmocka_unit_test(test_echo),
		cmocka_unit_test(test_not_echo),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
