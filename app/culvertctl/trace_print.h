// SPDX-License-Identifier: BSD-3-Clause
// Prints the steps of traced packets for people. One thread.
#pragma once

#include <jansson.h>
#include <time.h>

struct trace_printer {
	struct timespec begin; // of the trace, by the wall clock
	json_int_t packet;     // that was printed last; 0: none
	json_int_t first_ns;   // of its first step
	json_int_t octets;     // that it had then
	char header[512];      // that was printed last
};

// Prints a step, as the daemon sends it. The steps of a packet are in a row.
void trace_step_print(struct trace_printer *p, const json_t *step);
