// SPDX-License-Identifier: BSD-3-Clause
#include "sandbox.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rdma/rdma_user_ioctl_cmds.h>
#include <rte_common.h>
#include <seccomp.h>

#include "log.h"

#define SYS(name) SCMP_SYS(name)

// Of every thread.
static const int common[] = {
	// frames, and waking others: sockets, taps, eventfds, vhost
	SYS(read), SYS(write), SYS(readv), SYS(writev), SYS(sendto), SYS(recvfrom), SYS(sendmsg),
	SYS(recvmsg), SYS(sendmmsg), SYS(recvmmsg), SYS(poll), SYS(ppoll), SYS(epoll_wait),
	SYS(epoll_pwait), SYS(epoll_ctl),
	// waiting
	SYS(futex), SYS(nanosleep), SYS(clock_nanosleep), SYS(clock_gettime), SYS(sched_yield),
	SYS(restart_syscall), SYS(membarrier), SYS(rseq),
	// the thread's own affairs, its end and a crash's
	SYS(getdents64), SYS(getpid), SYS(gettid), SYS(getcpu), SYS(rt_sigprocmask),
	SYS(rt_sigaction), SYS(rt_sigreturn), SYS(sigaltstack), SYS(exit), SYS(exit_group),
	// memory that it has
	SYS(brk), SYS(munmap), SYS(madvise), SYS(mremap)};

// Of all but workers.
static const int control[] = {
	// files
	SYS(open), SYS(openat), SYS(close), SYS(close_range), SYS(lseek), SYS(pread64),
	SYS(pwrite64), SYS(fstat), SYS(stat), SYS(lstat), SYS(newfstatat), SYS(statx), SYS(statfs),
	SYS(fstatfs), SYS(access), SYS(faccessat), SYS(faccessat2), SYS(readlink), SYS(readlinkat),
	SYS(getcwd), SYS(unlink), SYS(unlinkat), SYS(rmdir), SYS(mkdir), SYS(mkdirat), SYS(rename),
	SYS(renameat), SYS(renameat2), SYS(ftruncate), SYS(fallocate), SYS(fsync), SYS(fdatasync),
	SYS(flock), SYS(fcntl), SYS(dup), SYS(dup2), SYS(dup3), SYS(pipe), SYS(pipe2), SYS(ioctl),
	SYS(memfd_create), SYS(umask), SYS(fchmod), SYS(chmod),
	// sockets and events
	SYS(socket), SYS(socketpair), SYS(bind), SYS(listen), SYS(connect), SYS(accept),
	SYS(accept4), SYS(getsockname), SYS(getpeername), SYS(setsockopt), SYS(getsockopt),
	SYS(shutdown), SYS(select), SYS(pselect6), SYS(epoll_create), SYS(epoll_create1),
	SYS(eventfd2), SYS(timerfd_create), SYS(timerfd_settime), SYS(timerfd_gettime),
	// memory
	SYS(mmap), SYS(mprotect), SYS(mlock), SYS(mlock2), SYS(munlock), SYS(msync), SYS(mincore),
	SYS(mbind), SYS(get_mempolicy), SYS(set_mempolicy), SYS(move_pages),
	// threads
	SYS(set_robust_list), SYS(set_tid_address), SYS(sched_getaffinity), SYS(sched_setaffinity),
	SYS(sched_getparam), SYS(sched_getscheduler), SYS(sched_setscheduler), SYS(arch_prctl),
	SYS(prctl), SYS(seccomp), SYS(capget), SYS(capset),
	// signals and time
	SYS(rt_sigtimedwait), SYS(rt_sigpending), SYS(signalfd4), SYS(clock_getres),

	// who and where
	SYS(getuid), SYS(geteuid), SYS(getgid), SYS(getegid), SYS(getppid), SYS(getgroups),
	SYS(getrlimit), SYS(prlimit64), SYS(getrusage), SYS(sysinfo), SYS(uname), SYS(getrandom)};

static int allow(scmp_filter_ctx ctx, const int calls[], size_t n)
{
	int rc = 0;

	for (size_t i = 0; i < n && rc == 0; i++)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, calls[i], 0);
	return rc;
}

static scmp_filter_ctx filter_new(void)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));

	if (ctx == NULL)
		return NULL;
	seccomp_attr_set(ctx, SCMP_FLTATR_CTL_LOG, 1);
	// A signal to itself, as abort() sends one, but not to others of the user.
	if (allow(ctx, common, RTE_DIM(common)) == 0 &&
		seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SYS(tgkill), 1,
			SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid())) == 0)
		return ctx;
	seccomp_release(ctx);
	return NULL;
}

// New threads, but no new processes. clone3() has its flags in memory, which a filter cannot read:
// glibc works without it.
static int allow_threads(scmp_filter_ctx ctx)
{
	int rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SYS(clone), 1,
		SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));

	return rc != 0 ? rc : seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SYS(clone3), 0);
}

int sandbox_enter(void)
{
	scmp_filter_ctx ctx = filter_new();
	int rc = ctx != NULL ? allow(ctx, control, RTE_DIM(control)) : -ENOMEM;

	if (rc == 0)
		rc = allow_threads(ctx);
	if (rc == 0)
		rc = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_TSYNC, 1);
	if (rc == 0)
		rc = seccomp_load(ctx);
	if (ctx != NULL)
		seccomp_release(ctx);
	if (rc == 0)
		return 0;
	log_error("sandbox: cannot restrict system calls: %s. 'sandbox = false' turns it off",
		strerror(-rc));
	return -EIO;
}

// Calls of a crash, and buffers of the C library's and of OpenSSL's, nothing to be run.
static int allow_thread(scmp_filter_ctx ctx)
{
	int rc = seccomp_rule_add(
		ctx, SCMP_ACT_ALLOW, SYS(mmap), 1, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));

	if (rc == 0)
		rc = seccomp_rule_add(
			ctx, SCMP_ACT_ALLOW, SYS(prctl), 1, SCMP_A0(SCMP_CMP_EQ, PR_GET_NAME));
	return rc != 0 ? rc
		       : seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SYS(prctl), 1,
				 SCMP_A0(SCMP_CMP_EQ, PR_SET_DUMPABLE));
}

// Ends with the result so far, or restricts the calling thread.
static int thread_restrict(scmp_filter_ctx ctx, int rc)
{
	if (rc == 0)
		rc = seccomp_load(ctx);
	if (ctx != NULL)
		seccomp_release(ctx);
	return rc;
}

int sandbox_enter_worker(void)
{
	scmp_filter_ctx ctx = filter_new();
	int rc = ctx != NULL ? allow_thread(ctx) : -ENOMEM;

	if (rc == 0) // mlx5 resets a queue that has failed, by an ioctl of RDMA
		rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SYS(ioctl), 1,
			SCMP_A1(SCMP_CMP_MASKED_EQ, 0xff00, RDMA_IOCTL_MAGIC << 8));
	return thread_restrict(ctx, rc);
}

// Of a thread that has sockets of the network alone.
static int enter_network(const int calls[], size_t n)
{
	scmp_filter_ctx ctx = filter_new();
	int rc = ctx != NULL ? allow_thread(ctx) : -ENOMEM;

	if (rc == 0)
		rc = allow(ctx, calls, n);
	if (rc == 0)
		rc = seccomp_rule_add(
			ctx, SCMP_ACT_ALLOW, SYS(socket), 1, SCMP_A0(SCMP_CMP_EQ, AF_INET));
	if (rc == 0)
		rc = seccomp_rule_add(
			ctx, SCMP_ACT_ALLOW, SYS(socket), 1, SCMP_A0(SCMP_CMP_EQ, AF_INET6));
	return thread_restrict(ctx, rc);
}

int sandbox_enter_channel(void)
{
	static const int calls[] = {SYS(bind), SYS(listen), SYS(connect), SYS(accept4),
		SYS(setsockopt), SYS(getsockopt), SYS(close), SYS(getrandom)};

	return enter_network(calls, RTE_DIM(calls));
}

int sandbox_enter_etcd(void)
{
	static const int calls[] = {SYS(connect), SYS(setsockopt), SYS(getsockopt),
		SYS(getsockname), SYS(getpeername), SYS(shutdown), SYS(fcntl), SYS(pipe2),
		SYS(close), SYS(getrandom)};

	return enter_network(calls, RTE_DIM(calls));
}
