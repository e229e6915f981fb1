// SPDX-License-Identifier: BSD-3-Clause
// IPv4 headers: which are valid, ports, and the checksum after decrementing the time to live.
#include "ip_view.h"
#include "ipv4.h"
#include "test.h"

// RFC 1071, literally.
static uint16_t naive_checksum(const uint8_t *p, size_t len)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < len; i += 2)
		sum += (uint32_t)p[i] << 8 | (i + 1 < len ? p[i + 1] : 0u);
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

struct packet {
	struct rte_ipv4_hdr ip;
	uint8_t rest[60];
};

static struct packet packet(uint8_t ihl, uint16_t total_len)
{
	struct packet p = {
		.ip =
			{
				.version_ihl = (uint8_t)(0x40 | ihl),
				.total_length = rte_cpu_to_be_16(total_len),
				.time_to_live = 64,
				.next_proto_id = IPPROTO_UDP,
				.src_addr = RTE_BE32(0x0a010005),
				.dst_addr = RTE_BE32(0x0a020005),
			},
		.rest = {0x12, 0x34, 0x00, 0x35},
	};

	p.ip.hdr_checksum = rte_cpu_to_be_16(naive_checksum((uint8_t *)&p, ihl * 4u));
	return p;
}

static void test_check(void **state)
{
	static const struct {
		const char *name;
		uint8_t ihl;
		uint16_t total;
		uint32_t len;
		enum ipv4_fault fault;
	} rows[] = {
		{"whole", 5, 40, 40, IPV4_GOOD},
		{"padded by Ethernet", 5, 40, 46, IPV4_GOOD},
		{"header alone", 5, 20, 20, IPV4_GOOD},
		{"options", 15, 60, 60, IPV4_GOOD},
		{"nothing", 5, 40, 0, IPV4_SHORT},
		{"truncated header", 5, 40, 19, IPV4_SHORT},
		{"truncated payload", 5, 40, 39, IPV4_TRUNCATED},
		{"truncated options", 15, 60, 59, IPV4_TRUNCATED},
		{"header length 4", 4, 40, 40, IPV4_MALFORMED},
		{"header length 0", 0, 40, 40, IPV4_MALFORMED},
		{"shorter than its header", 5, 19, 40, IPV4_MALFORMED},
		{"shorter than its options", 6, 23, 40, IPV4_MALFORMED},
		{"length 0", 5, 0, 40, IPV4_MALFORMED},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct packet p = packet(rows[i].ihl, rows[i].total);
		enum ipv4_fault fault = ipv4_check(&p.ip, rows[i].len, false);

		if (fault != rows[i].fault)
			fail_msg("%s: %d", rows[i].name, fault);
	}
}

static void test_check_version(void **state)
{
	struct packet p = packet(5, 40);

	(void)state;
	for (unsigned int version = 0; version < 16; version++) {
		p.ip.version_ihl = (uint8_t)(version << 4 | 5);
		p.ip.hdr_checksum = 0;
		p.ip.hdr_checksum = rte_cpu_to_be_16(naive_checksum((uint8_t *)&p, 20));
		assert_int_equal(
			ipv4_check(&p.ip, 40, false), version == 4 ? IPV4_GOOD : IPV4_MALFORMED);
	}
}

// Every single wrong bit in a header is detected.
static void test_check_sum(void **state)
{
	(void)state;
	for (unsigned int bit = 0; bit < 24 * 8; bit++) {
		struct packet p = packet(6, 40);

		((uint8_t *)&p)[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_not_equal(ipv4_check(&p.ip, 40, false), IPV4_GOOD);
		if (bit >= 32) // not version and lengths: the device has verified the checksum
			assert_int_equal(ipv4_check(&p.ip, 40, true), IPV4_GOOD);
	}
}

// Plain packets are those of ipv4_check() without options and fragments, and with four octets of
// the upper layer: for every first octet, flag and offset, and for lengths around the limits.
static void test_plain(void **state)
{
	(void)state;
	for (unsigned int first = 0; first < 256; first++)
		for (unsigned int bit = 0; bit <= 16; bit++)
			for (uint16_t total = 18; total < 64; total++)
				for (uint32_t len = 0; len < 64; len++) {
					struct packet p = packet(5, total);
					bool plain;

					p.ip.version_ihl = (uint8_t)first;
					p.ip.fragment_offset =
						rte_cpu_to_be_16((uint16_t)(1u << bit));
					plain = first == 0x45 && (bit >= 14) && total >= 24 &&
						len >= total;
					assert_int_equal(
						ipv4_plain_len(&p.ip, len), plain ? total : 0);
					if (plain)
						assert_int_equal(
							ipv4_check(&p.ip, len, true), IPV4_GOOD);
				}
}

static void test_checksum_set(void **state)
{
	(void)state;
	for (uint8_t ihl = 5; ihl <= 15; ihl++) {
		struct packet p = packet(ihl, 60), q = p;

		q.ip.hdr_checksum = 0x5555;
		ipv4_checksum_set(&q.ip);
		assert_memory_equal(&p, &q, sizeof(p));
	}
}

// RFC 1624, over all checksums: the identification takes every value.
static void test_ttl(void **state)
{
	static const uint8_t ttls[] = {255, 128, 64, 2, 1};

	(void)state;
	for (size_t t = 0; t < COUNT_OF(ttls); t++)
		for (uint32_t id = 0; id < 65536; id++) {
			struct packet p = packet(5, 40);

			p.ip.time_to_live = ttls[t];
			p.ip.packet_id = (rte_be16_t)id;
			p.ip.hdr_checksum = 0;
			p.ip.hdr_checksum = rte_cpu_to_be_16(naive_checksum((uint8_t *)&p, 20));
			ipv4_ttl_decrement(&p.ip);
			assert_int_equal(p.ip.time_to_live, ttls[t] - 1);
			assert_int_equal(naive_checksum((uint8_t *)&p, 20), 0);
		}
}

static void test_fragment(void **state)
{
	static const struct {
		uint16_t field;
		bool fragment;
	} rows[] = {{0, false}, {0x4000, false}, {0x8000, false}, {0x2000, true}, {0x2001, true},
		{0x0001, true}, {0x1fff, true}};
	struct packet p = packet(5, 40);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		p.ip.fragment_offset = rte_cpu_to_be_16(rows[i].field);
		assert_int_equal(ipv4_is_fragment(&p.ip), rows[i].fragment);
	}
}

// RFC 791 3.1: options with the flag are copied into each fragment, others stay in the first.
static void test_copy_later(void **state)
{
	static const struct {
		const char *name;
		uint8_t n, options[12], copied, to[12]; // octets of options
	} rows[] = {
		{"none", 0, {0}, 0, {0}},
		{"router alert is copied", 4, {148, 4, 0, 0}, 4, {148, 4, 0, 0}},
		{"record route is not", 8, {7, 7, 4, 0, 0, 0, 0, 0}, 0, {0}},
		{"both, in either order", 12, {7, 3, 4, 1, 148, 4, 0, 9, 68, 4, 5, 0}, 4,
			{148, 4, 0, 9}},
		{"padded again", 8, {1, 130, 5, 1, 2, 3, 0, 0}, 8, {130, 5, 1, 2, 3, 0, 0, 0}},
		{"what follows the end is not", 8, {0, 0, 0, 0, 148, 4, 0, 0}, 0, {0}},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct packet p = packet((uint8_t)(5 + rows[i].n / 4), 40);
		struct packet to;

		print_message("%s\n", rows[i].name);
		memset(&to, 0xaa, sizeof(to));
		memcpy(p.rest, rows[i].options, rows[i].n);
		assert_int_equal(ipv4_options_check(&p.ip), IPV4_OPTIONS_GOOD);
		assert_int_equal(ipv4_header_copy_later(&to.ip, &p.ip), 20 + rows[i].copied);
		assert_int_equal(to.ip.version_ihl, 0x40 | (5 + rows[i].copied / 4));
		assert_memory_equal((uint8_t *)&to + 1, (uint8_t *)&p + 1, 19);
		assert_memory_equal(to.rest, rows[i].to, rows[i].copied);
		assert_int_equal(to.rest[rows[i].copied], 0xaa);
	}
}

static void test_host_address(void **state)
{
	static const struct {
		uint32_t addr;
		bool host;
	} rows[] = {{0x00000000, false}, {0x00ffffff, false}, {0x01000000, true},
		{0x0a010005, true}, {0x7effffff, true}, {0x7f000001, false}, {0x7fffffff, false},
		{0x80000000, true}, {0xdfffffff, true}, {0xe0000001, false}, {0xefffffff, false},
		{0xf0000000, true}, {0xfffffffe, true}, {0xffffffff, false}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		assert_int_equal(
			ipv4_is_host_address(rte_cpu_to_be_32(rows[i].addr)), rows[i].host);
}

static void test_ports(void **state)
{
	static const struct {
		const char *name;
		uint8_t proto, ihl;
		uint16_t total, frag;
		bool ports;
	} rows[] = {
		{"udp", 17, 5, 40, 0, true},
		{"tcp", 6, 5, 40, 0x4000, true},
		{"sctp", 132, 5, 40, 0, true},
		{"dccp", 33, 5, 40, 0, true},
		{"udplite", 136, 5, 40, 0, true},
		{"just the ports", 17, 5, 24, 0, true},
		{"half the ports", 17, 5, 23, 0, false},
		{"options", 17, 6, 28, 0, true},
		{"options, truncated", 17, 6, 27, 0, false},
		{"icmp", 1, 5, 40, 0, false},
		{"esp", 50, 5, 40, 0, false},
		{"first fragment", 17, 5, 40, 0x2000, false},
		{"last fragment", 17, 5, 40, 0x0005, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct packet p = packet(rows[i].ihl, rows[i].total);
		uint8_t at[4] = {0x12, 0x34, 0x00, 0x35};
		struct ip_layout layout;
		struct ip_view v;

		p.ip.next_proto_id = rows[i].proto;
		p.ip.fragment_offset = rte_cpu_to_be_16(rows[i].frag);
		memcpy((uint8_t *)&p + rows[i].ihl * 4, at, sizeof(at));
		layout = ip_layout_v4(&p.ip);
		v = ip_view_of(&p.ip, &layout);
		if (v.has_ports != rows[i].ports)
			fail_msg("%s", rows[i].name);
		assert_int_equal(v.src_port, rows[i].ports ? RTE_BE16(0x1234) : 0);
		assert_int_equal(v.dst_port, rows[i].ports ? RTE_BE16(0x0035) : 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_check_version),
		cmocka_unit_test(test_check_sum),
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_checksum_set),
		cmocka_unit_test(test_ttl),
		cmocka_unit_test(test_fragment),
		cmocka_unit_test(test_copy_later),
		cmocka_unit_test(test_host_address),
		cmocka_unit_test(test_ports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
