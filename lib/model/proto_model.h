// SPDX-License-Identifier: BSD-3-Clause
// Names of IP protocols, in the configuration, in filters and where they are shown. Constant; any
// thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PROTO_ANY 0x100 // every protocol

struct proto_info {
	const char *name; // NULL after the last
	uint16_t number;  // or PROTO_ANY
	bool has_ports;
};

extern const struct proto_info proto_infos[];

// Ports in host byte order, 0 to 65535: any. Of ICMP, type << 8 | code.
struct proto_ports {
	uint16_t min, max;
};

// Whether a has every port that b has.
static inline bool proto_ports_cover(const struct proto_ports *a, const struct proto_ports *b)
{
	return a->min <= b->min && a->max >= b->max;
}

// By name or number; NULL: there is no such one.
const struct proto_info *proto_find(const char *name);
const struct proto_info *proto_of(uint16_t number);

#define PROTO_TEXT_MAX 8

// "tcp", "99", or "any" for PROTO_ANY: its name, or in text.
const char *proto_format(char text[PROTO_TEXT_MAX], uint16_t number);
