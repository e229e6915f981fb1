// SPDX-License-Identifier: BSD-3-Clause
#include "nat_model.h"

#include <stddef.h>

const char *const nat_action_names[] = {
	[NAT_ACCEPT] = "accept",
	[NAT_SOURCE] = "source",
	[NAT_DESTINATION] = "destination",
	[NAT_NETMAP] = "netmap",
	NULL,
};

const char *const nat_end_names[] = {
	[NAT_TO] = "destination",
	[NAT_FROM] = "source",
	NULL,
};
