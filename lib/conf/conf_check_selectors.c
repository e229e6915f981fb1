// SPDX-License-Identifier: BSD-3-Clause
#include <netinet/in.h>

#include "conf_check.h"
#include "conf_schema.h"

static bool all_have_ports(const struct conf_protos *protos)
{
	for (unsigned int i = 0; i < protos->n; i++) {
		const struct proto_info *info = proto_of(protos->at[i]);

		if (info == NULL || !info->has_ports)
			return false;
	}
	return true;
}

bool conf_protos_have(const struct conf_protos *protos, uint16_t proto)
{
	unsigned int i = 0;

	while (i < protos->n && protos->at[i] != proto)
		i++;
	return i < protos->n;
}

// Types of the two ICMPs have other numbers.
static void check_proto(struct conf_reader *r, const struct conf_option *options,
	config_setting_t *item, const struct conf_protos *protos)
{
	bool has_ports = all_have_ports(protos);
	bool is_icmp = protos->n == 1 && (conf_protos_have(protos, IPPROTO_ICMP) ||
						 conf_protos_have(protos, IPPROTO_ICMPV6));

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

static bool has_family(const struct conf_prefixes *p, enum ip_family family)
{
	unsigned int i = 0;

	while (i < p->n && ip_addr_family(&p->at[i].addr) != family)
		i++;
	return i < p->n;
}

static const char *family_name(enum ip_family family)
{
	return family == IP_V4 ? "IPv4" : "IPv6";
}

// Prefixes of one end alone would never match.
static void check_families(struct conf_reader *r, config_setting_t *item, const char *a_name,
	const struct conf_prefixes *a, const char *b_name, const struct conf_prefixes *b)
{
	if (a->n == 1 && b->n == 1) {
		conf_check_same_family(r, item, a_name, &a->at[0].addr, b_name, &b->at[0].addr);
		return;
	}
	for (enum ip_family f = IP_V4; f <= IP_V6; f++) {
		if (has_family(a, f) && !has_family(b, f))
			conf_err(r, conf_at(item, b_name), "has no %s prefix, but %s has",
				family_name(f), a_name);
		if (has_family(b, f) && !has_family(a, f))
			conf_err(r, conf_at(item, a_name), "has no %s prefix, but %s has",
				family_name(f), b_name);
	}
}

// Everything of the families that the other end has; of both if it was not given either.
static struct conf_prefixes all_of(const struct conf_prefixes *other)
{
	static const struct ip_prefix all[] = {
		{{{.b = {0}}}, 0}, {{{.b = {[10] = 0xff, [11] = 0xff}}}, IP_V4_BITS}};
	const bool v6 = other->n == 0 || has_family(other, IP_V6), v4 = has_family(other, IP_V4);

	return (struct conf_prefixes){.at = v6 ? &all[0] : &all[1], .n = (unsigned int)v6 + v4};
}

static enum ip_family check_prefixes(struct conf_reader *r, config_setting_t *item,
	const char *a_name, struct conf_prefixes *a, const char *b_name, struct conf_prefixes *b)
{
	const bool any = a->n == 0 && b->n == 0;

	if (a->n > 0 && b->n > 0)
		check_families(r, item, a_name, a, b_name, b);
	if (a->n == 0)
		*a = all_of(b);
	if (b->n == 0)
		*b = any ? *a : all_of(a);
	if (any || (has_family(a, IP_V4) && has_family(a, IP_V6)))
		return IP_ANY;
	return ip_addr_family(&a->at[0].addr);
}

static void check_family(struct conf_reader *r, config_setting_t *item,
	const struct conf_protos *protos, enum ip_family family)
{
	config_setting_t *s = conf_given(item, "proto");

	if (s != NULL && conf_protos_have(protos, IPPROTO_ICMP) && family == IP_V6)
		conf_err(r, s, "icmp is a protocol of IPv4, must be icmpv6 with IPv6 addresses");
	if (s != NULL && conf_protos_have(protos, IPPROTO_ICMPV6) && family == IP_V4)
		conf_err(r, s, "icmpv6 is a protocol of IPv6, must be icmp with IPv4 addresses");
}

enum ip_family conf_check_selectors(struct conf_reader *r, const struct conf_option *options,
	config_setting_t *item, const struct conf_protos *protos, const char *a_name,
	struct conf_prefixes *a, const char *b_name, struct conf_prefixes *b)
{
	enum ip_family family;

	check_proto(r, options, item, protos);
	family = check_prefixes(r, item, a_name, a, b_name, b);
	check_family(r, item, protos, family);
	return family;
}

bool conf_prefix_covers(const struct ip_prefix *a, const struct ip_prefix *b)
{
	return a->len <= b->len && ip_prefix_contains(a, &b->addr);
}

// Refuses a name that no port has: it may be that of a port's host.
static void reject_port(struct conf_reader *r, config_setting_t *s, const struct conf_names *ports,
	const char *name)
{
	for (unsigned int i = 0; i < r->c->n_ports; i++) {
		const struct conf_port *port = &r->c->ports[i];

		if (conf_texts_equal(port->host, name) && port->name[0] != '\0') {
			conf_err(r, s,
				"there is no port %s, %s is the host of port \"%s\": write %s = "
				"\"%s\"",
				conf_quote(name), conf_quote(name), port->name, s->name,
				port->name);
			return;
		}
	}
	conf_names_reject(r, s, (const struct conf_names *[]){ports, NULL}, name);
}

// Number of the interface that a setting names: the index of a port, or the number of a tunnel.
static uint32_t find_iface(struct conf_reader *r, config_setting_t *rule, const char *setting,
	const struct conf_names *ports, const struct conf_names *tunnels)
{
	config_setting_t *s = conf_given(rule, setting);

	if (s == NULL)
		return CONF_PORT_ANY;

	const char *name = config_setting_get_string(s);
	int i = conf_names_find(ports, name);

	if (i >= 0)
		return (uint32_t)i;
	i = conf_names_find(tunnels, name);
	if (i >= 0)
		return CONF_IFACE_TUNNEL + (uint32_t)i;
	reject_port(r, s, ports, name);
	return CONF_PORT_ANY;
}

// "none" is for one end of a policy; a rule looks at the end that sends.
static void reject_no_icmp(
	struct conf_reader *r, config_setting_t *item, const struct conf_match *m)
{
	if (m->source_port.n > 0 && m->source_port.at[0].min > m->source_port.at[0].max)
		conf_refuse_given(
			r, item, "icmp", "\"none\" never matches, must be types such as \"8\"");
}

void conf_check_match(struct conf_reader *r, enum conf_kind kind, config_setting_t *item,
	struct conf_match *m, const struct conf_names *ports, const struct conf_names *tunnels)
{
	m->family = conf_check_selectors(r, conf_kinds[kind].options, item, &m->proto, "source",
		&m->source, "destination", &m->destination);
	reject_no_icmp(r, item, m);
	m->in = find_iface(r, item, "in", ports, tunnels);
	m->out = find_iface(r, item, "out", ports, tunnels);
}

// Of a list ::/0 is everything of IPv6 alone.
static bool prefixes_cover_one(const struct conf_prefixes *a, const struct ip_prefix *b)
{
	unsigned int i = 0;

	while (i < a->n &&
		(!conf_prefix_covers(&a->at[i], b) ||
			(a->n > 1 && ip_addr_family(&a->at[i].addr) != ip_addr_family(&b->addr))))
		i++;
	return i < a->n;
}

static bool prefixes_cover(const struct conf_prefixes *a, const struct conf_prefixes *b)
{
	unsigned int i = 0;

	while (i < b->n && prefixes_cover_one(a, &b->at[i]))
		i++;
	return i == b->n;
}

static bool protos_cover(const struct conf_protos *a, const struct conf_protos *b)
{
	unsigned int i = 0;

	while (i < b->n && conf_protos_have(a, b->at[i]))
		i++;
	return conf_protos_have(a, PROTO_ANY) || i == b->n;
}

static bool ranges_cover(const struct conf_ranges *a, const struct conf_ranges *b)
{
	unsigned int i = 0, k = 0;

	while (i < b->n && k < a->n)
		if (proto_ports_cover(&a->at[k], &b->at[i]))
			i++;
		else
			k++;
	return i == b->n;
}

bool conf_match_covers(const struct conf_match *a, const struct conf_match *b)
{
	return (a->family == IP_ANY || a->family == b->family) &&
	       protos_cover(&a->proto, &b->proto) &&
	       ranges_cover(&a->source_port, &b->source_port) &&
	       ranges_cover(&a->destination_port, &b->destination_port) &&
	       (a->in == CONF_PORT_ANY || a->in == b->in) &&
	       (a->out == CONF_PORT_ANY || a->out == b->out) &&
	       prefixes_cover(&a->source, &b->source) &&
	       prefixes_cover(&a->destination, &b->destination);
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
