// SPDX-License-Identifier: BSD-3-Clause
// The settings of flows, in the form of the flow table. Control thread.
#pragma once

#include "conf.h"
#include "flow.h"

struct flow_config build_flow_config(const struct conf *conf);
