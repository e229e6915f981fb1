// SPDX-License-Identifier: BSD-3-Clause
// Results of core_measure() for a processor and its counted additions. Only results that hold on
// any machine are expected of a measurement: others may use the core.
#include "core.h"

#include <rte_cycles.h>

#include "die.h"

#define HZ_MAX 10e9

static const struct {
	const char *name, *vendor;
	unsigned int family;
	bool avx512_fp16;
	unsigned int units;
	double adds; // in a cycle
	bool shared;
} cases[] = {
	{"Zen 4, alone", "AuthenticAMD", 0x19, false, 4, 3.96, false},
	{"Zen 4, the other hyperthread does an instruction in two cycles", "AuthenticAMD", 0x19,
		false, 4, 3.5, true},
	{"Zen 5, alone", "AuthenticAMD", 0x1a, false, 6, 5.9, false},
	{"Zen 5, the other hyperthread does two instructions in a cycle", "AuthenticAMD", 0x1a,
		false, 6, 4.0, true},
	{"Ice Lake, alone", "GenuineIntel", 6, false, 4, 3.95, false},
	{"Ice Lake, shared", "GenuineIntel", 6, false, 4, 2.4, true},
	{"Sapphire Rapids, alone", "GenuineIntel", 6, true, 5, 4.9, false},
	{"Sapphire Rapids, the other hyperthread does an instruction in a cycle", "GenuineIntel", 6,
		true, 5, 4.0, true},
	{"a later one with eight units, alone", "GenuineIntel", 6, true, 5, 7.9, false},
	{"another vendor's", "HygonGenuine", 0x18, false, 4, 3.97, false},
};

int main(void)
{
	struct core core = core_measure();

	for (unsigned int i = 0; i < RTE_DIM(cases); i++) {
		unsigned int units =
			core_units(cases[i].vendor, cases[i].family, cases[i].avx512_fp16);

		if (units != cases[i].units)
			die("%s: has %u units, not %u", cases[i].name, units, cases[i].units);
		if (core_is_shared(core_share(cases[i].adds, units)) != cases[i].shared)
			die("%s: is %s", cases[i].name, cases[i].shared ? "not shared" : "shared");
	}
	if (!(core.share > 0 && core.share <= 1))
		die("the share is %f", core.share);
	if (!(core.clock > 0 && core.clock * (double)rte_get_tsc_hz() < HZ_MAX))
		die("a core cycle is %f TSC cycles", 1 / core.clock);
	return 0;
}
