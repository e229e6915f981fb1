// SPDX-License-Identifier: BSD-3-Clause
// Explicit congestion notification through tunnels (RFC 6040) and of fragments (RFC 3168 5.3). Pure
// functions, any thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { ECN_NOT_ECT = 0, ECN_ECT_1 = 1, ECN_ECT_0 = 2, ECN_CE = 3, ECN_MASK = 3 };

// Decapsulation, the table of RFC 6040 4.2: sets *ecn to the ECN field of the inner header. False
// if the packet has to be dropped.
static inline bool ecn_decapsulate(uint8_t *ecn, uint8_t inner, uint8_t outer)
{
	*ecn = inner;
	if (inner == ECN_NOT_ECT)
		return outer != ECN_CE;
	if (outer == ECN_CE || (outer == ECN_ECT_1 && inner == ECN_ECT_0))
		*ecn = outer;
	return true;
}

// Reassembly: came has a bit, 1 << codepoint, for each codepoint of the fragments. Returns whether
// they may become one packet: not if some have met congestion while others were not ECN-capable.
static inline bool ecn_may_join(uint8_t came)
{
	return (~came & (1 << ECN_CE | 1 << ECN_NOT_ECT)) != 0;
}

// ECN bits to add to the header of the reassembled packet, if the fragments may become one.
static inline uint8_t ecn_joined(uint8_t came)
{
	return (came & 1 << ECN_CE) != 0 ? ECN_CE : 0;
}
