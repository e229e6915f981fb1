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

// Where ESP is to be put into the packet in m, and where it is. The packet's headers are checked.
struct esp_place esp_place_to_put(const struct rte_mbuf *m);
struct esp_place esp_place_found(const struct rte_mbuf *m);

// The protocol that the field says.
uint8_t esp_place_next(const struct rte_mbuf *m, struct esp_place place);

// Has the IP header at the data of m say the length of m and what now stands at the place.
void ip_header_update(struct rte_mbuf *m, struct esp_place place, uint8_t next_header);
