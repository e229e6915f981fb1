// SPDX-License-Identifier: BSD-3-Clause
#include "crash.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_dev.h>
#include <rte_errno.h>

#include "core.h"
#include "log.h"

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) // whose own handlers report

#define STOP          SIGRTMAX
#define STOP_MS       1000 // that threads have to stop
#define THREADS_MAX   256
#define LIBRARIES_MAX 1024
#define BELOW         8192 // octets of stack that handlers need at most
#define PAGE          4096u

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGQUIT};

struct stack {
	uintptr_t low, high;
};

struct line {
	char text[256];
	size_t len;
};

static int tasks = -1; // /proc/self/task
static atomic_flag crashed = ATOMIC_FLAG_INIT;
static struct stack stacks[THREADS_MAX];
static atomic_uint n_stacks, n_stopped;

extern void *__libc_stack_end; // of the first thread, from the loader

// Ciphers keep round keys in vector registers: there, and where the kernel saved them for the
// handler. Those of a thread that will not go on.
static void wipe_vectors(const ucontext_t *context)
{
	static const struct {
		uint8_t legacy[24];
		uint32_t mxcsr;
		uint8_t none_saved[4096 - 28];
	} __rte_aligned(64) initial = {.mxcsr = 0x1f80};
	char *saved = (char *)context->uc_mcontext.fpregs;
	size_t size = sizeof(struct _libc_fpstate);

	if (saved != NULL) {
		const struct _fpx_sw_bytes *software =
			(const void *)(saved + size - sizeof(struct _fpx_sw_bytes));

		explicit_bzero(saved,
			software->magic1 == FP_XSTATE_MAGIC1 ? software->extended_size : size);
	}
	__asm__ volatile("xrstor64 %0" : : "m"(initial), "a"(-1), "d"(-1));
}

// Wipes remains of earlier calls below the handler's frames.
static __rte_noinline void wipe_below(void)
{
	char used[BELOW];

	explicit_bzero(used, sizeof(used));
}

// The calling thread's stack, down to below who calls this. A thread's own block, which begins with
// where it is, is at the upper end of its stack, except the first thread's.
static __rte_always_inline struct stack own_stack(size_t below)
{
	uintptr_t low = (uintptr_t)__builtin_frame_address(0) - below;

	if (getpid() == gettid())
		return (struct stack){
			low, RTE_ALIGN_CEIL((uintptr_t)__libc_stack_end, (uintptr_t)PAGE)};
	return (struct stack){low, (uintptr_t)__builtin_thread_pointer() + 3 * sizeof(void *)};
}

static __rte_noreturn void stop_for_good(const ucontext_t *context)
{
	static const struct timespec hour = {.tv_sec = 3600};
	unsigned int i = atomic_fetch_add(&n_stacks, 1);

	wipe_below();
	if (i < THREADS_MAX)
		stacks[i] = own_stack(512);
	wipe_vectors(context);
	atomic_fetch_add(&n_stopped, 1);
	for (;;) { // without a call: all memory below will be wiped
		long rc;

		__asm__ volatile("syscall"
				 : "=a"(rc)
				 : "0"(SYS_nanosleep), "D"(&hour), "S"(NULL)
				 : "rcx", "r11", "memory");
	}
}

static void on_stop(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	stop_for_good(context);
}

// Signals all other threads to stop. Returns how many, negative if not all can be signalled.
static int stop_signal(void)
{
	struct entry {
		uint64_t inode, offset;
		uint16_t size;
		uint8_t type;
		char name[];
	};
	static char text[4096] __rte_aligned(8);
	int signalled = 0;
	long len;

	while ((len = syscall(SYS_getdents64, tasks, text, sizeof(text))) > 0) {
		for (long at = 0; at < len;) {
			const struct entry *e = (const struct entry *)(text + at);
			int tid = atoi(e->name);

			at += e->size;
			if (tid == 0 || tid == gettid())
				continue;
			if (tgkill(getpid(), tid, STOP) < 0)
				return -errno;
			signalled++;
		}
	}
	return len < 0 ? -errno : signalled;
}

static bool stop_others(void)
{
	static const struct timespec ms = {.tv_nsec = 1000000};
	int signalled = stop_signal();

	for (int i = 0; i < STOP_MS && (int)atomic_load(&n_stopped) < signalled; i++)
		nanosleep(&ms, NULL);
	return signalled >= 0 && (int)atomic_load(&n_stopped) >= signalled &&
	       atomic_load(&n_stacks) <= THREADS_MAX;
}

static bool keep_stacks(void)
{
	for (unsigned int i = 0; i < atomic_load(&n_stacks); i++)
		if (!core_keep(stacks[i].low, stacks[i].high))
			return false;
	return true;
}

// The value after each frame, which functions that are protected compare with their own: it ends
// the head of the thread's own block (x86-64 ABI).
static bool keep_canary(void)
{
	uintptr_t block = (uintptr_t)__builtin_thread_pointer();

	return core_keep(block, block + 6 * sizeof(void *));
}

// Appends as much as fits to the text; its last octet stays for the end of the line.
static void append(struct line *l, const char *text)
{
	while (*text != 0 && l->len < sizeof(l->text) - 1)
		l->text[l->len++] = *text++;
}

static void append_hex(struct line *l, uintptr_t v)
{
	char digits[2 * sizeof(v) + 1];
	char *at = &digits[sizeof(digits) - 1];

	*at = 0;
	do {
		*--at = "0123456789abcdef"[v & 15];
		v >>= 4;
	} while (v != 0);
	append(l, "0x");
	append(l, at);
}

// The program or library whose code this is: the last one that begins before it. The crash may have
// destroyed the list.
static const struct link_map *code_of(uintptr_t pc)
{
	const struct link_map *found = NULL, *l = _r_debug.r_map;

	for (unsigned int i = 0; i < LIBRARIES_MAX && l != NULL; i++, l = l->l_next)
		if (l->l_addr <= pc && (found == NULL || l->l_addr > found->l_addr))
			found = l;
	return found;
}

// Writes which signal ends the daemon, on which thread, and where: addr2line(1) makes a line of the
// source of that. As the log writes lines, with the priority for critical ones in the journal, but
// without its lock, which the thread may hold. Last: if it crashes as well, there is a core all the
// same.
static void report(int signal, const ucontext_t *context)
{
	uintptr_t pc = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
	const struct link_map *code = code_of(pc);
	struct pollfd log = {.fd = STDERR_FILENO, .events = POLLOUT}; // a full pipe would block
	struct line l = {.len = 0};
	char thread[16] = "";

	prctl(PR_GET_NAME, thread);
	append(&l, log_is_journal() ? "<2>crashed: SIG" : "culvertd: crashed: SIG");
	append(&l, sigabbrev_np(signal));
	append(&l, " in thread \"");
	append(&l, thread);
	append(&l, "\" at ");
	append(&l, code == NULL || code->l_name[0] == 0 ? "culvertd" : code->l_name);
	append(&l, "+");
	append_hex(&l, code == NULL ? pc : pc - code->l_addr);
	l.text[l.len++] = '\n';
	if (poll(&log, 1, 0) == 1 && write(STDERR_FILENO, l.text, l.len) < 0)
		return; // there is nowhere else to report that
}

static void on_crash(int signal, siginfo_t *info, void *context)
{
	struct stack own;
	sigset_t set;

	(void)info;
	if (atomic_flag_test_and_set(&crashed))
		stop_for_good(context);
	wipe_below();
	wipe_vectors(context);
	own = own_stack(BELOW / 2);
	if (stop_others() && keep_stacks() && core_keep(own.low, own.high) && keep_canary() &&
		core_strip())
		prctl(PR_SET_DUMPABLE, 1);
	report(signal, context);

	struct sigaction usual = {.sa_handler = SIG_DFL};

	sigaction(signal, &usual, NULL);
	sigemptyset(&set);
	sigaddset(&set, signal);
	tgkill(getpid(), gettid(), signal);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL); // ends here
}

static void handler_set(int signal)
{
	struct sigaction crash = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO};

	sigfillset(&crash.sa_mask);
	sigaction(signal, &crash, NULL);
}

void crash_start(void)
{
	struct sigaction stop = {.sa_sigaction = on_stop, .sa_flags = SA_SIGINFO | SA_RESTART};
	int rc = core_start();

	if (rc == 0)
		tasks = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (rc < 0 || tasks < 0) {
		log_warn("core files will not be written: %s", strerror(rc < 0 ? -rc : errno));
		return;
	}
	sigfillset(&stop.sa_mask);
	sigaction(STOP, &stop, NULL);
	for (size_t i = 0; i < RTE_DIM(signals); i++)
		handler_set(signals[i]);
}

#else

static void handler_set(int signal)
{
	struct sigaction usual = {.sa_handler = SIG_DFL};

	sigaction(signal, &usual, NULL);
}

void crash_start(void)
{
}

#endif

// A handler to which DPDK's passes other signals on, without the arguments that on_crash() needs:
// the thread receives the signal again, and this time it is a crash.
static void receive_again(int signal)
{
	handler_set(signal);
	tgkill(getpid(), gettid(), signal);
}

// The registers of a card that was unplugged are not there any more: a thread that accesses them
// receives SIGBUS. DPDK's handler puts memory in their place. It calls the handler before it for
// all other signals, but without the arguments of SA_SIGINFO, so that has to be a plain one.
void crash_survive_unplugging(void)
{
	struct sigaction others = {.sa_handler = receive_again};

	sigaction(SIGBUS, &others, NULL);
	if (rte_dev_hotplug_handle_enable() != 0)
		log_warn(
			"a card that is unplugged may end the daemon: %s", rte_strerror(rte_errno));
}
