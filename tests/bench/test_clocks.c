// SPDX-License-Identifier: BSD-3-Clause
// A worker with nothing to do until another one has run does not keep that one from running,
// whichever of them is the first.
#include "clocks.h"

#include "die.h"

static void expect(struct clocks *c, unsigned int worker, const char *when)
{
	const unsigned int next = clocks_next(c);

	if (next != worker)
		die("%s, worker %u runs, not %u", when, next, worker);
}

static void test_least(void)
{
	struct clocks c = {.at = {20, 10, 30}, .n = 3};

	expect(&c, 1, "at the start");
	c.at[1] = 25;
	expect(&c, 0, "when worker 1 has passed worker 0");
	c.at[0] = 40;
	expect(&c, 1, "when worker 0 has passed worker 1");
}

static void test_wait(unsigned int waits)
{
	const unsigned int other = 1 - waits;
	struct clocks c = {.n = 2};

	c.at[waits] = 10;
	c.at[other] = 20;
	expect(&c, waits, "at the start");
	clocks_wait(&c);
	if (c.at[waits] != 20)
		die("the clock of worker %u shows %lu", waits, c.at[waits]);
	expect(&c, other, "when the one with the least clock waits");
	c.at[other] = 50;
	expect(&c, waits, "when the other one has run");
}

// No clock advances any more: all run nevertheless.
static void test_all_wait(void)
{
	struct clocks c = {.at = {10, 20, 30, 30}, .n = 4};
	unsigned int runs[4] = {0};

	for (unsigned int i = 0; i < 12; i++) {
		runs[clocks_next(&c)]++;
		clocks_wait(&c);
	}
	for (unsigned int i = 0; i < 4; i++)
		if (runs[i] == 0 || c.at[i] != 30)
			die("worker %u ran %u times, until %lu", i, runs[i], c.at[i]);
}

int main(void)
{
	test_least();
	test_wait(0);
	test_wait(1);
	test_all_wait();
	return 0;
}
