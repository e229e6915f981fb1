// SPDX-License-Identifier: BSD-3-Clause
// Memory of replay windows that outlives the process: a mapped file of a tmpfs. Workers mark
// numbers in it as in any memory. A daemon that is started again finds there every number that the
// one before accepted, however that one ended. Control thread.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "key_id.h"

#define REPLAY_TOKEN_MAX 64 // octets, NUL included

struct replay_memory;

// Creates an empty file; it replaces one with that name, which processes that have mapped it keep.
// The token identifies it, see struct sa_ledger. NULL with errno of the system call.
struct replay_memory *replay_memory_new(const char *path, const char *token);

// Maps the file of an earlier daemon. NULL with errno ENOENT (there is none), ESTALE (it has
// another token), EBADMSG (it is damaged), or of the system call.
struct replay_memory *replay_memory_open(const char *path, const char *token);

// Stores the turn of the ledger that is on the disk: see struct sa_ledger.
void replay_memory_turn_set(struct replay_memory *m, uint64_t turn);

// The turn that an earlier daemon stored in the file of that name; 0 if there is none.
uint64_t replay_memory_turn_of(const char *path);

// Unmaps the file, which stays. NULL is allowed.
void replay_memory_free(struct replay_memory *m);

// Allocates the words of a window, all 0, on cache lines of their own. NULL with errno ENOMEM or
// ENOSPC.
_Atomic uint64_t *replay_memory_take(
	struct replay_memory *m, const struct key_id *id, uint32_t words);

// Frees a window, unless replay_memory_keep() was called.
void replay_memory_give(struct replay_memory *m, _Atomic uint64_t *window);

// Leaves all windows in the file from now on, for the next daemon: this one ends.
void replay_memory_keep(struct replay_memory *m);

// The window of a key in an opened file, and its number of words. NULL if there is none, or two.
const _Atomic uint64_t *replay_memory_find(
	const struct replay_memory *m, const struct key_id *id, uint32_t *words);
