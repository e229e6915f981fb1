// SPDX-License-Identifier: BSD-3-Clause
// How many flows each holder has. The holder of a flow is the port, or the peer of the tunnel, that
// received its first packet; it is named by a number that configurations and SAs do not
// change. Counted in two cells, as in flow_source.h. Workers, any number at once.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include <rte_common.h>

#define FLOW_HOLDER_BITS 12 // of a number, which choose its cell in a row

// A cell counts flows in its lower half; in its upper half the flows that are not established.
#define FLOW_HELD          UINT64_C(1)
#define FLOW_UNESTABLISHED (UINT64_C(1) << 32)

struct flow_holders {
	_Atomic uint64_t cell[2][1 << FLOW_HOLDER_BITS];
	_Atomic uint32_t largest; // the holder that had most flows when one was last evicted
};

// At least the true numbers.
struct flow_held {
	uint32_t flows, unestablished;
};

static inline _Atomic uint64_t *flow_holder_cell(
	struct flow_holders *h, uint32_t holder, unsigned int row)
{
	return &h->cell[row][holder >> (row * FLOW_HOLDER_BITS) & ((1 << FLOW_HOLDER_BITS) - 1)];
}

static inline struct flow_held flow_holder_count(struct flow_holders *h, uint32_t holder)
{
	uint64_t a = atomic_load_explicit(flow_holder_cell(h, holder, 0), memory_order_relaxed);
	uint64_t b = atomic_load_explicit(flow_holder_cell(h, holder, 1), memory_order_relaxed);

	return (struct flow_held){
		RTE_MIN((uint32_t)a, (uint32_t)b), (uint32_t)(RTE_MIN(a, b) >> 32)};
}

// n is a sum of FLOW_HELD and FLOW_UNESTABLISHED.
static inline void flow_holder_add(struct flow_holders *h, uint32_t holder, uint64_t n)
{
	for (unsigned int row = 0; row < 2; row++)
		atomic_fetch_add_explicit(
			flow_holder_cell(h, holder, row), n, memory_order_relaxed);
}

static inline void flow_holder_subtract(struct flow_holders *h, uint32_t holder, uint64_t n)
{
	for (unsigned int row = 0; row < 2; row++)
		atomic_fetch_sub_explicit(
			flow_holder_cell(h, holder, row), n, memory_order_relaxed);
}
