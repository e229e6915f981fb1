// SPDX-License-Identifier: BSD-3-Clause
#include "drop.h"

const struct drop_info drop_info[DROP_COUNT] = {
#define OF_SA(id)      DROP_OF_SA_##id
#define OF_GATEWAY(id) 0
#define DROP(id, text, sc, why, what)                                                              \
	[DROP_##id] = {.name = #text,                                                              \
		.help = why,                                                                       \
		.advice = what,                                                                    \
		.scope = DROP_SCOPE_##sc,                                                          \
		.of_sa = OF_##sc(id)},
#include "drop.def"
#undef DROP
};
