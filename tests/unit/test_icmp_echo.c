// SPDX-License-Identifier: BSD-3-Clause
// Pings of the gateway's own, octet by octet, and which packets are replies to them.
#include "icmp.h"

#include <netinet/in.h>

#include "addrs.h"
#include "ipv6.h"
#include "layout.h"
#include "test.h"

static uint16_t build(uint8_t *out, const char *from, const char *to)
{
	const struct ip_addr source = addr_of(from), destination = addr_of(to);

	memset(out, 0xee, ICMP_ECHO_MAX + 1);
	return icmp_echo_build(out, &source, &destination, 0x12345678, 0);
}

static void test_ipv4(void **state)
{
	static const uint8_t expected[] = {0x45, 0, 0, 28, 0, 0, 0, 0, 64, 1, 0x65, 0xdb, 10, 1, 0,
		1, 10, 2, 0, 1, 8, 0, 0x8f, 0x53, 0x12, 0x34, 0x56, 0x78};
	_Alignas(8) uint8_t out[ICMP_ECHO_MAX + 1];

	(void)state;
	assert_int_equal(build(out, "10.1.0.1", "10.2.0.1"), sizeof(expected));
	assert_memory_equal(out + 12, expected + 12, sizeof(expected) - 12);
	assert_int_equal(rte_raw_cksum(out, 20), 0xffff);
	assert_true(is_echo_request((struct rte_ipv4_hdr *)out));
	assert_false(is_echo_reply(out));
	icmp_echo_reply((struct rte_ipv4_hdr *)out);
	assert_true(is_echo_reply(out));
	out[7] = 1; // a fragment
	assert_false(is_echo_reply(out));
	out[7] = 0;
	out[3] = 27; // too short
	assert_false(is_echo_reply(out));
}

static void test_ipv6(void **state)
{
	_Alignas(8) uint8_t out[ICMP_ECHO_MAX + 1];
	struct rte_ipv6_hdr *ip = (struct rte_ipv6_hdr *)out;
	const struct ip_addr target = addr_of("2001:db8:2::1");

	(void)state;
	assert_int_equal(build(out, "2001:db8:1::1", "2001:db8:2::1"), ICMP_ECHO_MAX);
	assert_int_equal(out[ICMP_ECHO_MAX], 0xee);
	assert_true(is_echo_request(ip)); // with the right checksum
	assert_memory_equal(out + 44, "\x12\x34\x56\x78", 4);
	assert_false(is_echo_reply(out));
	echo_reply6(ip, &target);
	assert_true(is_echo_reply(out));
	ip->payload_len = rte_cpu_to_be_16(7);
	assert_false(is_echo_reply(out));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ipv4),
		cmocka_unit_test(test_ipv6),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
