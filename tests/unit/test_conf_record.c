// SPDX-License-Identifier: BSD-3-Clause
// Records of changes. Proves with random changes that the difference of two configurations, written
// and read again, makes one out of the other, on a machine that has no key files.
#include "conf_apply.h"
#include "conf_dir.h"
#include "test.h"

#define NAMES 6 // of each kind of item

static uint64_t seed = 30;
static struct conf *sample; // of the documentation

static int start(void **state)
{
	int rc = conf_dir_make(state);

	if (rc == 0)
		sample = conf_dir_load_good("gateway-a.conf");
	return rc;
}

static int stop(void **state)
{
	conf_free(sample);
	return conf_dir_remove(state);
}

static unsigned int below(unsigned int n)
{
	return random_below(&seed, n);
}

static void put_place(FILE *out, const char *kind)
{
	switch (below(4)) {
	case 0:
		fputs(" first", out);
		break;
	case 1:
		fprintf(out, " after %s%u", kind, below(NAMES));
		break;
	case 2:
		fprintf(out, " before %s%u", kind, below(NAMES));
		break;
	default:
		break;
	}
}

static void put_sa(FILE *out, unsigned int i)
{
	fprintf(out,
		"sa add { name = \"sa%u\"; direction = \"%s\"; spi = %u; local = \"192.0.2.1\"; "
		"remote = \"192.0.2.2\"; cipher = \"aes-128-gcm\"; cipher_key = \"%040x\";",
		i, i % 2 == 0 ? "out" : "in", 5000 + i, 1000 + i + 16 * below(8));
	if (below(2) == 0)
		fprintf(out, " lifetime = { soft_seconds = \"%um\"; hard_seconds = 86400; };",
			1 + below(9));
	fprintf(out, " }\n");
}

static void put_policy(FILE *out, unsigned int i)
{
	fprintf(out, "policy add");
	put_place(out, "policy");
	fprintf(out, " { name = \"policy%u\"; remote = \"10.%u.0.0/16\"; local = \"10.1.0.0/24\"; ",
		i, 100 + i);
	if (below(2) == 0)
		fprintf(out, "action = \"protect\"; out = \"sa%u\"; in = [ \"sa%u\" ]; }\n",
			2 * below(NAMES / 2), 2 * below(NAMES / 2) + 1);
	else
		fprintf(out, "action = \"bypass\"; proto = %u; }\n", 1 + below(3));
}

static void put_rule(FILE *out, unsigned int i)
{
	fprintf(out, "rule add");
	put_place(out, "rule");
	fprintf(out, " { name = \"rule%u\"; action = \"drop\"; source = \"10.1.%u.0/24\"; ", i, i);
	fprintf(out, "state = [ \"new\" ]; log = %s; }\n", below(2) == 0 ? "true" : "false");
}

static void put_route(FILE *out, unsigned int i)
{
	fprintf(out, "route add { to = \"10.%u.0.0/16\"; via = \"192.0.2.%u\"; %s}\n", 200 + i,
		2 + below(3), below(2) == 0 ? "source = \"192.0.2.1\"; " : "");
}

static void put_neighbour(FILE *out, unsigned int i)
{
	fprintf(out,
		"neighbour add { address = \"192.0.2.%u\"; mac = \"02:00:00:00:00:0%u\"; port = "
		"\"wan\"; }\n",
		10 + i, 1 + below(9));
}

static void put_set_or_del(FILE *out, unsigned int i)
{
	static const char *const changes[] = {
		"sa del sa%u\n",
		"policy del policy%u\n",
		"rule del rule%u\n",
		"route del 10.20%u.0.0/16\n",
		"neighbour del 192.0.2.1%u\n",
		"sa set sa%u { ttl = 9; }\n",
		"sa set sa%u { lifetime = { soft_bytes = 7; }; }\n",
		"policy set policy%u { mss_clamp = 1000; }\n",
		"rule set rule%u { action = \"reject\"; state = \"new\"; }\n",
		"route set 10.20%u.0.0/16 { via = \"192.0.2.9\"; }\n",
	};

	fprintf(out, changes[below(COUNT_OF(changes))], i);
}

// A record with one random change, which may be refused.
static char *random_change(void)
{
	static void (*const puts[])(FILE * out, unsigned int i) = {
		put_sa, put_policy, put_rule, put_route, put_neighbour, put_set_or_del};
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	puts[below(COUNT_OF(puts))](out, below(NAMES));
	fclose(out);
	return text;
}

static struct conf *apply(const struct conf *c, const char *record)
{
	char *errors;
	size_t len;
	FILE *out = open_memstream(&errors, &len);
	struct conf *now = conf_change(c, "record", record, strlen(record), out);

	fclose(out);
	assert_int_equal(now == NULL, len > 0);
	free(errors);
	return now;
}

// The sample after that many changes; refused ones leave it as it is.
static struct conf *random_conf(unsigned int n)
{
	struct conf *c = conf_copy(sample, stderr), *next;

	for (; n > 0; n--) {
		char *change = random_change();

		next = apply(c, change);
		free(change);
		if (next == NULL)
			continue;
		conf_free(c);
		c = next;
	}
	return c;
}

static unsigned int n_different(const struct conf *from, const struct conf *to)
{
	struct conf_changes *list = conf_diff(from, to);
	unsigned int n = list->n;

	conf_changes_free(list);
	return n;
}

// The record of a difference, to be freed.
static char *record_of(const struct conf *from, const struct conf *to)
{
	struct conf_changes *list = conf_diff(from, to);
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	conf_changes_write(list, out);
	fclose(out);
	conf_changes_free(list);
	return text;
}

static void check_record(const struct conf *from, const struct conf *to)
{
	char *record = record_of(from, to);
	struct conf *made = record[0] != '\0' ? apply(from, record) : NULL;

	if (n_different(from, to) == 0) {
		assert_string_equal(record, "");
	} else {
		if (made == NULL)
			fail_msg("the record is refused:\n%s", record);
		assert_int_equal(n_different(made, to), 0);
		assert_int_equal(n_different(to, made), 0);
	}
	conf_free(made);
	free(record);
}

static void test_random_records(void **state)
{
	unsigned int n_differences = 0;

	(void)state;
	for (unsigned long i = 0; i < rounds(100); i++) {
		struct conf *a = random_conf(below(30)), *b = random_conf(below(30));

		n_differences += n_different(a, b);
		check_record(a, b);
		check_record(b, a);
		conf_free(a);
		conf_free(b);
	}
	assert_true(n_differences > 100);
}

// A record is applied as a whole: a mistake in its last change leaves nothing of the others.
static void test_all_or_nothing(void **state)
{
	(void)state;
	assert_null(apply(sample, "route add { to = \"10.7.0.0/16\"; via = \"192.0.2.7\"; }\n"
				  "sa del nobody\n"));
	assert_int_equal(sample->n_routes, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_records),
		cmocka_unit_test(test_all_or_nothing),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
