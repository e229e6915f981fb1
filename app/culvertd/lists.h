// SPDX-License-Identifier: BSD-3-Clause
// The lists of a running gateway: those of collect.h, and those about its ports and workers,
// collected here. The argument of struct control_io is struct gateway.
#pragma once

#include "gateway.h"
#include "view.h"

extern const struct view_list view_lists[];
extern const unsigned int view_n_lists;

// The workers' counts for the number of a VLAN.
struct vlan_counters lists_vlan_counters(const struct gateway *g, unsigned int port);

// For struct control_io.
unsigned int lists_device_counters(void *gateway, uint16_t port, unsigned int first,
	struct device_counter counters[], unsigned int n);
