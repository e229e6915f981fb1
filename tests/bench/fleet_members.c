// SPDX-License-Identifier: BSD-3-Clause
// The members of a fleet, for tests/bench/fleet: each is a process with its own client of etcd
// (fleet_member.h), of the configuration that is the argument. Lines on standard input are orders:
//
//   start MEMBER, kill MEMBER, stop MEMBER
//   go                     all members connect to etcd, also the ones that start later
//   order MEMBER GROUP     it takes the group
//   drain MEMBER 1         others take its groups; 0: not any more
//   rate FAST SHARE SLOW   packets a second of each SA: of one tunnel in SHARE of each group, and
//   of the others tick MS                between looks at all numbers: 100 in culvertd counts
//   prints "counts" and the sum of each count, as of fleet_shared.h check                  kills
//   all, and prints "check" and 1, if a number was used twice, or 0
//
// Prints their lines, and "killed MEMBER MS". Ends with its input.
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "die.h"
#include "fleet_member.h"
#include "fleet_traffic.h"
#include "log.h"

static struct conf *conf;
static struct fleet_shared *shared;
static pid_t pids[FLEET_BENCH_MEMBERS]; // 0: it does not run

static unsigned int member_read(unsigned int member)
{
	if (member == 0 || member >= FLEET_BENCH_MEMBERS)
		die("there is no member %u", member);
	return member;
}

static void start(unsigned int member)
{
	if (pids[member] != 0)
		die("member %u runs", member);
	shared->member[member].stop = false;
	pids[member] = fork();
	if (pids[member] < 0)
		die("no process");
	if (pids[member] > 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fleet_member_run(conf, member, shared);
}

static void end(unsigned int member)
{
	int status;

	if (pids[member] == 0 || waitpid(pids[member], &status, 0) < 0)
		die("member %u does not run", member);
	if (!WIFSIGNALED(status) && WEXITSTATUS(status) != 0)
		die("member %u has failed", member);
	pids[member] = 0;
}

static void kill_member(unsigned int member)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	kill(pids[member], SIGKILL);
	printf("killed %u %ld\n", member, now.tv_sec * 1000 + now.tv_nsec / 1000000);
	end(member);
}

static void counts(void)
{
	printf("counts");
	for (unsigned int k = 0; k < COUNTS; k++) {
		uint64_t sum = 0;

		for (unsigned int m = 0; m < FLEET_BENCH_MEMBERS; m++)
			sum += shared->member[m].count[k];
		printf(" %" PRIu64, sum);
	}
	printf("\n");
}

static void check(void)
{
	for (unsigned int m = 1; m < FLEET_BENCH_MEMBERS; m++)
		if (pids[m] != 0)
			kill_member(m);
	printf("check %d\n", fleet_runs_overlap(shared));
}

static void obey(const char *line)
{
	unsigned int a, b, c;

	if (sscanf(line, "start %u", &a) == 1) {
		start(member_read(a));
	} else if (sscanf(line, "kill %u", &a) == 1) {
		kill_member(member_read(a));
	} else if (sscanf(line, "stop %u", &a) == 1) {
		shared->member[member_read(a)].stop = true;
		end(a);
	} else if (sscanf(line, "order %u %u", &a, &b) == 2) {
		shared->member[member_read(a)].order = b + 1;
	} else if (sscanf(line, "drain %u %u", &a, &b) == 2) {
		shared->member[member_read(a)].drain = b;
	} else if (sscanf(line, "tick %u", &a) == 1) {
		shared->tick_ms = a;
	} else if (sscanf(line, "rate %u %u %u", &a, &b, &c) == 3 && b > 0) {
		shared->fast = a;
		shared->share = b;
		shared->slow = c;
	} else if (strcmp(line, "go\n") == 0) {
		shared->go = true;
	} else if (strcmp(line, "counts\n") == 0) {
		counts();
	} else if (strcmp(line, "check\n") == 0) {
		check();
	} else {
		die("no such order: %s", line);
	}
}

int main(int argc, char **argv)
{
	char line[128];
	size_t size;

	if (argc != 2)
		die("usage: bench_fleet FILE");
	setvbuf(stdout, NULL, _IOLBF, 0);
	mallopt(M_ARENA_MAX, 1); // as culvertd
	log_set_level(LOG_LEVEL_ERROR);
	conf = conf_load(argv[1], NULL, stderr);
	if (conf == NULL)
		return EXIT_FAILURE;
	size = sizeof(*shared) + conf->n_sas * sizeof(shared->peer[0]);
	shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		die("no shared memory");
	shared->share = 1;
	shared->tick_ms = 1000;
	while (fgets(line, sizeof(line), stdin) != NULL)
		obey(line);
	return EXIT_SUCCESS;
}
