// SPDX-License-Identifier: BSD-3-Clause
// What a policy may do with packets (RFC 4301 4.4.1), in the configuration, in the datapath and
// where it is shown, and the words for it. Constant; any thread.
#pragma once

enum spd_action { SPD_PROTECT, SPD_BYPASS, SPD_DISCARD };

// By these numbers; NULL behind the last.
extern const char *const spd_action_names[];
