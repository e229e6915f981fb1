// SPDX-License-Identifier: BSD-3-Clause
// The firewall rules that a configuration means. Private to lib/build.
#pragma once

#include "conf.h"
#include "rule.h"

#define BUILD_RULE_DEFAULT "(default)" // no rule in a file can have this name

// Makes the set of configured rules; the fallback is the default action. Ports are indexes of
// conf->ports, tunnels those of conf->policies. Returns NULL with errno ENOMEM.
struct rule_set *build_rules(const struct conf *conf);
