// SPDX-License-Identifier: BSD-3-Clause
#include "mirror_message.h"

#include <errno.h>

#include <libmnl/libmnl.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <rte_common.h>

#define ATTRIBUTES   64      // types that are distinguished
#define NHA_KNOWN    17      // NHA_HW_STATS_USED, which headers of Debian 12 lack
#define LOWER_UP     0x10000 // IFF_LOWER_UP, which only <linux/if.h> defines
#define IFLA_KNOWN   63      // others are of no concern
#define HIGH_WEIGHT  5 // the octet of a member with the high bits of its weight, from Linux 6.12 on
#define WEIGHT_SHIFT 8

// The attributes of a message by type; of several with one type the last.
struct attributes {
	const struct nlattr *of[ATTRIBUTES];
	bool unknown; // there is another type
};

// Returns 0, or -EBADMSG if not all octets belong to attributes.
static int attributes_read(struct attributes *a, unsigned int known, const void *octets, size_t len)
{
	const struct nlattr *attr = octets;
	int left = (int)len;

	*a = (struct attributes){0};
	while (mnl_attr_ok(attr, left)) {
		unsigned int type = mnl_attr_get_type(attr);

		if (type <= known)
			a->of[type] = attr;
		else
			a->unknown = true;
		left -= MNL_ALIGN(mnl_attr_get_len(attr));
		attr = mnl_attr_next(attr);
	}
	return left > 0 ? -EBADMSG : 0;
}

// Those after the message of a type, which has that many octets.
static int message_attributes(
	struct attributes *a, unsigned int known, const struct nlmsghdr *n, size_t message)
{
	size_t len = mnl_nlmsg_get_payload_len(n), head = MNL_ALIGN(message);

	if (len < head)
		return -EBADMSG;
	return attributes_read(a, known, mnl_nlmsg_get_payload_offset(n, head), len - head);
}

// An attribute of 32 bits, or 0 if there is none.
static int number_read(uint32_t *number, const struct nlattr *attr)
{
	*number = 0;
	if (attr == NULL)
		return 0;
	if (mnl_attr_get_payload_len(attr) < sizeof(*number))
		return -EBADMSG;
	*number = mnl_attr_get_u32(attr);
	return 0;
}

// Returns 0, or -EBADMSG if that many octets are no address of the family.
static int addr_read(struct ip_addr *addr, int family, const void *octets, size_t len)
{
	rte_be32_t v4;

	if (family == AF_INET && len == sizeof(v4)) {
		memcpy(&v4, octets, sizeof(v4));
		*addr = ip_addr_from_v4(v4);
		return 0;
	}
	if (family != AF_INET6 || len != sizeof(addr->b))
		return -EBADMSG;
	memcpy(addr->b, octets, sizeof(addr->b));
	return 0;
}

static int addr_attribute(struct ip_addr *addr, int family, const struct nlattr *attr)
{
	return addr_read(addr, family, mnl_attr_get_payload(attr), mnl_attr_get_payload_len(attr));
}

// The router of a next hop: an address of the route's family, or of one that is specified.
static int gateway_read(struct ip_addr *gateway, int family, const struct attributes *a)
{
	const struct nlattr *via = a->of[RTA_VIA];
	uint16_t other;

	if (a->of[RTA_GATEWAY] != NULL)
		return addr_attribute(gateway, family, a->of[RTA_GATEWAY]);
	if (via == NULL)
		return 0;
	if (mnl_attr_get_payload_len(via) < sizeof(other))
		return -EBADMSG;
	memcpy(&other, mnl_attr_get_payload(via), sizeof(other));
	return addr_read(gateway, other, (const uint8_t *)mnl_attr_get_payload(via) + sizeof(other),
		mnl_attr_get_payload_len(via) - sizeof(other));
}

static void unused(struct mirror_message *m, enum mirror_unused reason)
{
	m->path.kind = MIRROR_UNUSED;
	m->path.unused = reason;
}

// Notes features of a route, or of one of its next hops, that the gateway does not support.
static void features_check(struct mirror_message *m, const struct attributes *a)
{
	const struct nlattr *encap = a->of[RTA_ENCAP_TYPE];

	if (a->of[RTA_ENCAP] != NULL || a->of[RTA_NEWDST] != NULL ||
		(encap != NULL && (mnl_attr_get_payload_len(encap) < sizeof(uint16_t) ||
					  mnl_attr_get_u16(encap) != 0)))
		unused(m, MIRROR_ENCAP);
	else if (a->unknown)
		unused(m, MIRROR_ATTRIBUTE);
}

// Adds a next hop, unless the kernel does not use it at present: its flags, RTNH_F_*.
static int hop_add(struct mirror_message *m, const struct mirror_hop *hop, unsigned int flags)
{
	if ((flags & RTNH_F_DEAD) != 0)
		return 0;
	if (m->path.n_hops == MIRROR_HOPS_MAX)
		unused(m, MIRROR_MANY);
	else
		m->hop[m->path.n_hops++] = *hop;
	return 0;
}

static int hop_read(struct mirror_message *m, int family, const struct rtnexthop *at)
{
	struct mirror_hop hop = {.link = (uint32_t)at->rtnh_ifindex,
		.weight = (uint16_t)(at->rtnh_hops + 1),
		.onlink = (at->rtnh_flags & RTNH_F_ONLINK) != 0};
	struct attributes a;

	if (attributes_read(&a, RTA_NH_ID, at + 1, at->rtnh_len - sizeof(*at)) < 0 ||
		gateway_read(&hop.gateway, family, &a) < 0)
		return -EBADMSG;
	features_check(m, &a);
	return hop_add(m, &hop, at->rtnh_flags);
}

static int hops_read(struct mirror_message *m, int family, const struct nlattr *several)
{
	const uint8_t *octets = mnl_attr_get_payload(several);
	size_t left = mnl_attr_get_payload_len(several), len;

	for (; left >= sizeof(struct rtnexthop); octets += len, left -= len) {
		const struct rtnexthop *at = (const struct rtnexthop *)octets;

		if (at->rtnh_len < sizeof(*at) || at->rtnh_len > left ||
			hop_read(m, family, at) < 0)
			return -EBADMSG;
		len = RTE_MIN((size_t)MNL_ALIGN(at->rtnh_len), left);
	}
	return left > 0 ? -EBADMSG : 0;
}

// The next hop of a route that has one.
static int single_read(
	struct mirror_message *m, const struct rtmsg *route, const struct attributes *a)
{
	struct mirror_hop hop = {.weight = 1, .onlink = (route->rtm_flags & RTNH_F_ONLINK) != 0};

	if (number_read(&hop.link, a->of[RTA_OIF]) < 0 ||
		gateway_read(&hop.gateway, route->rtm_family, a) < 0)
		return -EBADMSG;
	return hop_add(m, &hop, route->rtm_flags);
}

static int next_hops_read(
	struct mirror_message *m, const struct rtmsg *route, const struct attributes *a)
{
	features_check(m, a);
	// With an object, the kernel adds its present content or not (nexthop_compat_mode).
	if (m->path.object != 0) {
		m->path.kind = m->path.kind == MIRROR_HOPS ? MIRROR_OBJECT : m->path.kind;
		return 0;
	}
	if (a->of[RTA_MULTIPATH] != NULL)
		return hops_read(m, route->rtm_family, a->of[RTA_MULTIPATH]);
	return single_read(m, route, a);
}

static int destination_read(
	struct mirror_message *m, const struct rtmsg *route, const struct attributes *a)
{
	unsigned int before = route->rtm_family == AF_INET ? IP_V4_BITS : 0;

	if (before + route->rtm_dst_len > 128)
		return -EBADMSG;
	m->to.len = (uint8_t)(before + route->rtm_dst_len);
	if (a->of[RTA_DST] != NULL)
		return addr_attribute(&m->to.addr, route->rtm_family, a->of[RTA_DST]);
	m->to.addr = before != 0 ? ip_addr_from_v4(0) : (struct ip_addr){0};
	return route->rtm_dst_len == 0 ? 0 : -EBADMSG;
}

static int type_read(
	struct mirror_message *m, const struct rtmsg *route, const struct attributes *a)
{
	switch (route->rtm_type) {
	case RTN_UNICAST:
		return next_hops_read(m, route, a);
	case RTN_BLACKHOLE:
		m->path.kind = MIRROR_BLACKHOLE;
		return 0;
	case RTN_UNREACHABLE:
		m->path.kind = MIRROR_UNREACHABLE;
		return 0;
	case RTN_PROHIBIT:
		m->path.kind = MIRROR_PROHIBIT;
		return 0;
	case RTN_THROW:
		m->path.kind = MIRROR_THROW;
		return 0;
	default:
		unused(m, MIRROR_TYPE);
		return 0;
	}
}

static int route_read(struct mirror_message *m, const struct nlmsghdr *n)
{
	const struct rtmsg *route = mnl_nlmsg_get_payload(n);
	struct attributes a;

	if (message_attributes(&a, RTA_NH_ID, n, sizeof(*route)) < 0)
		return -EBADMSG;
	if ((route->rtm_family != AF_INET && route->rtm_family != AF_INET6) ||
		(route->rtm_flags & RTM_F_CLONED) != 0)
		return 0; // multicast routing, or a path that the kernel has cached
	m->about = MIRROR_ROUTE;
	m->protocol = route->rtm_protocol;
	m->path.tos = route->rtm_tos;
	if (destination_read(m, route, &a) < 0 || number_read(&m->id, a.of[RTA_TABLE]) < 0 ||
		number_read(&m->metric, a.of[RTA_PRIORITY]) < 0 ||
		number_read(&m->path.object, a.of[RTA_NH_ID]) < 0 || type_read(m, route, &a) < 0)
		return -EBADMSG;
	if (a.of[RTA_TABLE] == NULL)
		m->id = route->rtm_table;
	if (route->rtm_src_len != 0)
		unused(m, MIRROR_SOURCE);
	else if (route->rtm_tos != 0)
		unused(m, MIRROR_TOS);
	return 0;
}

static int link_read(struct mirror_message *m, const struct nlmsghdr *n)
{
	const struct ifinfomsg *link = mnl_nlmsg_get_payload(n);
	const struct nlattr *name;
	struct attributes a;

	if (message_attributes(&a, IFLA_KNOWN, n, sizeof(*link)) < 0 ||
		number_read(&m->master, a.of[IFLA_MASTER]) < 0)
		return -EBADMSG;
	if (link->ifi_family != 0)
		return 0; // about the link as a port of a bridge
	m->about = MIRROR_LINK;
	m->id = (uint32_t)link->ifi_index;
	m->up = (link->ifi_flags & IFF_UP) != 0;
	m->running = m->up && (link->ifi_flags & (IFF_RUNNING | LOWER_UP)) != 0;
	name = a.of[IFLA_IFNAME];
	if (name != NULL)
		memcpy(m->name, mnl_attr_get_payload(name),
			RTE_MIN(sizeof(m->name) - 1, (size_t)mnl_attr_get_payload_len(name)));
	return 0;
}

static int group_read(struct mirror_message *m, const struct nlattr *group)
{
	const struct nexthop_grp *member = mnl_attr_get_payload(group);
	size_t n = mnl_attr_get_payload_len(group) / sizeof(*member);

	m->path.group = 1;
	for (size_t i = 0; i < n; i++) {
		// Named differently in newer headers.
		unsigned int high = ((const uint8_t *)&member[i])[HIGH_WEIGHT];
		struct mirror_hop hop = {.link = member[i].id,
			.weight = (uint16_t)((high << WEIGHT_SHIFT) + member[i].weight + 1)};

		hop_add(m, &hop, 0);
	}
	return 0;
}

static int object_hop_read(
	struct mirror_message *m, const struct nhmsg *object, const struct attributes *a)
{
	struct mirror_hop hop = {.weight = 1, .onlink = (object->nh_flags & RTNH_F_ONLINK) != 0};

	if (number_read(&hop.link, a->of[NHA_OIF]) < 0)
		return -EBADMSG;
	if (a->of[NHA_GATEWAY] != NULL &&
		addr_attribute(&hop.gateway, object->nh_family, a->of[NHA_GATEWAY]) < 0)
		return -EBADMSG;
	return hop_add(m, &hop, object->nh_flags);
}

static int object_read(struct mirror_message *m, const struct nlmsghdr *n)
{
	const struct nhmsg *object = mnl_nlmsg_get_payload(n);
	struct attributes a;

	if (message_attributes(&a, NHA_KNOWN, n, sizeof(*object)) < 0 ||
		number_read(&m->id, a.of[NHA_ID]) < 0)
		return -EBADMSG;
	m->about = MIRROR_NEXTHOP;
	if (a.of[NHA_ENCAP] != NULL || a.of[NHA_ENCAP_TYPE] != NULL)
		unused(m, MIRROR_ENCAP);
	else if (a.unknown)
		unused(m, MIRROR_ATTRIBUTE);
	else if (a.of[NHA_FDB] != NULL)
		unused(m, MIRROR_TYPE);
	else if (a.of[NHA_BLACKHOLE] != NULL)
		m->path.kind = MIRROR_BLACKHOLE;
	else if (a.of[NHA_GROUP] != NULL)
		return group_read(m, a.of[NHA_GROUP]);
	else
		return object_hop_read(m, object, &a);
	return 0;
}

bool mirror_message_is_whole(const struct nlmsghdr *n, int left)
{
	return left >= (int)sizeof(*n) && n->nlmsg_len >= sizeof(*n) &&
	       n->nlmsg_len <= (uint32_t)left;
}

int mirror_message_read(struct mirror_message *m, const struct nlmsghdr *n)
{
	memset(m, 0, offsetof(struct mirror_message, hop));
	m->replaces = (n->nlmsg_flags & NLM_F_REPLACE) != 0;
	m->appended = (n->nlmsg_flags & NLM_F_APPEND) != 0;
	switch (n->nlmsg_type) {
	case RTM_DELROUTE:
		m->removed = true;
		return route_read(m, n);
	case RTM_NEWROUTE:
		return route_read(m, n);
	case RTM_DELLINK:
		m->removed = true;
		return link_read(m, n);
	case RTM_NEWLINK:
		return link_read(m, n);
	case RTM_DELNEXTHOP:
		m->removed = true;
		return object_read(m, n);
	case RTM_NEWNEXTHOP:
		return object_read(m, n);
	case RTM_NEWADDR: // next hops may be usable again
	case RTM_DELADDR: // or no longer
		m->about = MIRROR_ADDRESS;
		return 0;
	default:
		return 0;
	}
}
