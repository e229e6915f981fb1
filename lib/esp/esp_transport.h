// SPDX-License-Identifier: BSD-3-Clause
// Transport mode (RFC 4303 3.1.1): ESP stands inside an IP packet, whose header stays but for what
// it says of its length and of what follows it. Workers; pure functions on packet memory. Private
// to lib/esp.
#pragma once

#include <rte_mbuf.h>

#define ESP_HEADER_MAX 552 // octets of the longest IP header, IPv6 with extension headers

// Octets from the IP header to ESP, and to the field that says so.
struct esp_place {
	uint16_t off, next_off;
};

// Where ESP is to be put into the packet in m, whose headers are checked. Destination options may
// belong behind ESP, so the extension headers are followed.
struct esp_place esp_place_to_put(const struct rte_mbuf *m);

// The protocol that the field says.
uint8_t esp_place_next(const struct rte_mbuf *m, struct esp_place place);

// Writes the length of m into the IP header at its data, and the protocol of what follows the
// header into the field next_off octets behind its start; of IPv4 the checksum, too.
void ip_header_update(struct rte_mbuf *m, uint16_t next_off, uint8_t next_header);
