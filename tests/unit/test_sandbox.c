// SPDX-License-Identifier: BSD-3-Clause
// Attacks on other processes by an attacker in control of the daemon: a child enters the sandbox
// and tries.
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/rdma_user_ioctl_cmds.h>

#include "sandbox.h"
#include "test.h"

static pid_t other; // a process of the same user

static bool forbidden(long rc)
{
	return rc < 0 && (errno == EPERM || errno == ENOSYS);
}

// For every thread. Returns the number of the first possible action; 0: none.
static int tries_of_all(void)
{
	static char *const words[] = {"true", NULL};
	char octet;
	struct iovec here = {&octet, 1}, there = {&octet, 1};

	if (!forbidden(execve("/bin/true", words, NULL)))
		return 1;
	if (!forbidden(syscall(SYS_fork)) || !forbidden(syscall(SYS_vfork)))
		return 2;
	if (!forbidden(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)) ||
		!forbidden(syscall(SYS_clone3, NULL, 0)))
		return 3;
	if (!forbidden(kill(other, 0)) || !forbidden(syscall(SYS_tkill, other, 0)))
		return 4;
	if (!forbidden(syscall(SYS_tgkill, other, other, 0)))
		return 5;
	if (!forbidden(ptrace(PTRACE_ATTACH, other, 0, 0)) ||
		!forbidden(process_vm_readv(other, &here, 1, &there, 1, 0)))
		return 6;
	if (!forbidden(setuid(0)) || !forbidden(setgid(0)) || !forbidden(unshare(CLONE_NEWUSER)))
		return 7;
	if (!forbidden(syscall(SYS_mount, "", "/", "", 0, "")) || !forbidden(chroot("/")))
		return 8;
	if (!forbidden(syscall(SYS_bpf, 0, NULL, 0)) ||
		!forbidden(syscall(SYS_io_uring_setup, 1, NULL)) ||
		!forbidden(syscall(SYS_keyctl, 0, 0, 0, 0, 0)))
		return 9;
	if (syscall(SYS_tgkill, getpid(), getpid(), 0) != 0) // abort() requires it
		return 10;
	return 0;
}

static int tries_of_worker(void)
{
	if (!forbidden(open("/dev/null", O_RDONLY)) || !forbidden(socket(AF_UNIX, SOCK_STREAM, 0)))
		return 20;
	if (!forbidden((long)mmap(
		    NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)))
		return 21;
	// Allowed, for cards of NVIDIA's: it fails only because of its descriptor.
	if (syscall(SYS_ioctl, -1, RDMA_VERBS_IOCTL, 0) != -1 || errno != EBADF)
		return 23;
	if (!forbidden(syscall(SYS_ioctl, 0, 0, 0)) ||
		!forbidden(syscall(SYS_ioctl, 0, TCGETS, 0)) ||
		!forbidden(prctl(PR_SET_KEEPCAPS, 1)))
		return 22;
	return 0;
}

// The thread of the channel has sockets of the network, and nothing else that workers lack.
static int tries_of_channel(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || close(fd) != 0)
		return 30;
	if (!forbidden(open("/dev/null", O_RDONLY)) ||
		!forbidden(socket(AF_UNIX, SOCK_STREAM, 0)) ||
		!forbidden(socket(AF_PACKET, SOCK_RAW, 0)))
		return 31;
	if (!forbidden((long)mmap(
		    NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)))
		return 32;
	if (!forbidden(syscall(SYS_ioctl, 0, 0, 0)) || !forbidden(prctl(PR_SET_KEEPCAPS, 1)))
		return 33;
	return 0;
}

// In a child, which the test waits for.
static void check_thread(int (*enter)(void), int (*tries)(void))
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		int rc;

		other = getppid();
		rc = sandbox_enter() < 0 ? 100 : tries_of_all();
		if (rc == 0)
			rc = enter() < 0 ? 101 : tries_of_all();
		_exit(rc != 0 ? rc : tries());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_cannot(void **state)
{
	(void)state;
	check_thread(sandbox_enter_worker, tries_of_worker);
	check_thread(sandbox_enter_channel, tries_of_channel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_cannot)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
