// SPDX-License-Identifier: BSD-3-Clause
// Allocation of sequence numbers: sa_out_seq_alloc() and sa_out_hold_seq() of lib/sa/sa.h,
// usable() and esp_out_drop_reason() of lib/esp/esp_out.c, and sa_out_allow() of lib/sa/sa.c.
// Two or three workers allocate runs of numbers near the last existing number, with ESN and
// without, or near the end of the reservation, which the control thread extends meanwhile. Proves
// for all interleavings: no number is used twice, none above the last existing number or the
// highest limit; the counter does not wrap; unless another limit stops them, every number up to the
// end is used.
#include "esp_out.c"

#include "explore.h"

#define RUNS     2
#define NUMBERS  10 // numbers left before the end
#define RUN_LONG (UINT16_MAX / 3)

// Length of a run of numbers. Of a long one only the first and the last are used.
struct scenario {
	unsigned int workers;
	bool esn, allows; // the control thread is the third thread, and raises the limit
	uint32_t run[RUNS];
};

static const struct scenario scenarios[] = {
	{2, false, false, {1, 2}},
	{2, true, false, {2, 1}},
	{3, false, false, {1, 1}},
	{3, true, false, {2, 2}},
	{3, true, false, {RUN_LONG, RUN_LONG}},
	{2, false, true, {1, 2}},
	{2, true, true, {2, 2}},
};

static struct model {
	uint64_t allowed;
	uint8_t used[NUMBERS];
	struct sa_out sa; // followed by the workers' parts of it
} * model;

unsigned int model_scenarios(void)
{
	return RTE_DIM(scenarios);
}

unsigned int model_threads(unsigned int scenario)
{
	return scenarios[scenario].allows ? 3 : scenarios[scenario].workers;
}

// The number before the first that may be used.
static uint64_t before(void)
{
	return model->sa.seq_max - NUMBERS;
}

static void allow(uint64_t seq)
{
	model->allowed = seq;
	sa_out_allow(&model->sa, seq);
}

void model_setup(unsigned int scenario)
{
	const struct scenario *s = &scenarios[scenario];

	model = explore_alloc(sizeof(*model) + SA_PLACE(s->workers));
	model->sa.sa.opt.direction = SA_OUT;
	model->sa.sa.n_workers = s->workers;
	model->sa.sa.per_worker = model->sa.per_worker;
	model->sa.seq_max = s->esn ? SA_ESN_MAX : SA_SEQ_MAX;
	model->sa.seq = before() + (s->allows ? 0 : NUMBERS - 3);
	model->sa.blocks = number_blocks_of(0, s->esn);
	model->sa.seq_granted = model->sa.block_end = UINT64_MAX;
	model->sa.sa.lifetime.hard[LIFETIME_PACKETS] = UINT64_MAX;
	allow(s->allows ? before() + 2 : UINT64_MAX);
}

static void use(unsigned int worker, uint64_t seq)
{
	uint64_t at = seq - before() - 1;
	// Of this one and the next.
	uint16_t n = usable(&model->sa.per_worker[worker].per_packet, seq, 2);

	if (n == 0) {
		esp_out_drop_reason(&model->sa, &(struct sa_path){0}, seq, worker);
		return;
	}
	explore_assert(at < NUMBERS && at + n <= NUMBERS && seq + n - 1 <= model->allowed);
	if (at < NUMBERS)
		explore_assert(++model->used[at] == 1);
}

static void worker(const struct scenario *s, unsigned int worker)
{
	for (unsigned int run = 0; run < RUNS; run++) {
		uint32_t n = s->run[run];
		uint64_t seq = sa_out_seq_alloc(&model->sa, n);

		for (uint32_t i = 0; i<n; i += n> NUMBERS ? n - 1 : 1)
			use(worker, seq + i);
	}
}

void model_thread(unsigned int scenario, unsigned int thread)
{
	const struct scenario *s = &scenarios[scenario];

	if (thread < s->workers)
		return worker(s, thread);
	allow(before() + 4);
	allow(UINT64_MAX);
}

// Paths, and the copies of why the SA was stopped, are not read.
bool model_matters(const volatile void *p)
{
	for (unsigned int i = 0; i < model->sa.sa.n_workers; i++) {
		const struct sa_per_packet *per_packet = &model->sa.per_worker[i].per_packet;

		if (p == &per_packet->path || p == &per_packet->stop)
			return false;
	}
	return p != &model->sa.sa.per_packet.path;
}

void model_end(unsigned int scenario)
{
	const struct scenario *s = &scenarios[scenario];

	for (unsigned int i = 0; !s->allows && i < 3 && s->run[0] < NUMBERS; i++)
		explore_assert(model->used[NUMBERS - 3 + i] == 1);
}
