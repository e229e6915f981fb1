// SPDX-License-Identifier: BSD-3-Clause
#include "view_add.h"

#include <stdio.h>
#include <string.h>

#include "collect.h"
#include "telemetry_add.h"

#define LINK_LOCAL_LEN 64

// Addresses with the length of their network's prefix; behind those of the configuration the
// link-local one that the port has by itself.
void add_port_addresses(struct rte_tel_data *item, const char *name, const void *view)
{
	const struct port_view *v = view;
	struct rte_tel_data *list = rte_tel_data_alloc();
	char text[IP_PREFIX_STRLEN];

	if (list == NULL)
		return;
	rte_tel_data_start_array(list, RTE_TEL_STRING_VAL);
	for (unsigned int a = 0; a < v->port->n_addrs; a++) {
		bool configured = a < v->conf->n_addrs;
		struct ip_prefix p = {.addr = v->port->addrs[a],
			.len = configured ? v->conf->addrs[a].net.len : LINK_LOCAL_LEN};

		rte_tel_data_add_array_string(list, ip_prefix_format(text, &p));
	}
	rte_tel_data_add_dict_container(item, name, list, 0);
}

// By reason, those that there were.
void add_sa_drops(struct rte_tel_data *item, const char *name, const void *view)
{
	const struct sa_view *v = view;
	struct rte_tel_data *drops = item_new();

	if (drops == NULL)
		return;
	for (enum drop r = 1; r < DROP_COUNT; r++)
		if (v->drops[r] > 0)
			add_u64(drops, drop_info[r].name, v->drops[r]);
	rte_tel_data_add_dict_container(item, name, drops, 0);
}

// The names of the SAs that a policy receives by.
static void add_in(struct rte_tel_data *item, const char *name, const struct spd_policy *p)
{
	char text[RTE_TEL_MAX_STRING_LEN] = "";
	size_t len = 0;

	for (unsigned int i = 0; i < p->n_in && len < sizeof(text); i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", i > 0 ? "," : "",
			p->in[i]->sa.name);
	add_string(item, name, text);
}

void add_tunnel_in(struct rte_tel_data *item, const char *name, const void *view)
{
	add_in(item, name, ((const struct tunnel_view *)view)->policy);
}

static const struct spd_policy *policy_of(const void *view)
{
	return ((const struct policy_view *)view)->policy;
}

static const struct rule *rule_of(const void *view)
{
	return &((const struct rule_view *)view)->rule;
}

void add_policy_in(struct rte_tel_data *item, const char *name, const void *view)
{
	add_in(item, name, policy_of(view));
}

void add_policy_local(struct rte_tel_data *item, const char *name, const void *view)
{
	add_selector(item, name, &policy_of(view)->local, policy_of(view)->family);
}

void add_policy_remote(struct rte_tel_data *item, const char *name, const void *view)
{
	add_selector(item, name, &policy_of(view)->remote, policy_of(view)->family);
}

void add_policy_proto(struct rte_tel_data *item, const char *name, const void *view)
{
	add_proto(item, name, policy_of(view)->proto);
}

// The range of an end is one of ports, or of ICMP types and codes: the other is shown as any.
static const struct acl_port_range any_port = {0, ACL_PORT_OPAQUE};

static void add_ports(
	struct rte_tel_data *item, const char *name, uint16_t proto, const struct acl_port_range *r)
{
	add_port_range(item, name, acl_is_icmp(proto) ? &any_port : r);
}

// Types and codes that an end may send, as in the configuration.
static void add_icmp(struct rte_tel_data *item, const char *name, uint16_t proto,
	const struct acl_port_range *range)
{
	const struct acl_port_range *r = acl_is_icmp(proto) ? range : &any_port;
	unsigned int type = r->min >> 8, last = r->max >> 8, code = r->min & 0xff;
	char text[32] = "any";

	if (r->min > r->max)
		snprintf(text, sizeof(text), "none");
	else if (r->max != ACL_PORT_OPAQUE && type != last)
		snprintf(text, sizeof(text), "%u-%u", type, last);
	else if (r->max != ACL_PORT_OPAQUE && r->max - r->min == UINT8_MAX)
		snprintf(text, sizeof(text), "%u", type);
	else if (r->max != ACL_PORT_OPAQUE && r->min == r->max)
		snprintf(text, sizeof(text), "%u/%u", type, code);
	else if (r->max != ACL_PORT_OPAQUE)
		snprintf(text, sizeof(text), "%u/%u-%u", type, code, r->max & 0xff);
	add_string(item, name, text);
}

void add_policy_local_port(struct rte_tel_data *item, const char *name, const void *view)
{
	add_ports(item, name, policy_of(view)->proto, &policy_of(view)->local_port);
}

void add_policy_remote_port(struct rte_tel_data *item, const char *name, const void *view)
{
	add_ports(item, name, policy_of(view)->proto, &policy_of(view)->remote_port);
}

void add_policy_local_icmp(struct rte_tel_data *item, const char *name, const void *view)
{
	add_icmp(item, name, policy_of(view)->proto, &policy_of(view)->local_port);
}

void add_policy_remote_icmp(struct rte_tel_data *item, const char *name, const void *view)
{
	add_icmp(item, name, policy_of(view)->proto, &policy_of(view)->remote_port);
}

void add_rule_source(struct rte_tel_data *item, const char *name, const void *view)
{
	add_selector(item, name, &rule_of(view)->source, rule_of(view)->family);
}

void add_rule_destination(struct rte_tel_data *item, const char *name, const void *view)
{
	add_selector(item, name, &rule_of(view)->destination, rule_of(view)->family);
}

void add_rule_proto(struct rte_tel_data *item, const char *name, const void *view)
{
	add_proto(item, name, rule_of(view)->proto);
}

void add_rule_source_port(struct rte_tel_data *item, const char *name, const void *view)
{
	add_ports(item, name, rule_of(view)->proto, &rule_of(view)->source_port);
}

void add_rule_destination_port(struct rte_tel_data *item, const char *name, const void *view)
{
	add_port_range(item, name, &rule_of(view)->destination_port);
}

void add_rule_icmp(struct rte_tel_data *item, const char *name, const void *view)
{
	add_icmp(item, name, rule_of(view)->proto, &rule_of(view)->source_port);
}

void add_rule_states(struct rte_tel_data *item, const char *name, const void *view)
{
	char text[64] = "";

	for (unsigned int i = 0; i < RULE_STATES; i++)
		if ((rule_of(view)->states & 1u << i) != 0) {
			strcat(text, text[0] != '\0' ? "," : "");
			strcat(text, rule_state_names[i]);
		}
	add_string(item, name, text);
}

void add_route_to(struct rte_tel_data *item, const char *name, const void *view)
{
	add_prefix(item, name, &((const struct route_view *)view)->to);
}
