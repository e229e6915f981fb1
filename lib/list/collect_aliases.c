// SPDX-License-Identifier: BSD-3-Clause
#include <stdio.h>

#include "collect.h"

static void prefixes_write(char *text, size_t size, const struct conf_prefixes *p)
{
	char prefix[IP_PREFIX_STRLEN];

	snprintf(text, size, "%s", p->text != NULL ? p->text : ip_prefix_format(prefix, p->at));
}

static void protos_write(char *text, size_t size, const struct conf_protos *p)
{
	char proto[PROTO_TEXT_MAX];

	snprintf(text, size, "%s", p->text != NULL ? p->text : proto_format(proto, p->at[0]));
}

static void ports_write(char *text, size_t size, const struct conf_ranges *p)
{
	if (p->text != NULL)
		snprintf(text, size, "%s", p->text);
	else if (p->at->min == p->at->max)
		snprintf(text, size, "%u", p->at->min);
	else
		snprintf(text, size, "%u-%u", p->at->min, p->at->max);
}

bool collect_aliases(void *view, const struct control *c, unsigned int i)
{
	struct aliases_view *v = view;
	const struct conf_alias *a = &c->conf->aliases[i];

	if (i >= c->conf->n_aliases)
		return false;
	*v = (struct aliases_view){0};
	snprintf(v->name, sizeof(v->name), "%s", a->name);
	if (a->prefixes.n > 0) {
		v->of = "prefixes";
		v->n = a->prefixes.n;
		prefixes_write(v->values, sizeof(v->values), &a->prefixes);
	} else if (a->protos.n > 0) {
		v->of = "protos";
		v->n = a->protos.n;
		protos_write(v->values, sizeof(v->values), &a->protos);
	} else {
		v->of = "ports";
		v->n = a->ports.n;
		ports_write(v->values, sizeof(v->values), &a->ports);
	}
	return true;
}
