// SPDX-License-Identifier: BSD-3-Clause
// Runs lib/store/reserve.c to reserve sequence numbers in a folder, and prints its operations on
// the disk and the moments when it allows numbers, in order, as steps for reserve.pml. Numbers are
// relative to the start of the SA. Linked with --wrap, so that the calls recorded are those of the
// code.
//
//   reserve_steps FOLDER
#include "reserve.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "alg.h"
#include "log.h"
#include "sa_ledger.h"

static struct sa_out sa;
static bool fails, finishing; // recorded by fsync(); the daemon has stopped its workers
static bool failed;           // the last fsync(): the file that was begun is removed next
static atomic_uint failures;

ssize_t __real_write(int fd, const void *from, size_t len);
int __real_fsync(int fd);
int __real_rename(const char *from, const char *to);
int __real_unlink(const char *path);
void __real_sa_out_allow(struct sa_out *out, uint64_t seq);
ssize_t __wrap_write(int fd, const void *from, size_t len);
int __wrap_fsync(int fd);
int __wrap_rename(const char *from, const char *to);
int __wrap_unlink(const char *path);
void __wrap_sa_out_allow(struct sa_out *out, uint64_t seq);

// A name of the file that is written, if fd is that file; *in_place: whether it is the final name.
static bool is_file(int fd, bool *in_place)
{
	char link[64], path[256] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (readlink(link, path, sizeof(path) - 1) < 0)
		return false;
	*in_place = strstr(path, ".new") == NULL;
	return strstr(path, ".sequence") != NULL;
}

// The only record of the text: "NAME BOUND TURN" in its third line.
ssize_t __wrap_write(int fd, const void *from, size_t len)
{
	unsigned long long bound;
	bool in_place;

	if (is_file(fd, &in_place)) {
		if (sscanf(from, "%*[^\n]\n%*[^\n]\n%*s %llu", &bound) != 1)
			exit(2);
		if (finishing)
			printf("\t%s(used + %lld);\n", in_place ? "disk_overwrite" : "disk_write",
				(long long)(bound - atomic_load(&sa.seq)));
		else
			printf("\t%s(base + %llu);\n", in_place ? "disk_overwrite" : "disk_write",
				bound);
	}
	return __real_write(fd, from, len);
}

int __wrap_fsync(int fd)
{
	bool in_place, file = is_file(fd, &in_place);

	if (fails && file) {
		failed = true;
		errno = EIO;
		return -1;
	}
	printf("\t%s();\n", file ? "disk_sync_file" : "disk_sync_folder");
	return __real_fsync(fd);
}

int __wrap_rename(const char *from, const char *to)
{
	if (strstr(to, ".sequence") != NULL)
		printf("\tdisk_rename();\n");
	return __real_rename(from, to);
}

int __wrap_unlink(const char *path)
{
	if (strstr(path, ".sequence") != NULL) {
		printf("\tdisk_unlink();\n");
		failures += failed;
		failed = false;
	}
	return __real_unlink(path);
}

void __wrap_sa_out_allow(struct sa_out *out, uint64_t seq)
{
	printf("\tallow(base + %llu);\n", (unsigned long long)seq);
	__real_sa_out_allow(out, seq);
}

void log_line(enum log_level level, const char *fmt, ...)
{
	(void)level;
	(void)fmt;
}

// Ticks until more is allowed, or has twice not been allowed.
static void tick(const char *name, struct reserve *r, const struct snapshot *s, uint64_t now_ms)
{
	const struct timespec nap = {.tv_nsec = 1000000};

	printf("inline %s() {\n", name);
	sa.seq = sa.seq_reserved;                           // all that is allowed has been used
	while (failures < 2 && sa.seq_reserved == sa.seq) { // the writer has its own thread
		reserve_tick(r, s, now_ms);
		reserve_collect(r, s, now_ms);
		nanosleep(&nap, NULL);
	}
	printf("\tskip\n}\n");
}

int main(int argc, char **argv)
{
	struct conf conf = {.instance = "model", .state_dir = argc > 1 ? argv[1] : NULL};
	struct sa *list[] = {&sa.sa};
	struct snapshot_control control = {.sa = list, .n_sa = 1};
	struct snapshot s = {.control = &control};
	struct sa_ledger *ledger = sa_ledger_new();
	struct reserve *r;

	setvbuf(stdout, NULL, _IONBF, 0);
	sa.seq_max = SA_SEQ_MAX;
	sa.blocks = number_blocks_of(0, false);
	sa.sa.lifetime.hard[LIFETIME_PACKETS] = UINT64_MAX;
	sa.sa.opt.direction = SA_OUT;
	sa.sa.opt.cipher = cipher_alg_find("aes-128-gcm");
	if (reserve_open(&r, &conf, ledger) < 0)
		return 1;
	printf("inline begin() {\n");
	if (reserve_begin(r, &s) < 0)
		return 1;
	printf("\tskip\n}\n");
	tick("tick", r, &s, 100);
	fails = true;
	tick("tick_failed", r, &s, 10000);
	fails = false;
	finishing = true;
	printf("inline finish() {\n");
	reserve_finish(r, &s);
	printf("\tskip\n}\n");
	reserve_free(r);
	return 0;
}
