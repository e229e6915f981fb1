// SPDX-License-Identifier: BSD-3-Clause
#include "packet_v6.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#define OCTETS 4 // number of addresses that may be in use at once

const uint8_t *ip6_octets(const char *text)
{
	static struct in6_addr a[OCTETS];
	static unsigned int next;
	struct in6_addr *to = &a[next++ % OCTETS];

	memset(to, 0, sizeof(*to));
	inet_pton(AF_INET6, text, to);
	return to->s6_addr;
}

uint16_t ip6_checksum(const uint8_t *packet, uint16_t off, uint16_t len, uint8_t proto)
{
	uint8_t pseudo[IP6_LEN + FRAME_MAX] = {0};

	memcpy(pseudo, packet + 8, 32);
	put32(pseudo + 32, (uint32_t)len - off);
	pseudo[39] = proto;
	memcpy(pseudo + IP6_LEN, packet + off, (size_t)len - off);
	return checksum(pseudo, IP6_LEN + (unsigned int)len - off);
}

static void payload_write(uint8_t *out, uint16_t len, const struct ipv6 *ip)
{
	for (uint16_t i = 0; i < len; i++)
		out[i] = (uint8_t)(ip->sport + 3 * i);
	upper_write(out, len, ip->proto, ip->sport, ip->dport);
	if (ip->proto == IPPROTO_ICMPV6 && len >= 8) {
		out[0] = ip->icmp_type;
		out[1] = ip->icmp_code;
		put16(out + 2, 0);
	}
}

uint16_t ip6_write(uint8_t *out, struct ipv6 ip)
{
	uint16_t off = (uint16_t)(IP6_LEN + ip.ext_len);

	ip.proto = ip.proto != 0 ? ip.proto : IPPROTO_UDP;
	ip.len = ip.len != 0 ? ip.len : 100;
	put32(out, 6u << 28 | (uint32_t)ip.tos << 20 | ip.flow_label);
	put16(out + 4, ip.len - IP6_LEN);
	out[6] = ip.ext_len != 0 ? ip.ext_proto : ip.proto;
	out[7] = ip.hops != 0 ? ip.hops : 64;
	memcpy(out + 8, ip6_octets(ip.src), 16);
	memcpy(out + 24, ip6_octets(ip.dst), 16);
	if (ip.ext_len != 0)
		memcpy(out + IP6_LEN, ip.ext, ip.ext_len);
	payload_write(out + off, (uint16_t)(ip.len - off), &ip);
	if (ip.proto == IPPROTO_ICMPV6 && ip.len >= off + 8)
		put16(out + off + 2, ip6_checksum(out, off, ip.len, IPPROTO_ICMPV6));
	return ip.len;
}

uint16_t error6_write(uint8_t *out, const char *src, const char *dst, uint8_t type, uint8_t code,
	const uint8_t *about, uint16_t about_len)
{
	uint16_t len = ip6_write(out, (struct ipv6)FROM_TO(src, dst, .proto = IPPROTO_ICMPV6,
					      .len = (uint16_t)(IP6_LEN + 8 + about_len)));
	uint8_t *icmp = out + IP6_LEN;

	memset(icmp, 0, 8);
	icmp[0] = type;
	icmp[1] = code;
	memcpy(icmp + 8, about, about_len);
	put16(icmp + 2, ip6_checksum(out, IP6_LEN, len, IPPROTO_ICMPV6));
	return len;
}

struct frame frame_raw6(uint16_t port, const uint8_t *packet, uint16_t len)
{
	struct frame f = frame_raw(port, packet, len);

	put16(f.b + 12, 0x86dd);
	return f;
}

struct frame frame_ip6(uint16_t port, struct ipv6 ip)
{
	uint8_t packet[FRAME_MAX];

	return frame_raw6(port, packet, ip6_write(packet, ip));
}

void frame_nd_update(struct frame *f)
{
	uint8_t *packet = f->b + ETH_LEN;

	put16(packet + 4, frame_packet_len(f) - IP6_LEN);
	put16(packet + IP6_LEN + 2, 0);
	put16(packet + IP6_LEN + 2,
		ip6_checksum(packet, IP6_LEN, frame_packet_len(f), IPPROTO_ICMPV6));
	if (packet[24] == 0xff) {
		put16(f->b, 0x3333);
		memcpy(f->b + 2, packet + 36, 4);
	}
}

struct frame frame_nd(uint16_t port, uint8_t type, const char *src, const char *dst,
	const char *target, uint32_t flags)
{
	struct frame f =
		frame_ip6(port, (struct ipv6)FROM_TO(src, dst, .proto = IPPROTO_ICMPV6, .hops = 255,
					.len = IP6_LEN + 32, .icmp_type = type));
	uint8_t *icmp = f.b + ETH_LEN + IP6_LEN;

	put32(icmp + 4, flags);
	memcpy(icmp + 8, ip6_octets(target), 16);
	icmp[24] = type == 135 ? 1 : 2;
	icmp[25] = 1;
	memcpy(icmp + 26, mac_of_neighbour(port), 6);
	frame_nd_update(&f);
	return f;
}
