// SPDX-License-Identifier: BSD-3-Clause
#include "ipv4.h"

enum { OPTION_END = 0, OPTION_NOP = 1, OPTION_LSRR = 131, OPTION_SSRR = 137 };

bool ipv4_is_source_routed(const struct rte_ipv4_hdr *ip)
{
	const uint8_t *option = (const uint8_t *)(ip + 1);
	const uint8_t *end = (const uint8_t *)ip + rte_ipv4_hdr_len(ip);

	while (option < end && *option != OPTION_END) {
		if (*option == OPTION_LSRR || *option == OPTION_SSRR)
			return true;
		if (*option == OPTION_NOP) {
			option++;
			continue;
		}
		if (end - option < 2 || option[1] < 2)
			return false; // nobody can read on
		option += option[1];
	}
	return false;
}
