// SPDX-License-Identifier: BSD-3-Clause
#include "core.h"

#include <cpuid.h>
#include <stdint.h>
#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>

// Both kinds of additions take about as long on a core with four units, so that other measured
// instructions cancel out. The last digits are those of .rept below.
#define INDEPENDENT (64 * 256)
#define DEPENDENT   (16 * 256)

#define FAMILY_ZEN5 0x1a

// Eight sums are more than any core has units. The addends are registers, not constants: recent
// Intel cores merge consecutive additions of constants.
static uint64_t time_independent(uint64_t addend)
{
	uint64_t a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
	uint64_t from = rte_rdtsc_precise();

	for (unsigned int i = 0; i < INDEPENDENT / 256; i++)
		asm volatile(
			".rept 32\n\t"
			"add %8, %0\n\tadd %8, %1\n\tadd %8, %2\n\tadd %8, %3\n\t"
			"add %8, %4\n\tadd %8, %5\n\tadd %8, %6\n\tadd %8, %7\n\t"
			".endr"
			: "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h)
			: "r"(addend));
	return rte_rdtsc_precise() - from;
}

// Each addition takes one core cycle, because it depends on the one before.
static uint64_t time_dependent(uint64_t addend)
{
	uint64_t a = 0, from = rte_rdtsc_precise();

	for (unsigned int i = 0; i < DEPENDENT / 256; i++)
		asm volatile(".rept 256\n\tadd %1, %0\n\t.endr" : "+r"(a) : "r"(addend));
	return rte_rdtsc_precise() - from;
}

unsigned int core_units(const char *vendor, unsigned int family, bool avx512_fp16)
{
	if (strcmp(vendor, "AuthenticAMD") == 0)
		return family >= FAMILY_ZEN5 ? 6 : 4;
	// Golden Cove, the core of Sapphire Rapids, came with AVX512-FP16, and has five. Cores of
	// Intel with more have no second hyperthread.
	return strcmp(vendor, "GenuineIntel") == 0 && avx512_fp16 ? 5 : 4;
}

static unsigned int units(void)
{
	unsigned int a, b, c, d, leaf1 = 0;
	char vendor[13] = "";

	__cpuid(0, a, b, c, d);
	memcpy(vendor, &b, 4);
	memcpy(vendor + 4, &d, 4);
	memcpy(vendor + 8, &c, 4);
	__cpuid(1, leaf1, b, c, d);
	if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0)
		d = 0;
	// Family and, if it is 15, extended family; bit 23 of EDX is AVX512-FP16.
	return core_units(vendor,
		(leaf1 >> 8 & 15) + ((leaf1 >> 8 & 15) == 15 ? leaf1 >> 20 & 255 : 0),
		(d >> 23 & 1) != 0);
}

double core_share(double adds, unsigned int units)
{
	return RTE_MIN(adds / (double)RTE_MAX(units, (unsigned int)(adds + 0.5)), 1);
}

static double middle(const double v[3])
{
	return RTE_MAX(RTE_MIN(v[0], v[1]), RTE_MIN(RTE_MAX(v[0], v[1]), v[2]));
}

// The second of three, as an interrupt may fall into one of them.
struct core core_measure(void)
{
	double adds[3], clock[3];

	for (unsigned int i = 0; i < 3; i++) {
		double independent = (double)time_independent(1);

		clock[i] = DEPENDENT / (double)time_dependent(1);
		adds[i] = INDEPENDENT / independent / clock[i];
	}
	return (struct core){core_share(middle(adds), units()), middle(clock)};
}
