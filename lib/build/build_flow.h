// SPDX-License-Identifier: BSD-3-Clause
// What a configuration says about flows, as the flow table takes it. Control thread.
#pragma once

#include "conf.h"
#include "flow.h"

struct flow_config build_flow_config(const struct conf *conf);
