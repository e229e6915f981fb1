// SPDX-License-Identifier: BSD-3-Clause
#include "packet.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "test.h"

#define PORTS 4

uint16_t be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

uint32_t be32(const uint8_t *p)
{
	return (uint32_t)be16(p) << 16 | be16(p + 2);
}

void put16(uint8_t *p, unsigned int v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v & 0xffff);
}

uint32_t ip_number(const char *text)
{
	struct in_addr a = {0};

	inet_pton(AF_INET, text, &a);
	return ntohl(a.s_addr);
}

uint16_t checksum(const uint8_t *p, unsigned int len)
{
	uint32_t sum = 0;

	for (unsigned int i = 0; i < len; i += 2)
		sum += (uint32_t)p[i] << 8 | (i + 1 < len ? p[i + 1] : 0u);
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

void ip_checksum_update(uint8_t *p)
{
	put16(p + 10, 0);
	put16(p + 10, checksum(p, (p[0] & 15) * 4u));
}

void upper_write(uint8_t *out, uint16_t len, uint8_t proto, uint16_t sport, uint16_t dport)
{
	if ((proto == IPPROTO_UDP || proto == IPPROTO_TCP) && len >= 4) {
		put16(out, sport);
		put16(out + 2, dport);
	}
	if (proto == IPPROTO_UDP && len >= 8)
		put16(out + 4, len);
	if (proto == IPPROTO_TCP && len >= 20)
		put16(out + 12, 0x5002); // 20 octets of header, SYN
}

static void payload_write(uint8_t *out, uint16_t len, const struct ipv4 *ip)
{
	for (uint16_t i = 0; i < len; i++)
		out[i] = (uint8_t)(ip_number(ip->src) + ip->id + i);
	if ((ip->frag & 0x1fff) != 0) // the upper header is in the first fragment
		return;
	upper_write(out, len, ip->proto, ip->sport, ip->dport);
	if (ip->proto == IPPROTO_ICMP && len >= 8) {
		out[0] = ip->icmp_type;
		out[1] = ip->icmp_code;
		put16(out + 2, 0);
		put16(out + 2, checksum(out, len));
	}
}

uint16_t ip_write(uint8_t *out, struct ipv4 ip)
{
	uint16_t hdr_len = (uint16_t)(IP_LEN + ip.options);

	ip.proto = ip.proto != 0 ? ip.proto : IPPROTO_UDP;
	ip.len = ip.len != 0 ? ip.len : 60;
	memset(out, 0, IP_LEN);
	memset(out + IP_LEN, 1, ip.options);
	out[0] = (uint8_t)(0x40 | hdr_len / 4);
	out[1] = ip.tos;
	put16(out + 2, ip.len);
	put16(out + 4, ip.id);
	put16(out + 6, ip.frag);
	out[8] = ip.ttl != 0 ? ip.ttl : 64;
	out[9] = ip.proto;
	put32(out + 12, ip_number(ip.src));
	put32(out + 16, ip_number(ip.dst));
	ip_checksum_update(out);
	payload_write(out + hdr_len, (uint16_t)(ip.len - hdr_len), &ip);
	return ip.len;
}

uint16_t error_write(uint8_t *out, const char *src, const char *dst, uint8_t type, uint8_t code,
	const uint8_t *about)
{
	uint16_t len = ip_write(out, (struct ipv4)FROM_TO(src, dst, .proto = IPPROTO_ICMP,
					     .len = IP_LEN + 8 + IP_LEN + 8));
	uint8_t *icmp = out + IP_LEN;

	memset(icmp, 0, 8);
	icmp[0] = type;
	icmp[1] = code;
	memcpy(icmp + 8, about, IP_LEN + 8);
	put16(icmp + 2, checksum(icmp, 8 + IP_LEN + 8));
	return len;
}

const uint8_t *mac_of_port(uint16_t port)
{
	static const uint8_t mac[PORTS][6] = {
		{2, 0, 0, 0, 1, 0}, {2, 0, 0, 0, 1, 1}, {2, 0, 0, 0, 1, 2}, {2, 0, 0, 0, 1, 3}};

	return mac[port];
}

const uint8_t *mac_of_neighbour(uint16_t port)
{
	static const uint8_t mac[PORTS][6] = {
		{2, 0, 0, 0, 2, 0}, {2, 0, 0, 0, 2, 1}, {2, 0, 0, 0, 2, 2}, {2, 0, 0, 0, 2, 3}};

	return mac[port];
}

static struct frame frame_to_port(uint16_t port, uint16_t type)
{
	struct frame f = {.port = port, .len = ETH_LEN};

	memcpy(f.b, mac_of_port(port), 6);
	memcpy(f.b + 6, mac_of_neighbour(port), 6);
	put16(f.b + 12, type);
	return f;
}

struct frame frame_ip(uint16_t port, struct ipv4 ip)
{
	struct frame f = frame_to_port(port, 0x0800);

	f.len = (uint16_t)(f.len + ip_write(f.b + ETH_LEN, ip));
	return f;
}

struct frame frame_raw(uint16_t port, const uint8_t *packet, uint16_t len)
{
	struct frame f = frame_to_port(port, 0x0800);

	memcpy(f.b + ETH_LEN, packet, len);
	f.len = (uint16_t)(f.len + len);
	return f;
}

static uint16_t hex_read(uint8_t *out, const char *octets)
{
	uint16_t n = 0;

	for (; sscanf(octets, "%2hhx", &out[n]) == 1; octets += 2)
		n++;
	return n;
}

struct frame frame_hex(uint16_t port, const char *octets)
{
	struct frame f = {.port = port};
	uint16_t len = hex_read(f.b, octets);

	if ((f.b[0] & 1) == 0)
		memcpy(f.b, mac_of_port(port), 6);
	f.len = len < FRAME_MIN ? FRAME_MIN : len;
	return f;
}

struct frame frame_hex_ip(uint16_t port, const char *octets)
{
	uint8_t packet[FRAME_MAX];

	return frame_raw(port, packet, hex_read(packet, octets));
}

struct frame frame_carry(const struct frame *sent)
{
	struct frame f = *sent;

	memcpy(f.b, mac_of_port(f.port), 6);
	memcpy(f.b + 6, mac_of_neighbour(f.port), 6);
	return f;
}

void frames_shuffle(struct frame f[], unsigned int n, uint64_t *seed)
{
	for (unsigned int i = n - 1; i > 0; i--) {
		unsigned int k = random_below(seed, i + 1);
		struct frame t = f[i];

		f[i] = f[k];
		f[k] = t;
	}
}

struct frame frame_after_hops(const struct frame *in, uint8_t hops)
{
	struct frame f = *in;

	if (be16(f.b + 12) == 0x86dd) {
		f.b[ETH_LEN + 7] = (uint8_t)(f.b[ETH_LEN + 7] - hops);
	} else {
		f.b[ETH_LEN + 8] = (uint8_t)(f.b[ETH_LEN + 8] - hops);
		ip_checksum_update(f.b + ETH_LEN);
	}
	return f;
}

struct frame frame_arp(uint16_t port, uint16_t operation, const char *sender, const char *target)
{
	static const uint8_t head[] = {0, 1, 0x08, 0x00, 6, 4};
	struct frame f = frame_to_port(port, 0x0806);
	uint8_t *arp = f.b + ETH_LEN;

	memset(f.b, 0xff, 6);
	memcpy(arp, head, sizeof(head));
	put16(arp + 6, operation);
	memcpy(arp + 8, mac_of_neighbour(port), 6);
	put32(arp + 14, ip_number(sender));
	put32(arp + 24, ip_number(target));
	f.len = ETH_LEN + 28;
	return f;
}
