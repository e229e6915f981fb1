// SPDX-License-Identifier: BSD-3-Clause
// The other end of a configuration: each SA has the same SPI, algorithms and keys there, the other
// direction, and its ends exchanged; each policy its selectors exchanged.
#include <string.h>

#include "conf_print.h"
#include "conf_print_setting.h"
#include "conf_schema.h"

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
static void drop_one_way(config_setting_t *group, const struct conf_schema *schema)
{
	for (const struct conf_option *o = schema->options; o->name != NULL; o++)
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
		drop_one_way(udp, conf_schema_find(&conf_schema_sa, "udp")->schema);
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
	drop_one_way(item, &conf_schema_sa);
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

static void print_mirrored(const struct conf *c, FILE *out, config_setting_t *root,
	const char *name,
	void (*mirror)(const struct conf *c, unsigned int i, config_setting_t *item),
	const char *const *key_files)
{
	const config_setting_t *list = conf_member(config_root_setting(&c->tree->file), name);
	config_setting_t *copy;

	if (list == NULL)
		return;
	copy = conf_tree_add(root, list);
	for (int i = 0; i < config_setting_length(copy); i++)
		mirror(c, (unsigned int)i, config_setting_get_elem(copy, (unsigned int)i));
	conf_print_list(out, copy, key_files);
}

struct printing {
	const struct conf *c;
	FILE *out;
};

static void print_all(void *arg)
{
	const struct printing *p = arg;
	const struct conf *c = p->c;
	config_t peer;

	config_init(&peer);
	fputs("# The other end of the tunnels: @include this file in its configuration, which adds "
	      "ports and routes.\n",
		p->out);
	for (unsigned int i = 0; i < c->n_sas; i++)
		if (ip_addr_is_none(&c->sas[i].opt.remote))
			fprintf(p->out,
				"# sa \"%s\": replace local = \"any\" by the address of that "
				"end\n",
				c->sas[i].live.name);
	print_mirrored(c, p->out, config_root_setting(&peer), "sas", mirror_sa, c->tree->key_files);
	print_mirrored(c, p->out, config_root_setting(&peer), "policies", mirror_policy, NULL);
}

int conf_print_peer(const struct conf *c, FILE *out)
{
	return conf_with_arena(print_all, &(struct printing){c, out});
}
