// SPDX-License-Identifier: BSD-3-Clause
// Sequence numbers that are reserved on a disk which is slow, while workers use them fast. Time is
// simulated: a write takes as many ticks as the test says.
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

#include "reserve.h"
#include "site.h"

#define RATE       50000000u // packets a second
#define TICK_MS    100
#define DISK_TICKS 2
#define TICKS      100

static char dir[] = "/tmp/culvert-reserve.XXXXXX";
static sem_t disk; // posted for each write that may end

int __real_seq_text_save(const char *path, const char *text, size_t len);
int __wrap_seq_text_save(const char *path, const char *text, size_t len);

int __wrap_seq_text_save(const char *path, const char *text, size_t len)
{
	sem_wait(&disk);
	return __real_seq_text_save(path, text, len);
}

static struct reserve *reserve_start(struct gateway *g)
{
	struct reserve *r;

	g->conf->state_dir = dir;
	snprintf(g->conf->instance, sizeof(g->conf->instance), "reserve-%d", getpid());
	assert_int_equal(reserve_open(&r, g->conf), 0);
	sem_post(&disk);
	assert_int_equal(reserve_begin(r, g->snapshot), 0);
	return r;
}

static void reserve_stop(struct reserve *r, struct gateway *g)
{
	sem_post(&disk);
	sem_post(&disk);
	reserve_finish(r, g->snapshot);
	gateway_free(g);
	reserve_free(r);
	while (sem_trywait(&disk) == 0)
		;
}

// The write that has been started ends, and that is noticed.
static void write_end(struct reserve *r, struct gateway *g, uint64_t now_ms)
{
	uint64_t before = g->snapshot->sa_out[0]->seq_reserved;

	sem_post(&disk);
	while (g->snapshot->sa_out[0]->seq_reserved == before)
		reserve_collect(r, g->snapshot, now_ms);
}

// An SA whose packets come at full rate from the first one on loses none.
static void check_rate(const char *settings)
{
	struct gateway *g = site_a((struct site){.sa = settings});
	struct reserve *r = reserve_start(g);
	struct sa_out *sa = g->snapshot->sa_out[0];
	unsigned int writing = 0; // ticks

	for (uint64_t tick = 0; tick < TICKS && sa->seq < sa->seq_max - RATE; tick++) {
		uint64_t before = sa->sa.record->bound;

		if (writing > 0 && ++writing > DISK_TICKS) {
			write_end(r, g, tick * TICK_MS);
			writing = 0;
		}
		sa_out_take_seq(sa, RATE / (1000 / TICK_MS));
		assert_true(sa->seq <= sa->seq_limit);
		reserve_tick(r, g->snapshot, tick * TICK_MS);
		if (writing == 0 && sa->sa.record->bound != before)
			writing = 1;
	}
	reserve_stop(r, g);
}

static void test_rate(void **state)
{
	(void)state;
	check_rate("");
	check_rate("esn = true;");
}

// A number that goes back, as when an SA replaces another one with the same key, is no rate.
static void test_back(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct reserve *r = reserve_start(g);
	struct seq_record *out = g->snapshot->sa_out[0]->sa.record;
	struct seq_record *in = g->snapshot->sa_in[0]->sa.record;

	(void)state;
	out->before += 1000;
	in->before += 1000;
	reserve_tick(r, g->snapshot, TICK_MS);
	assert_int_equal(out->rate, 0);
	assert_int_equal(in->rate, 0);
	reserve_stop(r, g);
}

static int start(void **state)
{
	return mkdtemp(dir) != NULL && sem_init(&disk, 0, 0) == 0 ? harness_start(state) : -1;
}

static int stop(void **state)
{
	char command[128];

	snprintf(
		command, sizeof(command), "rm -r %s /run/culvert/reserve-%d.replay", dir, getpid());
	return harness_stop(state) | system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {pipeline_test(test_rate), pipeline_test(test_back)};

	return cmocka_run_group_tests(tests, start, stop);
}
