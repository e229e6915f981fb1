// SPDX-License-Identifier: BSD-3-Clause
// Any octets as state left by an earlier daemon: the file of sequence numbers, on the disk, and the
// file of replay windows, in memory. Proves that they are refused, or that the data read can be
// written and read again. The first octet determines the file, and the fields that are made valid,
// without which few files would pass the first checks.
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_hash_crc.h>

#include "file_save.h"
#include "fuzz.h"
#include "replay.h"
#include "sa_ledger.h"
#include "test.h"

enum {
	WINDOWS = 1, // else sequence numbers
	RIGHT = 2,   // the count and CRC of sequence numbers, or the header of the windows
	SHORT = 4,   // a file of windows that ends with the input, else with a page of zeros
	TAKEN = 8,   // a folder has the name of the file to be written
};

#define TOKEN  "0123"
#define HEADER "culvert sequence numbers 2\nstart " TOKEN "\n"

// The header of the windows.
#define PAGE      4096
#define MAGIC     "culvert replay 2"
#define TOKEN_OFF 32

static char folder[] = "/dev/shm/culvert-fuzz-XXXXXX";
static char left[64], kept[64], taken[64]; // files to be read and written, and a folder in it

static void stop(void)
{
	unlink(left);
	unlink(kept);
	rmdir(taken);
	rmdir(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	if (mkdtemp(folder) == NULL)
		return -1;
	snprintf(left, sizeof(left), "%s/left", folder);
	snprintf(kept, sizeof(kept), "%s/kept", folder);
	snprintf(taken, sizeof(taken), "%s/taken", folder);
	atexit(stop);
	return mkdir(taken, 0700);
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

// The data that was read can be written and read without a change.
static void write_and_read(const struct sa_ledger *l, const char *path)
{
	struct sa_ledger *again = sa_ledger_new();
	size_t len, len_again;
	char *text = sa_ledger_text(l, &len), *text_again;

	assert_int_equal(file_save(path, text, len), path == taken ? -EISDIR : 0);
	assert_int_equal(sa_ledger_read(again, kept), path == taken ? -ENOENT : 0);
	if (path == kept) {
		text_again = sa_ledger_text(again, &len_again);
		assert_int_equal(len_again, len);
		assert_memory_equal(text_again, text, len);
		free(text_again);
		unlink(kept);
	}
	free(text);
	sa_ledger_free(again);
}

// The use of a ledger that was read: keys are added, old records are removed, and the ledger gets a
// new token.
static void use(struct sa_ledger *l)
{
	const struct key_id id = {{0x11}};
	unsigned int n = l->n;
	bool known = sa_ledger_find(l, &id) != NULL;
	struct sa_record *r = sa_ledger_keep(l, &id);
	struct sa sa = {0};

	assert_int_equal(l->n, n + !known);
	r->first = &sa;
	l->turn++;
	assert_int_equal(sa_ledger_prune(l, 1), 0);
	assert_in_range(l->n, 1, 2);
	assert_ptr_equal(sa_ledger_find(l, &id), r);
	assert_in_range(strlen(l->token), 1, REPLAY_TOKEN_MAX - 1);
	strcpy(l->token, "4567");
}

// SAs that follow each other with one key, which the file may have: none begins with a number that
// was used before.
static void sas_follow(struct sa_ledger *l)
{
	static const uint8_t key[CRYPTO_CIPHER_KEY_MAX];
	struct sa_params p = {
		.opt = {.direction = SA_OUT,
			.cipher = cipher_alg_find("aes-128-gcm"),
			.auth = auth_alg_find("none"),
			.cipher_key_id = {{0x11}}},
		.cipher_key = key,
		.engine = "openssl",
		.n_workers = 1,
	};
	struct sa *sa[3];
	uint64_t used = 0;

	for (unsigned int i = 0; i < 3; i++) {
		struct sa_out *out;

		p.opt.spi = i + 1;
		sa[i] = sa_ledger_take(l, &p);
		assert_true(sa[i] != NULL);
		assert_int_equal(sa_ledger_add(l, sa[i]), 0);
		sa_ledger_begin(sa[i]);
		out = sa_out_of(sa[i]);
		assert_true(sa_out_seq(out) >= RTE_MIN(used, out->seq_max));
		sa_out_seq_alloc(out, 10);
		used = sa_numbers_used(sa[i]);
	}
	p.opt.spi = 1;
	assert_ptr_equal(sa_ledger_take(l, &p), sa[0]);
	for (unsigned int i = 0; i < 4; i++)
		sa_ledger_release(l, sa[i % 3]);
	assert_true(sa_ledger_find(l, &p.opt.cipher_key_id)->used >= used);
}

static void read_numbers(const char *path)
{
	struct sa_ledger *l = sa_ledger_new();

	if (sa_ledger_read(l, left) == 0) {
		write_and_read(l, path);
		sas_follow(l);
		use(l);
	}
	sa_ledger_free(l);
}

static void write_windows(int fd, uint8_t how, const uint8_t *octets, size_t len)
{
	char head[PAGE] = MAGIC;

	memcpy(head + TOKEN_OFF, TOKEN, strlen(TOKEN));
	if ((how & RIGHT) != 0)
		write_all(fd, head, sizeof(head));
	write_all(fd, octets, len);
	if ((how & SHORT) == 0 &&
		ftruncate(fd, (off_t)len + ((how & RIGHT) != 0 ? 2 : 1) * PAGE) < 0)
		abort();
}

static void take_over(const struct replay_memory *m, const struct key_id ids[], size_t n_ids)
{
	uint32_t n;

	for (size_t i = 0; i < n_ids; i++) {
		const _Atomic uint64_t *words = replay_memory_find(m, &ids[i], &n);
		struct replay r;

		if (words == NULL)
			continue;
		assert_int_equal(replay_init(&r, 64), 0);
		replay_take_over(&r, words, n, 1000);
		replay_check(&r, 1000);
		replay_fini(&r, NULL);
	}
}

// The window of an SA that still exists replaces those of others that do not.
static void windows_take(struct replay_memory *m, const struct key_id ids[])
{
	_Atomic uint64_t *words = replay_memory_take(m, &ids[0], 3);

	assert_true(words != NULL);
	replay_memory_give(m, words);
	words = replay_memory_take(m, &ids[0], 30);
	assert_true(words != NULL);
	replay_memory_give(m, words);
	assert_true(replay_memory_take(m, &ids[0], UINT32_MAX) == NULL && errno == ENOMEM);
	words = replay_memory_take(m, &ids[1], 30);
	assert_true(words != NULL);
	words[2] = 5;
}

static void windows_check(const struct key_id ids[])
{
	struct replay_memory *m = replay_memory_open(kept, TOKEN);
	const _Atomic uint64_t *words;
	uint32_t n;

	assert_true(replay_memory_open(kept, "4567") == NULL && errno == ESTALE);
	assert_int_equal(replay_memory_turn_of(kept), 17);
	assert_true(replay_memory_find(m, &ids[0], &n) == NULL);
	words = replay_memory_find(m, &ids[1], &n);
	assert_true(words != NULL && n == 30 && words[2] == 5);
	replay_memory_free(m);
}

static void read_windows(const char *path)
{
	static const struct key_id ids[] = {{{0}}, {{1}}};
	struct replay_memory *m = replay_memory_open(left, TOKEN);

	replay_memory_turn_of(left);
	if (m == NULL)
		return;
	take_over(m, ids, COUNT_OF(ids));
	replay_memory_free(m);

	m = replay_memory_new(path, TOKEN);
	assert_int_equal(m == NULL, path == taken);
	if (m == NULL)
		return;
	replay_memory_turn_set(m, 17);
	windows_take(m, ids);
	replay_memory_free(m);
	windows_check(ids);
	unlink(kept);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	uint8_t how = len > 0 ? input[0] : 0;
	const char *path = (how & TAKEN) != 0 ? taken : kept;
	int fd = open(left, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	input += len > 0;
	len -= len > 0;
	if ((how & WINDOWS) != 0)
		write_windows(fd, how, input, len);
	else if ((how & RIGHT) != 0)
		write_right(fd, input, len);
	else
		write_all(fd, input, len);
	close(fd);
	if ((how & WINDOWS) != 0)
		read_windows(path);
	else
		read_numbers(path);
	return 0;
}
