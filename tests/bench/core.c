// SPDX-License-Identifier: BSD-3-Clause
#include "core.h"

#include <stdint.h>

#include <rte_cycles.h>

#define TURNS 4000

static uint64_t time_at_once(void)
{
	uint64_t a = 0, b = 0, c = 0, d = 0, from = rte_rdtsc_precise();

	for (unsigned int i = 0; i < TURNS; i++)
		asm volatile("add $1, %0\n\tadd $1, %1\n\tadd $1, %2\n\tadd $1, %3\n\t"
			     "add $1, %0\n\tadd $1, %1\n\tadd $1, %2\n\tadd $1, %3"
			     : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
	return rte_rdtsc_precise() - from;
}

static uint64_t time_in_turn(void)
{
	uint64_t a = 0, from = rte_rdtsc_precise();

	for (unsigned int i = 0; i < TURNS; i++)
		asm volatile("add $1, %0\n\tadd $1, %0\n\tadd $1, %0\n\tadd $1, %0\n\t"
			     "add $1, %0\n\tadd $1, %0\n\tadd $1, %0\n\tadd $1, %0"
			     : "+r"(a));
	return rte_rdtsc_precise() - from;
}

double core_share(void)
{
	return (double)time_at_once() / (double)time_in_turn();
}
