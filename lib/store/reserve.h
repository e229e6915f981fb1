// SPDX-License-Identifier: BSD-3-Clause
// Restart safety: the sequence numbers used with each key persist after the daemon ends, for
// whatever reason (docs/decisions/0014-restart.md). Control thread; disk_writer.h has a thread that
// writes to the disk.
//
// Outbound, blocks of numbers are reserved on the disk before they are used; a daemon that is
// started again continues after the last block. Inbound, replay windows are in memory that outlives
// the process. For the case of a power failure, the disk has a number above their top.
//
// SAs of an IKE daemon are left out: their keys are new whenever it adds one.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "conf.h"
#include "snapshot.h"

struct reserve;

// Reads the state left by earlier daemons into the ledger, which has no records yet. *r is NULL if
// the configuration has no state_dir. Returns 0, or a negative number after logging the cause:
// then nothing may be sent.
int reserve_open(struct reserve **r, const struct conf *conf, struct sa_ledger *ledger);

// Sets a function that is called again and again in reserve_begin(), which takes long with many SAs
// or a slow disk, and while reserve_finish() waits, by the same thread. NULL is allowed for r.
void reserve_meanwhile_set(struct reserve *r, void (*meanwhile)(void *arg), void *arg);

// As state_keys_check(). To be called before reserve_begin(). NULL is allowed.
int reserve_keys_check(
	const struct reserve *r, const struct conf *conf, bool declared, FILE *errors);

// Sets the first number of SAs of a snapshot that workers do not have yet, after the last one used
// with the key, and reserves numbers for them; returns when these are on the disk. Other SAs do not
// change; if there are none such, a disk that cannot be written is only logged, except at the
// start. Returns 0, or a negative number after logging the cause. NULL is allowed.
int reserve_begin(struct reserve *r, const struct snapshot *s);

// Sets the first number of an SA that is to be added to the running snapshot. It has no numbers to
// send until the next write, within a second, has reserved some on the disk: a daemon that ends
// before has used none. declared: as in state_keys_check(). Returns 0, or a negative number: the
// key is unknown (-EPERM), the disk cannot be written (-ENOSPC), or there is no memory for its
// window. r may be NULL.
int reserve_sa_begin(struct reserve *r, struct sa *sa, bool declared);

// Lets workers use the numbers that have been written to the disk. To be called often. NULL is
// allowed.
void reserve_collect(struct reserve *r, const struct snapshot *s, uint64_t now_ms);

// Reserves more numbers where SAs need them. To be called every 100 ms. NULL is allowed.
void reserve_tick(struct reserve *r, const struct snapshot *s, uint64_t now_ms);

// When workers have stopped, or a start fails: writes the last numbers used, and leaves the windows
// to the next daemon. NULL is allowed, also for the snapshot: none was published.
void reserve_finish(struct reserve *r, const struct snapshot *s);

// After the last SA has been freed. NULL is allowed.
void reserve_free(struct reserve *r);
