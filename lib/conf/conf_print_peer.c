// SPDX-License-Identifier: BSD-3-Clause
// The other end of the tunnels of a configuration.
#include <errno.h>
#include <string.h>

#include "conf_print.h"
#include "conf_schema.h"

// Each SA has the same SPI, algorithms and keys there, the other direction, and its ends exchanged;
// each policy its selectors exchanged.

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
	for (unsigned int p = 0; p < c->n_policies; p++)
		for (unsigned int k = 0; k < c->policies[p].n_sa_in; k++)
			if (c->policies[p].sa_in[k] == i)
				return c->sas[c->policies[p].sa_out].opt.udp_remote_port;
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
	bool *sa, *policy; // which of them are printed
	bool refused;
};

static bool policy_uses(const struct conf_policy *p, const bool *sa)
{
	bool uses = p->action == SPD_PROTECT && sa[p->sa_out];

	for (unsigned int k = 0; k < p->n_sa_in; k++)
		uses |= sa[p->sa_in[k]];
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
	for (unsigned int i = 0; i < p->c->n_policies; i++) {
		const struct conf_policy *policy = &p->c->policies[i];

		if (policy->action != SPD_PROTECT || strcmp(policy->name, p->peer) != 0)
			continue;
		p->sa[policy->sa_out] = true;
		for (unsigned int k = 0; k < policy->n_sa_in; k++)
			p->sa[policy->sa_in[k]] = true;
	}
	for (unsigned int i = 0; i < p->c->n_policies; i++)
		found |= p->policy[i] = policy_uses(&p->c->policies[i], p->sa);
	return found;
}

// The peer of policy i as PEER names it; NULL: an earlier policy has the same, or it has none.
static const char *peer_of(const struct conf *c, unsigned int i)
{
	const struct conf_policy *p = &c->policies[i];
	char text[IP_ADDR_STRLEN];

	if (p->action != SPD_PROTECT)
		return NULL;

	const struct ip_addr *remote = &c->sas[p->sa_out].opt.remote;

	for (unsigned int k = 0; k < i; k++)
		if (c->policies[k].action == SPD_PROTECT &&
			(c->policies[k].sa_out == p->sa_out ||
				(!ip_addr_is_none(remote) &&
					ip_addr_equal(remote,
						&c->sas[c->policies[k].sa_out].opt.remote))))
			return NULL;
	return ip_addr_is_none(remote) ? p->name : conf_strdup(ip_addr_format(text, remote));
}

// All SAs and policies if they lead to one peer.
static void choose(struct printing *p)
{
	const char *peers = "", *peer;
	unsigned int n = 0;

	for (unsigned int i = 0; i < p->c->n_policies; i++) {
		peer = peer_of(p->c, i);
		n += peer != NULL;
		peers = peer != NULL ? conf_join(peers, peer) : peers;
	}
	memset(p->sa, true, p->c->n_sas);
	memset(p->policy, true, p->c->n_policies);
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
	for (unsigned int i = 0; i < p->c->n_policies; i++)
		if (!p->policy[i] && p->c->policies[i].action != SPD_PROTECT)
			fprintf(p->out, "# policy \"%s\" is left out: it has no peer\n",
				p->c->policies[i].name);
}

static void print_peer(void *arg)
{
	struct printing *p = arg;
	const struct conf *c = p->c;
	config_t peer;

	p->sa = conf_alloc(c->n_sas + 1, sizeof(p->sa[0]));
	p->policy = conf_alloc(c->n_policies + 1, sizeof(p->policy[0]));
	choose(p);
	if (p->refused)
		return;
	config_init(&peer);
	print_notes(p);
	print_mirrored(
		c, p->out, config_root_setting(&peer), "sas", mirror_sa, c->tree->key_files, p->sa);
	print_mirrored(
		c, p->out, config_root_setting(&peer), "policies", mirror_policy, NULL, p->policy);
}

int conf_print_peer(const struct conf *c, const char *peer, FILE *out, FILE *errors)
{
	struct printing p = {.c = c, .peer = peer, .out = out, .errors = errors};
	int rc = conf_with_arena(print_peer, &p);

	return p.refused ? -EINVAL : rc;
}
