// SPDX-License-Identifier: BSD-3-Clause
// Parses messages of the kernel about routes, links, next-hop objects and addresses (rtnetlink(7)).
// Pure functions, any thread.
#pragma once

#include <net/if.h>

#include <linux/netlink.h>

#include "mirror_path.h"

enum mirror_subject {
	MIRROR_NOTHING, // not about any of these
	MIRROR_ROUTE,
	MIRROR_LINK,
	MIRROR_NEXTHOP, // a next-hop object
	MIRROR_ADDRESS,
};

struct mirror_message {
	enum mirror_subject about;
	bool removed, replaces, appended;
	uint32_t id;     // of the link or object; of the table of a route
	uint32_t metric; // of a route, as all up to protocol
	struct ip_prefix to;
	uint8_t protocol;
	char name[IF_NAMESIZE]; // of a link, as all up to master
	bool up;                // routes may lead out of it
	bool running;           // it has a carrier, so next-hop objects may exist
	uint32_t master;        // of a link; 0: none
	// Of a route or an object. Lives are 0. A group has the numbers of objects as links.
	struct mirror_path_head path;
	struct mirror_hop hop[MIRROR_HOPS_MAX];
};

// Whether a message is complete in the octets that are left of a datagram. (mnl_nlmsg_ok() accepts
// lengths of 2^31 and above.)
bool mirror_message_is_whole(const struct nlmsghdr *n, int left);

// Returns 0, or -EBADMSG if the message is truncated or not in the form of its type.
int mirror_message_read(struct mirror_message *m, const struct nlmsghdr *n);
