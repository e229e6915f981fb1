// SPDX-License-Identifier: BSD-3-Clause
// Gateway A for tests of flows, and questions about its flows.
#pragma once

#include "site.h"

// Gateway A with other settings in the group "flows".
struct gateway *flow_gateway_new(const char *flows);

// Another configuration of A, with these settings in the group "flows".
void flow_gateway_reload(struct gateway *g, const char *flows, struct site s);

// The only flow in the table.
struct flow_view flow_only(struct gateway *g);
