// SPDX-License-Identifier: BSD-3-Clause
// Deadlines of workers, lib/dp/deadline.c as it is: a member of a pair that was frozen at any step
// of its threads, and woken in any order, while the other one has taken over. Worker 1 hands frames
// over to worker 0, which sends them; each worker sends by SAs, which read whether they are
// stopped, and by decisions about flows, which are those of the snapshot that a pass has begun
// with; worker 1 holds a packet that was sealed before. Proves for all interleavings: no worker
// that begins a pass after a freeze sends anything, until a command has made the group active
// again after the control thread has noticed.
#include "deadline.h"

#include "explore.h"

#define WORKERS  2
#define LIMIT_MS 2

// Events at any time, in this order. TICK: some time. FREEZE: more than the deadline, after
// which the other member has taken over. SUSPEND: the same, while the TSC is stopped: workers run
// until the control thread has noticed.
enum fate { NOTHING, TICK, FREEZE, SUSPEND };

static const struct scenario {
	enum fate fate[2];
	uint8_t passes; // of each worker
	bool loading;   // another snapshot is made meanwhile: flows are decided again later
	bool commands;  // the group is made active again by command, after the first freeze
} scenarios[] = {
	{{FREEZE}, 2, false, false},
	{{TICK, FREEZE}, 1, false, false},
	{{FREEZE}, 1, true, false},
	{{FREEZE, FREEZE}, 1, false, true},
	{{SUSPEND}, 2, false, false},
};

static struct model {
	uint64_t clock, boot; // milliseconds, and cycles
	uint8_t freezes;      // after which another has taken over
	uint8_t seen;         // of these, by the control thread when it read the clock,
	uint8_t noticed;      // and when it made the group standby
	uint8_t settled;      // of these, before the last command
	bool commanded, loading, suspended;
	uint8_t ended;              // workers
	_Atomic uint8_t stopped;    // SAs
	_Atomic uint8_t generation; // of the snapshot, odd: the group is standby
	_Atomic uint8_t ring;       // frames for worker 0 to send
	bool held;                  // a packet, by worker 1
	struct deadline deadline[WORKERS];
	struct deadlines all;
} * model;

unsigned int model_scenarios(void)
{
	return sizeof(scenarios) / sizeof(scenarios[0]);
}

unsigned int model_threads(unsigned int scenario)
{
	(void)scenario;
	return WORKERS + 2;
}

bool model_matters(const volatile void *p)
{
	(void)p;
	return true;
}

void model_setup(unsigned int scenario)
{
	model = explore_alloc(sizeof(*model));
	model->clock = model->boot = 1;
	model->loading = scenarios[scenario].loading;
	model->held = true;
	for (unsigned int i = 0; i < WORKERS; i++)
		model->all.of[i] = &model->deadline[i];
	model->all.n = WORKERS;
	deadlines_renew(
		&model->all, &(struct deadline_clock){1, 1, 1}, LIMIT_MS); // the first round
}

// --- workers ---

static void drop(void *worker)
{
	if (worker == &model->deadline[0])
		atomic_store_explicit(&model->ring, 0, memory_order_relaxed);
	else
		model->held = false;
}

// As pass_time() of loop.c. Returns the number of freezes before.
static uint8_t pass_begin(struct deadline *d)
{
	uint64_t tsc;
	uint8_t freezes;

	do {
		explore_step(&model->clock);
		tsc = model->clock;
		freezes = model->freezes;
		if (!deadline_is_past(d, tsc))
			return freezes;
		deadline_obey(d, drop, d);
	} while (true);
}

// In a pass that began after that number of freezes.
static void send(uint8_t freezes)
{
	explore_assert(freezes <= model->settled);
}

static void worker_pass(unsigned int id)
{
	uint8_t freezes = pass_begin(&model->deadline[id]);
	uint8_t generation = atomic_load_explicit(&model->generation, memory_order_acquire);

	if (generation % 2 == 0)
		send(freezes);
	if (id == 1 && model->held) {
		model->held = false;
		send(freezes);
	}
	if (atomic_load_explicit(&model->stopped, memory_order_relaxed) != 0)
		return;
	if (id == 1)
		atomic_fetch_add_explicit(&model->ring, 1, memory_order_release);
	else
		send(freezes);
}

// As send_given() of loop.c.
static void ring_send(void)
{
	uint8_t freezes = 0;

	if (atomic_load_explicit(&model->ring, memory_order_acquire) == 0)
		return;
	freezes = pass_begin(&model->deadline[0]);
	if (atomic_exchange_explicit(&model->ring, 0, memory_order_acquire) > 0)
		send(freezes);
}

static void worker_run(unsigned int id, unsigned int passes)
{
	for (unsigned int i = 0; i < passes; i++) {
		worker_pass(id);
		if (id == 0)
			ring_send();
	}
	explore_step(&model->ended);
	model->ended++;
	// It continues as the loop does, and sends nothing more.
	while (true) {
		explore_step(&model->clock);
		if (model->ended > WORKERS)
			break;
		if (deadline_is_past(&model->deadline[id], model->clock))
			deadline_obey(&model->deadline[id], drop, &model->deadline[id]);
	}
}

// --- control thread ---

static void frozen(void *arg, uint64_t ms)
{
	(void)arg;
	(void)ms;
	if (model->suspended)
		model->freezes = model->seen = 1;
	model->noticed = model->seen;
	atomic_store_explicit(&model->stopped, 1, memory_order_relaxed);
}

static bool in_effect(void *arg)
{
	(void)arg;
	if (model->loading) {
		model->loading = false;
		return false;
	}
	if (model->generation % 2 == 0 && model->stopped != 0)
		atomic_store_explicit(
			&model->generation, (uint8_t)(model->generation + 1), memory_order_release);
	return true;
}

// It announces the group's addresses as well.
static void command(void)
{
	model->commanded = true;
	model->settled = model->noticed;
	atomic_store_explicit(&model->stopped, 0, memory_order_relaxed);
	if (model->generation % 2 == 1)
		atomic_store_explicit(
			&model->generation, (uint8_t)(model->generation + 1), memory_order_release);
	atomic_fetch_add_explicit(&model->ring, 1, memory_order_release);
}

static void control_run(bool commands)
{
	static const struct deadline_freeze freeze = {frozen, in_effect};

	do {
		struct deadline_clock now = {.tsc_per_ms = 1};

		explore_step(&model->clock);
		now.ms = model->clock;
		now.boot_ms = model->boot;
		model->seen = model->freezes;
		deadlines_round(&model->all, &now, LIMIT_MS, &freeze, NULL);
		// While workers drop packets that they hold.
		if (commands && model->all.order % 2 == 1 && !model->commanded)
			command();
	} while (model->ended < WORKERS);
	model->ended++;
}

// --- fate ---

static void fate_run(const struct scenario *s)
{
	for (unsigned int i = 0; i < 2 && s->fate[i] != NOTHING; i++) {
		const uint64_t passes = s->fate[i] == TICK ? 1 : LIMIT_MS + 1;

		explore_step(&model->clock);
		model->boot += passes;
		if (s->fate[i] == SUSPEND)
			model->suspended = true;
		else
			model->clock += passes;
		if (s->fate[i] == FREEZE)
			model->freezes++;
	}
}

void model_thread(unsigned int scenario, unsigned int thread)
{
	if (thread == 0)
		control_run(scenarios[scenario].commands);
	else if (thread <= WORKERS)
		worker_run(thread - 1, scenarios[scenario].passes);
	else
		fate_run(&scenarios[scenario]);
}

void model_end(unsigned int scenario)
{
	(void)scenario;
}
