// SPDX-License-Identifier: BSD-3-Clause
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

#include "conf_check.h"
#include "conf_schema.h"

static bool has_translated_ports(const struct conf_protos *p)
{
	unsigned int i = 0;

	while (i < p->n && (p->at[i] == IPPROTO_TCP || p->at[i] == IPPROTO_UDP))
		i++;
	return i == p->n;
}

static unsigned int n_ports(const struct proto_ports *p)
{
	return p->max - p->min + 1u;
}

// Whether new ports can take the place of those of the destination, each that of one.
static bool same_number(const struct conf_nat *nat)
{
	const struct conf_ranges *from = &nat->match.destination_port;

	return from->n == 1 && n_ports(&from->at[0]) == n_ports(&nat->to_port);
}

static const struct ip_prefix *replaced(const struct conf_nat *nat, enum nat_end end)
{
	return end == NAT_FROM ? &nat->match.source.at[0] : &nat->match.destination.at[0];
}

static bool is_one(const struct conf_nat *nat, enum nat_end end)
{
	return (end == NAT_FROM ? nat->match.source.n : nat->match.destination.n) == 1;
}

// Whether `to` can replace the prefix of an end: it has as many addresses of the same family.
static bool can_replace(config_setting_t *item, const struct conf_nat *nat, enum nat_end end)
{
	const struct ip_prefix *p = replaced(nat, end);

	return conf_given(item, nat_end_names[end]) != NULL && is_one(nat, end) &&
	       p->len == nat->to.len &&
	       ip_addr_family(&p->addr) == ip_addr_family(&nat->to.first) &&
	       (conf_given(item, "replaces") == NULL || nat->end == end);
}

// A prefix takes the place of another one of the same size, of one end.
static void check_netmap(
	struct conf_reader *r, config_setting_t *item, config_setting_t *to, struct conf_nat *nat)
{
	const bool source = can_replace(item, nat, NAT_FROM);
	const bool destination = can_replace(item, nat, NAT_TO);

	if (nat->to.port || nat->to.len == 0)
		conf_err(r, to, "must be a prefix for netmap");
	else if (source && destination)
		conf_err(r, to,
			"is as long as source and as destination: replaces must say which of them "
			"it replaces");
	else if (!source && !destination)
		conf_err(r, to,
			"must be as long as the prefix source or destination that it replaces");
	nat->end = source ? NAT_FROM : NAT_TO;
	if (source != destination && ip_addr_equal(&nat->to.first, &replaced(nat, nat->end)->addr))
		conf_err(r, to,
			"is the prefix that it replaces: must be another one, or action "
			"\"accept\"");
}

static void check_destination(struct conf_reader *r, config_setting_t *item, config_setting_t *to,
	const struct conf_nat *nat)
{
	const unsigned int n = n_ports(&nat->to_port);

	if (nat->to.port || nat->to.len != 128)
		conf_err(r, to, "must be one address for destination");
	if (conf_given(item, "to_port") == NULL || n == 1 || same_number(nat))
		return;
	if (nat->match.destination_port.n == 1)
		conf_err(r, conf_given(item, "to_port"),
			"has %u ports, must have 1, or %u as destination_port", n,
			n_ports(&nat->match.destination_port.at[0]));
	else
		conf_err(r, conf_given(item, "to_port"),
			"has %u ports, must have 1 as destination_port is a list", n);
}

// Packets are of the family of the new addresses, also of a rule without others.
static void check_family(struct conf_reader *r, config_setting_t *to, struct conf_nat *nat)
{
	const enum ip_family family = ip_addr_family(&nat->to.first);

	if (nat->to.port)
		return;
	if (nat->match.family == IP_ANY && nat->match.source.n == 1) {
		struct ip_prefix *all = conf_alloc(1, sizeof(*all));

		if (family == IP_V4)
			*all = (struct ip_prefix){ip_addr_from_v4(0), IP_V4_BITS};
		nat->match.source = nat->match.destination =
			(struct conf_prefixes){.at = all, .n = 1};
		nat->match.family = family;
	}
	if (nat->match.family == IP_ANY)
		conf_err(r, to, "is of one family, the packets must not be of both");
	else if (nat->match.family != family)
		conf_err(r, to, "is %s, must be %s like the packets",
			family == IP_V4 ? "IPv4" : "IPv6", family == IP_V4 ? "IPv6" : "IPv4");
}

static void check_addresses(
	struct conf_reader *r, config_setting_t *to, const struct conf_addrs *addrs)
{
	if (memcmp(&addrs->first, &addrs->last, offsetof(struct ip_addr, w[3])) != 0)
		conf_err(r, to,
			"has more than 2^32 addresses: may differ in the last 32 bits alone");
}

static void check_ports(struct conf_reader *r, config_setting_t *item, const struct conf_nat *nat)
{
	static const char *const for_source[] = {"random", "per_source", "per_peer"};

	if (conf_given(item, "to_port") != NULL && nat->to_port.min == 0)
		conf_err(r, conf_given(item, "to_port"), "0 is no port, must begin with 1 or more");
	if (nat->action != NAT_SOURCE && nat->action != NAT_DESTINATION)
		conf_refuse_given(
			r, item, "to_port", "needs action = \"source\" or \"destination\"");
	else if (!has_translated_ports(&nat->match.proto) &&
		 (nat->action == NAT_DESTINATION || nat->match.proto.at[0] != PROTO_ANY))
		conf_refuse_given(r, item, "to_port",
			"needs a proto with ports that are translated, must be tcp or udp");
	for (unsigned int i = 0; nat->action != NAT_SOURCE && i < RTE_DIM(for_source); i++)
		conf_refuse_given(r, item, for_source[i], "is for action = \"source\" alone");
}

static void check_item(struct conf_reader *r, config_setting_t *item, struct conf_nat *nat)
{
	config_setting_t *to = conf_given(item, "to");

	if (conf_given(item, "action") == NULL)
		return;
	if (nat->action != NAT_NETMAP) {
		nat->end = nat->action == NAT_DESTINATION ? NAT_TO : NAT_FROM;
		conf_refuse_given(r, item, "replaces", "is for action = \"netmap\" alone");
	}
	check_ports(r, item, nat);
	if (nat->action == NAT_ACCEPT) {
		conf_refuse_given(
			r, item, "to", "nothing is translated by action = \"accept\": leave out");
		return;
	}
	conf_require(r, CONF_NAT, item, "to");
	if (to == NULL)
		return;
	check_family(r, to, nat);
	if (nat->action == NAT_SOURCE)
		check_addresses(r, to, &nat->to);
	if (nat->action == NAT_NETMAP)
		check_netmap(r, item, to, nat);
	if (nat->action == NAT_DESTINATION)
		check_destination(r, item, to, nat);
	if (nat->end == NAT_TO)
		conf_refuse_given(r, item, "out",
			"destinations are translated before the route is known: leave out, or in");
}

static void check_log(struct conf_reader *r, config_setting_t *item, const struct conf_nat *nat)
{
	if (!nat->log)
		return;
	if (nat->action == NAT_ACCEPT)
		conf_refuse_given(r, item, "log", "nothing is translated by action = \"accept\"");
	else if (r->c->nat_log_mb == 0)
		conf_err(r, conf_given(item, "log"), "there is no log: set nat_log.size");
}

static bool nat_covers(const struct conf_nat *a, const struct conf_nat *b)
{
	return (a->action == NAT_ACCEPT || a->end == b->end) && b->action != NAT_ACCEPT &&
	       conf_match_covers(&a->match, &b->match);
}

static struct conf_match match_at(const struct conf *c, unsigned int i)
{
	return c->nat[i].match;
}

// Reports each rule that never matches, because one before it matches all that it does.
static void check_order(struct conf_reader *r, const struct conf_set *set)
{
	for (unsigned int i = 0; i < set->n; i++) {
		unsigned int k = 0;

		while (k < i && !nat_covers(&r->c->nat[set->index[k]], &r->c->nat[set->index[i]]))
			k++;
		if (k < i)
			conf_err(r, conf_item(r, CONF_NAT, set->index[i]),
				"never matches, %s comes first and matches all of it",
				conf_ref(conf_item(r, CONF_NAT, set->index[k])));
	}
}

void conf_check_nat(struct conf_reader *r)
{
	static const char *const selectors[] = {"action", "source", "destination", "proto",
		"source_port", "destination_port", "in", "out", "to", NULL};
	struct conf_names port_names = conf_names_sort(r, CONF_PORT);
	struct conf_names tunnel_names = conf_names_sort(r, CONF_TUNNEL);
	struct conf_set selectors_ok;

	for (unsigned int i = 0; i < r->c->n_nat; i++) {
		config_setting_t *item = conf_item(r, CONF_NAT, i);
		struct conf_nat *nat = &r->c->nat[i];

		conf_check_match(r, CONF_NAT, item, &nat->match, &port_names, &tunnel_names);
		check_item(r, item, nat);
		check_log(r, item, nat);
	}
	conf_check_names(r, CONF_NAT);
	if (r->c->nat_log_mb > 0 && r->c->state_dir == NULL)
		conf_err(r, conf_given(conf_member(r->root, "nat_log"), "size"),
			"the log is in state_dir, which must not be \"none\"");
	selectors_ok = conf_set_accepted(r, CONF_NAT, selectors);
	if (conf_check_combinations(r, CONF_NAT, match_at))
		check_order(r, &selectors_ok);
}
