// SPDX-License-Identifier: BSD-3-Clause
// Which rounds count on a core that others use.
#include <stddef.h>

#include "die.h"
#include "rounds.h"

#define WANTED 3

static struct rounds r;

// Runs until no more rounds are wanted; every nth has the core for itself, of 0: none has. Returns
// how many were run.
static unsigned int run(unsigned int nth)
{
	unsigned int n = 0;
	bool more = true;

	for (rounds_begin(&r, WANTED); more; n++)
		more = rounds_add(&r, nth != 0 && n % nth == nth - 1 ? 0.98 : 0.6, 1.3 + n);
	return n;
}

int main(void)
{
	static const struct {
		unsigned int nth, run;
		double share, clock; // medians
	} cases[] = {{1, WANTED, 0.98, 2.3}, {4, 4 * WANTED, 0.98, 8.3},
		{0, (ROUNDS_MORE + 1) * WANTED, 0.6, ROUNDS_MORE * WANTED + 2.3}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned int n = run(cases[i].nth);
		struct core core = rounds_core(&r);

		if (n != cases[i].run || r.n != WANTED)
			die("one of %u: %u rounds, of which %u count", cases[i].nth, n, r.n);
		if (core.share != cases[i].share || core.clock != cases[i].clock)
			die("one of %u: other rounds count", cases[i].nth);
	}
	return 0;
}
