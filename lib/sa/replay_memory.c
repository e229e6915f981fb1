// SPDX-License-Identifier: BSD-3-Clause
// The file: a head, then blocks one after the other, each a line that identifies a window, and its
// words. The rest is 0.
#include "replay_memory.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_common.h>

#define FILE_MAX   (UINT64_C(1) << 30) // of addresses; memory is used for blocks only
#define HEAD_LEN   4096
#define MAGIC_FILE "culvert replay 2"

enum { BLOCK_NONE, BLOCK_TAKEN = 0x77696e64, BLOCK_FREE = 0x66726565 };

struct head {
	char magic[32];
	char token[REPLAY_TOKEN_MAX];
	uint64_t turn;
};

struct block {
	uint32_t state;
	uint32_t words;
	struct key_id id;
	_Atomic uint64_t window[] __rte_cache_aligned;
} __rte_cache_aligned;

static_assert(sizeof(struct head) <= HEAD_LEN, "the first block is on a page of its own");

struct replay_memory {
	uint8_t *base;
	size_t size; // mapped octets
	size_t end;  // of the last block
	int fd;      // -1: opened for reading
	bool kept;   // blocks given back stay taken
	unsigned int n_free;
	struct block **sorted; // of an opened file, by id
	unsigned int n_sorted;
};

static size_t block_size(uint32_t words)
{
	return RTE_ALIGN_CEIL(
		sizeof(struct block) + (size_t)words * sizeof(uint64_t), RTE_CACHE_LINE_SIZE);
}

static struct block *block_at(const struct replay_memory *m, size_t off)
{
	return (struct block *)(m->base + off);
}

static struct replay_memory *memory_map(int fd, size_t size, int protection)
{
	struct replay_memory *m = calloc(1, sizeof(*m));
	void *base = MAP_FAILED;

	if (m != NULL)
		base = mmap(NULL, size, protection, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (base == MAP_FAILED) {
		free(m);
		return NULL;
	}
	*m = (struct replay_memory){.base = base, .size = size, .end = HEAD_LEN, .fd = -1};
	return m;
}

struct replay_memory *replay_memory_new(const char *path, const char *token)
{
	struct replay_memory *m = NULL;
	int fd, error;

	unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return NULL;
	error = ftruncate(fd, FILE_MAX) < 0 ? errno : posix_fallocate(fd, 0, HEAD_LEN);
	if (error == 0) {
		m = memory_map(fd, FILE_MAX, PROT_READ | PROT_WRITE);
		error = m == NULL ? errno : 0;
	}
	if (m != NULL) {
		struct head *head = (struct head *)m->base;

		m->fd = fd;
		snprintf(head->magic, sizeof(head->magic), MAGIC_FILE);
		snprintf(head->token, sizeof(head->token), "%s", token);
		return m;
	}
	unlink(path);
	close(fd);
	errno = error;
	return NULL;
}

static int by_id(const void *a, const void *b)
{
	const struct block *x = *(struct block *const *)a, *y = *(struct block *const *)b;

	return memcmp(&x->id, &y->id, sizeof(x->id));
}

// Iterates over the blocks. Negative if one is invalid.
static int blocks_sort(struct replay_memory *m)
{
	while (m->end + sizeof(struct block) <= m->size) {
		struct block *b = block_at(m, m->end);

		if (b->state == BLOCK_NONE)
			break;
		if ((b->state != BLOCK_TAKEN && b->state != BLOCK_FREE) ||
			block_size(b->words) > m->size - m->end)
			return -EBADMSG;
		m->end += block_size(b->words);
		if (b->state == BLOCK_FREE)
			continue;
		if ((m->n_sorted & (m->n_sorted + 1)) == 0) {
			struct block **more =
				realloc(m->sorted, 2 * (m->n_sorted + 1) * sizeof(struct block *));

			if (more == NULL)
				return -ENOMEM;
			m->sorted = more;
		}
		m->sorted[m->n_sorted++] = b;
	}
	if (m->n_sorted > 0)
		qsort(m->sorted, m->n_sorted, sizeof(m->sorted[0]), by_id);
	return 0;
}

static int head_check(const struct replay_memory *m, const char *token)
{
	const struct head *head = (const struct head *)m->base;

	if (memcmp(head->magic, MAGIC_FILE, sizeof(MAGIC_FILE)) != 0)
		return -EBADMSG;
	return strncmp(head->token, token, sizeof(head->token)) == 0 ? 0 : -ESTALE;
}

struct replay_memory *replay_memory_open(const char *path, const char *token)
{
	struct replay_memory *m = NULL;
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc;

	if (fd < 0)
		return NULL;
	rc = fstat(fd, &st) < 0 ? -errno : 0;
	if (rc == 0 && st.st_size < HEAD_LEN)
		rc = -EBADMSG;
	if (rc == 0) {
		m = memory_map(fd, (size_t)st.st_size, PROT_READ);
		rc = m == NULL ? -errno : head_check(m, token);
	}
	close(fd);
	if (rc == 0)
		rc = blocks_sort(m);
	if (rc == 0)
		return m;
	replay_memory_free(m);
	errno = -rc;
	return NULL;
}

void replay_memory_turn_set(struct replay_memory *m, uint64_t turn)
{
	((struct head *)m->base)->turn = turn;
}

uint64_t replay_memory_turn_of(const char *path)
{
	struct head head = {.turn = 0};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return 0;
	if (read(fd, &head, sizeof(head)) != sizeof(head) ||
		memcmp(head.magic, MAGIC_FILE, sizeof(MAGIC_FILE)) != 0)
		head.turn = 0;
	close(fd);
	return head.turn;
}

void replay_memory_free(struct replay_memory *m)
{
	if (m == NULL)
		return;
	munmap(m->base, m->size);
	if (m->fd >= 0)
		close(m->fd);
	free(m->sorted);
	free(m);
}

void replay_memory_keep(struct replay_memory *m)
{
	m->kept = true;
}

static struct block *free_block(struct replay_memory *m, uint32_t words)
{
	size_t off = HEAD_LEN;

	while (m->n_free > 0 && off < m->end) {
		struct block *b = block_at(m, off);

		if (b->state == BLOCK_FREE && b->words == words) {
			m->n_free--;
			return b;
		}
		off += block_size(b->words);
	}
	return NULL;
}

static struct block *new_block(struct replay_memory *m, uint32_t words)
{
	size_t size = block_size(words);
	struct block *b = block_at(m, m->end);
	int error = size > m->size - m->end ? ENOMEM : 0;

	// Missing memory must be an error now, not a signal when a worker writes to it.
	if (error == 0)
		error = posix_fallocate(m->fd, (off_t)m->end, (off_t)size);
	if (error != 0) {
		errno = error;
		return NULL;
	}
	m->end += size;
	return b;
}

_Atomic uint64_t *replay_memory_take(
	struct replay_memory *m, const struct key_id *id, uint32_t words)
{
	struct block *b = free_block(m, words);

	if (b == NULL)
		b = new_block(m, words);
	if (b == NULL)
		return NULL;
	memset((void *)b->window, 0, words * sizeof(b->window[0]));
	b->id = *id;
	b->words = words;
	b->state = BLOCK_TAKEN;
	return b->window;
}

void replay_memory_give(struct replay_memory *m, _Atomic uint64_t *window)
{
	struct block *b = RTE_PTR_SUB(window, offsetof(struct block, window));

	if (m->kept)
		return;
	b->state = BLOCK_FREE;
	m->n_free++;
}

// An SA was replacing another one with its key when the process ended: neither window has all
// numbers.
static bool has_twin(const struct replay_memory *m, struct block **found)
{
	struct block **end = m->sorted + m->n_sorted;

	return (found > m->sorted && by_id(found, found - 1) == 0) ||
	       (found + 1 < end && by_id(found, found + 1) == 0);
}

const _Atomic uint64_t *replay_memory_find(
	const struct replay_memory *m, const struct key_id *id, uint32_t *words)
{
	struct block key, *wanted = &key, **found;

	key.id = *id;
	found = m->n_sorted == 0
			? NULL
			: bsearch(&wanted, m->sorted, m->n_sorted, sizeof(m->sorted[0]), by_id);
	if (found == NULL || has_twin(m, found))
		return NULL;
	*words = (*found)->words;
	return (*found)->window;
}
