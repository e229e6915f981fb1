// SPDX-License-Identifier: BSD-3-Clause
#include "conf.h"

#include <errno.h>
#include <string.h>

#include "conf_check.h"
#include "conf_schema.h"

struct making {
	struct conf_reader *r;
	void (*fill)(void *arg);
	void *arg;
	FILE *errors;
};

static void arena_fill(void *arg)
{
	const struct making *m = arg;

	m->fill(m->arg);
	if (m->r->n_messages == 0)
		conf_keys_keep(m->r);
	else
		conf_err_print(m->r, m->errors);
}

struct conf *conf_make(
	struct conf_reader *r, void (*fill)(void *arg), void *arg, const char *name, FILE *errors)
{
	struct making m = {r, fill, arg, errors};
	struct conf_arena *arena = conf_arena_new();
	int rc = arena != NULL ? conf_arena_run(arena, arena_fill, &m) : -ENOMEM;

	if (rc == 0 && r->n_messages == 0) {
		r->c->arena = arena;
		return r->c;
	}
	if (rc < 0)
		fprintf(errors, "%s: out of memory while it was read\n", name);
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
	conf_read_group(r, &conf_schema, r->root, r->c);
	conf_check(r);
}

struct load {
	struct conf_reader r;
	const char *path;
	const struct conf *running;
};

static void file_load(void *arg)
{
	struct load *l = arg;
	struct conf_reader *r = &l->r;
	const char *slash = strrchr(l->path, '/');
	int dir_len = slash != NULL ? (int)(slash + 1 - l->path) : 0;
	struct conf_where where = {.line = 1};

	conf_begin(r, conf_format("%.*s", dir_len, l->path));
	where.file = conf_strdup(l->path);
	if (!conf_file_read(r, &r->c->tree->file, l->path, where.file, where, NULL))
		return;
	conf_read(r);
	if (l->running != NULL)
		conf_check_restart(r, l->running);
}

struct conf *conf_load(const char *path, const struct conf *running, FILE *errors)
{
	struct load l = {.path = path, .running = running};

	return conf_make(&l.r, file_load, &l, path, errors);
}

void conf_free(struct conf *c)
{
	if (c != NULL)
		conf_arena_free(c->arena);
}
