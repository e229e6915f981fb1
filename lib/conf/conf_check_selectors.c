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
	if (m->source_port.min > m->source_port.max)
		conf_refuse_given(
			r, item, "icmp", "\"none\" never matches, must be types such as \"8\"");
}

void conf_check_match(struct conf_reader *r, enum conf_kind kind, config_setting_t *item,
	struct conf_match *m, const struct conf_names *ports, const struct conf_names *tunnels)
{
	m->family = conf_check_selectors(r, conf_kinds[kind].options, item, m->proto, "source",
		&m->source, "destination", &m->destination);
	reject_no_icmp(r, item, m);
	m->in = find_iface(r, item, "in", ports, tunnels);
	m->out = find_iface(r, item, "out", ports, tunnels);
}

bool conf_match_covers(const struct conf_match *a, const struct conf_match *b)
{
	return (a->family == IP_ANY || a->family == b->family) &&
	       (a->proto == PROTO_ANY || a->proto == b->proto) &&
	       proto_ports_cover(&a->source_port, &b->source_port) &&
	       proto_ports_cover(&a->destination_port, &b->destination_port) &&
	       (a->in == CONF_PORT_ANY || a->in == b->in) &&
	       (a->out == CONF_PORT_ANY || a->out == b->out) &&
	       conf_prefix_covers(&a->source, &b->source) &&
	       conf_prefix_covers(&a->destination, &b->destination);
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
