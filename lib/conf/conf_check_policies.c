// SPDX-License-Identifier: BSD-3-Clause
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "conf_check.h"
#include "conf_schema.h"

// Finds the SA of a name, by which a policy means one of a direction. s is the setting.
static bool find_named(struct conf_reader *r, config_setting_t *s, const char *name,
	const struct conf_names *sas, enum sa_direction direction, unsigned int *found)
{
	const char *setting = sa_direction_names[direction];
	int i = conf_names_find(sas, name);

	if (i < 0) {
		conf_names_reject(r, s, (const struct conf_names *[]){sas, NULL}, name);
		return false;
	}

	config_setting_t *sa = conf_item(r, CONF_SA, (unsigned int)i);

	if (conf_given(sa, "direction") == NULL)
		return false;
	if (r->c->sas[i].opt.direction != direction) {
		conf_err(r, s, "%s has direction \"%s\", must be \"%s\"", conf_ref(sa),
			sa_direction_names[r->c->sas[i].opt.direction], setting);
		return false;
	}
	*found = (unsigned int)i;
	return true;
}

static const char *end_text(char *buf, const struct ip_addr *end)
{
	return ip_addr_is_none(end) ? "any" : ip_addr_format(buf, end);
}

// An outbound SA that follows its peer needs an inbound SA in UDP, to learn the endpoint, with a
// replay window, to recognise old packets. False if that was reported.
static bool check_follow(struct conf_reader *r, config_setting_t *policy,
	const struct conf_policy *p, unsigned int sa_in)
{
	const struct conf_sa *out = &r->c->sas[p->sa_out], *in = &r->c->sas[sa_in];
	config_setting_t *in_item = conf_item(r, CONF_SA, sa_in);

	if (!out->live.follow || conf_rejected(conf_item(r, CONF_SA, p->sa_out), "udp") ||
		conf_rejected(in_item, "udp") || conf_rejected(in_item, "replay_window") ||
		(in->opt.in_udp && in->opt.replay_window > 0))
		return true;
	if (!in->opt.in_udp)
		conf_err(r, policy, "sa \"%s\" follows its peer, sa \"%s\" must have the group udp",
			out->live.name, in->live.name);
	else
		conf_err(r, policy,
			"sa \"%s\" follows its peer, sa \"%s\" must have a replay_window",
			out->live.name, in->live.name);
	return false;
}

// A NAT on the path delivers replies to the port that packets are sent from. Of several inbound
// SAs one is enough: the others may be those of the port before or after a change.
static void check_answers(
	struct conf_reader *r, config_setting_t *policy, const struct conf_policy *p)
{
	const struct conf_sa *out = &r->c->sas[p->sa_out];

	if (conf_rejected(conf_item(r, CONF_SA, p->sa_out), "udp"))
		return;
	for (unsigned int i = 0; i < p->n_sa_in; i++) {
		const struct conf_sa *in = &r->c->sas[p->sa_in[i]];

		if (conf_rejected(conf_item(r, CONF_SA, p->sa_in[i]), "udp") ||
			(in->opt.in_udp == out->opt.in_udp &&
				(!in->opt.in_udp ||
					in->opt.udp_local_port == out->opt.udp_local_port)))
			return;
	}
	if (out->opt.in_udp)
		conf_err(r, policy,
			"sa \"%s\" sends from UDP port %u, an SA of in must have that "
			"udp.local_port",
			out->live.name, out->opt.udp_local_port);
	else
		conf_err(r, policy,
			"sa \"%s\" is not in UDP, an SA of in must be without the group udp",
			out->live.name);
}

// The setting of a policy that names its SAs of a direction; NULL if there is none that was
// accepted.
static config_setting_t *sa_setting(
	struct conf_reader *r, config_setting_t *policy, enum sa_direction direction)
{
	const char *setting = sa_direction_names[direction];
	config_setting_t *s = conf_member(policy, setting);

	if (s == NULL)
		conf_err(r, policy, "%s is missing, protect needs an SA for each direction",
			setting);
	return s != NULL && s->hook == NULL ? s : NULL;
}

static bool find_out(struct conf_reader *r, config_setting_t *policy, const struct conf_names *sas,
	struct conf_policy *p)
{
	config_setting_t *s = sa_setting(r, policy, SA_OUT);

	return s != NULL && find_named(r, s, config_setting_get_string(s), sas, SA_OUT, &p->sa_out);
}

// Several receive while keys are changed. A name that is there twice does no harm.
static bool find_in(struct conf_reader *r, config_setting_t *policy, const struct conf_names *sas,
	struct conf_policy *p)
{
	config_setting_t *s = sa_setting(r, policy, SA_IN);
	bool many = s != NULL && config_setting_is_aggregate(s);
	int n = s == NULL ? 0 : many ? config_setting_length(s) : 1;

	p->n_sa_in = 0;
	for (int i = 0; i < n; i++) {
		const char *name =
			many ? config_setting_get_string_elem(s, i) : config_setting_get_string(s);

		if (!find_named(r, s, name, sas, SA_IN, &p->sa_in[p->n_sa_in]))
			return false;
		p->n_sa_in++;
	}
	return n > 0;
}

static const char *const ends[] = {"local", "remote"};

static const char *local_text(char *buf, const struct conf_own_end *local)
{
	return local->port[0] != '\0' ? local->port : end_text(buf, &local->addr);
}

// A policy has one mode and one pair of ends (RFC 4301 4.4.1.2).
static void check_pair(struct conf_reader *r, config_setting_t *policy, const struct conf_policy *p,
	unsigned int sa_in)
{
	const struct conf_sa *out = &r->c->sas[p->sa_out], *in = &r->c->sas[sa_in];
	config_setting_t *out_item = conf_item(r, CONF_SA, p->sa_out);
	config_setting_t *in_item = conf_item(r, CONF_SA, sa_in);
	char a[2][IP_ADDR_STRLEN], b[2][IP_ADDR_STRLEN];
	const char *const outs[] = {
		local_text(a[0], &out->local), end_text(a[1], &out->opt.remote)};
	const char *const ins[] = {local_text(b[0], &in->local), end_text(b[1], &in->opt.remote)};

	if (!conf_rejected(out_item, "mode") && !conf_rejected(in_item, "mode") &&
		out->opt.mode != in->opt.mode)
		conf_err(r, policy, "sa \"%s\" has mode %s, sa \"%s\" has %s, must be the same",
			out->live.name, sa_mode_names[out->opt.mode], in->live.name,
			sa_mode_names[in->opt.mode]);
	for (unsigned int i = 0; i < RTE_DIM(ends); i++)
		if (conf_given(out_item, ends[i]) != NULL && conf_given(in_item, ends[i]) != NULL &&
			strcmp(outs[i], ins[i]) != 0)
			conf_err(r, policy,
				"sa \"%s\" has %s %s, sa \"%s\" has %s, must be the same",
				out->live.name, ends[i], outs[i], in->live.name, ins[i]);
}

bool conf_check_pair(struct conf_reader *r, config_setting_t *policy, const struct conf_names *sas,
	struct conf_policy *p)
{
	bool out = find_out(r, policy, sas, p);
	bool in = find_in(r, policy, sas, p);
	bool receives = out && in;

	for (unsigned int i = 0; out && in && i < p->n_sa_in; i++) {
		check_pair(r, policy, p, p->sa_in[i]);
		receives &= check_follow(r, policy, p, p->sa_in[i]);
	}
	if (receives)
		check_answers(r, policy, p);
	return out && in;
}

// In transport mode the ends of the SA are those of the packets.
static void selectors_narrow(struct conf_reader *r, config_setting_t *policy, struct conf_policy *p)
{
	const struct conf_sa *sa = &r->c->sas[p->sa_out];
	config_setting_t *item = conf_item(r, CONF_SA, p->sa_out);
	struct conf_prefixes *const selectors[] = {&p->local, &p->remote};
	const struct ip_addr *const only[] = {&sa->opt.local, &sa->opt.remote};
	char buf[IP_ADDR_STRLEN];

	if (sa->opt.mode == SA_TUNNEL || conf_rejected(item, "mode"))
		return;
	for (unsigned int i = 0; i < RTE_DIM(ends); i++) {
		struct ip_prefix *one = conf_alloc(1, sizeof(*one));
		config_setting_t *s = conf_given(policy, ends[i]);

		if (conf_given(item, ends[i]) == NULL)
			continue;
		*one = (struct ip_prefix){*only[i], 128};
		if (s != NULL &&
			(selectors[i]->n != 1 || !conf_prefix_covers(one, &selectors[i]->at[0])))
			conf_err(r, s,
				"%s has other addresses, in transport mode must be %s or omitted",
				conf_ref(item), ip_addr_format(buf, only[i]));
		*selectors[i] = (struct conf_prefixes){.at = one, .n = 1};
		p->family = ip_addr_family(only[i]);
	}
}

static bool has_type(const struct conf_ranges *types, unsigned int type)
{
	unsigned int i = 0;

	while (i < types->n && (type < types->at[i].min || type > types->at[i].max))
		i++;
	return i < types->n;
}

// Types of requests and replies, in both families (RFC 792, RFC 4443 4).
static bool carries_echo(const struct conf_policy *p, bool v4)
{
	const unsigned int request = (v4 ? 8u : 128u) << 8, reply = (v4 ? 0 : 129u) << 8;

	if (!conf_protos_have(&p->proto, PROTO_ANY) &&
		!conf_protos_have(&p->proto, v4 ? IPPROTO_ICMP : IPPROTO_ICMPV6))
		return false;
	return has_type(&p->local_port, request) && has_type(&p->remote_port, reply);
}

// Whether a port has an address that requests can be sent from.
static bool has_source(const struct conf *c, const struct conf_policy *p, enum ip_family family)
{
	for (unsigned int i = 0; i < c->n_ports; i++)
		for (unsigned int a = 0; a < c->ports[i].n_addrs; a++) {
			const struct ip_addr *own = &c->ports[i].addrs[a].addr;

			if (ip_addr_family(own) == family && conf_prefixes_contain(&p->local, own))
				return true;
		}
	return false;
}

// Refuses a probe whose echo request the policy would not let out, or whose reply not in.
void conf_check_probe(struct conf_reader *r, config_setting_t *policy, const struct conf_policy *p)
{
	config_setting_t *probe = conf_given(policy, "probe");
	config_setting_t *address = conf_given(probe, "address");
	bool v4 = ip_addr_is_v4(&p->probe.addr);

	if (probe != NULL && conf_member(probe, "address") == NULL)
		conf_err(r, probe, "address is missing, must be an address behind the peer");
	if (address == NULL || conf_rejected(policy, "local") || conf_rejected(policy, "remote"))
		return;
	if (!conf_prefixes_contain(&p->remote, &p->probe.addr))
		conf_err(r, address, "is not in remote of the policy, must be in it");
	else if (!conf_rejected(policy, "proto") && !carries_echo(p, v4))
		conf_err(r, address, "the policy must match ICMP echo to ping it");
	else if (r->nets_known && !has_source(r->c, p, v4 ? IP_V4 : IP_V6))
		conf_err(r, address, "no port has an address in local to send pings from");
}

// Where the policies of an IKE daemon are put.
static void find_ike_before(struct conf_reader *r)
{
	config_setting_t *s = conf_given(conf_member(r->root, "ike"), "before");
	const char *name = s != NULL ? config_setting_get_string(s) : NULL;
	struct conf_names policies;
	int i;

	r->c->ike_before = r->c->n_policies;
	if (name == NULL)
		return;
	policies = conf_names_sort(r, CONF_POLICY);
	i = conf_names_find(&policies, name);
	if (i >= 0)
		r->c->ike_before = (unsigned int)i;
	else
		conf_names_reject(r, s, (const struct conf_names *[]){&policies, NULL}, name);
}

struct conf_match conf_policy_match(const struct conf_policy *p)
{
	return (struct conf_match){.source = p->local,
		.destination = p->remote,
		.family = p->family,
		.proto = p->proto,
		.source_port = p->local_port,
		.destination_port = p->remote_port,
		.in = CONF_PORT_ANY,
		.out = CONF_PORT_ANY};
}

static struct conf_match match_at(const struct conf *c, unsigned int i)
{
	return conf_policy_match(&c->policies[i]);
}

void conf_check_policies(struct conf_reader *r)
{
	const struct conf_option *options = conf_kinds[CONF_POLICY].options;
	static const char *const selectors[] = {"local", "remote", "proto", "local_port",
		"remote_port", "local_icmp", "remote_icmp", NULL};
	struct conf *c = r->c;
	struct conf_names sas = conf_names_sort(r, CONF_SA);
	struct conf_set selectors_ok;

	conf_check_ike(r, CONF_POLICY);
	for (unsigned int i = 0; i < c->n_policies; i++) {
		config_setting_t *item = conf_item(r, CONF_POLICY, i);
		struct conf_policy *p = &c->policies[i];
		bool protects = p->action == SPD_PROTECT, has_sas = false;

		if (conf_given(item, "action") != NULL && !protects)
			conf_refuse(r, options, item, CONF_ONLY_PROTECT,
				"is for action \"protect\" only");
		else if (conf_given(item, "action") != NULL && !r->ike)
			has_sas = conf_check_pair(r, item, &sas, p);
		p->family = conf_check_selectors(
			r, options, item, &p->proto, "local", &p->local, "remote", &p->remote);
		if (has_sas)
			selectors_narrow(r, item, p);
		if (protects)
			conf_check_probe(r, item, p);
	}
	conf_check_names(r, CONF_POLICY);
	if (r->ike) // by priority, among those of other requests
		return;
	find_ike_before(r);
	selectors_ok = conf_set_accepted(r, CONF_POLICY, selectors);
	if (conf_check_combinations(r, CONF_POLICY, match_at))
		conf_check_covered_policies(r, &selectors_ok);
}
