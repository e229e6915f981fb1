// SPDX-License-Identifier: BSD-3-Clause
#include "ipv6.h"

#define EXT_UNIT           8 // octets: the unit of lengths, which do not count the first
#define ROUTING_TYPE       2 // octet of a routing header
#define ROUTING_LEFT       3
#define OPTION_PAD1        0
#define OPTIONS_MAX        8 // in a header, without padding (RFC 8504 5.3)
#define PADDING_MAX        7 // octets: more than alignment needs is an attack (RFC 8504 5.3)
#define OPTION_ACTION(opt) ((opt) >> 6)

uint16_t ipv6_checksum(const struct rte_ipv6_hdr *ip, uint8_t proto, const void *l4, uint32_t len)
{
	const rte_be32_t tail[2] = {rte_cpu_to_be_32(len), rte_cpu_to_be_32(proto)};
	uint32_t sum = __rte_raw_cksum(&ip->src_addr, sizeof(ip->src_addr) * 2, 0);

	sum = __rte_raw_cksum(tail, sizeof(tail), sum);
	sum = __rte_raw_cksum(l4, len, sum);
	return (uint16_t)~__rte_raw_cksum_reduce(sum);
}

static bool is_extension(uint8_t proto)
{
	return proto == IPPROTO_HOPOPTS || proto == IPPROTO_ROUTING || proto == IPPROTO_FRAGMENT ||
	       proto == IPPROTO_DSTOPTS;
}

static uint32_t extension_len(uint8_t proto, const uint8_t *ext)
{
	return proto == IPPROTO_FRAGMENT ? EXT_UNIT : (ext[1] + 1u) * EXT_UNIT;
}

// Records the field with the fault.
static enum ipv6_fault at(struct ipv6_upper *upper, uint32_t off, enum ipv6_fault fault)
{
	upper->fault_off = (uint16_t)off;
	return fault;
}

// Parses the extension header at upper->off, which is complete.
static enum ipv6_fault read_extension(struct ipv6_upper *upper, const uint8_t *ext)
{
	switch (upper->proto) {
	case IPPROTO_HOPOPTS: // RFC 8200 4.1: an unknown next header anywhere else
		if (upper->off != sizeof(struct rte_ipv6_hdr))
			return at(upper, upper->next_off, IPV6_CHAIN_ORDER);
		break;
	case IPPROTO_ROUTING:
		if (ext[ROUTING_LEFT] != 0)
			return at(upper, upper->off + ROUTING_TYPE, IPV6_SOURCE_ROUTED);
		break;
	case IPPROTO_FRAGMENT: {
		uint16_t field = (uint16_t)(ext[2] << 8 | ext[3]);

		if (upper->frag_off != 0)
			return at(upper, upper->next_off, IPV6_CHAIN_ORDER);
		upper->frag_off = upper->off;
		upper->later = (field & IPV6_FRAGMENT_OFFSET) != 0;
		upper->fragment = upper->later || (field & IPV6_FRAGMENT_MORE) != 0;
		break;
	}
	default:
		break;
	}
	return IPV6_GOOD;
}

enum ipv6_fault ipv6_upper_find(
	struct ipv6_upper *upper, const struct rte_ipv6_hdr *ip, uint32_t len)
{
	const uint8_t *packet = (const uint8_t *)ip;

	*upper = (struct ipv6_upper){.off = sizeof(*ip),
		.proto = ip->proto,
		.next_off = offsetof(struct rte_ipv6_hdr, proto)};
	for (unsigned int n = 0; is_extension(upper->proto) && !upper->later; n++) {
		const uint8_t *ext = packet + upper->off;
		enum ipv6_fault fault;

		if (len < upper->off + (uint32_t)EXT_UNIT)
			return at(upper, upper->next_off, IPV6_CHAIN_TRUNCATED);

		uint32_t end = upper->off + extension_len(upper->proto, ext);

		if (n == IPV6_CHAIN_MAX || end > sizeof(*ip) + IPV6_CHAIN_LEN_MAX)
			return at(upper, upper->next_off, IPV6_CHAIN_LONG);
		if (end > len)
			return at(upper, upper->next_off, IPV6_CHAIN_TRUNCATED);
		fault = read_extension(upper, ext);
		if (fault != IPV6_GOOD)
			return fault;
		upper->next_off = upper->off;
		upper->proto = ext[0];
		upper->off = (uint16_t)end;
	}
	return IPV6_GOOD;
}

uint16_t ipv6_next_field(const struct rte_ipv6_hdr *ip, uint16_t off)
{
	const uint8_t *packet = (const uint8_t *)ip;
	uint16_t field = offsetof(struct rte_ipv6_hdr, proto);

	for (uint32_t at = sizeof(*ip); at < off;) {
		uint32_t end = at + extension_len(packet[field], packet + at);

		field = (uint16_t)at;
		at = end;
	}
	return field;
}

void ipv6_esp_place(
	uint16_t *off, uint16_t *next_off, const struct rte_ipv6_hdr *ip, uint16_t l4_off)
{
	const uint8_t *packet = (const uint8_t *)ip;
	uint8_t proto = ip->proto;

	*off = sizeof(*ip);
	*next_off = offsetof(struct rte_ipv6_hdr, proto);
	for (uint16_t at = sizeof(*ip); at < l4_off;) {
		uint16_t end = (uint16_t)(at + extension_len(proto, packet + at));

		if (proto != IPPROTO_DSTOPTS) {
			*off = end;
			*next_off = at;
		}
		proto = packet[at];
		at = end;
	}
}

// Length of an option of which len octets are there; more than len if the option is truncated.
static uint32_t option_len(const uint8_t *option, uint32_t len)
{
	if (option[0] == OPTION_PAD1)
		return 1;
	return len < 2 ? 2 : 2u + option[1];
}

// What to do about the options from octet off to end.
static enum ipv6_options check_options(
	uint16_t *fault_off, const uint8_t *packet, uint32_t off, uint32_t end)
{
	uint32_t padding = 0; // its octets, one after the other
	unsigned int others = 0;

	while (off < end) {
		uint8_t option = packet[off];
		bool pads = option == OPTION_PAD1 || option == IPV6_OPTION_PADN;
		uint32_t len = option_len(packet + off, end - off);

		padding = pads ? padding + len : 0;
		others += !pads;
		if (len > end - off || padding > PADDING_MAX || others > OPTIONS_MAX)
			return IPV6_OPTIONS_DROP;
		*fault_off = (uint16_t)off;
		if (!pads && OPTION_ACTION(option) != 0)
			return (enum ipv6_options)OPTION_ACTION(option);
		off += len;
	}
	return IPV6_OPTIONS_PASS;
}

enum ipv6_options ipv6_options_check(
	uint16_t *fault_off, const struct rte_ipv6_hdr *ip, uint16_t l4_off)
{
	const uint8_t *packet = (const uint8_t *)ip;
	enum ipv6_options what = IPV6_OPTIONS_PASS;
	uint8_t proto = ip->proto;

	for (uint32_t off = sizeof(*ip); what == IPV6_OPTIONS_PASS && off < l4_off;) {
		uint32_t end = off + extension_len(proto, packet + off);

		if (proto == IPPROTO_HOPOPTS || proto == IPPROTO_DSTOPTS)
			what = check_options(fault_off, packet, off + 2, end);
		proto = packet[off];
		off = end;
	}
	return what;
}

bool ipv6_has_router_alert(const struct rte_ipv6_hdr *ip, uint8_t value)
{
	const uint8_t wanted[] = {IPV6_OPTION_ALERT, 2, 0, value};
	const uint8_t *option = (const uint8_t *)(ip + 1);
	const uint8_t *end;

	if (ip->proto != IPPROTO_HOPOPTS)
		return false;
	end = option + extension_len(IPPROTO_HOPOPTS, option);
	for (option += 2; option < end; option += option[0] == OPTION_PAD1 ? 1 : 2 + option[1])
		if (end - option >= (ptrdiff_t)sizeof(wanted) &&
			memcmp(option, wanted, sizeof(wanted)) == 0)
			return true;
	return false;
}
