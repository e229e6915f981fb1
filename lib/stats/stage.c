// SPDX-License-Identifier: BSD-3-Clause
#include "stage.h"

const struct stage_info stage_info[STAGE_COUNT] = {
#define STAGE(id, text, why) [STAGE_##id] = {.name = #text, .help = why},
#include "stage.def"
#undef STAGE
};
