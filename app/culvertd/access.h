// SPDX-License-Identifier: BSD-3-Clause
// Which groups reach the sockets of the daemon: control_group the one that takes requests
// ("control"), show_group the one for requests that change nothing ("show"), and either of them
// DPDK's telemetry socket, which only answers. Control thread.
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "conf.h"

// The numbers of the groups of these settings; -1: there is none.
struct access_groups {
	gid_t control, show;
};

// Finds the configured groups. Returns 0, or -EIO after logging missing ones.
int access_find(struct access_groups *groups, const struct conf *conf);

// Lets the groups pass DPDK's folders, and the telemetry socket be used; with capture or
// cards, lets user pass the folder of all DPDK programs. Returns 0, or -EIO after logging why not.
// When DPDK has started, and before privileges are given up.
int access_open(const struct conf *conf, const struct access_groups *groups);

// Whether the client at the other end of a Unix socket is root, the daemon's own user, or a member
// of the group (-1: there is none). Any thread.
bool access_is_permitted(int fd, gid_t group);

// The same with control_group.
bool access_may_change(int fd);
