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

// Reasons of scope SA: indexes of the counters that an SA has.
enum drop_of_sa {
#define OF_SA(id) DROP_OF_SA_##id,
#define OF_GATEWAY(id)
#define DROP(id, name, scope, help, advice) OF_##scope(id)
#include "drop.def"
#undef DROP
#undef OF_SA
#undef OF_GATEWAY
	DROP_OF_SA_COUNT
};

enum drop_scope { DROP_SCOPE_GATEWAY, DROP_SCOPE_SA };

struct drop_info {
	const char *name;
	const char *help;   // description of the packet
	const char *advice; // usual cause, and where to look
	enum drop_scope scope;
	enum drop_of_sa of_sa; // of scope SA
};

// Indexed by enum drop; the entry of DROP_NONE is empty.
extern const struct drop_info drop_info[DROP_COUNT];
