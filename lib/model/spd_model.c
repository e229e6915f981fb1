// SPDX-License-Identifier: BSD-3-Clause
#include "spd_model.h"

#include <stddef.h>

const char *const spd_action_names[] = {
	[SPD_PROTECT] = "protect", [SPD_BYPASS] = "bypass", [SPD_DISCARD] = "discard", NULL};

const char *const spd_source_check_names[] = {
	[SPD_SOURCE_STRICT] = "strict",
	[SPD_SOURCE_LOOSE] = "loose",
	[SPD_SOURCE_OFF] = "off",
	NULL,
};
