// SPDX-License-Identifier: BSD-3-Clause
#include "ip_layout.h"

bool ip_layout_read(struct ip_layout *at, const void *ip)
{
	struct ipv6_upper upper;
	enum ipv6_fault fault;

	if (ip_is_v4(ip)) {
		*at = ip_layout_v4(ip);
		return true;
	}
	fault = ipv6_upper_find(&upper, ip, ipv6_len(ip));
	*at = ip_layout_v6(ip, &upper);
	return fault == IPV6_GOOD;
}
