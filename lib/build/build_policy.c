// SPDX-License-Identifier: BSD-3-Clause
#include "build_policy.h"

#include <string.h>

static_assert(CONF_NAME_MAX <= SPD_NAME_MAX, "room for all");
static_assert(CONF_MSS_AUTO == SPD_MSS_AUTO, "taken as it is");

struct spd_policy build_policy(const struct conf_policy *c)
{
	struct spd_policy p = {
		.action = c->action,
		.reqid = c->reqid,
		.peer_id = c->peer_id,
		.priority = c->priority,
		.errors_trusted = c->errors_trusted,
		.mss_clamp = c->mss_clamp,
		.local = c->local,
		.remote = c->remote,
		.family = c->family,
		.proto = c->proto,
		.local_port = acl_port_range(c->local_port_min, c->local_port_max),
		.remote_port = acl_port_range(c->remote_port_min, c->remote_port_max),
	};

	memcpy(p.name, c->name, sizeof(c->name));
	return p;
}
