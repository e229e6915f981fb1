// SPDX-License-Identifier: BSD-3-Clause
#include "conf.h"

#include <stdlib.h>
#include <string.h>

#include "conf_check.h"
#include "conf_schema.h"

void conf_begin(struct conf_reader *r, const char *dir)
{
	struct conf *c = calloc(1, sizeof(*c));

	if (c == NULL)
		abort();
	c->arena = conf_arena_new();
	*r = (struct conf_reader){.c = c};
	c->tree = conf_tree_new(r, dir);
	r->dir = c->tree->dir;
}

void conf_read(struct conf_reader *r)
{
	r->root = config_root_setting(&r->c->tree->file);
	conf_read_group(r, &conf_schema, r->root, r->c);
	conf_check(r);
}

struct conf *conf_end(struct conf_reader *r, FILE *errors)
{
	if (r->n_messages == 0) {
		conf_keys_keep(r);
		return r->c;
	}
	conf_err_print(r, errors);
	conf_free(r->c);
	return NULL;
}

struct conf *conf_load(const char *path, const struct conf *running, FILE *errors)
{
	const char *slash = strrchr(path, '/');
	char *dir = strndup(path, slash != NULL ? (size_t)(slash + 1 - path) : 0);
	struct conf_reader r;
	struct conf_where where = {.line = 1};

	if (dir == NULL)
		abort();
	conf_begin(&r, dir);
	free(dir);
	where.file = conf_strdup(&r, path);
	if (conf_file_read(&r, &r.c->tree->file, path, where.file, where, NULL)) {
		conf_read(&r);
		if (running != NULL)
			conf_check_restart(&r, running);
	}
	return conf_end(&r, errors);
}

void conf_free(struct conf *c)
{
	if (c == NULL)
		return;
	conf_tree_fini(c->tree);
	conf_arena_free(c->arena);
	free(c);
}
