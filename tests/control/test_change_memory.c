// SPDX-License-Identifier: BSD-3-Clause
// Memory is exhausted at every allocation of a change in place, once and permanently. Proves that
// it is done entirely or not at all, and that it can be done afterwards.
#include "change.h"
#include "conf_print.h"
#include "desk.h"
#include "failing_alloc.h"

#define SA(number)                                                                                 \
	"sa add { name = \"n" number "\"; direction = \"out\"; spi = \"0x50" number                \
	"\"; local = \"192.0.2.1\"; remote = \"192.0.2.2\"; cipher = \"aes-128-gcm\"; "            \
	"cipher_key = \"00112233445566778899aabbccddeeff001122" number "\"; }\n"

static const char *const changes[] = {SA("01"), SA("02") SA("03"), "sa del n02"};

static int begin(void *arg, struct sa *sa, bool new_keys)
{
	(void)arg, (void)sa, (void)new_keys;
	return 0;
}

static bool change(const char *text)
{
	struct conf_edit *e = change_in_place(&desk, "test", text, strlen(text), true, begin, NULL);

	conf_edit_free(e);
	return e != NULL;
}

static char *printed(void)
{
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	conf_print(desk.conf, f);
	for (unsigned int i = 0; i < running_sas(desk.snapshot); i++)
		fprintf(f, "%s\n", running_sa_at(desk.snapshot, i)->live.name);
	fprintf(f, "generation %u\n", desk_generation());
	fclose(f);
	return text;
}

// True once no allocation has failed.
static bool attempt(const char *text, unsigned int n)
{
	char *before = printed(), *after;
	bool done, failed;

	alloc_fail(n, n % 2 == 0);
	done = change(text);
	failed = alloc_fail_end();
	after = printed();
	if (!done)
		assert_string_equal(before, after);
	free(before);
	free(after);
	return done || !failed;
}

static void test_without_memory(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(changes); i++) {
		unsigned int n = 1;

		while (!attempt(changes[i], n))
			n++;
		assert_true(n > 1);
		desk_wait(200);
		assert_int_equal(desk.sas_leaving, 0);
	}
	assert_int_equal(running_sas(desk.snapshot), 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {desk_test(test_without_memory)};

	return cmocka_run_group_tests_name("change_memory", tests, harness_start, harness_stop);
}
