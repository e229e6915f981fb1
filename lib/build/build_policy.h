// SPDX-License-Identifier: BSD-3-Clause
// The policy that a configuration, or an IKE daemon, means. Any thread.
#pragma once

#include "conf.h"
#include "spd.h"

// Without its SAs.
struct spd_policy build_policy(const struct conf_policy *c);
