// SPDX-License-Identifier: BSD-3-Clause
#include "core.h"

#include <stdint.h>

#include <rte_cycles.h>

#define TURNS         4000
#define ADDS_PER_TURN 8

// The addends are registers, not constants: recent Intel cores merge consecutive additions of
// constants.
static uint64_t time_independent(uint64_t addend)
{
	uint64_t a = 0, b = 0, c = 0, d = 0, from = rte_rdtsc_precise();

	for (unsigned int i = 0; i < TURNS; i++)
		asm volatile("add %4, %0\n\tadd %4, %1\n\tadd %4, %2\n\tadd %4, %3\n\t"
			     "add %4, %0\n\tadd %4, %1\n\tadd %4, %2\n\tadd %4, %3"
			     : "+r"(a), "+r"(b), "+r"(c), "+r"(d)
			     : "r"(addend));
	return rte_rdtsc_precise() - from;
}

// Each addition takes one core cycle, because it depends on the one before.
static uint64_t time_dependent(uint64_t addend)
{
	uint64_t a = 0, from = rte_rdtsc_precise();

	for (unsigned int i = 0; i < TURNS; i++)
		asm volatile("add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\t"
			     "add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0"
			     : "+r"(a)
			     : "r"(addend));
	return rte_rdtsc_precise() - from;
}

struct core core_measure(void)
{
	double independent = (double)time_independent(1), dependent = (double)time_dependent(1);

	return (struct core){independent / dependent, TURNS * ADDS_PER_TURN / dependent};
}
