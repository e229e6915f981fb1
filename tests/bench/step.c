// SPDX-License-Identifier: BSD-3-Clause
#include "step.h"

#include <signal.h>
#include <stdint.h>
#include <sys/random.h>
#include <ucontext.h>

#include <rte_cycles.h>

#include "die.h"

// The linker gives the program's own code these ends.
extern const uint8_t __executable_start[], etext[];

// And these to cryptography of its own, which counts like that of libraries; not every build has
// it.
extern const uint8_t __start_aes_gcm[] __attribute__((weak));
extern const uint8_t __stop_aes_gcm[] __attribute__((weak));

static uint64_t count, count_own;

// In place of the C library's.
ssize_t getrandom(void *buf, size_t n, unsigned int flags __rte_unused)
{
	static uint64_t state = 88172645463325252u;
	uint8_t *to = buf;

	for (size_t i = 0; i < n; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		to[i] = (uint8_t)(state >> 56);
	}
	return (ssize_t)n;
}

// Executes the RDTSC that is next, if it is: with the count for the TSC.
static void rdtsc_execute(greg_t regs[])
{
	const uint8_t *next = (const uint8_t *)regs[REG_RIP];

	if (next[0] != 0x0f || next[1] != 0x31)
		return;
	count++;
	regs[REG_RAX] = (uint32_t)count;
	regs[REG_RDX] = (greg_t)(count >> 32);
	regs[REG_RIP] += 2;
}

// The kernel clears the trap flag for the handler, and restores it when that returns.
static void trapped(int signal, siginfo_t *info, void *context)
{
	ucontext_t *at = context;
	const uint8_t *next = (const uint8_t *)at->uc_mcontext.gregs[REG_RIP];

	(void)signal;
	(void)info;
	count++;
	count_own += next >= __executable_start && next < etext &&
		     !(next >= __start_aes_gcm && next < __stop_aes_gcm);
	rdtsc_execute(at->uc_mcontext.gregs);
}

void step_begin(void)
{
	struct sigaction trap = {.sa_sigaction = trapped, .sa_flags = SA_SIGINFO};

	if (sigaction(SIGTRAP, &trap, NULL) < 0)
		die("SIGTRAP cannot be handled: %m");
	count = rte_rdtsc(); // the TSC does not go back
	count_own = 0;
	// Sets the trap flag. Below the stack pointer is memory that the compiler may use.
	asm volatile("lea -128(%%rsp), %%rsp\n\t"
		     "pushfq\n\t"
		     "orq $0x100, (%%rsp)\n\t"
		     "popfq\n\t"
		     "lea 128(%%rsp), %%rsp" ::
			     : "memory", "cc");
}

void step_end(void)
{
	asm volatile("lea -128(%%rsp), %%rsp\n\t"
		     "pushfq\n\t"
		     "andq $~0x100, (%%rsp)\n\t"
		     "popfq\n\t"
		     "lea 128(%%rsp), %%rsp" ::
			     : "memory", "cc");
}

uint64_t step_own(void)
{
	return count_own;
}
