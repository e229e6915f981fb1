// SPDX-License-Identifier: BSD-3-Clause
#include "conf.h"

#include <stdlib.h>
#include <string.h>

#include "conf_check.h"
#include "conf_schema.h"

static void read_and_check(struct conf_reader *r, const char *path, const struct conf *running)
{
	const char *slash = strrchr(path, '/');
	struct conf_where where = {.file = conf_strdup(r, path), .line = 1};
	config_t file;

	r->dir = slash != NULL ? conf_format(r, "%.*s", (int)(slash + 1 - path), path) : "";
	if (conf_file_read(r, &file, path, where.file, where, NULL)) {
		r->root = config_root_setting(&file);
		conf_read_group(r, &conf_schema, r->root, r->c);
		conf_check(r);
		if (running != NULL)
			conf_check_restart(r, running);
	}
	conf_file_fini(&file);
}

struct conf *conf_load(const char *path, const struct conf *running, FILE *errors)
{
	struct conf *c = calloc(1, sizeof(*c));
	struct conf_reader r = {.c = c};

	if (c == NULL)
		abort();
	c->arena = conf_arena_new();
	read_and_check(&r, path, running);
	if (r.n_messages == 0)
		return c;
	conf_err_print(&r, errors);
	conf_free(c);
	return NULL;
}

void conf_free(struct conf *c)
{
	if (c == NULL)
		return;
	conf_arena_free(c->arena);
	free(c);
}
