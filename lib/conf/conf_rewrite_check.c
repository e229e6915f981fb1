// SPDX-License-Identifier: BSD-3-Clause
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "conf_change.h"
#include "conf_rewrite.h"
#include "conf_rewrite_items.h"

// The list has the newest file first.
bool conf_texts_read(struct conf_reader *r, struct conf_texts *texts, const struct conf_seen *seen)
{
	char real[PATH_MAX];

	texts->n = 0;
	for (const struct conf_seen *s = seen; s != NULL; s = s->next)
		texts->n++;
	texts->text = conf_alloc(texts->n, sizeof(texts->text[0]));
	for (unsigned int i = texts->n; i > 0; i--, seen = seen->next) {
		struct conf_text *t = &texts->text[i - 1];

		t->octets = conf_seen_read(r, seen, &t->len);
		if (t->octets == NULL)
			return false;
		t->path = conf_strdup(realpath(seen->path, real) != NULL ? real : seen->path);
	}
	return true;
}

static void joined_load(struct conf_reader *r)
{
	struct conf_where where = {.file = conf_strdup(r->name), .line = 1};

	conf_begin(r, r->dir);
	if (conf_text_read(r, &r->c->tree->file, r->text, r->len, where))
		conf_read(r);
}

struct conf *conf_texts_load(const struct conf_texts *texts, const char *dir, FILE *errors)
{
	struct conf_reader r = {.name = texts->text[0].path, .dir = dir};

	r.text = conf_texts_join(texts, &r.len);
	return conf_make(&r, joined_load, errors);
}

// --- check ---

struct check {
	struct conf *file;
	const struct conf_texts *after;
	FILE *errors;
	bool ok;
};

static bool text_replace(struct conf_texts *texts, const struct conf_text *after, FILE *errors)
{
	for (unsigned int i = 0; i < texts->n; i++)
		if (strcmp(texts->text[i].path, after->path) == 0) {
			texts->text[i] = *after;
			return true;
		}
	fprintf(errors, "%s: is no file of this configuration\n", after->path);
	return false;
}

// Writes the changes that need a restart.
static bool is_for_run_time(const struct conf *from, const struct conf *to, FILE *errors)
{
	struct conf_changes *list = conf_diff(from, to);
	bool ok = list != NULL;

	for (unsigned int i = 0; list != NULL && i < list->n; i++) {
		const struct conf_change *c = &list->change[i];

		if (!c->restart)
			continue;
		fprintf(errors, "%s%s%s: would change, which needs a restart\n",
			c->name != NULL ? c->name : "", c->name != NULL ? ": " : "",
			c->setting != NULL ? c->setting : conf_change_word(c));
		ok = false;
	}
	conf_changes_free(list);
	return ok;
}

static void check_run(void *arg)
{
	struct check *check = arg;
	struct conf_reader r = {.name = ""};
	struct conf_texts texts;
	struct conf *after;

	check->ok = conf_texts_read(&r, &texts, check->file->tree->seen);
	if (!check->ok)
		conf_err_print(&r, check->errors);
	for (unsigned int i = 0; check->ok && i < check->after->n; i++)
		check->ok = text_replace(&texts, &check->after->text[i], check->errors);
	if (!check->ok)
		return;
	after = conf_texts_load(&texts, check->file->tree->dir, check->errors);
	check->ok = after != NULL && is_for_run_time(check->file, after, check->errors);
	conf_free(after);
}

bool conf_rewrite_check(const char *path, const struct conf_texts *after, FILE *errors)
{
	struct check check = {.after = after, .errors = errors};
	int rc;

	check.file = conf_load(path, NULL, errors);
	if (check.file == NULL)
		return false;
	rc = conf_with_arena(check_run, &check);
	if (rc < 0)
		fprintf(errors, "%s: out of memory while it was read\n", path);
	conf_free(check.file);
	return rc == 0 && check.ok;
}
