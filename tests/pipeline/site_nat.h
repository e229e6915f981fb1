// SPDX-License-Identifier: BSD-3-Clause
// Gateway A of site.h with network address translation, packets by their ends, and the addresses of
// its tests.
#pragma once

#include "flow_site.h"

#define CLIENT "10.1.0.5"
#define OTHER  "10.1.0.6"
#define SERVER "198.51.100.7"
#define OWN    "192.0.2.1"

// Of the wire: between own address and the servers.
#define POLICIES                                                                                   \
	",{ name = \"own\"; local = \"192.0.2.1\"; remote = \"198.51.100.0/24\"; action = "        \
	"\"bypass\"; }"
#define MASQUERADE                                                                                 \
	"nat = ( { name = \"out\"; action = \"source\"; out = \"wan\"; to = \"port\"; "            \
	"destination = \"198.51.100.0/24\"; } );"

struct ends {
	const char *src;
	uint16_t sport;
	const char *dst;
	uint16_t dport;
};

// Writes a packet with right checksums, returns its length. Of ICMP, an echo request with sport as
// its identifier, a reply if dport is 0.
uint16_t ends_write(uint8_t *out, uint8_t proto, struct ends e);

// Corrects the checksum of the TCP, UDP or ICMP message that the test has changed.
void upper_checksum_update(uint8_t *packet);

// The same as a frame received from the neighbour of the port.
struct frame ends_frame(uint16_t port, uint8_t proto, struct ends e);

// The frame is a packet with these ends and right checksums.
void expect_ends(const struct frame *f, struct ends e);

// One packet, received by in, leaves by out with other ends.
void expect_translated(struct gateway *g, uint16_t in, uint8_t proto, struct ends from,
	uint16_t out, struct ends to);
