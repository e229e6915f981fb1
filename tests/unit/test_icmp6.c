// SPDX-License-Identifier: BSD-3-Clause
// ICMP for IPv6, and resets of TCP over it, octet by octet as scapy makes them; and the packets
// about which errors may be sent.
#include "addrs.h"
#include "icmp.h"
#include "packets.h"
#include "tcp.h"
#include "layout.h"
#include "test.h"

static void check_echo(char *const word[])
{
	struct octets ask = packet_octets(word[1]), reply = packet_octets(word[2]);
	struct rte_ipv6_hdr *ip = (struct rte_ipv6_hdr *)ask.b;
	struct ip_addr source = ipv6_dst(ip);

	assert_true(is_echo_request(ip));
	assert_int_equal(echo_reply6(ip, &source), reply.len);
	assert_memory_equal(ask.b, reply.b, reply.len);
	assert_false(is_echo_request(ip));
	free(ask.b);
	free(reply.b);
}

static void check_not_echo(char *const word[])
{
	struct octets ask = packet_octets(word[1]);
	struct rte_ipv6_hdr *ip = (struct rte_ipv6_hdr *)ask.b;

	// Addresses, type, code, checksum, text: the octets that the checksum covers.
	for (uint32_t bit = 8 * 8; bit < ask.len * 8; bit++) {
		if (strstr(word[0], "options") != NULL && bit >= 40 * 8 && bit < 64 * 8)
			continue;
		ask.b[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_false(is_echo_request(ip));
		ask.b[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	ip->payload_len = rte_cpu_to_be_16((uint16_t)(rte_be_to_cpu_16(ip->payload_len) - 1));
	assert_false(is_echo_request(ip));
	free(ask.b);
}

static void test_echo(void **state)
{
	(void)state;
	assert_int_equal(packets_each("echo", check_echo), 10);
	packets_each("echo", check_not_echo);
}

static void check_error(char *const word[])
{
	struct octets about = packet_octets(word[5]), right = packet_octets(word[6]);
	struct icmp_error error = {
		(uint8_t)atoi(word[1]), (uint8_t)atoi(word[2]), (uint32_t)atoi(word[3])};
	struct ip_addr source = addr_of(word[4]);
	uint8_t out[ICMP6_ERROR_MAX + 1];

	memset(out, 0xa5, sizeof(out));
	assert_true(icmp_error_allowed(&error, (const void *)about.b));
	assert_int_equal(
		icmp_error_build(out, error, &source, 0, (const void *)about.b), right.len);
	assert_memory_equal(out, right.b, right.len);
	assert_int_equal(out[right.len], 0xa5);
	assert_int_equal(ipv6_check((const void *)out, right.len), IPV6_GOOD);
	assert_false(icmp_error_allowed(&error, (const void *)out));
	free(about.b);
	free(right.b);
}

static void test_error(void **state)
{
	(void)state;
	assert_int_equal(packets_each("error", check_error), 49);
}

static void check_reset(char *const word[])
{
	struct octets about = packet_octets(word[1]), right = packet_octets(word[2]);
	uint8_t out[60];

	assert_true(is_reset_allowed((const void *)about.b));
	assert_int_equal(reset_build(out, (const void *)about.b), right.len);
	assert_int_equal(right.len, sizeof(out));
	assert_memory_equal(out, right.b, right.len);
	assert_false(is_reset_allowed((const void *)out));
	free(about.b);
	free(right.b);
}

static void test_reset(void **state)
{
	(void)state;
	assert_int_equal(packets_each("reset", check_reset), 12);
}

struct packet {
	struct rte_ipv6_hdr ip;
	uint8_t l4[40];
};

static struct packet packet(const char *src, const char *dst, uint8_t proto, uint16_t len)
{
	struct packet p = {.ip = {.vtc_flow = RTE_BE32(6u << 28),
				   .payload_len = rte_cpu_to_be_16(len),
				   .proto = proto,
				   .hop_limits = 3}};
	struct ip_addr s = addr_of(src), d = addr_of(dst);

	ipv6_src_set(&p.ip, &s);
	ipv6_dst_set(&p.ip, &d);
	return p;
}

// RFC 4443 2.4 e
static void test_error_addresses(void **state)
{
	static const struct icmp_error unreachable = {ICMP6_DST_UNREACH, 0, 0},
				       big = {ICMP6_PACKET_TOO_BIG, 0, 1280},
				       option = {ICMP6_PARAM_PROB, ICMP6_PARAMPROB_OPTION, 42},
				       header = {ICMP6_PARAM_PROB, ICMP6_PARAMPROB_HEADER, 42};
	static const struct {
		const char *src, *dst;
		bool allowed, if_to_many; // packet too big, unknown options
	} rows[] = {
		{"2001:db8::1", "2001:db8::2", true, true},
		{"fe80::1", "2001:db8::2", true, true},
		{"::", "2001:db8::2", false, false},
		{"::1", "2001:db8::2", false, false},
		{"ff02::1", "2001:db8::2", false, false},
		{"2001:db8::1", "ff02::1", false, true},
		{"2001:db8::1", "ff0e::1", false, true},
		{"2001:db8::1", "::", false, false},
		{"2001:db8::1", "::1", false, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct packet p = packet(rows[i].src, rows[i].dst, IPPROTO_UDP, 8);

		assert_int_equal(icmp_error_allowed(&unreachable, &p.ip), rows[i].allowed);
		assert_int_equal(icmp_error_allowed(&header, &p.ip), rows[i].allowed);
		assert_int_equal(icmp_error_allowed(&big, &p.ip), rows[i].if_to_many);
		assert_int_equal(icmp_error_allowed(&option, &p.ip), rows[i].if_to_many);
	}
}

static void test_error_about_icmp(void **state)
{
	static const struct icmp_error error = {ICMP6_DST_UNREACH, 0, 0},
				       problem = {ICMP6_PARAM_PROB, ICMP6_PARAMPROB_HEADER, 42};

	(void)state;
	for (unsigned int type = 0; type < 256; type++) {
		struct packet p = packet("2001:db8::1", "2001:db8::2", IPPROTO_ICMPV6, 8);
		bool right = type >= 128 && type != 137; // redirect

		p.l4[0] = (uint8_t)type;
		assert_int_equal(icmp_error_allowed(&error, &p.ip), right);
		// After an extension header, too.
		p = packet("2001:db8::1", "2001:db8::2", IPPROTO_DSTOPTS, 16);
		p.l4[0] = IPPROTO_ICMPV6;
		p.l4[8] = (uint8_t)type;
		assert_int_equal(icmp_error_allowed(&error, &p.ip), right);
	}

	struct packet p = packet("2001:db8::1", "2001:db8::2", IPPROTO_ICMPV6, 0);

	p.l4[0] = ICMP6_ECHO_REQUEST; // after the packet
	assert_false(icmp_error_allowed(&error, &p.ip));
	p = packet("2001:db8::1", "2001:db8::2", IPPROTO_FRAGMENT, 16);
	p.l4[0] = IPPROTO_UDP;
	assert_true(icmp_error_allowed(&error, &p.ip));
	p.l4[3] = 8;
	assert_true(icmp_error_allowed(&error, &p.ip));
	p.l4[0] = IPPROTO_ICMPV6; // a later fragment may be one of an error
	assert_false(icmp_error_allowed(&error, &p.ip));
	p.l4[0] = IPPROTO_DSTOPTS;
	assert_false(icmp_error_allowed(&error, &p.ip));
	p = packet("2001:db8::1", "2001:db8::2", IPPROTO_ROUTING, 24);
	p.l4[3] = 1; // source routed
	assert_false(icmp_error_allowed(&error, &p.ip));
	assert_true(icmp_error_allowed(&problem, &p.ip));
}

static void test_reset_not_allowed(void **state)
{
	struct packet p = packet("2001:db8::1", "2001:db8::2", IPPROTO_TCP, 20);

	(void)state;
	assert_true(is_reset_allowed(&p.ip));
	p.ip.payload_len = RTE_BE16(19);
	assert_false(is_reset_allowed(&p.ip));
	p.ip.payload_len = RTE_BE16(20);
	p.l4[13] = 4;
	assert_false(is_reset_allowed(&p.ip));
	p.l4[13] = 0;
	p.ip.proto = IPPROTO_UDP;
	assert_false(is_reset_allowed(&p.ip));
	p = packet("2001:db8::1", "2001:db8::2", IPPROTO_FRAGMENT, 28);
	p.l4[0] = IPPROTO_TCP;
	assert_true(is_reset_allowed(&p.ip));
	p.l4[3] = 1;
	assert_false(is_reset_allowed(&p.ip));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_echo),
		cmocka_unit_test(test_error),
		cmocka_unit_test(test_error_addresses),
		cmocka_unit_test(test_error_about_icmp),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_reset_not_allowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
