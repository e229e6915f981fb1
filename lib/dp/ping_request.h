// SPDX-License-Identifier: BSD-3-Clause
// Echo requests (RFC 792, RFC 4443 4) that the control thread has sent through tunnels for
// operators, as far as workers recognize their replies. One word has a whole request, so that a
// worker takes it by one atomic operation: no request has two replies.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#define PINGS_MAX 256 // at a time

// Requests without a reply, by the lower octet of their identifier; 0: there is none. The control
// thread sets a place and clears it; the worker with the reply clears it, too.
struct ping_requests {
	_Atomic uint64_t at[PINGS_MAX];
};

// echo: identifier in the upper half, sequence number in the lower; size: octets of the IP packet;
// policy: number of the policy whose SAs the reply has to arrive by, not 0.
static inline uint64_t ping_request(uint32_t echo, uint16_t size, uint16_t policy)
{
	return (uint64_t)echo << 32 | (uint32_t)size << 16 | policy;
}

static inline unsigned int ping_place(uint64_t request)
{
	return request >> 48 & (PINGS_MAX - 1);
}
