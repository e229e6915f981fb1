// SPDX-License-Identifier: BSD-3-Clause
// The slow path while any flow may be translated (docs/nat.md). Workers.
#pragma once

#include "worker.h"

// Evaluates the packets of the burst at these places, of these flows; NULL: of new ones.
void transit_translated(
	struct worker *w, struct flow *const flows[], const uint8_t place[], uint16_t n);

// Evaluates a packet once more, whose flow or port another one has got meanwhile.
void transit_translated_again(struct worker *w, struct pkt *p, struct flow_pkt *fp, struct flow *f);
