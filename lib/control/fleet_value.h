// SPDX-License-Identifier: BSD-3-Clause
// The value that a group has in etcd, as lines of text: "culvert 1 TURN OWNER LEASE", where a
// member that takes, keeps or gives up the group counts TURN up, and OWNER is "-" with lease 0 if
// none has it, which is the same in all versions; while the group moves (fleet_move.c) "next|ready
// NAME LEASE", the member that is to be the next owner, and whether it has answered that it is
// ready; then for each SA "out|in NAME BOUND USED": its name (member_sa.h), the highest number that
// the owner may use, or may have accepted, and the one it is at, which is exact if there is no
// owner. Parsed like that of a stranger. Pure functions; any thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "conf.h"
#include "member_sa.h"

struct fleet_value {
	uint64_t turn;
	conf_name owner;    // "-": none
	int64_t lease;      // of its process
	conf_name next;     // owner
	int64_t next_lease; // 0: it does not move
	bool ready;         // as that one has answered
	const char *lines;  // of SAs
};

struct fleet_line {
	bool out;
	char name[MEMBER_SA_STRLEN];
	uint64_t bound, used;
};

// Why a value of another version is refused, whose owner is known all the same.
extern const char fleet_value_later[];

// Reads all but the lines of SAs. NULL, or why the value is refused. v->lines is in text.
const char *fleet_value_read(struct fleet_value *v, const char *text);

// Reads the next line. *rest: the text after it, "" at the end. False: it is none of these.
bool fleet_line_read(struct fleet_line *l, const char **rest);

void fleet_value_write(FILE *out, const struct fleet_value *v);
void fleet_line_write(FILE *out, const struct fleet_line *l);
