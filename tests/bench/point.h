// SPDX-License-Identifier: BSD-3-Clause
// A point of the matrix: the gateways and the traffic of one measurement, one row of the report.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "alg.h"

#define POINT_IMIX        0    // the mix of sizes: 7 of 46, 4 of 552, 1 of 1500 octets
#define POINT_SIZE_MIN    36   // IP and UDP header and the mark
#define POINT_SIZE_MAX    1500 // octets of inner IP packet
#define POINT_SAS_MAX     10000
#define POINT_FLOWS_MAX   5000000
#define POINT_BURST_MAX   64
#define POINT_WORKERS_MAX 8

enum dir {
	DIR_OUT,  // clear packets become ESP packets
	DIR_IN,   // ESP packets become clear packets
	DIR_LOOP, // both in sequence
	DIRS
};

extern const char *const dir_names[DIRS];

// Work of the gateways beyond the plain packet. All zero: none.
struct feature {
	bool inner_v6, outer_v6; // IPv6 instead of IPv4
	bool esn;
	unsigned int window; // of the replay check; 0: WINDOW_ONE_LANE or WINDOW_LANES
	bool udp;            // ESP in UDP
	unsigned int mtu;    // of the tunnel's port, so that packets are fragmented; 0: they fit
	bool after;          // as ESP packets, else before
	bool tunnel;         // routes lead into tunnels, in the place of policies
	bool pair;           // each is a member of a pair, and has its address in a group
};

struct point {
	const struct cipher_alg *cipher;
	const struct auth_alg *auth;
	const char *engine; // the engine requested
	enum dir dir;
	unsigned int size; // octets of inner IP packet, or POINT_IMIX
	unsigned int sas, flows, burst, workers;
	struct feature feature;
};

// CIPHER or CIPHER+AUTH, and octets or "imix". They return the text.
#define POINT_ALG_MAX   64
#define POINT_SIZE_TEXT 16
const char *point_alg(char text[POINT_ALG_MAX], const struct point *p);
const char *point_size(char text[POINT_SIZE_TEXT], const struct point *p);

// Extended sequence numbers are used in the loop, where both ends are in this process.
static inline bool point_esn(const struct point *p)
{
	return p->dir == DIR_LOOP || p->feature.esn;
}

// The sizes of the packets, all equally likely.
struct mix {
	unsigned int n;
	uint16_t len[12]; // octets of inner IP packet
};

struct mix point_mix(const struct point *p);

// Octets of text: inner packet and trailer with its padding (RFC 4303 2.4).
uint16_t point_text_len(const struct point *p, uint16_t inner_len);

// Mean octets of the inner IP packets, and of the Ethernet frames that carry them on the wire as
// ESP packets, preamble, FCS and gap included.
double point_octets_clear(const struct point *p);
double point_octets_wire(const struct point *p);
