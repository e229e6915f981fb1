// SPDX-License-Identifier: BSD-3-Clause
#include "ipv4.h"

enum { OPTION_END = 0, OPTION_NOP = 1, OPTION_LSRR = 131, OPTION_SSRR = 137 };

#define OPTION_COPIED 0x80 // a flag of the type: every fragment has the option

uint64_t ipv4_header_words_options(const struct rte_ipv4_hdr *ip)
{
	uint64_t sum = 0;
	uint32_t word;

	for (uint32_t at = 0; at < rte_ipv4_hdr_len(ip); at += (uint32_t)sizeof(word)) {
		memcpy(&word, (const uint8_t *)ip + at, sizeof(word));
		sum += word;
	}
	return sum;
}

// Octets of an option; 0: it does not end before the header does.
static uint8_t option_len(const uint8_t *option, const uint8_t *end)
{
	if (*option == OPTION_NOP)
		return 1;
	return end - option < 2 || option[1] < 2 || option[1] > end - option ? 0 : option[1];
}

enum ipv4_options ipv4_options_check_each(const struct rte_ipv4_hdr *ip)
{
	const uint8_t *option = (const uint8_t *)(ip + 1);
	const uint8_t *end = (const uint8_t *)ip + rte_ipv4_hdr_len(ip);

	for (uint8_t n; option < end && *option != OPTION_END; option += n) {
		if (*option == OPTION_LSRR || *option == OPTION_SSRR)
			return IPV4_OPTIONS_SOURCE_ROUTED;
		n = option_len(option, end);
		if (n == 0)
			return IPV4_OPTIONS_MALFORMED;
	}
	return IPV4_OPTIONS_GOOD;
}

uint32_t ipv4_header_copy_later_options(struct rte_ipv4_hdr *to, const struct rte_ipv4_hdr *ip)
{
	const uint8_t *option = (const uint8_t *)(ip + 1);
	const uint8_t *end = (const uint8_t *)ip + rte_ipv4_hdr_len(ip);
	uint8_t *copy = (uint8_t *)(to + 1);
	uint32_t len;

	memcpy(to, ip, sizeof(*ip));
	for (uint8_t n; option < end && *option != OPTION_END; option += n) {
		n = option_len(option, end);
		if (n == 0)
			break;
		if ((*option & OPTION_COPIED) == 0)
			continue;
		memcpy(copy, option, n);
		copy += n;
	}
	while ((len = (uint32_t)(copy - (uint8_t *)to)) % RTE_IPV4_IHL_MULTIPLIER != 0)
		*copy++ = OPTION_END;
	to->version_ihl = (uint8_t)(4 << 4 | len / RTE_IPV4_IHL_MULTIPLIER);
	return len;
}
