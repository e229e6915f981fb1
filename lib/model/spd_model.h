// SPDX-License-Identifier: BSD-3-Clause
// Values of a policy (RFC 4301 4.4.1) in the configuration, the datapath and lists, and the words
// for them. Constant; any thread.
#pragma once

enum spd_action { SPD_PROTECT, SPD_BYPASS, SPD_DISCARD };

// Sources that packets out of a tunnel may have: addresses whose route leads into it, addresses
// with any route, or all addresses.
enum spd_source_check { SPD_SOURCE_STRICT, SPD_SOURCE_LOOSE, SPD_SOURCE_OFF };

// By these numbers; NULL after the last.
extern const char *const spd_action_names[], *const spd_source_check_names[];
