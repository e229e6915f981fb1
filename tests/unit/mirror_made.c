// SPDX-License-Identifier: BSD-3-Clause
#include "mirror_made.h"

#include <arpa/inet.h>

#include "test.h"

struct mirror_store made_store;
struct mirror_known made_known;
bool made_doubt;

union made_message made_message;

// --- messages ---

void *made_begin(uint16_t type, uint16_t flags, size_t size)
{
	mnl_nlmsg_put_header(&made_message);
	made_message.head.nlmsg_type = type;
	made_message.head.nlmsg_flags = flags;
	return mnl_nlmsg_put_extra_header(&made_message.head, size);
}

void made_put_addr(uint16_t type, const char *text)
{
	uint8_t addr[16];
	bool v6 = strchr(text, ':') != NULL;

	assert_int_equal(inet_pton(v6 ? AF_INET6 : AF_INET, text, addr), 1);
	mnl_attr_put(&made_message.head, type, v6 ? 16 : 4, addr);
}

static struct ip_prefix made_prefix(const char *text)
{
	struct ip_prefix p;

	assert_int_equal(ip_prefix_parse(&p, text), 0);
	return p;
}

// A route to a prefix "192.0.2.0/24", whose next hops are added afterwards.
struct rtmsg *made_route(uint16_t type, uint16_t flags, const char *to)
{
	const struct ip_prefix p = made_prefix(to);
	bool v4 = ip_addr_is_v4(&p.addr);
	struct rtmsg *m = made_begin(type, flags, sizeof(*m));

	m->rtm_family = v4 ? AF_INET : AF_INET6;
	m->rtm_dst_len = (uint8_t)(v4 ? p.len - IP_V4_BITS : p.len);
	m->rtm_table = RT_TABLE_MAIN;
	m->rtm_protocol = RTPROT_STATIC;
	m->rtm_type = RTN_UNICAST;
	if (m->rtm_dst_len > 0)
		mnl_attr_put(
			&made_message.head, RTA_DST, v4 ? 4 : 16, v4 ? &p.addr.b[12] : p.addr.b);
	return m;
}

void made_hop(const char *gateway, uint32_t link)
{
	if (gateway != NULL)
		made_put_addr(RTA_GATEWAY, gateway);
	mnl_attr_put_u32(&made_message.head, RTA_OIF, link);
}

void made_metric(uint32_t number)
{
	mnl_attr_put_u32(&made_message.head, RTA_PRIORITY, number);
}

// Adds one next hop of several, between mnl_attr_nest_start() and its end.
void made_one_of_several(const char *gateway, uint32_t link, unsigned int weight)
{
	struct rtnexthop *at = mnl_nlmsg_get_payload_tail(&made_message.head);
	uint32_t before = made_message.head.nlmsg_len;

	*at = (struct rtnexthop){.rtnh_ifindex = (int)link, .rtnh_hops = (uint8_t)(weight - 1)};
	made_message.head.nlmsg_len += sizeof(*at);
	made_put_addr(RTA_GATEWAY, gateway);
	at->rtnh_len = (uint16_t)(made_message.head.nlmsg_len - before);
}

void made_several(const char *first, const char *second)
{
	struct nlattr *nest = mnl_attr_nest_start(&made_message.head, RTA_MULTIPATH);

	made_one_of_several(first, LINK, 3);
	made_one_of_several(second, OTHER_LINK, 1);
	mnl_attr_nest_end(&made_message.head, nest);
}

void made_apply_as(bool dumped)
{
	static struct mirror_message m;
	bool silent = false;

	assert_int_equal(mirror_message_read(&m, &made_message.head), 0);
	if (m.about == MIRROR_ROUTE)
		mirror_store_apply(&made_store, &m, m.protocol != RTPROT_KERNEL, dumped);
	else if (m.about == MIRROR_LINK)
		silent = mirror_link_apply(&made_store.nexthops, &m, dumped);
	else if (m.about == MIRROR_NEXTHOP)
		silent = mirror_object_apply(&made_store.nexthops, &m, dumped);
	made_doubt = silent || made_store.doubtful;
	made_store.doubtful = false;
	while (mirror_store_work(&made_store, 100))
		;
	mirror_known_check(&made_known, &made_store);
}

void made_apply(void)
{
	made_apply_as(false);
}

void made_link(uint32_t link, bool up, bool running)
{
	struct ifinfomsg *m = made_begin(RTM_NEWLINK, 0, sizeof(*m));

	m->ifi_index = (int)link;
	m->ifi_flags = (up ? IFF_UP : 0u) | (running ? IFF_RUNNING : 0u);
	mnl_attr_put_strz(&made_message.head, IFLA_IFNAME, "p0");
	made_apply();
}

void made_add(const char *to, const char *gateway, uint32_t number)
{
	made_route(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, to);
	made_hop(gateway, LINK);
	made_metric(number);
	made_apply();
}

void made_object(uint16_t type, uint32_t id, const char *gateway)
{
	struct nhmsg *m = made_begin(type, 0, sizeof(*m));

	m->nh_family = AF_INET;
	mnl_attr_put_u32(&made_message.head, NHA_ID, id);
	if (gateway != NULL) {
		made_put_addr(NHA_GATEWAY, gateway);
		mnl_attr_put_u32(&made_message.head, NHA_OIF, LINK);
	}
	made_apply();
}

void made_by_object(const char *to, uint32_t id)
{
	made_route(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, to);
	mnl_attr_put_u32(&made_message.head, RTA_NH_ID, id);
	made_apply();
}

// --- the state ---

int made_set_up(void **state)
{
	(void)state;
	if (mirror_store_open(&made_store, ROUTES_MAX, mirror_known_changed, &made_known) < 0)
		return -1;
	made_link(LINK, true, true);
	made_link(OTHER_LINK, true, true);
	return 0;
}

int made_tear_down(void **state)
{
	(void)state;
	mirror_store_close(&made_store);
	mirror_known_free(&made_known);
	return 0;
}

const struct mirror_path *made_path(const char *to)
{
	const struct ip_prefix p = made_prefix(to);

	return mirror_known_path(&made_known, &p);
}

void made_assert_kind(const char *to, enum mirror_path_kind kind)
{
	assert_non_null(made_path(to));
	assert_int_equal(made_path(to)->head.kind, kind);
}

void made_assert_by(const char *to, unsigned int n, const char *gateway)
{
	const struct mirror_path *path = made_path(to);
	struct ip_addr addr;
	bool found = false;

	made_assert_kind(to, MIRROR_HOPS);
	assert_int_equal(path->head.n_hops, n);
	assert_int_equal(ip_addr_parse(&addr, gateway), 0);
	for (uint32_t i = 0; i < n; i++)
		found |= ip_addr_equal(&path->hop[i].gateway, &addr);
	assert_true(found);
}
