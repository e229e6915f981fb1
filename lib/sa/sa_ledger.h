// SPDX-License-Identifier: BSD-3-Clause
// The ledger: for each key, which SAs use it and which sequence numbers were used with it, also by
// earlier daemons, so that no number is ever used or accepted twice with a key (RFC 4303 3.3.3,
// 3.4.3, RFC 4106 3.1). Keys are identified by sa_numbers_id().
//
// Snapshots refer to SAs. An SA with equal parameters in two snapshots is one object, so that it
// keeps its numbers, window, counters and lifetime; also one that follows a port to another
// address. An SA with the same key but other settings, or one that is added again, starts after the
// highest number used.
//
// Records in the file reserve numbers on the disk: outbound before they are used, inbound soon
// after they were received.
//
// Control thread, except where noted. The thread that builds a snapshot takes SAs, and gives them
// back if it fails. Meanwhile the control thread adds and removes no SA or record: both only read
// the tree.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "key_id.h"
#include "sa.h"

// Numbers that workers with the old snapshot can use while a new one is published. Of the same
// order as the numbers that SA_ESN_MAX leaves.
#define SA_LEDGER_AHEAD UINT16_MAX

#define SA_SHORT_ID 8 // octets of an id that are enough to know it again

// The record of a key. It is freed with its last SA, unless it is in the file or numbers were used.
struct sa_record {
	struct key_id id;
	struct sa *first; // SAs with the key, mostly one; linked by next
	uint64_t used;    // highest number used by SAs that have been freed, also earlier daemons'
	uint64_t begun;   // last number before the first one of the newest SA
	bool in_file;     // numbers are reserved
	uint64_t bound;   // no higher number has been used
	uint64_t last_used; // turn in which it had an SA last
	// The member of a pair or fleet that this gateway was when these numbers were used; 0:
	// alone. The blocks of others were free for these.
	unsigned int member;
	unsigned int block_bits; // then: the size of blocks is 2^block_bits; 0: not known
	// Traffic of an SA with the key, for the size of its reservation.
	uint64_t before; // number at the last tick
	uint64_t rate;   // numbers in a second, averaged
	// Of a pair (lib/control/numbers.h). Numbers that may be in use, or inbound may have been
	// accepted: up to claimed by this member, up to learnt by the other one.
	uint64_t claimed, learnt;
	uint64_t left_out;    // outbound: numbers that the other one may have used unreported
	uint64_t learnt_rate; // the same of the other one
	uint64_t reported;    // claimed, as of the last report; of a fleet: fleet_numbers.h
	uint64_t raised;      // inbound: where the window has been moved to without a packet
	uint64_t follow_ms;   // outbound: from when on an active SA may continue after these,
	uint64_t wait_ms;     // and how much later again
	uint64_t checked;     // of a fleet: the check of a value that has found it last
	uint64_t leap;        // inbound, of a fleet: numbers that the peer leaves out at a takeover
	uint64_t sure_ms;     // from when on all reports of the other one are known; 0: not yet
};

struct sa_ledger {
	void *tree;     // of struct sa_record, by id (tsearch)
	unsigned int n; // records
	// Of the text that was written last, or begun: 1, 2, ...; 0 in an empty ledger. A file with
	// a lower number than one seen before is an older one.
	uint64_t turn;
	// Which start of a daemon wrote the file: text without blanks, "" if nothing was read.
	char token[REPLAY_TOKEN_MAX];
};

// NULL with errno ENOMEM.
struct sa_ledger *sa_ledger_new(void);

// Frees the ledger, after all SAs have been given back. NULL is allowed.
void sa_ledger_free(struct sa_ledger *l);

// An SA of the ledger with these parameters, or a new one, to be given back as often as it was
// taken. One that follows a port may have another local address: the caller moves it. NULL with
// errno as of sa_out_new(). Also the thread that builds a snapshot.
struct sa *sa_ledger_take(const struct sa_ledger *l, const struct sa_params *p);

// Adds an SA that was taken to the record of its key; does nothing if it has one. Returns 0 or
// -ENOMEM.
int sa_ledger_add(struct sa_ledger *l, struct sa *sa);

// Sets the first number of an SA that has been added. Call just before workers see the SA for the
// first time; later calls do nothing.
void sa_ledger_begin(struct sa *sa);

// Sets the bound of a record to the highest number used, so that the numbers reserved beyond can be
// used. No worker may use its SAs any more.
void sa_ledger_settle(struct sa_record *record);

// Gives an SA back, once no worker can reach it through the snapshot that took it. The last one
// frees it. One that has not been added: also the thread that builds a snapshot.
void sa_ledger_release(struct sa_ledger *l, struct sa *sa);

// The record of a key, which is in the file from now on; a new one, with bound 0, if there is none.
// NULL with errno ENOMEM.
struct sa_record *sa_ledger_keep(struct sa_ledger *l, const struct key_id *id);

// The record of a key, or NULL if there is none.
struct sa_record *sa_ledger_find(const struct sa_ledger *l, const struct key_id *id);

// A record whose id begins with these octets, or NULL if there is none.
struct sa_record *sa_ledger_find_short(const struct sa_ledger *l, const uint8_t start[SA_SHORT_ID]);

// The last number that the other member of a pair may have used; 0: none is known.
uint64_t sa_record_beyond(const struct sa_record *r);

// Counts the numbers used since the last call, up to seq, in the rate. To be called every 100 ms
// for each SA.
void sa_record_sample(struct sa_record *r, uint64_t seq);

// Removes records without SAs, those used longest ago first, until at most max are left of them.
// Returns 0 or -ENOMEM.
int sa_ledger_prune(struct sa_ledger *l, unsigned int max);

// Reads a file with the text of a ledger into an empty one. Returns 0, -ENOENT (no file: nothing is
// known), -EBADMSG (the file is damaged or not one of these), or -errno of the system call.
int sa_ledger_read(struct sa_ledger *l, const char *path);

// The records in the file as text, to be freed with free(); its length without the NUL. NULL with
// errno ENOMEM.
char *sa_ledger_text(const struct sa_ledger *l, size_t *len);
