// SPDX-License-Identifier: BSD-3-Clause
// A flow as a line of the channel between the gateways of a pair (member_flows.h):
//
//   flow PROTO STATE FACTS SOURCE PORT DESTINATION PORT ICMP AGE IDLE IDLE SCALE SCALE
//
// and for a translated flow, after a blank,
//
//   SOURCE PORT DESTINATION PORT RULE RULE
//
// Ends are those of packets of the end that began first, as received and as sent. FACTS are
// hexadecimal: those of FLOW_COPIED without the state. ICMP is type * 256 + code, 0 for other
// protocols. AGE and IDLE are milliseconds, of IDLE and SCALE first that of the end that began.
// RULE: the rules of `nat` for destination and source; *: none. Pure functions.
#pragma once

#include "conf.h"
#include "flow_copy.h"
#include "nat_model.h"

#define FLOW_LINE_MAX 512

struct flow_line {
	struct flow_copy copy;
	conf_name rule[NAT_ENDS]; // empty: none
};

// Returns the length of the line, which is without an end.
size_t flow_line_write(char line[FLOW_LINE_MAX], const struct flow_line *f);

// Reads a line that begins with "flow ". False: it is malformed, or of no possible flow. Fields
// that this gateway determines are 0.
bool flow_line_read(struct flow_line *f, const char *line);
