// SPDX-License-Identifier: BSD-3-Clause
// Cost of the stages of a pass, measured in one pass of many. Written by one worker, read by the
// control thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_cycles.h>

enum stage {
#define STAGE(id, name, help) STAGE_##id,
#include "stage.def"
#undef STAGE
	STAGE_COUNT
};

struct stage_info {
	const char *name;
	const char *help;
};

extern const struct stage_info stage_info[STAGE_COUNT];

struct stage_counters {
	uint64_t calls;
	uint64_t packets;
	uint64_t cycles; // TSC
};

struct stages {
	uint32_t every;  // passes, of which one is measured
	uint32_t passes; // since the last that was
	bool sampling;   // this one is
	uint64_t since;  // TSC at the end of the stage before
	struct stage_counters stage[STAGE_COUNT];
};

// At the beginning of a pass.
static inline void stages_begin(struct stages *s)
{
	s->sampling = ++s->passes >= s->every;
	if (likely(!s->sampling))
		return;
	s->passes = 0;
	s->since = rte_rdtsc();
}

// At the end of a stage that had n packets.
static inline void stage_end(struct stages *s, enum stage stage, uint32_t n)
{
	if (likely(!s->sampling))
		return;

	uint64_t now = rte_rdtsc();
	struct stage_counters *c = &s->stage[stage];

	if (n > 0) {
		c->calls++;
		c->packets += n;
		c->cycles += now - s->since;
	}
	s->since = now;
}
