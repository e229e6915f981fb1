// SPDX-License-Identifier: BSD-3-Clause
// How many flows of class NEW each address has begun: counted in bounded memory, in two cells that
// its hash chooses (a count-min sketch). An address that shares one cell with busy others has the
// second to itself, most likely. Workers, any number at once.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "addr.h"
#include "keyed_hash.h"

struct flow_sources {
	_Atomic uint32_t *cell; // two rows
	uint32_t mask;          // cells in a row - 1
	struct hash_key hash_key;
};

// Cells in a row for a table of that many flows: a power of two.
uint32_t flow_sources_cells(uint32_t capacity);

// The cells of an address, for the functions below.
struct flow_source_cells {
	_Atomic uint32_t *cell[2];
};

struct flow_source_cells flow_source_cells(
	const struct flow_sources *s, const struct ip_addr *addr);

// The smaller count of the two cells: at least the true one.
uint32_t flow_source_cells_count(struct flow_source_cells c);

void flow_source_cells_prefetch(struct flow_source_cells c);
void flow_source_cells_add(struct flow_source_cells c);
void flow_source_cells_subtract(struct flow_source_cells c);
