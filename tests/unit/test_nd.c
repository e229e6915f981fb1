// SPDX-License-Identifier: BSD-3-Clause
// Neighbour discovery, octet by octet as scapy makes it, and invalid messages.
#include "addrs.h"
#include "nd.h"
#include "packets.h"
#include "test.h"

static void check_frame(const uint8_t *frame, uint16_t len, const char *word)
{
	struct octets right = packet_octets(word);

	assert_int_equal(len, right.len);
	assert_memory_equal(frame, right.b, right.len);
	free(right.b);
}

static void check_solicit(char *const word[])
{
	struct rte_ether_addr mac = packet_mac(word[1]), to = {0};
	struct ip_addr sender = addr_of(word[2]), target = addr_of(word[3]);
	bool one = strcmp(word[4], "-") != 0;
	uint8_t frame[ND_FRAME_LEN];

	if (one)
		to = packet_mac(word[4]);
	check_frame(frame, nd_solicitation_build(frame, &mac, &sender, &target, one ? &to : NULL),
		word[5]);
}

static void check_answer(char *const word[])
{
	struct rte_ether_addr mac = packet_mac(word[1]);
	struct octets solicitation = packet_octets(word[2]);
	const struct rte_ether_hdr *eth = (const struct rte_ether_hdr *)solicitation.b;
	uint8_t frame[ND_FRAME_LEN];
	struct nd_message m;

	assert_int_equal(nd_read(&m, (const void *)(eth + 1)), ND_GOOD);
	assert_int_equal(m.kind, ND_SOLICITATION);
	check_frame(frame, nd_answer_build(frame, &mac, &m, &eth->src_addr), word[3]);
	free(solicitation.b);
}

static void check_announce(char *const word[])
{
	struct rte_ether_addr mac = packet_mac(word[1]);
	struct ip_addr addr = addr_of(word[2]);
	uint8_t frame[ND_FRAME_LEN];

	check_frame(frame, nd_announcement_build(frame, &mac, &addr), word[3]);
}

static void test_build(void **state)
{
	(void)state;
	assert_int_equal(packets_each("solicit", check_solicit), 12);
	assert_int_equal(packets_each("answer", check_answer), 3);
	assert_int_equal(packets_each("announce", check_announce), 1);
}

static void check_read(char *const word[])
{
	struct octets o = packet_octets(word[5]);
	struct ip_addr source = addr_of(word[1]), target = addr_of(word[2]);
	unsigned int flags = (unsigned int)atoi(word[4]);
	enum nd_kind kind = strncmp(word[0], "ns", 2) == 0   ? ND_SOLICITATION
			    : strncmp(word[0], "na", 2) == 0 ? ND_ADVERTISEMENT
							     : ND_ROUTER_SOLICITATION;
	struct nd_message m;

	if (nd_read(&m, (const void *)o.b) != ND_GOOD)
		fail_msg("%s", word[0]);
	assert_int_equal(m.kind, kind);
	assert_true(ip_addr_equal(&m.source, &source));
	assert_true(ip_addr_equal(&m.target, &target));
	assert_int_equal(m.has_mac, strcmp(word[3], "-") != 0);
	if (m.has_mac) {
		struct rte_ether_addr mac = packet_mac(word[3]);

		assert_memory_equal(&m.mac, &mac, sizeof(mac));
	}
	assert_int_equal(m.router << 2 | m.solicited << 1 | m.override, flags);
	// A bit that the checksum covers is wrong; and the hop limit.
	for (uint32_t bit = 7 * 8; bit < o.len * 8; bit++) {
		bool options_header = strstr(word[0], "header") != NULL && bit >= 320 && bit < 384;

		o.b[bit / 8] ^= (uint8_t)(1 << bit % 8);
		if (!options_header)
			assert_int_not_equal(nd_read(&m, (const void *)o.b), ND_GOOD);
		o.b[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	free(o.b);
}

static void test_read(void **state)
{
	(void)state;
	assert_in_range(packets_each("read", check_read), 15, 50);
}

static enum nd_fault fault_of(const char *name)
{
	if (strstr(name, "hops") != NULL)
		return ND_FORWARDED;
	if (strstr(name, "fragment") != NULL)
		return ND_FRAGMENTED;
	if (strstr(name, "checksum") != NULL)
		return ND_CHECKSUM;
	return strcmp(name, "echo") == 0 || strcmp(name, "udp") == 0 ? ND_NOT_OURS : ND_MALFORMED;
}

static void check_bad(char *const word[])
{
	struct octets o = packet_octets(word[1]);
	struct nd_message m;

	assert_int_equal(ipv6_check((const void *)o.b, o.len), IPV6_GOOD);
	if (nd_read(&m, (const void *)o.b) != fault_of(word[0]))
		fail_msg("%s", word[0]);
	free(o.b);
}

static void test_bad(void **state)
{
	(void)state;
	assert_in_range(packets_each("bad", check_bad), 30, 100);
}

// RFC 4291 2.7.1 and appendix A have these examples.
static void test_addresses(void **state)
{
	struct ip_addr addr = addr_of("4037::01:800:200E:8C6C");
	struct ip_addr group = nd_solicited_node(&addr), right = addr_of("FF02::1:FF0E:8C6C");
	struct rte_ether_addr mac = nd_group_mac(&group),
			      mac_right = packet_mac("33:33:ff:0e:8c:6c");

	(void)state;
	assert_true(ip_addr_equal(&group, &right));
	assert_memory_equal(&mac, &mac_right, sizeof(mac));
	mac = packet_mac("34:56:78:9a:bc:de"); // RFC 2464 4 and 5
	addr = nd_link_local(&mac);
	right = addr_of("FE80::3656:78FF:FE9A:BCDE");
	assert_true(ip_addr_equal(&addr, &right));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_build),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
