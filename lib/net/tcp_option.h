// SPDX-License-Identifier: BSD-3-Clause
// Options of TCP segments (RFC 9293 3.2), of headers that are there as long as they say. Workers;
// pure functions on packet memory.
#pragma once

#include <stdint.h>

#include <rte_tcp.h>

enum tcp_option { TCP_OPTION_MSS = 2, TCP_OPTION_SCALE = 3 };

// The next option of the kind behind one that was found before, or the first for NULL; it has the
// length that is right for it. NULL: there is none, or what stands in front of it is malformed.
const uint8_t *tcp_option_find(
	const struct rte_tcp_hdr *tcp, const uint8_t *before, enum tcp_option kind);

// Lowers every maximum segment size in the options that is larger than mss octets, and mends the
// checksum (RFC 1624). A wrong one stays wrong.
void tcp_mss_lower(struct rte_tcp_hdr *tcp, uint16_t mss);
