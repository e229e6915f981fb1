// SPDX-License-Identifier: BSD-3-Clause
// What an ICMP error says, in the words that both families have for it. Pure, any thread.
#pragma once

#include <netinet/icmp6.h>
#include <stdbool.h>
#include <stdint.h>

#include "icmp.h"

enum icmp_kind {
	ICMP_KIND_UNREACHABLE,
	ICMP_KIND_TOO_BIG, // of IPv4: fragmentation needed
	ICMP_KIND_TIME_EXCEEDED,
	ICMP_KIND_PARAMETER_PROBLEM,
	ICMP_KIND_OTHER, // source quench, redirect, unknown errors of ICMPv6
};

// Of type and code of an error.
static inline enum icmp_kind icmp_kind(bool v4, uint8_t type, uint8_t code)
{
	if (v4 && type == ICMP_UNREACHABLE && code == ICMP_UNREACH_NEEDFRAG)
		return ICMP_KIND_TOO_BIG;
	if (type == (v4 ? ICMP_UNREACHABLE : ICMP6_DST_UNREACH))
		return ICMP_KIND_UNREACHABLE;
	if (type == (v4 ? ICMP_TIME_EXCEEDED : ICMP6_TIME_EXCEEDED))
		return ICMP_KIND_TIME_EXCEEDED;
	if (type == (v4 ? ICMP_PARAMETER_PROBLEM : ICMP6_PARAM_PROB))
		return ICMP_KIND_PARAMETER_PROBLEM;
	return !v4 && type == ICMP6_PACKET_TOO_BIG ? ICMP_KIND_TOO_BIG : ICMP_KIND_OTHER;
}
