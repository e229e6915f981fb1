// SPDX-License-Identifier: BSD-3-Clause
// Any octets as an answer of etcd, and as the value of a group: nothing but a text becomes a key,
// and a value that is accepted can be written and read again.
#include <string.h>

#include "etcd_answer.h"
#include "fleet_value.h"
#include "fuzz.h"
#include "test.h"

static void check_line(const struct fleet_line *l)
{
	struct fleet_line same;
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	const char *rest;

	fleet_line_write(out, l);
	fclose(out);
	rest = text;
	assert_true(fleet_line_read(&same, &rest));
	assert_true(same.out == l->out && same.bound == l->bound && same.used == l->used);
	assert_string_equal(same.name, l->name);
	assert_string_equal(rest, "");
	free(text);
}

static void use_value(const char *text)
{
	struct fleet_line l;
	struct fleet_value v;

	if (fleet_value_read(&v, text) != NULL)
		return;
	assert_true(v.lease >= 0 && v.turn < UINT64_MAX);
	while (v.lines[0] != '\0') {
		if (!fleet_line_read(&l, &v.lines))
			return;
		check_line(&l);
	}
}

static void use_answer(const char *text)
{
	struct etcd_result r;
	int64_t lease, seconds;
	char why[32];

	if (etcd_result_read(&r, text) == 0) {
		assert_true(r.revision > 0);
		for (unsigned int i = 0; i < r.n_keys; i++) {
			assert_true(strlen(r.keys[i].value) <= ETCD_VALUE_MAX);
			assert_true(r.keys[i].revision >= 0 && r.keys[i].range < 2);
			use_value(r.keys[i].value);
		}
	}
	etcd_result_free(&r);
	if (etcd_lease_read(&lease, &seconds, text) == 0)
		assert_true(lease >= 0 && seconds >= 0);
	etcd_refusal_read(text, why, sizeof(why));
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	char *text = malloc(len + 1);

	memcpy(text, input, len);
	text[len] = '\0';
	use_value(text);
	use_answer(text);
	free(text);
	return 0;
}
