// SPDX-License-Identifier: BSD-3-Clause
// The other end of the tunnels of a configuration.
#include <errno.h>
#include <string.h>

#include "conf_print.h"
#include "conf_schema.h"

// Each SA has the same SPI, algorithms and keys there, the other direction, and its ends exchanged;
// each policy its selectors exchanged. There, routes lead to the networks of this end.

// The SAs of a policy or, after the policies, of a tunnel.
struct end {
	const char *name;
	unsigned int out, n_in; // n_in 0: it has no SAs of the configuration
	const unsigned int *in;
};

static unsigned int ends_count(const struct conf *c)
{
	return c->n_policies + c->n_tunnels;
}

static struct end end_of(const struct conf *c, unsigned int i)
{
	const struct conf_policy *p = &c->policies[i];
	const struct conf_tunnel *t = &c->tunnels[i - c->n_policies];

	if (i >= c->n_policies)
		return (struct end){t->name, t->sa_out, t->n_sa_in, t->sa_in};
	return (struct end){
		p->name, p->sa_out, p->action == SPD_PROTECT ? p->n_sa_in : 0, p->sa_in};
}

// The memory of the name it had goes with the arena.
static void rename_to(config_setting_t *s, const char *name)
{
	s->name = conf_strdup(name);
}

static void settings_swap(config_setting_t *group, const char *a_name, const char *b_name)
{
	config_setting_t *a = conf_member(group, a_name), *b = conf_member(group, b_name);

	if (a != NULL)
		rename_to(a, b_name);
	if (b != NULL)
		rename_to(b, a_name);
}

static void setting_drop(config_setting_t *group, const char *name)
{
	if (conf_member(group, name) != NULL)
		config_setting_remove(group, name);
}

// Drops the settings that exist in one direction only.
static void drop_one_way(config_setting_t *group, const struct conf_option *options)
{
	for (const struct conf_option *o = options; o->name != NULL; o++)
		if ((o->only & (CONF_ONLY_IN | CONF_ONLY_OUT)) != 0)
			setting_drop(group, o->name);
}

// The own port of the SA that answers inbound SA i: where its policy sends to. 0: none is set.
static uint16_t answer_port(const struct conf *c, unsigned int i)
{
	for (unsigned int p = 0; p < ends_count(c); p++) {
		const struct end e = end_of(c, p);

		for (unsigned int k = 0; k < e.n_in; k++)
			if (e.in[k] == i)
				return c->sas[e.out].opt.udp_remote_port;
	}
	return 0;
}

static void mirror_udp(const struct conf *c, unsigned int i, config_setting_t *udp)
{
	uint16_t port = answer_port(c, i);

	settings_swap(udp, "local_port", "remote_port");
	if (c->sas[i].opt.direction == SA_OUT)
		drop_one_way(udp, conf_udp_options);
	else if (port != 0)
		config_setting_set_int(
			config_setting_add(udp, "local_port", CONFIG_TYPE_INT), port);
}

// Without the settings that exist in one direction only, or are each end's own choice.
static void mirror_sa(const struct conf *c, unsigned int i, config_setting_t *item)
{
	config_setting_t *udp = conf_member(item, "udp");

	config_setting_set_string(
		conf_member(item, "direction"), c->sas[i].opt.direction == SA_OUT ? "in" : "out");
	settings_swap(item, "local", "remote");
	setting_drop(item, "dscp");
	drop_one_way(item, conf_sa_options);
	if (udp != NULL)
		mirror_udp(c, i, udp);
}

// The peer sends by the first of several SAs.
static void first_only(config_setting_t *policy)
{
	config_setting_t *out = conf_member(policy, "out");
	const char *name;

	if (out == NULL || !config_setting_is_aggregate(out))
		return;
	name = conf_strdup(config_setting_get_string_elem(out, 0));
	config_setting_remove(policy, "out");
	config_setting_set_string(config_setting_add(policy, "out", CONFIG_TYPE_STRING), name);
}

static void mirror_policy(const struct conf *c, unsigned int i, config_setting_t *item)
{
	(void)c, (void)i;
	setting_drop(item, "probe");
	settings_swap(item, "local", "remote");
	settings_swap(item, "local_port", "remote_port");
	settings_swap(item, "local_icmp", "remote_icmp");
	settings_swap(item, "out", "in");
	first_only(item);
}

static void mirror_nothing(const struct conf *c, unsigned int i, config_setting_t *item)
{
	(void)c, (void)i, (void)item;
}

static void mirror_tunnel(const struct conf *c, unsigned int i, config_setting_t *item)
{
	(void)c, (void)i;
	setting_drop(item, "probe");
	setting_drop(item, "addresses");
	settings_swap(item, "out", "in");
	first_only(item);
}

static void print_route(FILE *out, const struct ip_prefix *to, const char *tunnel)
{
	char text[IP_PREFIX_STRLEN];

	fprintf(out, "# routes needs { to = \"%s\"; tunnel = \"%s\"; }\n",
		ip_prefix_format(text, to), tunnel);
}

// Routes of the other end to the networks of the protected side. That has other routes as well, so
// these are no list.
static void print_routes(const struct conf *c, FILE *out, const char *tunnel)
{
	for (const struct conf_port *p = c->ports; p < c->ports + c->n_ports; p++)
		for (unsigned int i = 0; !p->unprotected && i < p->n_addrs; i++)
			if (!ip_addr_is_link_local(&p->addrs[i].addr))
				print_route(out, &p->addrs[i].net, tunnel);
	for (const struct conf_route *r = c->routes; r < c->routes + c->n_routes; r++)
		if (conf_route_has_port(r) && !c->ports[r->port].unprotected)
			print_route(out, &r->to, tunnel);
}

// A list of those items alone that are chosen.
static void print_mirrored(const struct conf *c, FILE *out, config_setting_t *root,
	const char *name,
	void (*mirror)(const struct conf *c, unsigned int i, config_setting_t *item),
	const char *const *key_files, const bool *chosen)
{
	const config_setting_t *list = conf_member(config_root_setting(&c->tree->file), name);
	const char **files;
	config_setting_t *copy;
	unsigned int n = 0;

	if (list == NULL)
		return;
	files = conf_alloc((size_t)config_setting_length(list) + 1, sizeof(files[0]));
	copy = conf_tree_add(root, list, NULL);
	for (unsigned int i = 0; i < (unsigned int)config_setting_length(list); i++) {
		if (!chosen[i]) {
			config_setting_remove_elem(copy, n);
			continue;
		}
		files[n] = key_files != NULL ? key_files[i] : NULL;
		mirror(c, i, config_setting_get_elem(copy, n++));
	}
	conf_print_list(out, copy, files);
}

struct printing {
	const struct conf *c;
	const char *peer; // NULL: the only one
	FILE *out, *errors;
	bool *sa, *end; // which of them are printed
	bool refused;
};

static bool end_uses(const struct end *e, const bool *sa)
{
	bool uses = e->n_in > 0 && sa[e->out];

	for (unsigned int k = 0; k < e->n_in; k++)
		uses |= sa[e->in[k]];
	return uses;
}

// Chooses the SAs and policies of the peer with that address, or with a policy of that name.
// False: there are none.
static bool peer_choose(struct printing *p)
{
	struct ip_addr addr = {0};
	bool is_addr = ip_addr_parse(&addr, p->peer) == 0, found = false;

	for (unsigned int i = 0; i < p->c->n_sas; i++)
		p->sa[i] = is_addr && ip_addr_equal(&addr, &p->c->sas[i].opt.remote);
	for (unsigned int i = 0; i < ends_count(p->c); i++) {
		const struct end e = end_of(p->c, i);

		if (e.n_in == 0 || strcmp(e.name, p->peer) != 0)
			continue;
		p->sa[e.out] = true;
		for (unsigned int k = 0; k < e.n_in; k++)
			p->sa[e.in[k]] = true;
	}
	for (unsigned int i = 0; i < ends_count(p->c); i++) {
		const struct end e = end_of(p->c, i);

		found |= p->end[i] = end_uses(&e, p->sa);
	}
	return found;
}

// The peer of end i as PEER names it; NULL: an earlier one has the same, or it has none.
static const char *peer_of(const struct conf *c, unsigned int i)
{
	const struct end e = end_of(c, i);
	char text[IP_ADDR_STRLEN];

	if (e.n_in == 0)
		return NULL;

	const struct ip_addr *remote = &c->sas[e.out].opt.remote;

	for (unsigned int k = 0; k < i; k++) {
		const struct end other = end_of(c, k);

		if (other.n_in > 0 &&
			(other.out == e.out ||
				(!ip_addr_is_none(remote) &&
					ip_addr_equal(remote, &c->sas[other.out].opt.remote))))
			return NULL;
	}
	return ip_addr_is_none(remote) ? e.name : conf_strdup(ip_addr_format(text, remote));
}

// All SAs and policies if they lead to one peer.
static void choose(struct printing *p)
{
	const char *peers = "", *peer;
	unsigned int n = 0;

	for (unsigned int i = 0; i < ends_count(p->c); i++) {
		peer = peer_of(p->c, i);
		n += peer != NULL;
		peers = peer != NULL ? conf_join(peers, peer) : peers;
	}
	memset(p->sa, true, p->c->n_sas);
	for (unsigned int i = 0; i < ends_count(p->c); i++)
		p->end[i] = i < p->c->n_policies || end_of(p->c, i).n_in > 0;
	p->refused = p->peer != NULL ? !peer_choose(p) : n > 1;
	if (p->refused && p->peer != NULL)
		fprintf(p->errors, "no tunnel leads to \"%s\", peers: %s\n", p->peer, peers);
	else if (p->refused)
		fprintf(p->errors, "the tunnels lead to several peers, name one: %s\n", peers);
}

static void print_notes(const struct printing *p)
{
	fputs("# The other end of the tunnels: @include this file in its configuration, which adds "
	      "ports and routes.\n",
		p->out);
	for (unsigned int i = 0; i < p->c->n_sas; i++)
		if (p->sa[i] && ip_addr_is_none(&p->c->sas[i].opt.remote))
			fprintf(p->out,
				"# sa \"%s\": replace local = \"any\" by the address of that "
				"end\n",
				p->c->sas[i].live.name);
	for (unsigned int i = 0; i < p->c->n_sas; i++)
		if (p->sa[i] && p->c->sas[i].local.port[0] != '\0')
			fprintf(p->out,
				"# sa \"%s\": replace remote = \"%s\" by the address that this end "
				"has\n",
				p->c->sas[i].live.name, p->c->sas[i].local.port);
	for (unsigned int i = 0; i < p->c->n_policies; i++)
		if (!p->end[i] && p->c->policies[i].action != SPD_PROTECT)
			fprintf(p->out, "# policy \"%s\" is left out: it has no peer\n",
				p->c->policies[i].name);
}

static bool has_alias(const config_setting_t *s, const char *alias)
{
	const char *text = config_setting_get_string(s);
	bool found = text != NULL && text[0] == '@' && strcmp(text + 1, alias) == 0;

	for (int i = 0; !found && i < config_setting_length(s); i++)
		found = has_alias(config_setting_get_elem(s, (unsigned int)i), alias);
	return found;
}

// Aliases that the printed policies use.
static bool *aliases_choose(const struct printing *p)
{
	const struct conf *c = p->c;
	bool *chosen = conf_alloc(c->n_aliases + 1, sizeof(chosen[0]));

	for (unsigned int i = 0; i < c->n_aliases; i++)
		for (unsigned int k = 0; k < c->n_policies && !chosen[i]; k++)
			chosen[i] = p->end[k] && has_alias(conf_tree_item(c->tree, CONF_POLICY, k),
							 c->aliases[i].name);
	return chosen;
}

static void print_aliases(const struct printing *p, config_setting_t *root)
{
	const bool *chosen = aliases_choose(p);

	for (unsigned int i = 0; i < p->c->n_aliases; i++)
		if (chosen[i]) {
			print_mirrored(p->c, p->out, root, "aliases", mirror_nothing, NULL, chosen);
			return;
		}
}

static void print_peer(void *arg)
{
	struct printing *p = arg;
	const struct conf *c = p->c;
	unsigned int tunnel = c->n_policies;
	config_setting_t *root;
	config_t peer;

	p->sa = conf_alloc(c->n_sas + 1, sizeof(p->sa[0]));
	p->end = conf_alloc(ends_count(c) + 1, sizeof(p->end[0]));
	choose(p);
	if (p->refused)
		return;
	config_init(&peer);
	root = config_root_setting(&peer);
	print_notes(p);
	print_aliases(p, root);
	print_mirrored(c, p->out, root, "sas", mirror_sa, c->tree->key_files, p->sa);
	print_mirrored(c, p->out, root, "policies", mirror_policy, NULL, p->end);
	print_mirrored(c, p->out, root, "tunnels", mirror_tunnel, NULL, p->end + c->n_policies);
	while (tunnel < ends_count(c) && !p->end[tunnel])
		tunnel++;
	if (tunnel < ends_count(c))
		print_routes(c, p->out, end_of(c, tunnel).name);
}

int conf_print_peer(const struct conf *c, const char *peer, FILE *out, FILE *errors)
{
	struct printing p = {.c = c, .peer = peer, .out = out, .errors = errors};
	int rc = conf_with_arena(print_peer, &p);

	return p.refused ? -EINVAL : rc;
}
