// SPDX-License-Identifier: BSD-3-Clause
// Transport mode (RFC 4303 3.1.1): ESP stands inside an IP packet, whose header stays, except its
// length and the protocol of the next header. Workers; pure functions on packet memory. Private to
// lib/esp.
#pragma once

#include <rte_mbuf.h>

#define ESP_HEADER_MAX 552 // octets of the longest IP header, IPv6 with extension headers

// Octets from the IP header to ESP, and to the field with the protocol of ESP.
struct esp_place {
	uint16_t off, next_off;
};

// The offset for ESP in the packet in m, whose headers are checked. Some destination options belong
// after ESP, so the extension headers are parsed.
struct esp_place esp_place_to_put(const struct rte_mbuf *m);

// The protocol in that field.
uint8_t esp_place_next(const struct rte_mbuf *m, struct esp_place place);

// Writes the length of m into the IP header at its data, and next_header into the field next_off
// octets after its start; updates the checksum of IPv4.
void ip_header_update(struct rte_mbuf *m, uint16_t next_off, uint8_t next_header);
