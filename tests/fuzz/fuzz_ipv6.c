// SPDX-License-Identifier: BSD-3-Clause
// Any octets as one IPv6 packet, in memory that ends with it. Runs all functions that parse
// headers, and all that write packets about others. The first octet of the input determines which
// fields are made valid. Proves that they agree, and that no sanitizer reports an error.
#include "flow_pkt.h"
#include "fuzz.h"
#include "icmp.h"
#include "ip_view.h"
#include "mld.h"
#include "nd.h"
#include "tcp.h"
#include "test.h"

enum {
	RIGHT_VERSION = 1,
	RIGHT_LENGTH = 2,    // of the payload
	RIGHT_CHECKSUM = 4,  // of ICMPv6
	RIGHT_HOP_LIMIT = 8, // as neighbour discovery requires
};

static const struct ip_addr own = {.b = {0x20, 0x01, 0x0d, 0xb8, [15] = 1}};
static const struct rte_ether_addr mac = {{2, 0, 0, 0, 0, 1}};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

static void make_right(struct rte_ipv6_hdr *ip, uint32_t len, uint8_t how)
{
	struct ipv6_upper upper;

	if ((how & RIGHT_VERSION) != 0)
		ip->vtc_flow = (ip->vtc_flow & ~RTE_BE32(0xf0000000)) | RTE_BE32(0x60000000);
	if ((how & RIGHT_LENGTH) != 0)
		ip->payload_len = rte_cpu_to_be_16((uint16_t)(len - sizeof(*ip)));
	if ((how & RIGHT_HOP_LIMIT) != 0)
		ip->hop_limits = 255;
	if ((how & RIGHT_CHECKSUM) == 0 || ipv6_check(ip, len) != IPV6_GOOD ||
		ipv6_upper_find(&upper, ip, ipv6_len(ip)) != IPV6_GOOD)
		return;

	struct icmp_head *icmp = (struct icmp_head *)((uint8_t *)ip + upper.off);

	if (ipv6_len(ip) - upper.off < sizeof(*icmp))
		return;
	icmp->cksum = 0;
	icmp->cksum = ipv6_checksum(ip, IPPROTO_ICMPV6, icmp, ipv6_len(ip) - upper.off);
}

// A packet written about another one can be parsed.
static void write_about(const struct rte_ipv6_hdr *ip)
{
	static const struct icmp_error errors[] = {
		{ICMP6_DST_UNREACH, 0, 0}, {ICMP6_PARAM_PROB, ICMP6_PARAMPROB_OPTION, 40}};
	uint8_t out[ICMP6_ERROR_MAX];
	struct ip_layout at;

	for (size_t i = 0; i < COUNT_OF(errors); i++)
		if (icmp_error_allowed(&errors[i], ip))
			assert_int_equal(ipv6_check((const void *)out,
						 icmp_error_build(out, errors[i], &own, 0, ip)),
				IPV6_GOOD);
	if (ip_layout_read(&at, ip) && tcp_reset_allowed(ip, &at))
		assert_int_equal(
			ipv6_check((const void *)out, tcp_reset_build(out, ip, &at)), IPV6_GOOD);
}

static void read_as_neighbour(const struct rte_ipv6_hdr *ip)
{
	uint8_t frame[ND_FRAME_LEN];
	struct nd_message m;

	if (nd_read(&m, ip) == ND_GOOD && m.kind == ND_SOLICITATION)
		assert_in_range(
			nd_answer_build(frame, &mac, &m, &mac), sizeof(frame), sizeof(frame));
}

static void read_as_listener(const struct rte_ipv6_hdr *ip)
{
	struct mld_query q;

	if (ip->proto == IPPROTO_HOPOPTS && mld_read(&q, ip) == MLD_GOOD)
		assert_in_range(q.delay_ms, 0, 8191 << 10);
}

// Both parsers agree about a packet, and its flow is the same in both directions.
static void read_as_flow(const struct rte_ipv6_hdr *ip, const struct ipv6_upper *upper)
{
	const struct ip_layout at = ip_layout_v6(ip, upper);
	const struct ip_view view = ip_view_of(ip, &at);
	struct flow_pkt fp;

	assert_int_equal(view.proto, upper->proto);
	assert_int_equal(view.l4_off, upper->off);
	if (at.fragment || flow_pkt_read(&fp, ip, &at) != DROP_NONE || fp.icmp_error)
		return;
	assert_int_equal(fp.key.proto, view.proto);
	assert_true(ip_addr_equal(&fp.key.addr[fp.dir], &view.src));
	assert_true(ip_addr_equal(&fp.key.addr[!fp.dir], &view.dst));
	if (view.has_ports)
		assert_int_equal(fp.key.port[fp.dir], view.src_port);
}

static void write_echo(const struct rte_ipv6_hdr *ip)
{
	const struct ip_addr to = ipv6_dst(ip);
	uint8_t out[ICMP_ECHO_MAX];
	struct ip_layout at;

	assert_int_equal(icmp_echo_build(out, &own, &to, 0x10002, 0), ICMP_ECHO_MAX);
	assert_true(ip_layout_read(&at, out));
	assert_true(icmp_echo_is_request(out, &at));
	assert_false(icmp_echo_is_reply(out, &at));
}

static void read_packet(struct rte_ipv6_hdr *ip)
{
	struct ipv6_upper upper;
	struct ip_layout at;
	uint16_t off;

	write_about(ip);
	write_echo(ip);
	read_as_neighbour(ip);
	read_as_listener(ip);
	if (ipv6_upper_find(&upper, ip, ipv6_len(ip)) != IPV6_GOOD) {
		assert_in_range(upper.fault_off, 6, ipv6_len(ip) - 1);
		return;
	}
	assert_in_range(upper.off, sizeof(*ip), ipv6_len(ip));
	ipv6_options_check(&off, ip, upper.off);
	read_as_flow(ip, &upper);
	at = ip_layout_v6(ip, &upper);
	if (icmp_echo_is_request(ip, &at))
		assert_in_range(icmp6_echo_reply(ip, at.l4_off, &own), sizeof(*ip) + 8, 65535);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	uint8_t *packet;

	if (len < 1)
		return 0;
	len--;
	packet = malloc(len + 2); // as after an Ethernet header, IP is not aligned to words
	assert_non_null(packet);
	memcpy(packet + 2, input + 1, len);

	struct rte_ipv6_hdr *ip = (struct rte_ipv6_hdr *)(packet + 2);

	if (len >= sizeof(*ip))
		make_right(ip, (uint32_t)len, input[0]);
	if (ipv6_check(ip, (uint32_t)len) == IPV6_GOOD)
		read_packet(ip);
	free(packet);
	return 0;
}
