// SPDX-License-Identifier: BSD-3-Clause
#include "drop.h"

const struct drop_info drop_info[DROP_COUNT] = {
#define DROP(id, text, sc, why, what)                                                              \
	[DROP_##id] = {.name = #text, .help = why, .advice = what, .scope = DROP_SCOPE_##sc},
#include "drop.def"
#undef DROP
};
