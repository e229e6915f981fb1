// SPDX-License-Identifier: BSD-3-Clause
#include "tcp_option.h"

#include <string.h>

#include <rte_byteorder.h>

#include "ipv4.h"

// RFC 1624 3, equation 3. Words at odd offsets count with their octets exchanged.
static void checksum_update(
	struct rte_tcp_hdr *tcp, const void *at, rte_be16_t before, rte_be16_t now)
{
	uint32_t sum = (uint16_t)~tcp->cksum;

	if (((uintptr_t)at - (uintptr_t)tcp) % 2 != 0) {
		before = rte_bswap16(before);
		now = rte_bswap16(now);
	}
	tcp->cksum = (rte_be16_t)~ipv4_sum_fold(sum + (uint16_t)~before + now);
}

void tcp_mss_lower(struct rte_tcp_hdr *tcp, uint16_t mss)
{
	const rte_be16_t lower = rte_cpu_to_be_16(mss);
	const uint8_t *option = NULL;

	while ((option = tcp_option_find(tcp, option, TCP_OPTION_MSS)) != NULL) {
		uint8_t *value = (uint8_t *)tcp + (option + 2 - (const uint8_t *)tcp);
		rte_be16_t announced;

		memcpy(&announced, value, sizeof(announced));
		if (rte_be_to_cpu_16(announced) <= mss)
			continue;
		memcpy(value, &lower, sizeof(lower));
		checksum_update(tcp, value, announced, lower);
	}
}
