// SPDX-License-Identifier: BSD-3-Clause
// The file of the ledger of sequence numbers, and damaged files.
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file_save.h"
#include "sa_ledger.h"
#include "test.h"

static char dir[] = "/tmp/culvert-seq.XXXXXX";
static char path[sizeof(dir) + 16];

static int make_dir(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/sequence", dir);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

static const struct key_id *id_of(uint32_t i)
{
	static struct key_id id;

	memcpy(id.octets, &i, sizeof(i));
	memcpy(id.octets + sizeof(id) - sizeof(i), &i, sizeof(i));
	return &id;
}

static void save(const struct sa_ledger *l)
{
	size_t len;
	char *text = sa_ledger_text(l, &len);

	assert_non_null(text);
	assert_int_equal(strlen(text), len);
	assert_int_equal(file_save(path, text, len), 0);
	free(text);
}

static void test_kept(void **state)
{
	struct sa_ledger *l = sa_ledger_new();
	struct stat st;

	(void)state;
	assert_string_equal(l->token, "");
	strcpy(l->token, "boot-1");
	l->turn = 5000;
	for (uint32_t i = 0; i < 1000; i++) {
		struct sa_record *r = sa_ledger_keep(l, id_of(i * 7919));

		r->bound = i == 0 ? UINT64_MAX : i;
		r->last_used = 2 * i;
		r->member = i % 3;
		r->block_bits = i % 3 > 0 ? i % 2 * 24 : 0; // some are of an older version
	}
	assert_int_equal(l->n, 1000);
	assert_int_equal(sa_ledger_keep(l, id_of(7919))->bound, 1);
	assert_int_equal(l->n, 1000);
	save(l);
	sa_ledger_free(l);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);

	l = sa_ledger_new();
	assert_int_equal(sa_ledger_read(l, path), 0);
	assert_string_equal(l->token, "boot-1");
	assert_int_equal(l->turn, 5000);
	assert_null(sa_ledger_find(l, id_of(7918)));
	assert_int_equal(sa_ledger_find(l, id_of(7919))->bound, 1);
	assert_int_equal(l->n, 1000);
	for (uint32_t i = 0; i < 1000; i++) {
		struct sa_record *r = sa_ledger_keep(l, id_of(i * 7919));

		assert_int_equal(r->bound, i == 0 ? UINT64_MAX : i);
		assert_int_equal(r->last_used, 2 * i);
		assert_int_equal(r->member, i % 3);
		assert_int_equal(r->block_bits, i % 3 > 0 ? i % 2 * 24 : 0);
	}
	assert_int_equal(l->n, 1000);
	sa_ledger_free(l);
}

static void test_prune(void **state)
{
	struct sa_ledger *l = sa_ledger_new();
	struct sa sa = {0};

	(void)state;
	for (uint32_t i = 0; i < 100; i++) {
		struct sa_record *r = sa_ledger_keep(l, id_of(i));

		r->bound = i + 1;
		r->last_used = 1000 - i;
		r->first = i >= 90 ? &sa : NULL; // the oldest are in use
	}
	assert_int_equal(sa_ledger_prune(l, 90), 0);
	assert_int_equal(l->n, 100);
	assert_int_equal(sa_ledger_prune(l, 20), 0);
	assert_int_equal(l->n, 30);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(sa_ledger_keep(l, id_of(i))->bound, i < 20 || i >= 90 ? i + 1 : 0);
	sa_ledger_free(l);
}

static void write_file(const char *text, size_t len)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static int read_back(void)
{
	struct sa_ledger *l = sa_ledger_new();
	int rc = sa_ledger_read(l, path);

	sa_ledger_free(l);
	return rc;
}

// Its contents decide whether a number is used again: a part of a file is refused, and a file with
// one wrong bit.
static void test_damaged(void **state)
{
	struct sa_ledger *l = sa_ledger_new();
	size_t len;
	char *text;

	(void)state;
	strcpy(l->token, "x");
	sa_ledger_keep(l, id_of(1))->bound = 17;
	sa_ledger_keep(l, id_of(2))->bound = 18;
	sa_ledger_keep(l, id_of(2))->member = 2;
	text = sa_ledger_text(l, &len);
	sa_ledger_free(l);
	assert_non_null(text);
	write_file(text, len);
	assert_int_equal(read_back(), 0);
	for (size_t n = 0; n < len; n++) {
		write_file(text, n);
		assert_int_equal(read_back(), -EBADMSG);
	}
	for (size_t bit = 0; bit < 8 * len; bit++) {
		text[bit / 8] ^= (char)(1 << bit % 8);
		write_file(text, len);
		assert_int_equal(read_back(), -EBADMSG);
		text[bit / 8] ^= (char)(1 << bit % 8);
	}
	text[len] = '\n'; // the NUL was there
	write_file(text, len + 1);
	assert_int_equal(read_back(), -EBADMSG);
	free(text);
	unlink(path);
	assert_int_equal(read_back(), -ENOENT);
	assert_int_equal(file_save("/nonexistent/file", "x", 1), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_prune),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
