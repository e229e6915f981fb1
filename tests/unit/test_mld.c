// SPDX-License-Identifier: BSD-3-Clause
// Multicast listener discovery, octet by octet as scapy makes it, and invalid messages.
#include "addrs.h"
#include "ipv6.h"
#include "mld.h"
#include "packets.h"
#include "test.h"

#define GROUPS_MAX 5

static struct {
	unsigned int report, v1, query, bad, other;
} lines;

static void check_packet(const uint8_t *packet, uint16_t len, const char *word)
{
	struct octets right = packet_octets(word);

	assert_int_equal(len, right.len);
	assert_memory_equal(packet, right.b, right.len);
	free(right.b);
}

static void check_report(char *const word[])
{
	struct ip_addr source = addr_of(word[1]), group[GROUPS_MAX];
	enum mld_record record = (enum mld_record)atoi(word[2]);
	uint8_t packet[MLD_REPORT_LEN(GROUPS_MAX)];
	char *rest = word[3], *one;
	unsigned int n = 0;

	while ((one = strsep(&rest, ",")) != NULL)
		group[n++] = addr_of(one);
	assert_in_range(n, 1, GROUPS_MAX);
	check_packet(packet, mld_report_build(packet, &source, record, group, n), word[4]);
	assert_int_equal(strlen(word[4]), 2 * MLD_REPORT_LEN(n));
	lines.report++;
}

static void check_v1(char *const word[])
{
	struct ip_addr source = addr_of(word[1]), group = addr_of(word[3]);
	enum mld_record record = (enum mld_record)atoi(word[2]);
	uint8_t packet[MLD_V1_LEN];

	check_packet(packet, mld_v1_build(packet, &source, record, &group), word[4]);
	lines.v1++;
}

// A bit is wrong, of the hop limit, the addresses or the message.
static void check_bits(const struct octets *o)
{
	struct ipv6_upper upper;
	struct mld_query q;

	assert_int_equal(ipv6_upper_find(&upper, (const void *)o->b, o->len), IPV6_GOOD);
	for (uint32_t bit = 7 * 8; bit < o->len * 8; bit++) {
		if (bit >= sizeof(struct rte_ipv6_hdr) * 8 && bit < upper.off * 8u)
			continue;
		o->b[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_not_equal(mld_read(&q, (const void *)o->b), MLD_GOOD);
		o->b[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

static void check_query(char *const word[])
{
	struct octets o = packet_octets(word[6]);
	struct ip_addr group = addr_of(word[2]);
	struct mld_query q;

	assert_int_equal(ipv6_check((const void *)o.b, o.len), IPV6_GOOD);
	if (mld_read(&q, (const void *)o.b) != MLD_GOOD)
		fail_msg("%s", word[1]);
	assert_true(ip_addr_equal(&q.group, &group));
	assert_int_equal(q.delay_ms, atoi(word[3]));
	assert_int_equal(q.interval_s, atoi(word[4]));
	assert_int_equal(q.v1, atoi(word[5]));
	check_bits(&o);
	free(o.b);
	lines.query++;
}

static void check_fault(const char *name, const char *packet, enum mld_fault fault)
{
	struct octets o = packet_octets(packet);
	struct mld_query q;

	assert_int_equal(ipv6_check((const void *)o.b, o.len), IPV6_GOOD);
	if (mld_read(&q, (const void *)o.b) != fault)
		fail_msg("%s", name);
	free(o.b);
}

static void check_line(char *const word[])
{
	if (strcmp(word[0], "report") == 0) {
		check_report(word);
	} else if (strcmp(word[0], "v1") == 0) {
		check_v1(word);
	} else if (strcmp(word[0], "query") == 0) {
		check_query(word);
	} else if (strcmp(word[0], "bad") == 0) {
		check_fault(word[1], word[2], MLD_MALFORMED);
		lines.bad++;
	} else {
		assert_string_equal(word[0], "other");
		check_fault(word[1], word[2], MLD_NOT_OURS);
		lines.other++;
	}
}

static void test_scapy(void **state)
{
	(void)state;
	packets_each_line("mld_packets.txt", check_line);
	assert_int_equal(lines.report, 18);
	assert_int_equal(lines.v1, 30);
	assert_in_range(lines.query, 35, 100);
	assert_in_range(lines.bad, 28, 100);
	assert_in_range(lines.other, 7, 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scapy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
