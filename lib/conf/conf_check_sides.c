// SPDX-License-Identifier: BSD-3-Clause
#include "conf_check.h"

int conf_sa_port(const struct conf *c, const struct conf_sa *sa)
{
	const struct conf_port *named = conf_port_named(c, sa->local.port);
	int port = named != NULL ? (int)(named - c->ports) : conf_own_port(c, &sa->opt.local);

	return port < 0 && sa->opt.mode == SA_TRANSPORT
		       ? conf_egress_port(c, &sa->opt.local, &sa->opt.remote)
		       : port;
}

static config_setting_t *side_setting(const struct conf_reader *r, int port)
{
	return conf_given(conf_item(r, CONF_PORT, (unsigned int)port), "side");
}

// A port faces the untrusted side if it receives ESP.
static void sides_derive(struct conf_reader *r)
{
	struct conf *c = r->c;

	for (unsigned int i = 0; i < c->n_sas; i++) {
		int port = conf_sa_port(c, &c->sas[i]);

		if (port >= 0 && side_setting(r, port) == NULL)
			c->ports[port].unprotected = true;
	}
}

// Why a port without the setting side faces the side that it does.
static const char *side_reason(const struct conf_reader *r, int port)
{
	if (!r->c->ports[port].unprotected)
		return "no SA ends there";
	for (unsigned int i = 0; i < r->c->n_sas; i++)
		if (conf_sa_port(r->c, &r->c->sas[i]) == port)
			return conf_format("%s ends there", conf_ref(conf_item(r, CONF_SA, i)));
	return "";
}

static int port_of_network(const struct conf *c, const struct ip_prefix *net)
{
	for (unsigned int i = 0; i < c->n_ports; i++)
		for (unsigned int k = 0; k < c->ports[i].n_addrs; k++)
			if (conf_equal_prefix(&c->ports[i].addrs[k].net, net))
				return (int)i;
	return -1;
}

// A tunnel with its ends exchanged, or with an SA that ends at the wrong port, would send packets
// in clear that it should protect.
static void check_end(struct conf_reader *r, config_setting_t *policy, const char *name,
	const struct ip_prefix *net, bool unprotected)
{
	static const char *const sides[] = {"protected", "unprotected"};
	config_setting_t *s = conf_given(policy, name);
	int port = s != NULL ? port_of_network(r->c, net) : -1;
	char buf[IP_PREFIX_STRLEN];

	if (port >= 0 && side_setting(r, port) == NULL &&
		r->c->ports[port].unprotected != unprotected)
		conf_err(r, s,
			"%s is the network of %s, which faces the %s side because %s, must be on "
			"the %s side",
			ip_prefix_format(buf, net),
			conf_ref(conf_item(r, CONF_PORT, (unsigned int)port)), sides[!unprotected],
			side_reason(r, port), sides[unprotected]);
}

void conf_check_ike_port(struct conf_reader *r, config_setting_t *group, const struct conf_sa *sa)
{
	config_setting_t *local = conf_given(group, "local");
	int port;

	if (local == NULL || conf_rejected(group, "remote") || conf_rejected(group, "mode"))
		return;
	port = conf_sa_port(r->c, sa);
	if (port >= 0 && !r->c->ports[port].unprotected)
		conf_err(r, local,
			"packets of the SA arrive at port %s, which must have side = "
			"\"unprotected\" in the configuration file",
			conf_quote(r->c->ports[port].name));
}

void conf_check_sides(struct conf_reader *r)
{
	const struct conf *c = r->c;

	sides_derive(r);
	if (!r->nets_known || conf_rejected(r->root, "sas"))
		return;
	for (unsigned int i = 0; i < c->n_policies; i++) {
		config_setting_t *item = conf_item(r, CONF_POLICY, i);
		const struct conf_policy *p = &c->policies[i];

		if (conf_given(item, "action") == NULL || p->action != SPD_PROTECT)
			continue;
		for (unsigned int k = 0; k < p->local.n; k++)
			check_end(r, item, "local", &p->local.at[k], false);
		for (unsigned int k = 0; k < p->remote.n; k++)
			check_end(r, item, "remote", &p->remote.at[k], true);
	}
}
