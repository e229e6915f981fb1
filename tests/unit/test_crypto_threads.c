// SPDX-License-Identifier: BSD-3-Clause
// One session, used by several workers at the same time.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "crypto_oracle.h"

#define BURST  20
#define ROUNDS 50

struct work {
	const struct sa *sa;
	struct packet packets[BURST];
	unsigned int worker;
	bool ok;
};

// Seals and opens the packets repeatedly. No cmocka here: it supports one thread.
static void *work_do(void *arg)
{
	struct work *work = arg;
	struct crypto_op ops[BURST];

	work->ok = true;
	for (unsigned int round = 0; round < ROUNDS; round++) {
		for (unsigned int i = 0; i < BURST; i++)
			ops[i] = packet_op(&work->packets[i], work->sa->seal);
		crypto_seal(ops, BURST, work->worker);
		for (unsigned int i = 0; i < BURST; i++)
			ops[i].session = work->sa->open;
		crypto_open(ops, BURST, work->worker);
		for (unsigned int i = 0; i < BURST; i++)
			if (!ops[i].ok || !packet_text_ok(&work->packets[i]))
				work->ok = false;
	}
	return NULL;
}

static void check_threads(struct sa *sa)
{
	static struct work work[SA_WORKERS];
	pthread_t thread[SA_WORKERS];

	for (unsigned int w = 0; w < SA_WORKERS; w++) {
		work[w] = (struct work){.sa = sa, .worker = w};
		for (unsigned int i = 0; i < BURST; i++)
			packet_init(
				&work[w].packets[i], sa, w * BURST + i, (uint16_t)(48 * i + 16));
		assert_int_equal(pthread_create(&thread[w], NULL, work_do, &work[w]), 0);
	}
	for (unsigned int w = 0; w < SA_WORKERS; w++) {
		assert_int_equal(pthread_join(thread[w], NULL), 0);
		assert_true(work[w].ok);
	}
}

static void test_threads(void **state)
{
	(void)state;
	for_each_sa(check_threads);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
