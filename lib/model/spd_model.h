// SPDX-License-Identifier: BSD-3-Clause
// Values of a policy (RFC 4301 4.4.1) in the configuration, the datapath and lists, and the words
// for them. Constant; any thread.
#pragma once

enum spd_action { SPD_PROTECT, SPD_BYPASS, SPD_DISCARD };

// By these numbers; NULL after the last.
extern const char *const spd_action_names[];
