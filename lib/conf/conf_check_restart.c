// SPDX-License-Identifier: BSD-3-Clause
#include "conf_check.h"
#include "conf_schema.h"

// group and absent: see check_group().
static void check_option(struct conf_reader *r, const struct conf_option *o,
	config_setting_t *group, const char *absent, const char *base, const char *running)
{
	config_setting_t *s = conf_member(group, o->name);

	if (conf_option_equal(o, base, running))
		return;
	if (s == NULL) // then it stands for a default
		conf_err(r, group, "%s%s differs from the running configuration, needs a restart",
			absent, o->name);
	else if (s->hook == NULL)
		conf_err(r, s, "differs from the running configuration, needs a restart");
}

// group: where the settings may stand; of a group that is not there, the one around it, and absent
// is what stands in front of their names then.
static void check_group(struct conf_reader *r, const struct conf_schema *schema,
	config_setting_t *group, const char *absent, const void *base, const void *running)
{
	for (const struct conf_option *o = schema->options; o->name != NULL; o++) {
		if (o->shape == CONF_GROUP)
			check_group(r, o->schema, conf_at(group, o->name),
				conf_member(group, o->name) != NULL
					? ""
					: conf_format("%s%s.", absent, o->name),
				base, running);
		else if (o->restart)
			check_option(r, o, group, absent, base, running);
	}
}

// Everything refers to ports by their number.
static void check_ports(struct conf_reader *r, const struct conf *running)
{
	config_setting_t *list = conf_given(r->root, "ports");
	const struct conf_option *o = conf_schema_find(&conf_schema, "ports");

	if (list == NULL)
		return;
	if (r->c->n_ports != running->n_ports) {
		conf_err(r, list,
			"has %u elements, %u in the running configuration, needs a restart",
			r->c->n_ports, running->n_ports);
		return;
	}
	for (unsigned int i = 0; i < running->n_ports; i++)
		check_group(r, o->schema, conf_item(r, "ports", i), "", &r->c->ports[i],
			&running->ports[i]);
}

void conf_check_restart(struct conf_reader *r, const struct conf *running)
{
	check_group(r, &conf_schema, r->root, "", r->c, running);
	check_ports(r, running);
}
