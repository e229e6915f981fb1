// SPDX-License-Identifier: BSD-3-Clause
// Makes every atomic operation of the code that is compiled with it (gcc -include) a step of its
// own, before which any other thread may run. spin chooses which: see workers.pml. The operations
// are sequentially consistent here; on x86 the code under test has no other outcomes, since none of
// it depends on a store that is followed by a load of another variable.
#pragma once

#include <setjmp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef EXPLORE_THREADS
#define EXPLORE_THREADS 3
#endif
#define EXPLORE_STACK 2048 // octets
#ifndef EXPLORE_ARENA
#define EXPLORE_ARENA 2048 // octets
#endif

struct explore_thread {
	jmp_buf at;
	bool started, done;
	uint8_t *sp; // nothing below is in use
	uint8_t stack[EXPLORE_STACK] __attribute__((aligned(64)));
};

// All state that differs between states of the search. spin copies and compares it.
extern struct explore {
	bool wrong;
	uint8_t n_running; // threads that have not ended
	uint32_t used;     // of the arena
	struct explore_thread thread[EXPLORE_THREADS];
	uint8_t arena[EXPLORE_ARENA] __attribute__((aligned(256))); // as a flow is
} explore;

// The model. Scenarios are numbered from 0; a thread beyond model_threads() does not run.
unsigned int model_scenarios(void);
unsigned int model_threads(unsigned int scenario);
void model_setup(unsigned int scenario);
void model_thread(unsigned int scenario, unsigned int thread);
void model_end(unsigned int scenario); // when all threads have ended
// Whether the memory at p, which is in the arena, affects another thread or an assertion.
bool model_matters(const volatile void *p);

// For the model: zeroed memory that is part of the state, and assertions.
void *explore_alloc(size_t len);
void explore_assert(bool right);

// For workers.pml.
void explore_begin(unsigned int scenario);
void explore_run(unsigned int thread); // runs up to its next atomic operation

// Called before a thread accesses p: ends its step, unless no other thread reads p.
void explore_step(const volatile void *p);

#define EXPLORE_LOAD(p)                                                                            \
	__extension__({                                                                            \
		__auto_type load_p = (p);                                                          \
		__typeof__((void)0, *load_p) load_v;                                               \
		explore_step(load_p);                                                              \
		__atomic_load(load_p, &load_v, __ATOMIC_SEQ_CST);                                  \
		load_v;                                                                            \
	})
#define EXPLORE_STORE(p, v)                                                                        \
	__extension__({                                                                            \
		__auto_type store_p = (p);                                                         \
		__typeof__((void)0, *store_p) store_v = (v);                                       \
		explore_step(store_p);                                                             \
		__atomic_store(store_p, &store_v, __ATOMIC_SEQ_CST);                               \
	})
#define EXPLORE_EXCHANGE(p, v)                                                                     \
	__extension__({                                                                            \
		__auto_type swap_p = (p);                                                          \
		__typeof__((void)0, *swap_p) swap_v = (v), swap_old;                               \
		explore_step(swap_p);                                                              \
		__atomic_exchange(swap_p, &swap_v, &swap_old, __ATOMIC_SEQ_CST);                   \
		swap_old;                                                                          \
	})
#define EXPLORE_CAS(p, old, v)                                                                     \
	__extension__({                                                                            \
		__auto_type cas_p = (p);                                                           \
		__typeof__((void)0, *cas_p) cas_v = (v);                                           \
		explore_step(cas_p);                                                               \
		__atomic_compare_exchange(                                                         \
			cas_p, (old), &cas_v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);          \
	})
#define EXPLORE_FETCH(op, p, v) (explore_step(p), __atomic_fetch_##op((p), (v), __ATOMIC_SEQ_CST))

#undef atomic_load_explicit
#undef atomic_store_explicit
#undef atomic_exchange_explicit
#undef atomic_compare_exchange_weak_explicit
#undef atomic_compare_exchange_strong_explicit
#undef atomic_fetch_add_explicit
#undef atomic_fetch_sub_explicit
#undef atomic_fetch_or_explicit
#undef atomic_fetch_and_explicit
#define atomic_load_explicit(p, order)                              EXPLORE_LOAD(p)
#define atomic_store_explicit(p, v, order)                          EXPLORE_STORE(p, v)
#define atomic_exchange_explicit(p, v, order)                       EXPLORE_EXCHANGE(p, v)
#define atomic_compare_exchange_weak_explicit(p, old, v, yes, no)   EXPLORE_CAS(p, old, v)
#define atomic_compare_exchange_strong_explicit(p, old, v, yes, no) EXPLORE_CAS(p, old, v)
#define atomic_fetch_add_explicit(p, v, order)                      EXPLORE_FETCH(add, p, v)
#define atomic_fetch_sub_explicit(p, v, order)                      EXPLORE_FETCH(sub, p, v)
#define atomic_fetch_or_explicit(p, v, order)                       EXPLORE_FETCH(or, p, v)
#define atomic_fetch_and_explicit(p, v, order)                      EXPLORE_FETCH(and, p, v)
