// SPDX-License-Identifier: BSD-3-Clause
// From the description of an SA in the configuration to its parameters. Any thread.
#pragma once

#include "conf.h"
#include "sa.h"

// All but the next hop, the MTU and the random iv_mask. Octets between fields are 0.
void build_sa_params(struct sa_params *p, const struct conf *conf, const struct conf_sa *c);

// The name under which the sequence numbers of the SA are counted, see sa_identity_numbers().
struct key_id build_sa_numbers(const struct conf *conf, const struct conf_sa *c);
