// SPDX-License-Identifier: BSD-3-Clause
// Where replay windows are kept so that they outlive the process: a file in memory (tmpfs) that is
// mapped. Workers mark numbers in it as in any memory; a daemon that is started again finds there
// to the last packet what the one before had accepted, however that ended. Control thread.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "key_id.h"

#define REPLAY_TOKEN_MAX 64 // octets, NUL included

struct replay_memory;

// Makes an empty file of that name, in the place of one that is there, which whoever has mapped it
// keeps. The token tells it from others, see sa_ledger_token(). NULL with errno as the system says.
struct replay_memory *replay_memory_new(const char *path, const char *token);

// Maps what an earlier daemon left. NULL with errno ENOENT (there is nothing), ESTALE (it has
// another token), EBADMSG (it is damaged), or as the system says.
struct replay_memory *replay_memory_open(const char *path, const char *token);

// Notes the turn of the ledger that is on the disk: see sa_ledger_turn().
void replay_memory_turn_set(struct replay_memory *m, uint64_t turn);

// What an earlier daemon noted in the file of that name; 0 if there is none, or none of these.
uint64_t replay_memory_turn_of(const char *path);

// Unmaps; the file stays. NULL is fine.
void replay_memory_free(struct replay_memory *m);

// Room for the window of an SA: words, all 0, on cache lines of its own. NULL with errno ENOMEM or
// ENOSPC.
_Atomic uint64_t *replay_memory_take(
	struct replay_memory *m, const struct key_id *id, uint32_t words);

void replay_memory_give(struct replay_memory *m, _Atomic uint64_t *window);

// The window of an SA in an opened file, and how many words it has. NULL if it has none, or two.
const _Atomic uint64_t *replay_memory_find(
	const struct replay_memory *m, const struct key_id *id, uint32_t *words);
