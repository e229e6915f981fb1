// SPDX-License-Identifier: BSD-3-Clause
// Any octets as what a daemon before has left: the file of sequence numbers, on the disk, and that
// of replay windows, in memory. They are refused, or what was read can be written and read again.
// The first octet says which, and what is made right, without which hardly a file would be looked
// at.
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_hash_crc.h>

#include "fuzz.h"
#include "replay.h"
#include "seq_table.h"
#include "test.h"

enum {
	WINDOWS = 1,   // else sequence numbers
	RIGHT_END = 2, // of sequence numbers: count and CRC
};

#define TOKEN  "0123"
#define HEADER "culvert sequence numbers 2\nstart " TOKEN "\n"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

static void write_all(int fd, const void *octets, size_t len)
{
	if (write(fd, octets, len) != (ssize_t)len)
		abort();
}

static void write_right(int fd, const uint8_t *text, size_t len)
{
	char end[64];
	uint32_t crc = rte_hash_crc(HEADER, sizeof(HEADER) - 1, 0);
	unsigned int lines = 0;
	uint8_t *aligned;

	for (size_t i = 0; i < len; i++)
		lines += text[i] == '\n';
	aligned = malloc(len + 1); // rte_hash_crc() reads whole words
	assert_true(aligned != NULL);
	memcpy(aligned, text, len);
	crc = rte_hash_crc(aligned, (uint32_t)len, crc);
	free(aligned);
	write_all(fd, HEADER, sizeof(HEADER) - 1);
	write_all(fd, text, len);
	write_all(fd, end, (size_t)snprintf(end, sizeof(end), "end %u %08x\n", lines, crc));
}

// What was read comes back the same.
static void write_and_read(struct seq_table *t)
{
	struct seq_table *again = seq_table_new();
	size_t len, len_again;
	char *text = seq_table_text(t, &len), *text_again;
	char path[] = "/tmp/culvert-fuzz.XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(seq_text_save(path, text, len), 0);
	assert_int_equal(seq_table_read(again, path), 0);
	text_again = seq_table_text(again, &len_again);
	assert_int_equal(len_again, len);
	assert_memory_equal(text_again, text, len);
	unlink(path);
	free(text);
	free(text_again);
	seq_table_free(again);
}

static void read_numbers(const char *path)
{
	struct seq_table *t = seq_table_new();

	if (seq_table_read(t, path) == 0)
		write_and_read(t);
	seq_table_free(t);
}

static void read_windows(const char *path)
{
	static const struct key_id ids[] = {{{0}}, {{1}}};
	struct replay_memory *m = replay_memory_open(path, TOKEN);
	uint32_t n;

	for (size_t i = 0; m != NULL && i < COUNT_OF(ids); i++) {
		const _Atomic uint64_t *words = replay_memory_find(m, &ids[i], &n);
		struct replay r;

		if (words == NULL)
			continue;
		assert_int_equal(replay_init(&r, 64), 0);
		replay_take_over(&r, words, n, 1000);
		replay_check(&r, 1000);
		replay_fini(&r);
	}
	replay_memory_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	int fd = memfd_create("state", MFD_CLOEXEC);
	char path[32];

	assert_true(fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (len > 0 && (input[0] & (WINDOWS | RIGHT_END)) == RIGHT_END)
		write_right(fd, input + 1, len - 1);
	else if (len > 0)
		write_all(fd, input + 1, len - 1);
	if (len > 0 && (input[0] & WINDOWS) != 0)
		read_windows(path);
	else
		read_numbers(path);
	close(fd);
	return 0;
}
