// SPDX-License-Identifier: BSD-3-Clause
#include "router.h"

#include <netinet/in.h>
#include <string.h>

#include "site.h"

// Without the checksum.
static void icmp_write(uint8_t *icmp, const struct frame *about, struct error e)
{
	memset(icmp, 0, 8);
	icmp[0] = e.type;
	icmp[1] = e.code;
	memcpy(icmp + 8, frame_packet(about), e.quoted);
}

struct frame error_v4(const struct frame *about, struct error e)
{
	struct frame f = frame_ip(WAN, (struct ipv4){.src = ROUTER,
					       .dst = e.to != NULL ? e.to : "192.0.2.1",
					       .proto = IPPROTO_ICMP,
					       .len = (uint16_t)(28 + e.quoted)});
	uint8_t *icmp = f.b + ETH_LEN + IP_LEN;

	icmp_write(icmp, about, e);
	put16(icmp + 6, e.mtu);
	put16(icmp + 2, checksum(icmp, 8u + e.quoted));
	return f;
}

struct frame error_v6(const struct frame *about, struct error e)
{
	uint16_t off = (uint16_t)(IP6_LEN + e.ext_len);
	struct frame f = frame_ip6(WAN, (struct ipv6){.src = ROUTER6,
						.dst = e.to != NULL ? e.to : "2001:db8:f::1",
						.proto = IPPROTO_ICMPV6,
						.len = (uint16_t)(off + 8 + e.quoted),
						.ext = e.ext,
						.ext_len = e.ext_len,
						.ext_proto = e.ext_proto});
	uint8_t *icmp = f.b + ETH_LEN + off;

	icmp_write(icmp, about, e);
	put32(icmp + 4, e.mtu);
	put16(icmp + 2, ip6_checksum(frame_packet(&f), off, frame_packet_len(&f), IPPROTO_ICMPV6));
	return f;
}
