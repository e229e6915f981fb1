// SPDX-License-Identifier: BSD-3-Clause
// The table of used sequence numbers, its file, and what becomes of damaged ones.
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "seq_table.h"
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

static void save(const struct seq_table *t)
{
	size_t len;
	char *text = seq_table_text(t, &len);

	assert_non_null(text);
	assert_int_equal(strlen(text), len);
	assert_int_equal(seq_text_save(path, text, len), 0);
	free(text);
}

static void test_kept(void **state)
{
	struct seq_table *t = seq_table_new();
	struct stat st;

	(void)state;
	assert_string_equal(seq_table_token(t), "");
	seq_table_set_token(t, "boot-1");
	for (uint32_t i = 0; i < 1000; i++) {
		struct seq_record *r = seq_table_get(t, id_of(i * 7919));

		r->bound = i == 0 ? UINT64_MAX : i;
		r->last_used = 2 * i;
	}
	assert_int_equal(seq_table_count(t), 1000);
	assert_int_equal(seq_table_get(t, id_of(7919))->bound, 1);
	assert_int_equal(seq_table_count(t), 1000);
	save(t);
	seq_table_free(t);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);

	t = seq_table_new();
	assert_int_equal(seq_table_read(t, path), 0);
	assert_string_equal(seq_table_token(t), "boot-1");
	assert_int_equal(seq_table_count(t), 1000);
	for (uint32_t i = 0; i < 1000; i++) {
		struct seq_record *r = seq_table_get(t, id_of(i * 7919));

		assert_int_equal(r->bound, i == 0 ? UINT64_MAX : i);
		assert_int_equal(r->last_used, 2 * i);
	}
	assert_int_equal(seq_table_count(t), 1000);
	seq_table_free(t);
}

static void test_prune(void **state)
{
	struct seq_table *t = seq_table_new();

	(void)state;
	for (uint32_t i = 0; i < 100; i++) {
		struct seq_record *r = seq_table_get(t, id_of(i));

		r->bound = i + 1;
		r->last_used = 1000 - i;
		r->users = i >= 90; // the oldest are in use
	}
	assert_int_equal(seq_table_prune(t, 90), 0);
	assert_int_equal(seq_table_count(t), 100);
	assert_int_equal(seq_table_prune(t, 20), 0);
	assert_int_equal(seq_table_count(t), 30);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(seq_table_get(t, id_of(i))->bound, i < 20 || i >= 90 ? i + 1 : 0);
	seq_table_free(t);
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
	struct seq_table *t = seq_table_new();
	int rc = seq_table_read(t, path);

	seq_table_free(t);
	return rc;
}

// What stands there decides whether a number is used again: half a file is no file.
static void test_damaged(void **state)
{
	static const char good[] =
		"culvert sequence numbers 1\nstart x\n"
		"000102030405060708090a0b0c0d0e0f000102030405060708090a0b0c0d0e0f 17 18\nend 1\n";
	char bad[sizeof(good) + 1];

	(void)state;
	write_file(good, strlen(good));
	assert_int_equal(read_back(), 0);
	for (size_t len = 0; len < strlen(good) - 1; len++) {
		write_file(good, len);
		assert_int_equal(read_back(), -EBADMSG);
	}
	for (size_t i = 0; i < strlen(good) - 1; i++) {
		memcpy(bad, good, sizeof(good));
		bad[i] = '\n';
		write_file(bad, strlen(good));
		// A line end may stand for a blank.
		if (good[i] != ' ' && good[i] != '\n' && good[i] != 'x')
			assert_int_equal(read_back(), -EBADMSG);
	}
	write_file("culvert sequence numbers 1\nstart x\nend 1\n", 41);
	assert_int_equal(read_back(), -EBADMSG);
	unlink(path);
	assert_int_equal(read_back(), -ENOENT);
	assert_int_equal(seq_text_save("/nonexistent/file", "x", 1), -ENOENT);
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
