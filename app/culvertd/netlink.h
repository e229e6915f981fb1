// SPDX-License-Identifier: BSD-3-Clause
// Requests to the kernel about its interfaces, addresses and routes (rtnetlink(7)), one at a time,
// and about nftables. They need CAP_NET_ADMIN. Any thread.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <linux/netfilter/nfnetlink.h>
#include <linux/rtnetlink.h>

#include "addr.h"

struct netlink_request {
	struct nlmsghdr head;
	union {
		struct ifinfomsg link;
		struct ifaddrmsg addr;
		struct rtmsg route;
		struct nfgenmsg filter;
		uint8_t room[512]; // attributes follow the message
	};
};

// Begins a request of a type, with a message of so many octets behind the head, zeroed. flags:
// NLM_F_* beside those of every request.
void netlink_begin(struct netlink_request *r, uint16_t type, uint16_t flags, size_t message);

// Adds an attribute; of an address that of its family. There is room for all that one request
// needs.
void netlink_add(struct netlink_request *r, uint16_t type, const void *value, size_t len);
void netlink_add_u32(struct netlink_request *r, uint16_t type, uint32_t value);
void netlink_add_addr(struct netlink_request *r, uint16_t type, const struct ip_addr *addr);

// An attribute of which netlink_add() adds the content in between.
struct rtattr *netlink_nest(struct netlink_request *r, uint16_t type);
void netlink_nest_end(struct netlink_request *r, struct rtattr *nest);

// Sends the request and waits for the answer. Returns 0 or -errno.
int netlink_send(struct netlink_request *r);

// Sends n requests about nftables, at most 4, which are done together or not at all. Returns the
// socket that they were sent by, which tables with an owner belong to, or -errno.
int netlink_filter(struct netlink_request r[], unsigned int n);
