// SPDX-License-Identifier: BSD-3-Clause
// Options of TCP segments (RFC 9293 3.2), in headers that are complete. Workers; pure functions on
// packet memory.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <rte_tcp.h>

// The first two have no length.
enum tcp_option { TCP_OPTION_END, TCP_OPTION_NOP, TCP_OPTION_MSS, TCP_OPTION_SCALE };

// Returns the next option of the kind after a found one, or the first for NULL; its length is
// right. Returns NULL if there is none, or an option before it is malformed.
static inline const uint8_t *tcp_option_find(
	const struct rte_tcp_hdr *tcp, const uint8_t *before, enum tcp_option kind)
{
	static const uint8_t len[] = {[TCP_OPTION_MSS] = 4, [TCP_OPTION_SCALE] = 3};
	const uint8_t *end = (const uint8_t *)tcp + (tcp->data_off >> 4) * 4;
	const uint8_t *option = before != NULL ? before + len[kind] : (const uint8_t *)(tcp + 1);

	while (option < end && *option != TCP_OPTION_END) {
		if (*option == TCP_OPTION_NOP) {
			option++;
			continue;
		}
		if (end - option < 2 || option[1] < 2 || option[1] > end - option)
			break;
		if (option[0] == kind && option[1] == len[kind])
			return option;
		option += option[1];
	}
	return NULL;
}

// Lowers every maximum segment size in the options that is larger than mss octets, and updates the
// checksum (RFC 1624). A wrong checksum stays wrong.
void tcp_mss_lower(struct rte_tcp_hdr *tcp, uint16_t mss);
