// SPDX-License-Identifier: BSD-3-Clause
// Records of changes. Proves with random changes that the difference of two configurations, written
// and read again, makes one out of the other, on a machine that has no key files; and that a change
// in place makes the same configuration as one that reads all of it again.
#include <malloc.h>

#include "conf_apply.h"
#include "conf_dir.h"
#include "conf_edit.h"
#include "conf_print.h"
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
		i, i % 2 == 0 ? "out" : "in", 5000 + (below(4) == 0 ? below(NAMES) : i),
		1000 + (below(4) == 0 ? below(NAMES) : i) + 16 * below(8));
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

// A difference as text, to be freed.
static char *difference(const struct conf *from, const struct conf *to,
	void (*write)(const struct conf_changes *list, FILE *out))
{
	struct conf_changes *list = conf_diff(from, to);
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	write(list, out);
	fclose(out);
	conf_changes_free(list);
	return text;
}

static char *record_of(const struct conf *from, const struct conf *to)
{
	return difference(from, to, conf_changes_write);
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

// --- in place ---

// Differences from the sample, with which of them were made at run time.
static char *differences(const struct conf *c)
{
	return difference(c, sample, conf_print_diff);
}

static void expect_equal_text(char *a, char *b)
{
	assert_string_equal(a, b);
	free(a);
	free(b);
}

// Also in the places of items, to which messages refer, and in references.
static void expect_same(const struct conf *a, const struct conf *b)
{
	expect_equal_text(conf_dir_printed(a), conf_dir_printed(b));
	expect_equal_text(record_of(sample, a), record_of(sample, b));
	expect_equal_text(differences(a), differences(b));
	assert_int_equal(a->n_sas, b->n_sas);
	for (unsigned int i = 0; i < a->n_sas; i++) {
		assert_memory_equal(&a->sas[i].opt, &b->sas[i].opt, sizeof(a->sas[i].opt));
		assert_memory_equal(
			a->sas[i].cipher_key, b->sas[i].cipher_key, sizeof(a->sas[i].cipher_key));
		assert_string_equal(a->sas[i].where.file, b->sas[i].where.file);
		assert_int_equal(a->sas[i].where.line, b->sas[i].where.line);
	}
	for (unsigned int i = 0; i < a->n_policies; i++) {
		const struct conf_policy *p = &a->policies[i], *q = &b->policies[i];

		assert_int_equal(p->sa_out, q->sa_out);
		assert_memory_equal(p->sa_in, q->sa_in, sizeof(p->sa_in));
	}
}

// Applies a random change in place and to a copy. Returns the next configuration.
static struct conf *apply_both(struct conf *c, unsigned int *n_in_place)
{
	char *record = random_change();
	struct conf *copy = apply(c, record);
	struct conf_edit *e = conf_edit_new(c, "record", record, strlen(record));

	if (e != NULL && copy == NULL)
		fail_msg("done in place, although it is refused: %s", record);
	if (e != NULL && below(4) == 0) {
		conf_edit_cancel(e);
		e = conf_edit_new(c, "record", record, strlen(record));
		assert_non_null(e);
	}
	free(record);
	if (e != NULL) {
		conf_edit_commit(e);
		conf_edit_free(e);
		expect_same(c, copy);
		++*n_in_place;
		if (below(2) == 0) {
			conf_free(copy);
			return c;
		}
	}
	if (copy == NULL)
		return c;
	conf_free(c);
	return copy;
}

static void test_in_place(void **state)
{
	unsigned int n_in_place = 0;

	(void)state;
	for (unsigned long i = 0; i < rounds(100); i++) {
		struct conf *c = conf_copy(sample, stderr);

		for (unsigned int n = 0; n < 60; n++)
			c = apply_both(c, &n_in_place);
		conf_free(c);
	}
	assert_true(n_in_place > 100);
}

#define SA_TO(local)                                                                               \
	"sa add { name = \"one\"; direction = \"in\"; spi = 7000; local = \"" local "\"; "         \
	"remote = \"192.0.2.2\"; cipher = \"aes-128-gcm\"; "                                       \
	"cipher_key = \"00112233445566778899aabbccddeeff01020304\"; lifetime = { soft_packets = "  \
	"9; "                                                                                      \
	"hard_packets = 10; }; }"

static bool changed_in_place(struct conf *c, const char *record)
{
	struct conf_edit *e = conf_edit_new(c, "record", record, strlen(record));

	if (e == NULL)
		return false;
	conf_edit_commit(e);
	conf_edit_free(e);
	return true;
}

// No SA may use an address that the kernel has added to a port.
static void test_guest(void **state)
{
	struct conf *c = conf_copy(sample, stderr);

	(void)state;
	assert_true(changed_in_place(c, SA_TO("192.0.2.1")));
	assert_true(changed_in_place(c, "sa del one"));
	ip_addr_parse(&c->ports[1].guests.addr[0], "192.0.2.77");
	c->ports[1].guests.n = 1;
	assert_false(changed_in_place(c, SA_TO("192.0.2.77")));
	c->ports[1].guests.n = 0;
	assert_true(changed_in_place(c, SA_TO("192.0.2.1")));
	assert_true(changed_in_place(c, "sa del one"));
	c->ports[1].follows_host = true;
	assert_false(changed_in_place(c, SA_TO("192.0.2.1")));
	conf_free(c);
}

// Adding and deleting SAs does not take more and more memory.
static void test_growth(void **state)
{
	struct conf *c = conf_copy(sample, stderr);
	size_t used = 0;

	(void)state;
	for (unsigned int i = 0; i < 2000; i++) {
		if (i == 1000)
			used = mallinfo2().uordblks;
		assert_true(changed_in_place(c, SA_TO("192.0.2.1")));
		assert_true(changed_in_place(c, "sa del one"));
	}
	assert_in_range(mallinfo2().uordblks, 0, used + 1000 * 16);
	conf_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_records),
		cmocka_unit_test(test_all_or_nothing),
		cmocka_unit_test(test_in_place),
		cmocka_unit_test(test_guest),
		cmocka_unit_test(test_growth),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
