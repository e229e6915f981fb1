// SPDX-License-Identifier: BSD-3-Clause
// Functions of lib/net on a packet whose layout is read for each call.
#pragma once

#include "icmp.h"
#include "tcp.h"

static inline bool is_echo_request(const void *ip)
{
	struct ip_layout at;

	return ip_layout_read(&at, ip) && icmp_echo_is_request(ip, &at);
}

static inline bool is_echo_reply(const void *ip)
{
	struct ip_layout at;

	return ip_layout_read(&at, ip) && icmp_echo_is_reply(ip, &at);
}

static inline bool is_reset_allowed(const void *ip)
{
	struct ip_layout at;

	return ip_layout_read(&at, ip) && tcp_reset_allowed(ip, &at);
}

static inline uint16_t reset_build(uint8_t *out, const void *ip)
{
	struct ip_layout at;

	ip_layout_read(&at, ip);
	return tcp_reset_build(out, ip, &at);
}

static inline uint16_t echo_reply6(void *ip, const struct ip_addr *source)
{
	struct ip_layout at;

	ip_layout_read(&at, ip);
	return icmp6_echo_reply(ip, at.l4_off, source);
}
