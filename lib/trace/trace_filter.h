// SPDX-License-Identifier: BSD-3-Clause
// Filter of traced packets. Each condition has to hold at some step of the packet: for an ESP
// packet or its inner packet, but address, port and protocol have to hold for one header. Workers;
// pure functions.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "drop.h"
#include "proto_model.h"
#include "trace_step.h"

#define TRACE_FILTER_NAME_MAX 32

enum trace_key {
	TRACE_KEY_HEADER = 1 << 0, // address, port, proto
	TRACE_KEY_SPI = 1 << 1,
	TRACE_KEY_SA = 1 << 2,
	TRACE_KEY_POLICY = 1 << 3,
	TRACE_KEY_IN = 1 << 4,
	TRACE_KEY_OUT = 1 << 5,
	TRACE_KEY_DROP = 1 << 6,
};

struct trace_filter {
	unsigned int keys;     // set of enum trace_key that is given
	struct ip_prefix addr; // of either end; ::/0: any
	rte_be16_t port;       // of either end; 0: any
	uint16_t proto;        // PROTO_ANY: any
	rte_be32_t spi;
	uint16_t in, out; // ports
	enum drop reason; // DROP_NONE: any
	char sa[TRACE_FILTER_NAME_MAX], policy[TRACE_FILTER_NAME_MAX];
};

// The keys that hold at this step of a packet.
unsigned int trace_filter_match(const struct trace_filter *f, const struct trace_step *step);
