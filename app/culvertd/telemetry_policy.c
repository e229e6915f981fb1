// SPDX-License-Identifier: BSD-3-Clause
#include "telemetry_policy.h"

#include <stdio.h>
#include <string.h>

#include "collect.h"

// The names of the SAs that a policy receives by.
static void add_in(struct rte_tel_data *d, const struct spd_policy *p)
{
	char text[RTE_TEL_MAX_STRING_LEN] = "";
	size_t len = 0;

	for (unsigned int i = 0; i < p->n_in && len < sizeof(text); i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", i > 0 ? "," : "",
			p->in[i]->sa.name);
	add_string(d, "in", text);
}

// Types and codes that an end may send, as in the configuration.
static void add_icmp(struct rte_tel_data *d, const char *name, const struct acl_port_range *r)
{
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
	add_string(d, name, text);
}

static const struct acl_port_range any_port = {0, ACL_PORT_OPAQUE};

static void add_ends(struct rte_tel_data *d, const struct spd_policy *p)
{
	bool icmp = acl_is_icmp(p->proto);

	add_port_range(d, "local_port", icmp ? &any_port : &p->local_port);
	add_port_range(d, "remote_port", icmp ? &any_port : &p->remote_port);
	add_icmp(d, "local_icmp", icmp ? &p->local_port : &any_port);
	add_icmp(d, "remote_icmp", icmp ? &p->remote_port : &any_port);
}

bool policy_item(struct rte_tel_data *d, const struct gateway *g, unsigned int i)
{
	struct asked_view v;

	if (!collect_policy(&v, g, i))
		return false;

	const struct spd_policy *p = spd_at(g->snapshot->spd, i);

	add_string(d, "name", v.name);
	add_string(d, "action", v.action);
	add_selector(d, "local", &p->local, p->family);
	add_selector(d, "remote", &p->remote, p->family);
	add_proto(d, "proto", p->proto);
	add_ends(d, p);
	add_string(d, "out", p->out != NULL ? p->out->sa.name : "");
	add_in(d, p);
	add_u64(d, "asked", v.asked);
	add_u64(d, "packets", v.packets);
	add_u64(d, "bytes", v.bytes);
	return true;
}

bool tunnel_item(struct rte_tel_data *d, const struct gateway *g, unsigned int i)
{
	struct tunnel_view v;

	if (!collect_tunnel(&v, g, i))
		return false;
	add_string(d, "tunnel", v.name);
	add_string(d, "state", tunnel_state_names[v.state]);
	if (ip_addr_is_none(&v.peer))
		add_string(d, "peer", "any");
	else
		add_addr(d, "peer", &v.peer);
	add_string(d, "out", v.out);
	add_in(d, spd_at(g->snapshot->spd, v.policy));
	add_maybe(d, "last_received_s", v.received_ms != UINT64_MAX, v.received_ms / 1000);
	add_maybe(d, "silent_s", v.silent_ms != UINT64_MAX, v.silent_ms / 1000);
	if (ip_addr_is_none(&v.probe))
		add_string(d, "probe", "-");
	else
		add_addr(d, "probe", &v.probe);
	add_u64(d, "probes", v.probes);
	return true;
}

static void add_states(struct rte_tel_data *d, const char *name, uint8_t states)
{
	static const char *const state[RULE_STATES] = {
		[RULE_NEW] = "new",
		[RULE_ESTABLISHED] = "established",
		[RULE_RELATED] = "related",
		[RULE_INVALID] = "invalid",
	};
	char text[64] = "";

	for (unsigned int i = 0; i < RULE_STATES; i++)
		if ((states & 1u << i) != 0) {
			strcat(text, text[0] != '\0' ? "," : "");
			strcat(text, state[i]);
		}
	add_string(d, name, text);
}

// The fallback, with what it means to match whatever the rules do not.
static struct rule fallback_of(const struct rule_set *s)
{
	struct rule r = *rule_set_at(s, rule_set_count(s) - 1);

	r.states = 1u << RULE_NEW | 1u << RULE_ESTABLISHED | 1u << RULE_RELATED;
	r.proto = RULE_PROTO_ANY;
	r.source_port = r.destination_port = any_port;
	r.in = r.out = RULE_ANY;
	return r;
}

bool rule_item(struct rte_tel_data *d, const struct gateway *g, unsigned int i)
{
	const struct snapshot *s = g->snapshot;
	struct asked_view v;

	if (!collect_rule(&v, g, i))
		return false;

	bool last = i + 1 == rule_set_count(s->rules);
	const struct rule r = last ? fallback_of(s->rules) : *rule_set_at(s->rules, i);
	bool icmp = acl_is_icmp(r.proto);

	add_string(d, "rule", v.name);
	add_string(d, "action", v.action);
	add_selector(d, "source", &r.source, r.family);
	add_selector(d, "destination", &r.destination, r.family);
	add_proto(d, "proto", r.proto);
	add_port_range(d, "source_port", icmp ? &any_port : &r.source_port);
	add_port_range(d, "destination_port", &r.destination_port);
	add_icmp(d, "icmp", icmp ? &r.source_port : &any_port);
	add_string(d, "in", r.in == RULE_ANY ? "any" : s->port[r.in].name);
	add_string(d, "out", r.out == RULE_ANY ? "any" : s->port[r.out].name);
	add_string(d, "tunnel", last ? "" : g->conf->rules[i].tunnel);
	add_states(d, "state", r.states);
	add_string(d, "log", r.log ? "yes" : "no");
	add_u64(d, "asked", v.asked);
	add_u64(d, "packets", v.packets);
	add_u64(d, "bytes", v.bytes);
	return true;
}
