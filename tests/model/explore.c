// SPDX-License-Identifier: BSD-3-Clause
#include "explore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

// Below the stack frame of step_end(), through which a thread returns.
#define FRAME 128

struct explore explore;

static jmp_buf scheduler;
static ucontext_t pristine; // initial registers of threads: the same in every state
static unsigned int running, current_scenario;
static bool inside; // of a thread

void *explore_alloc(size_t len)
{
	uint8_t *p = explore.arena + explore.used;

	explore.used += (uint32_t)((len + 63) / 64 * 64);
	if (explore.used > sizeof(explore.arena)) {
		fprintf(stderr, "EXPLORE_ARENA is too small\n");
		exit(2);
	}
	return p;
}

void explore_assert(bool right)
{
	explore.wrong |= !right;
}

void explore_begin(unsigned int scenario)
{
	static bool first = true;

	if (first)
		getcontext(&pristine);
	first = false;
	memset(&explore, 0, sizeof(explore));
	current_scenario = scenario;
	model_setup(scenario);
	explore.n_running = (uint8_t)model_threads(scenario);
	for (unsigned int i = model_threads(scenario); i < EXPLORE_THREADS; i++)
		explore.thread[i].done = true;
}

static __attribute__((noinline)) void step_end(void)
{
	struct explore_thread *t = &explore.thread[running];

	t->sp = (uint8_t *)__builtin_frame_address(0) - FRAME;
	if (_setjmp(t->at) == 0)
		_longjmp(scheduler, 1);
}

void explore_step(const volatile void *p)
{
	const volatile uint8_t *at = p, *arena = explore.arena;

	// Not during the set-up and the checks. Memory outside the arena is constant, or holds
	// counters only.
	if (inside && at >= arena && at < arena + sizeof(explore.arena) && model_matters(p))
		step_end();
}

static void thread_run(void)
{
	step_end(); // every operation has its own step, also the first
	model_thread(current_scenario, running);
	memset(explore.thread[running].at, 0, sizeof(jmp_buf));
	explore.thread[running].done = true;
	explore.n_running--;
	explore.thread[running].sp = explore.thread[running].stack + EXPLORE_STACK;
	_longjmp(scheduler, 1);
}

static void thread_start(struct explore_thread *t)
{
	ucontext_t context = pristine;

	t->started = true;
	context.uc_stack.ss_sp = t->stack;
	context.uc_stack.ss_size = sizeof(t->stack);
	makecontext(&context, thread_run, 0);
	setcontext(&context);
}

void explore_run(unsigned int thread)
{
	struct explore_thread *t = &explore.thread[thread];

	running = thread;
	inside = true;
	if (_setjmp(scheduler) == 0) {
		if (t->started)
			_longjmp(t->at, 1);
		thread_start(t);
	}
	inside = false;
	if (t->sp < t->stack + FRAME) {
		fprintf(stderr, "EXPLORE_STACK is too small\n");
		exit(2);
	}
	// The remains of returned calls on the stack would make equal states different.
	memset(t->stack, 0, (size_t)(t->sp - t->stack));
}
