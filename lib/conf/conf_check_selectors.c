// SPDX-License-Identifier: BSD-3-Clause
#include <netinet/in.h>

#include "conf_check.h"
#include "conf_schema.h"

static void check_proto(struct conf_reader *r, const struct conf_option *options,
	config_setting_t *item, uint16_t proto)
{
	const struct proto_info *info = proto_of(proto);
	bool has_ports = info != NULL && info->has_ports;
	bool is_icmp = proto == IPPROTO_ICMP || proto == IPPROTO_ICMPV6;

	for (const struct conf_option *o = options; o->name != NULL; o++) {
		config_setting_t *s = conf_given(item, o->name);

		if (s == NULL || conf_rejected(item, "proto"))
			continue;
		if (o->type == &conf_type_ports && !has_ports)
			conf_err(r, s,
				"needs a proto with ports, must be tcp, udp, dccp, sctp or "
				"udplite");
		if (o->type == &conf_type_icmp && !is_icmp)
			conf_err(r, s, "needs proto = \"icmp\" or \"icmpv6\"");
	}
}

bool conf_check_same_family(struct conf_reader *r, config_setting_t *item, const char *a_name,
	const struct ip_addr *a, const char *b_name, const struct ip_addr *b)
{
	if (ip_addr_family(a) == ip_addr_family(b))
		return true;
	conf_err(r, conf_at(item, b_name), "is %s, must be %s like %s",
		ip_addr_is_v4(b) ? "IPv4" : "IPv6", ip_addr_is_v4(a) ? "IPv4" : "IPv6", a_name);
	return false;
}

static enum ip_family check_prefixes(struct conf_reader *r, config_setting_t *item,
	const char *a_name, struct ip_prefix *a, const char *b_name, struct ip_prefix *b)
{
	const struct ip_prefix all_v4 = {ip_addr_from_v4(0), IP_V4_BITS};
	bool a_given = conf_given(item, a_name) != NULL, b_given = conf_given(item, b_name) != NULL;

	if (a_given && b_given)
		conf_check_same_family(r, item, a_name, &a->addr, b_name, &b->addr);
	if (!a_given && !b_given)
		return IP_ANY;

	enum ip_family family = ip_addr_family(a_given ? &a->addr : &b->addr);

	if (family == IP_V4 && !a_given)
		*a = all_v4;
	if (family == IP_V4 && !b_given)
		*b = all_v4;
	return family;
}

static void check_family(
	struct conf_reader *r, config_setting_t *item, uint16_t proto, enum ip_family family)
{
	config_setting_t *s = conf_given(item, "proto");

	if (s != NULL && proto == IPPROTO_ICMP && family == IP_V6)
		conf_err(r, s, "icmp is a protocol of IPv4, must be icmpv6 with IPv6 addresses");
	if (s != NULL && proto == IPPROTO_ICMPV6 && family == IP_V4)
		conf_err(r, s, "icmpv6 is a protocol of IPv6, must be icmp with IPv4 addresses");
}

enum ip_family conf_check_selectors(struct conf_reader *r, const struct conf_option *options,
	config_setting_t *item, uint16_t proto, const char *a_name, struct ip_prefix *a,
	const char *b_name, struct ip_prefix *b)
{
	enum ip_family family;

	check_proto(r, options, item, proto);
	family = check_prefixes(r, item, a_name, a, b_name, b);
	check_family(r, item, proto, family);
	return family;
}

bool conf_prefix_covers(const struct ip_prefix *a, const struct ip_prefix *b)
{
	return a->len <= b->len && ip_prefix_contains(a, &b->addr);
}

static bool is_unknown(const struct conf_option *options, const config_setting_t *s)
{
	return conf_option_find(options, s->name) == NULL;
}

static bool all_accepted(
	const struct conf_option *options, const config_setting_t *item, const char *const names[])
{
	if (!config_setting_is_group(item)) // there is no name for a list of the others
		return false;
	for (int i = 0; i < config_setting_length(item); i++)
		if (is_unknown(options, config_setting_get_elem(item, (unsigned int)i)))
			return false;
	for (unsigned int i = 0; names[i] != NULL; i++)
		if (conf_rejected(item, names[i]))
			return false;
	return true;
}

struct conf_set conf_set_accepted(
	const struct conf_reader *r, enum conf_kind kind, const char *const names[])
{
	const struct conf_option *options = conf_kinds[kind].options;
	struct conf_set set;
	unsigned int n;

	conf_items(r->c, kind, &n);
	set = (struct conf_set){.index = conf_alloc(n, sizeof(set.index[0]))};
	for (unsigned int i = 0; i < n; i++)
		if (all_accepted(options, conf_item(r, kind, i), names))
			set.index[set.n++] = i;
	return set;
}
