// SPDX-License-Identifier: BSD-3-Clause
#include "conf_rewrite.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf_change.h"
#include "conf_print.h"
#include "conf_rewrite_items.h"
#include "hex.h"

// One call of conf_rewrite().
struct call {
	const struct conf *running;
	const char *path;
	struct conf *file;
	struct conf_changes *differences; // from file to running
	FILE *out, *errors;
	struct conf_scratch scratch;
	bool ok;
};

// --- files ---

static void reject_edited(struct conf_reader *r, const char *path)
{
	conf_err_at(r, (struct conf_where){path, 1}, NULL,
		"the file was edited since it was loaded: write the run-time changes into it by "
		"hand, "
		"until culvertctl diff reports none, and reload; or undo the edit");
}

static unsigned int seen_check(
	struct conf_reader *r, const struct conf_seen *running, const struct conf_seen *file)
{
	unsigned int n = 0;

	for (; file != NULL; file = file->next, n++) {
		if (running == NULL || strcmp(running->path, file->path) != 0 ||
			!key_id_equal(&running->digest, &file->digest)) {
			reject_edited(r, file->path);
			return 0;
		}
		running = running->next;
	}
	return n;
}

// --- proof ---

static void difference_write(FILE *errors, const struct conf_change *c)
{
	fprintf(errors, "%s \"%s\": %s%s\n",
		c->kind != CONF_KINDS ? conf_kinds[c->kind].noun : "file",
		c->name != NULL ? c->name : "",
		c->setting != NULL ? c->setting : conf_change_word(c),
		c->secret ? ": its key_file has another key than the one that runs" : "");
}

static bool is_same(const struct conf *running, const struct conf *after, FILE *errors)
{
	struct conf_changes *list = conf_diff(running, after);
	bool same = list != NULL && list->n == 0;

	if (list == NULL)
		fputs("out of memory to compare the configurations\n", errors);
	else if (!same)
		fputs("the file cannot be made equal to the running configuration, edit it by "
		      "hand:\n",
			errors);
	for (unsigned int i = 0; list != NULL && i < list->n; i++)
		difference_write(errors, &list->change[i]);
	conf_changes_free(list);
	return same;
}

static bool is_proved(const struct call *call, const struct conf_texts *texts)
{
	struct conf *after = conf_texts_load(texts, call->file->tree->dir, call->errors);
	bool same = after != NULL && is_same(call->running, after, call->errors);

	conf_free(after);
	return same;
}

// --- result ---

static void digest_write(FILE *out, const struct conf_text *t)
{
	struct key_id id = key_id_of((const uint8_t *)t->octets, t->len);
	char digits[2 * sizeof(id.octets) + 1];

	hex_format(digits, id.octets, sizeof(id.octets));
	fprintf(out, " %s", digits);
}

static void path_write(const struct call *call)
{
	char folder[PATH_MAX] = "";

	if (call->path[0] != '/' && getcwd(folder, sizeof(folder) - 1) != NULL)
		strcat(folder, "/");
	fprintf(call->out, "config %s%s\n", folder, call->path);
}

static void result_write(
	const struct call *call, const struct conf_patches *list, const struct conf_texts *after)
{
	path_write(call);
	for (unsigned int i = 0; i < list->n; i++) {
		const struct conf_patch *p = &list->patch[i];

		if (i == 0 || list->patch[i - 1].file != p->file) {
			fputs("file", call->out);
			digest_write(call->out, &list->texts->text[p->file]);
			digest_write(call->out, &after->text[p->file]);
			fprintf(call->out, " %s\n", list->texts->text[p->file].path);
		}
		fprintf(call->out, "patch %zu %zu %zu\n%s\n", p->at, p->removed, strlen(p->text),
			p->text);
	}
	fputs("changes\n", call->out);
	conf_print_diff(call->differences, call->out);
}

// --- all ---

static bool rewrite(
	const struct call *call, struct conf_rewriting *w, const struct conf_texts *texts)
{
	struct conf_texts after;

	if (!conf_span_read(&w->all, texts))
		return false;
	conf_rewrite_top(w);
	for (enum conf_kind kind = 0; kind < CONF_KINDS; kind++)
		conf_rewrite_kind(w, kind);
	if (w->r->n_messages > 0)
		return false;
	if (!conf_patches_sort(&w->patches)) {
		fputs("two changes are at one spot: edit the file by hand\n", call->errors);
		return false;
	}
	after = conf_patches_apply(&w->patches);
	if (!is_proved(call, &after))
		return false;
	result_write(call, &w->patches, &after);
	return true;
}

static void rewrite_run(void *arg)
{
	struct call *call = arg;
	const struct conf_seen *seen = call->file->tree->seen;
	struct conf_reader r = {.name = ""};
	struct conf_texts texts = {.n = seen_check(&r, call->running->tree->seen, seen)};
	struct conf_rewriting w = {.r = &r,
		.running = call->running,
		.file = call->file,
		.texts = &texts,
		.patches.texts = &texts,
		.scratch = &call->scratch};

	call->ok = texts.n > 0 && conf_texts_read(&r, &texts, seen) && rewrite(call, &w, &texts);
	if (r.n_messages > 0)
		conf_err_print(&r, call->errors);
}

// Without memory, as if it had some.
static bool has_unsaved(const struct call *call)
{
	struct conf_changes *list = conf_diff(call->running, call->file);
	bool has = list == NULL;

	for (unsigned int i = 0; list != NULL && i < list->n; i++)
		has |= list->change[i].unsaved;
	conf_changes_free(list);
	return has;
}

static bool call_run(struct call *call)
{
	int rc = -ENOMEM;

	if (!has_unsaved(call))
		return true;
	call->differences = conf_diff(call->file, call->running);
	call->scratch.out = open_memstream(&call->scratch.text, &call->scratch.len);
	if (call->differences != NULL && call->scratch.out != NULL)
		rc = conf_with_arena(rewrite_run, call);
	if (rc < 0)
		fputs("out of memory for the changes of the file\n", call->errors);
	if (call->scratch.out != NULL)
		fclose(call->scratch.out);
	free(call->scratch.text);
	return rc == 0 && call->ok;
}

bool conf_rewrite(const struct conf *running, const char *path, FILE *out, FILE *errors)
{
	struct call call = {.running = running, .path = path, .out = out, .errors = errors};
	bool ok;

	call.file = conf_load(path, NULL, errors);
	if (call.file == NULL)
		return false;
	ok = call_run(&call);
	conf_changes_free(call.differences);
	conf_free(call.file);
	return ok;
}
