// SPDX-License-Identifier: BSD-3-Clause
#include "conf_reader.h"

struct conf_tree *conf_tree_new(const char *dir)
{
	struct conf_tree *tree = conf_alloc(1, sizeof(*tree));

	tree->dir = conf_strdup(dir);
	return tree;
}

// Names of files lie in the arena: those of another configuration are copied.
struct files {
	const char *theirs, *ours; // the name seen last
};

static const char *our_name(struct files *f, const char *theirs)
{
	if (theirs != f->theirs) {
		f->theirs = theirs;
		f->ours = conf_strdup(theirs);
	}
	return f->ours;
}

static config_setting_t *setting_copy(
	struct files *f, config_setting_t *to, const config_setting_t *from)
{
	config_setting_t *s = config_setting_add(to, from->name, from->type);

	s->format = from->format;
	s->line = from->line;
	s->file = our_name(f, from->file);
	if (from->type == CONFIG_TYPE_STRING)
		config_setting_set_string(s, from->value.sval);
	else if (!config_setting_is_aggregate(from))
		s->value = from->value;
	for (int i = 0; i < config_setting_length(from); i++)
		setting_copy(f, s, config_setting_get_elem(from, (unsigned int)i));
	return s;
}

config_setting_t *conf_tree_add(config_setting_t *to, const config_setting_t *from)
{
	return setting_copy(&(struct files){0}, to, from);
}

void conf_tree_copy(struct conf_tree *to, const struct conf_tree *from)
{
	const config_setting_t *theirs = config_root_setting(&from->file);
	struct files f = {0};
	config_setting_t *ours;

	config_init(&to->file);
	ours = config_root_setting(&to->file);
	ours->line = theirs->line;
	ours->file = our_name(&f, theirs->file);
	for (int i = 0; i < config_setting_length(theirs); i++)
		setting_copy(&f, ours, config_setting_get_elem(theirs, (unsigned int)i));
}
