// SPDX-License-Identifier: BSD-3-Clause
// Restart safety: what has been used of every key's sequence numbers outlives the daemon, however
// it ends. Control thread; a thread of its own writes to the disk.
//
// Outbound, numbers are reserved on the disk in blocks before they are used; a daemon that is
// started again goes on behind the last block. Inbound, windows are in memory that outlives the
// process, and the disk has a number that they have not reached, for when the power failed
// (docs/decisions/0014-restart.md).
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "conf.h"
#include "snapshot.h"

struct reserve;

// Reads what daemons before have left. *r is NULL if the configuration wants nothing kept. Returns
// 0, or a negative number after logging why not: nothing may be sent then.
int reserve_open(struct reserve **r, const struct conf *conf);

// Before reserve_begin() with what a configuration describes: see state_keys_check(). NULL is fine.
int reserve_keys_check(
	const struct reserve *r, const struct conf *conf, bool declared, FILE *errors);

// Has the SAs of a snapshot that no worker has yet go on where earlier ones with their keys
// stopped; SAs that workers have already are left as they are. When it returns, the disk knows.
// Returns 0, or a negative number after logging why not. NULL is fine.
int reserve_begin(struct reserve *r, const struct snapshot *s);

// Lets workers use the numbers that the disk has by now. To be called often. NULL is fine.
void reserve_collect(struct reserve *r, const struct snapshot *s, uint64_t now_ms);

// To be called every 100 ms. NULL is fine.
void reserve_tick(struct reserve *r, const struct snapshot *s, uint64_t now_ms);

// When workers have stopped: writes where they did, exactly. NULL is fine.
void reserve_finish(struct reserve *r, const struct snapshot *s);

// After the last SA has been freed. NULL is fine.
void reserve_free(struct reserve *r);
