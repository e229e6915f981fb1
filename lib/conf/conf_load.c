// SPDX-License-Identifier: BSD-3-Clause
#include "conf.h"

#include <errno.h>
#include <string.h>

#include "conf_check.h"
#include "conf_schema.h"
#include "conf_unsaved.h"

// --- settings that outlive the reading ---

struct conf_tree *conf_tree_new(const char *dir)
{
	struct conf_tree *tree = conf_alloc(1, sizeof(*tree));

	tree->dir = conf_strdup(dir);
	tree->unsaved = conf_alloc(1, sizeof(*tree->unsaved));
	return tree;
}

config_setting_t *conf_tree_item(const struct conf_tree *tree, enum conf_kind kind, unsigned int i)
{
	const config_setting_t *root = config_root_setting(&tree->file);

	return config_setting_get_elem(conf_member(root, conf_kinds[kind].list), i);
}

// Names of files lie in the arena: those of another configuration are copied.
struct files {
	const char *all;           // the name for all settings; NULL: that of each one
	const char *theirs, *ours; // the name seen last
};

static const char *our_name(struct files *f, const char *theirs)
{
	if (f->all != NULL)
		return f->all;
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

config_setting_t *conf_tree_add(
	config_setting_t *to, const config_setting_t *from, const char *file)
{
	return setting_copy(&(struct files){.all = file}, to, from);
}

const struct conf_seen *conf_seen_copy(const struct conf_seen *from)
{
	struct conf_seen *first = NULL, **last = &first;

	for (; from != NULL; from = from->next) {
		struct conf_seen *copy = conf_alloc(1, sizeof(*copy));

		*copy = *from;
		copy->path = conf_strdup(from->path);
		copy->next = NULL;
		*last = copy;
		last = &copy->next;
	}
	return first;
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
	to->seen = conf_seen_copy(from->seen);
	conf_unsaved_copy(to, from);
}

// --- configurations ---

struct making {
	struct conf_reader *r;
	void (*fill)(struct conf_reader *r);
	FILE *errors;
};

static void arena_fill(void *arg)
{
	const struct making *m = arg;

	m->fill(m->r);
	if (m->r->n_messages > 0)
		conf_err_print(m->r, m->errors);
}

struct conf *conf_make(struct conf_reader *r, void (*fill)(struct conf_reader *r), FILE *errors)
{
	struct making m = {r, fill, errors};
	struct conf_arena *arena = conf_arena_new();
	int rc = arena != NULL ? conf_arena_run(arena, arena_fill, &m) : -ENOMEM;

	if (rc == 0 && r->n_messages == 0) {
		r->c->arena = arena;
		return r->c;
	}
	if (rc < 0)
		fprintf(errors, "%s: out of memory while it was read\n", r->name);
	conf_arena_free(arena);
	return NULL;
}

void conf_begin(struct conf_reader *r, const char *dir)
{
	r->c = conf_alloc(1, sizeof(*r->c));
	r->c->tree = conf_tree_new(dir);
	r->dir = r->c->tree->dir;
}

void conf_read(struct conf_reader *r)
{
	r->root = config_root_setting(&r->c->tree->file);
	conf_read_group(r, conf_top_options, r->root, r->c);
	conf_check(r);
	conf_check_first_host(r);
	conf_check_growth(r);
	conf_number_ports(r);
	if (r->n_messages == 0)
		conf_keys_keep(r);
}

const char *conf_folder(const char *path)
{
	const char *slash = strrchr(path, '/');

	return conf_format("%.*s", slash != NULL ? (int)(slash + 1 - path) : 0, path);
}

static void file_load(struct conf_reader *r)
{
	struct conf_where where = {.line = 1};

	conf_begin(r, conf_folder(r->name));
	where.file = conf_strdup(r->name);
	if (!conf_file_read(r, &r->c->tree->file, r->name, where.file, where, NULL))
		return;
	r->c->tree->seen = r->seen;
	conf_read(r);
	if (r->replaced != NULL)
		conf_check_restart(r, r->replaced);
}

struct conf *conf_load(const char *path, const struct conf *running, FILE *errors)
{
	struct conf_reader r = {.name = path, .replaced = running};

	return conf_make(&r, file_load, errors);
}

struct conf_where conf_where_of(const struct conf *c, const char *setting)
{
	const config_setting_t *root = config_root_setting(&c->tree->file);
	const config_setting_t *s = conf_member(root, setting);

	return conf_where(s != NULL ? s : root);
}

void conf_free(struct conf *c)
{
	if (c != NULL)
		conf_arena_free(c->arena);
}
