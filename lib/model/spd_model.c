// SPDX-License-Identifier: BSD-3-Clause
#include "spd_model.h"

#include <stddef.h>

const char *const spd_action_names[] = {
	[SPD_PROTECT] = "protect", [SPD_BYPASS] = "bypass", [SPD_DISCARD] = "discard", NULL};
