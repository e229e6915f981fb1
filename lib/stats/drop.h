// SPDX-License-Identifier: BSD-3-Clause
// The reasons for dropping a packet, made from drop.def. Stages return one; DROP_NONE means go on.
#pragma once

#include <stdbool.h>

enum drop {
	DROP_NONE,
#define DROP(id, name, scope, help, advice) DROP_##id,
#include "drop.def"
#undef DROP
	DROP_COUNT
};

enum drop_scope { DROP_SCOPE_GATEWAY, DROP_SCOPE_SA };

struct drop_info {
	const char *name;
	const char *help;   // what it is about the packet
	const char *advice; // what usually causes it, and where to look
	enum drop_scope scope;
};

// Indexed by enum drop; the entry of DROP_NONE is empty.
extern const struct drop_info drop_info[DROP_COUNT];
