// SPDX-License-Identifier: BSD-3-Clause
#include "rule_model.h"

#include <stddef.h>

const char *const rule_action_names[] = {
	[RULE_ACCEPT] = "accept", [RULE_DROP] = "drop", [RULE_REJECT] = "reject", NULL};
const char *const rule_state_names[] = {
	[RULE_NEW] = "new",
	[RULE_ESTABLISHED] = "established",
	[RULE_RELATED] = "related",
	[RULE_INVALID] = "invalid",
	NULL,
};
