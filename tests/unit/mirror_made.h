// SPDX-License-Identifier: BSD-3-Clause
// Makes messages of the kernel about routes, and applies them to a mirror, for tests.
#pragma once

#include <libmnl/libmnl.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>

#include "mirror_known.h"

#define ROUTES_MAX 5000
#define LINK       7 // both are up
#define OTHER_LINK 8

extern struct mirror_store made_store;
extern struct mirror_known made_known;
extern bool made_doubt; // the last message makes a dump necessary

// The message that is made: there is room for too many next hops.
extern union made_message {
	struct nlmsghdr head;
	uint8_t octets[16384];
} made_message;

// Begins a message that has a header of that many octets. Returns this.
void *made_begin(uint16_t type, uint16_t flags, size_t size);

// Begins a message about the route to a prefix. Its next hops follow.
struct rtmsg *made_route(uint16_t type, uint16_t flags, const char *to);

void made_put_addr(uint16_t type, const char *text);
void made_hop(const char *gateway, uint32_t link); // gateway: NULL is allowed
void made_metric(uint32_t number);

// Adds next hops; one of them in an attribute RTA_MULTIPATH.
void made_one_of_several(const char *gateway, uint32_t link, unsigned int weight);
void made_several(const char *first, const char *second);

// Applies the message. dumped: as one of a dump.
void made_apply_as(bool dumped);
void made_apply(void);

// Make messages and apply them. gateway NULL: an object that is removed.
void made_link(uint32_t link, bool up, bool running);
void made_add(const char *to, const char *gateway, uint32_t number);
void made_object(uint16_t type, uint32_t id, const char *gateway);
void made_by_object(const char *to, uint32_t id);

// The present path to a prefix; NULL: none.
const struct mirror_path *made_path(const char *to);

void made_assert_kind(const char *to, enum mirror_path_kind kind);

// The route leads to one of n next hops, among them this gateway.
void made_assert_by(const char *to, unsigned int n, const char *gateway);

int made_set_up(void **state);
int made_tear_down(void **state);

#define MADE_TEST(function) cmocka_unit_test_setup_teardown(function, made_set_up, made_tear_down)
