// SPDX-License-Identifier: BSD-3-Clause
// Requests to the kernel about its interfaces, addresses and routes (rtnetlink(7)), one at a time,
// and about nftables. They need CAP_NET_ADMIN. Any thread.
#pragma once

#include <stdbool.h>
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

// Begins a request of a type, with a zeroed message of that many octets after the header. flags:
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

// Calls each with every message of the answer to a dump: RTM_GETLINK, RTM_GETADDR. Returns 0 or
// -errno.
int netlink_dump(uint16_t type, void (*each)(void *arg, const struct nlmsghdr *m), void *arg);

// The same with a request for a part of a dump: kernels before 4.20 send all of it.
int netlink_dump_some(
	struct netlink_request *r, void (*each)(void *arg, const struct nlmsghdr *m), void *arg);

// The value of an attribute of at least len octets, which follows a message of that many octets.
// NULL: it has none.
const void *netlink_attribute(const struct nlmsghdr *m, size_t message, uint16_t type, size_t len);

// Reads the address of a family that is the value of an attribute. False: there is none, or the
// family is neither AF_INET nor AF_INET6.
bool netlink_attribute_addr(
	struct ip_addr *addr, const struct nlmsghdr *m, size_t message, uint16_t type, int family);

// Reads the address of a message of RTM_GETADDR. False: it has none of IPv4 or IPv6.
bool netlink_address(struct ip_addr *addr, const struct nlmsghdr *m);

// Opens a socket that receives a message when links or addresses of the kernel change, without
// waiting. Returns it, or -errno.
int netlink_watch(void);

// Whether anything has changed since the last call, or may have.
bool netlink_changed(int fd);

// Sends n requests about nftables, at most 4, which are done together or not at all. Returns the
// socket that they were sent by, which tables with an owner belong to, or -errno.
int netlink_filter(struct netlink_request r[], unsigned int n);
