// SPDX-License-Identifier: BSD-3-Clause
// The anti-replay window: lib/sa/replay.h and replay.c, of which replay_check(),
// replay_commit_one(), replay_commit_burst(), replay_commit(), mark(), raise_top(), retag_old() and
// replay_top() run. Two workers accept two numbers each, or a burst and two, and three accept one
// each. The numbers are adjacent, equal, at the edges of the window, so far apart that they share a
// word of the ring, or so far that words get new tags. Proves for all interleavings: no number is
// accepted twice, and none that was below the window when it was offered; one that is never below
// the window is accepted.
#include <string.h>

#include <rte_common.h>

#include "explore.h"
#include "replay.h"

#define SIZE 32
#define FAR  (UINT64_C(1) << 35)
#define BASE (2 * FAR + 128)
// Accepted before the threads begin; the last number is the top of the window then.
#define FIRST (BASE + 190)
#define BURST 4

// The first number is so old in the end that its word needs a new tag before; the word of FIRST + 3
// replaces the third number's.
static const uint64_t before[] = {84, FAR + 160, BASE + 84, FIRST};
static const uint64_t offered[] = {
	FIRST - 29, FIRST - 20, FIRST + 3, FIRST + 21, FIRST + 109, FIRST + FAR + 15};

#define N             (unsigned int)(sizeof(offered) / sizeof(offered[0]))
#define SCENARIOS_MAX 2000

// The numbers that each thread offers in order; the first thread starts with a burst of the first
// numbers.
struct scenario {
	bool burst;
	unsigned int threads, each;
	uint8_t offers[EXPLORE_THREADS][2];
};

static struct scenario scenarios[SCENARIOS_MAX];

static struct model {
	struct replay replay;
	uint64_t highest; // that was accepted
	uint8_t offers[N], accepted[N];
} * model;

unsigned int model_scenarios(void)
{
	unsigned int n = 0;

	for (uint8_t a = 0; a < N; a++)
		for (uint8_t b = a; b < N; b++)
			for (uint8_t c = b; c < N; c++)
				scenarios[n++] = (struct scenario){false, 3, 1, {{a}, {b}, {c}}};
	for (uint8_t x = 0; x < N * N; x++)
		for (uint8_t y = x; y < N * N; y++)
			scenarios[n++] =
				(struct scenario){false, 2, 2, {{x / N, x % N}, {y / N, y % N}}};
	for (uint8_t x = 0; x < N * N; x++)
		scenarios[n++] = (struct scenario){true, 2, 2, {{0, N - 1}, {x / N, x % N}}};
	return n;
}

unsigned int model_threads(unsigned int scenario)
{
	return scenarios[scenario].threads;
}

void model_setup(unsigned int scenario)
{
	(void)scenario;
	model = explore_alloc(sizeof(*model));
	if (replay_init(&model->replay, SIZE) < 0)
		return explore_assert(false);

	size_t len = replay_words(&model->replay) * sizeof(uint64_t);
	struct replay_ring *ring = explore_alloc(len);

	memcpy((void *)ring, (void *)model->replay.ring, len);
	replay_fini(&model->replay, NULL);
	model->replay.ring = ring;
	for (unsigned int i = 0; i < RTE_DIM(before); i++)
		explore_assert(replay_commit(&model->replay, before[i]));
	model->highest = FIRST;
}

static void accept(unsigned int i, bool too_late)
{
	explore_assert(++model->accepted[i] == 1 && !too_late);
	model->highest = RTE_MAX(model->highest, offered[i]);
}

// Whether it is below the window already.
static bool too_late(unsigned int i)
{
	return offered[i] + SIZE <= model->highest;
}

static void offer(unsigned int i)
{
	bool late = too_late(i), accepted;

	model->offers[i]++;
	if (!replay_check(&model->replay, offered[i]))
		return;
	replay_commit_one(&model->replay, offered[i], &accepted);
	if (accepted)
		accept(i, late);
}

static void offer_burst(void)
{
	bool accepted[BURST] = {false}, late[BURST];

	for (unsigned int i = 0; i < BURST; i++) {
		late[i] = too_late(i);
		model->offers[i]++;
	}
	replay_commit_burst(&model->replay, offered, accepted, BURST);
	for (unsigned int i = 0; i < BURST; i++)
		if (accepted[i])
			accept(i, late[i]);
}

void model_thread(unsigned int scenario, unsigned int thread)
{
	const struct scenario *s = &scenarios[scenario];

	if (s->burst && thread == 0)
		offer_burst();
	for (unsigned int i = 0; i < s->each; i++)
		offer(s->offers[thread][i]);
}

bool model_matters(const volatile void *p)
{
	(void)p;
	return true;
}

void model_end(unsigned int scenario)
{
	uint64_t top = replay_top(&model->replay);

	(void)scenario;
	for (unsigned int i = 0; i < N; i++) {
		explore_assert(model->accepted[i] == 0 || offered[i] <= top);
		// The window only advances, so this number was never above it.
		if (model->offers[i] > 0 && offered[i] + SIZE > top)
			explore_assert(model->accepted[i] == 1);
		if (model->accepted[i] > 0)
			explore_assert(!replay_check(&model->replay, offered[i]));
	}
}
