// SPDX-License-Identifier: BSD-3-Clause
#include "mld.h"

#include <assert.h>
#include <netinet/icmp6.h>
#include <string.h>

#include "ip_layout.h"

#define HOP_LIMIT 1
#define REPORT_V2 143 // type of a version 2 report (RFC 3810 5.2)

// The hop-by-hop options of every message: a router alert that means MLD (RFC 2711 2.1) and PadN.
struct options {
	uint8_t next, len;
	uint8_t alert[4], pad[2];
} __rte_packed;

// A query, a version 1 report or Done.
struct message {
	uint8_t type, code;
	rte_be16_t cksum;
	rte_be16_t delay;
	rte_be16_t reserved;
	uint8_t group[16];
} __rte_packed;

// Fields that version 2 adds.
struct query_v2 {
	struct message v1;
	uint8_t flags, interval;
	rte_be16_t n_sources;
} __rte_packed;

struct record {
	uint8_t type, aux_len;
	rte_be16_t n_sources;
	uint8_t group[16];
} __rte_packed;

struct report {
	uint8_t type, reserved;
	rte_be16_t cksum;
	rte_be16_t reserved2;
	rte_be16_t n_records;
	struct record record[];
} __rte_packed;

#define HEADERS_LEN (sizeof(struct rte_ipv6_hdr) + sizeof(struct options))

static_assert(HEADERS_LEN + sizeof(struct report) == MLD_REPORT_LEN(0), "without records");
static_assert(sizeof(struct record) == MLD_REPORT_LEN(1) - MLD_REPORT_LEN(0), "one record");
static_assert(HEADERS_LEN + sizeof(struct message) == MLD_V1_LEN, "all of it");

static const struct ip_addr all_routers = {.b = {0xff, 0x02, [15] = 2}};
static const struct ip_addr all_v2_routers = {.b = {0xff, 0x02, [15] = 0x16}};

// Large numbers have a mantissa of that many bits, without its highest, and an exponent of three
// (RFC 3810 5.1.3, 5.1.9).
static uint32_t float_decode(uint32_t code, unsigned int mantissa_bits)
{
	uint32_t one = 1u << mantissa_bits;

	return code < one << 3 ? code : (code % one + one) << ((code / one & 7) + 3);
}

// RFC 3810 8.1: the length determines the version.
static enum mld_fault read_query(struct mld_query *q, const struct message *m, uint32_t len)
{
	const struct query_v2 *v2 = (const struct query_v2 *)m;
	uint32_t sources;

	*q = (struct mld_query){.group = ipv6_addr(m->group), .v1 = len == sizeof(*m)};
	if (!ip_addr_is_none(&q->group) && q->group.b[0] != 0xff)
		return MLD_MALFORMED;
	q->delay_ms = rte_be_to_cpu_16(m->delay);
	if (q->v1)
		return MLD_GOOD;
	if (len < sizeof(*v2))
		return MLD_MALFORMED;
	q->delay_ms = float_decode(q->delay_ms, 12);
	q->interval_s = float_decode(v2->interval, 4);
	sources = rte_be_to_cpu_16(v2->n_sources);
	return len - sizeof(*v2) < sources * sizeof(m->group) ||
			       (sources > 0 && ip_addr_is_none(&q->group))
		       ? MLD_MALFORMED
		       : MLD_GOOD;
}

// RFC 3810 6.2: link-local source, hop limit 1 and router alert of a router on this link.
static bool is_from_link(const struct rte_ipv6_hdr *ip, const struct ipv6_upper *upper)
{
	struct ip_addr source = ipv6_src(ip);
	uint16_t fault_off;

	return ip_addr_is_link_local(&source) && ip->hop_limits == HOP_LIMIT &&
	       ipv6_options_check(&fault_off, ip, upper->off) == IPV6_OPTIONS_PASS &&
	       ipv6_has_router_alert(ip, IPV6_ALERT_MLD);
}

enum mld_fault mld_read(struct mld_query *q, const struct rte_ipv6_hdr *ip)
{
	uint32_t len = ipv6_len(ip);
	struct ipv6_upper upper;

	if (ipv6_upper_find(&upper, ip, len) != IPV6_GOOD || upper.proto != IPPROTO_ICMPV6 ||
		upper.later || len == upper.off)
		return MLD_NOT_OURS;

	const struct message *m = (const void *)((const uint8_t *)ip + upper.off);

	if (m->type != MLD_LISTENER_QUERY)
		return MLD_NOT_OURS;
	len -= upper.off;
	if (len < sizeof(*m) || upper.frag_off != 0 || !is_from_link(ip, &upper) ||
		ipv6_checksum(ip, IPPROTO_ICMPV6, m, len) != 0)
		return MLD_MALFORMED;
	return read_query(q, m, len);
}

// The headers in front of the message of len octets. Returns the length of the packet.
static uint16_t headers_build(
	uint8_t *out, const struct ip_addr *src, const struct ip_addr *dst, size_t len)
{
	struct rte_ipv6_hdr *ip = (struct rte_ipv6_hdr *)out;
	struct options *options = (struct options *)(ip + 1);
	struct message *m = (struct message *)(options + 1);

	ip_header_write(out, src, dst, IPPROTO_HOPOPTS, (uint16_t)(sizeof(*options) + len));
	ip->hop_limits = HOP_LIMIT;
	*options = (struct options){.next = IPPROTO_ICMPV6,
		.alert = {IPV6_OPTION_ALERT, 2, 0, IPV6_ALERT_MLD},
		.pad = {IPV6_OPTION_PADN, 0}};
	m->cksum = ipv6_checksum(ip, IPPROTO_ICMPV6, m, (uint32_t)len);
	return (uint16_t)(HEADERS_LEN + len);
}

uint16_t mld_report_build(uint8_t *out, const struct ip_addr *source, enum mld_record record,
	const struct ip_addr group[], unsigned int n)
{
	struct report *r = (struct report *)(out + HEADERS_LEN);

	*r = (struct report){.type = REPORT_V2, .n_records = rte_cpu_to_be_16((uint16_t)n)};
	for (unsigned int i = 0; i < n; i++) {
		r->record[i] = (struct record){.type = (uint8_t)record};
		memcpy(r->record[i].group, &group[i], sizeof(group[i]));
	}
	return headers_build(out, source, &all_v2_routers, sizeof(*r) + n * sizeof(r->record[0]));
}

// RFC 2710 5: reports go to the group itself.
uint16_t mld_v1_build(uint8_t *out, const struct ip_addr *source, enum mld_record record,
	const struct ip_addr *group)
{
	struct message *m = (struct message *)(out + HEADERS_LEN);
	bool done = record == MLD_LEAVES;

	*m = (struct message){.type = done ? MLD_LISTENER_REDUCTION : MLD_LISTENER_REPORT};
	memcpy(m->group, group, sizeof(m->group));
	return headers_build(out, source, done ? &all_routers : group, sizeof(*m));
}
