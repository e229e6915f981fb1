// SPDX-License-Identifier: BSD-3-Clause
#include "addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

int ip_addr_parse(struct ip_addr *a, const char *text)
{
	rte_be32_t v4;
	struct ip_addr v6;

	if (inet_pton(AF_INET, text, &v4) == 1) {
		*a = ip_addr_from_v4(v4);
		return 0;
	}
	if (inet_pton(AF_INET6, text, &v6) == 1 && !ip_addr_is_v4(&v6)) {
		*a = v6;
		return 0;
	}
	return -EINVAL;
}

const char *ip_addr_format(char *buf, const struct ip_addr *a)
{
	if (ip_addr_is_v4(a))
		inet_ntop(AF_INET, &a->w[3], buf, IP_ADDR_STRLEN);
	else
		inet_ntop(AF_INET6, a->b, buf, IP_ADDR_STRLEN);
	return buf;
}

// The octet at index i of a mask of len leading ones.
static uint8_t mask_octet(unsigned int len, unsigned int i)
{
	if (len >= 8 * (i + 1))
		return 0xff;
	if (len <= 8 * i)
		return 0;
	return (uint8_t)(0xff00u >> (len - 8 * i));
}

int ip_interface_parse(struct ip_addr *addr, struct ip_prefix *net, const char *text)
{
	char buf[IP_PREFIX_STRLEN];
	const char *slash = strchr(text, '/');
	size_t n = slash != NULL ? (size_t)(slash - text) : strlen(text);
	struct ip_addr a;

	if (n >= sizeof(buf))
		return -EINVAL;
	memcpy(buf, text, n);
	buf[n] = '\0';
	if (ip_addr_parse(&a, buf) < 0)
		return -EINVAL;

	unsigned long base = ip_addr_is_v4(&a) ? IP_V4_BITS : 0;
	unsigned long len = 128;

	if (slash != NULL) {
		char *end;

		if (slash[1] < '0' || slash[1] > '9')
			return -EINVAL;
		len = strtoul(slash + 1, &end, 10);
		if (*end != '\0' || len > 128 - base)
			return -EINVAL;
		len += base;
	}
	*addr = a;
	net->len = (uint8_t)len;
	for (unsigned int i = 0; i < 16; i++)
		net->addr.b[i] = a.b[i] & mask_octet(net->len, i);
	return 0;
}

int ip_prefix_parse(struct ip_prefix *p, const char *text)
{
	struct ip_addr addr;
	struct ip_prefix net;

	if (ip_interface_parse(&addr, &net, text) < 0)
		return -EINVAL;
	*p = net;
	return ip_addr_equal(&addr, &net.addr) ? 0 : -ERANGE;
}

const char *ip_prefix_format(char *buf, const struct ip_prefix *p)
{
	char addr[IP_ADDR_STRLEN];
	unsigned int len = p->len - (ip_addr_is_v4(&p->addr) ? IP_V4_BITS : 0u);

	snprintf(buf, IP_PREFIX_STRLEN, "%s/%u", ip_addr_format(addr, &p->addr), len);
	return buf;
}

int ip_prefix_compare(const struct ip_prefix *a, const struct ip_prefix *b)
{
	int by_addr = memcmp(&a->addr, &b->addr, sizeof(a->addr));

	return by_addr != 0 ? by_addr : a->len - b->len;
}

bool ip_prefix_covers(const struct ip_prefix *a, const struct ip_prefix *b)
{
	return a->len <= b->len && ip_prefix_contains(a, &b->addr) &&
	       ip_addr_family(&a->addr) == ip_addr_family(&b->addr);
}

bool ip_prefix_overlaps(const struct ip_prefix *a, const struct ip_prefix *b)
{
	return a->len <= b->len ? ip_prefix_contains(a, &b->addr) : ip_prefix_contains(b, &a->addr);
}
