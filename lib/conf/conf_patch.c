// SPDX-License-Identifier: BSD-3-Clause
#include "conf_patch.h"

#include <stdlib.h>
#include <string.h>

#include "conf_arena.h"

void conf_patch_add(
	struct conf_patches *list, struct conf_spot spot, size_t removed, const char *text)
{
	if ((list->n & (list->n - 1)) == 0)
		list->patch = conf_resize(list->patch, (2 * list->n + 1) * sizeof(list->patch[0]));
	list->patch[list->n] = (struct conf_patch){spot.file, list->n, spot.at, removed, text};
	list->n++;
}

// --- lines ---

static const char *octets_of(const struct conf_texts *texts, struct conf_spot spot)
{
	return texts->text[spot.file].octets;
}

static size_t line_begin(const char *text, size_t at)
{
	while (at > 0 && text[at - 1] != '\n')
		at--;
	return at;
}

static size_t indent_end(const char *text, size_t line)
{
	return line + strspn(text + line, " \t");
}

static bool begins_line(const char *text, size_t at)
{
	return indent_end(text, line_begin(text, at)) >= at;
}

static const char *indent_of(const char *text, size_t at)
{
	size_t line = line_begin(text, at);

	return conf_format("%.*s", (int)(indent_end(text, line) - line), text + line);
}

static size_t newline_len(const char *text, size_t at)
{
	return text[at] == '\n' ? 1 : strncmp(text + at, "\r\n", 2) == 0 ? 2 : 0;
}

// Whether the line has only comments from there on; *end: where its newline begins.
static bool ends_line(const char *text, size_t at, size_t *end)
{
	for (;;) {
		const char *p = text + (at += strspn(text + at, " \t"));
		const char *close = strncmp(p, "/*", 2) == 0 ? strstr(p + 2, "*/") : NULL;

		*end = at;
		if (*p == '#' || strncmp(p, "//", 2) == 0) {
			*end += strcspn(p, "\n");
			*end -= text[*end - 1] == '\r';
			return true;
		}
		if (close == NULL || memchr(p, '\n', (size_t)(close - p)) != NULL)
			return *p == '\0' || newline_len(text, at) > 0;
		at = (size_t)(close + 2 - text);
	}
}

static const char *newline_of(const char *text)
{
	const char *end = strchr(text, '\n');

	return end != NULL && end > text && end[-1] == '\r' ? "\r\n" : "\n";
}

// --- insertions ---

static struct conf_spot spot_after(const struct conf_span *s)
{
	struct conf_spot spot = s->has_mark ? s->mark : s->end;

	spot.at += s->has_mark;
	return spot;
}

static struct conf_gap gap_at(const struct conf_texts *texts, struct conf_spot spot, bool lines)
{
	const char *text = octets_of(texts, spot);
	struct conf_gap gap = {.spot = spot, .newline = newline_of(text)};
	size_t end;

	gap.lines = lines && ends_line(text, spot.at, &end);
	if (gap.lines)
		gap.spot.at = end;
	return gap;
}

struct conf_gap conf_gap_after(const struct conf_texts *texts, const struct conf_span *s)
{
	const char *text = octets_of(texts, s->begin);
	struct conf_gap gap = gap_at(texts, spot_after(s), begins_line(text, s->begin.at));

	gap.indent = indent_of(text, s->begin.at);
	return gap;
}

const char *conf_patch_indent(const struct conf_texts *texts, const struct conf_span *s)
{
	const struct conf_span *first = s != NULL && s->n > 0 ? &s->member[0] : NULL;

	if (first == NULL || !begins_line(octets_of(texts, first->begin), first->begin.at))
		return NULL;
	return indent_of(octets_of(texts, first->begin), first->begin.at);
}

struct conf_gap conf_gap_within(const struct conf_texts *texts, const struct conf_span *s)
{
	struct conf_spot spot = s->value;
	struct conf_gap gap;

	spot.at++;
	gap = gap_at(texts, spot, true);
	gap.indent = conf_patch_indent(texts, s);
	if (gap.indent == NULL)
		gap.indent = conf_format("%s  ", indent_of(octets_of(texts, spot), spot.at));
	return gap;
}

struct conf_gap conf_gap_at_end(const struct conf_texts *texts)
{
	const struct conf_text *text = &texts->text[0];

	return (struct conf_gap){
		.spot.at = text->len,
		.lines = text->len > 0 && text->octets[text->len - 1] != '\n',
		.newline = newline_of(text->octets),
		.indent = "",
	};
}

void conf_patch_insert(
	struct conf_patches *list, const struct conf_gap *gap, const char *text, const char *mark)
{
	const char *before = gap->lines ? conf_format("%s%s", gap->newline, gap->indent) : " ";

	conf_patch_add(list, gap->spot, 0, conf_format("%s%s%s", before, text, mark));
}

// --- removals ---

static bool has_lines(const char *text, const struct conf_span *s, size_t *end)
{
	return begins_line(text, s->begin.at) && ends_line(text, spot_after(s).at, end);
}

// Whether nothing but blanks is in front of its mark.
static bool has_near_mark(const char *text, const struct conf_span *s)
{
	size_t blanks = strspn(text + s->end.at, " \t\r\n");

	return s->has_mark && conf_span_is_whole(&s->end, &s->mark) &&
	       s->end.at + blanks == s->mark.at;
}

static void cut(struct conf_patches *list, struct conf_spot begin, size_t end)
{
	conf_patch_add(list, begin, end - begin.at, "");
}

// Of several on a line: with the blanks after it or, of the last one, before it.
static void cut_from_line(struct conf_patches *list, struct conf_spot begin, size_t end)
{
	const char *text = octets_of(list->texts, begin);
	size_t after = end + strspn(text + end, " \t");

	if (strchr("\r\n)]}", text[after]) == NULL || begins_line(text, begin.at))
		end = after;
	else
		while (begin.at > 0 && strchr(" \t", text[begin.at - 1]) != NULL)
			begin.at--;
	cut(list, begin, end);
}

static void cut_lines(struct conf_patches *list, struct conf_spot begin, size_t end)
{
	const char *text = octets_of(list->texts, begin);

	begin.at = line_begin(text, begin.at);
	cut(list, begin, end + newline_len(text, end));
}

void conf_patch_remove(struct conf_patches *list, const struct conf_span *s)
{
	const char *text = octets_of(list->texts, s->begin);
	bool near = has_near_mark(text, s);
	size_t end;

	if ((near || !s->has_mark) && has_lines(text, s, &end)) {
		cut_lines(list, s->begin, end);
		return;
	}
	cut_from_line(list, s->begin, near ? s->mark.at + 1 : s->end.at);
	if (s->has_mark && !near)
		conf_patch_add(list, s->mark, 1, "");
}

// --- moves ---

// The first line of the comments directly above a line, none of which begins before from.
static size_t comments_begin(const char *text, size_t line, size_t from)
{
	while (line > 0) {
		size_t above = line_begin(text, line - 1), first = indent_end(text, above);

		if (above < from || newline_len(text, first) > 0 || text[first] == '@')
			break;
		line = above;
	}
	return line;
}

static bool is_in(const struct conf_patch *p, unsigned int file, size_t begin, size_t end)
{
	return p->file == file && p->at >= begin && p->at + p->removed <= end;
}

// A part of a file after the patches, which are sorted.
static const char *patched(
	const struct conf_patches *list, unsigned int file, size_t begin, size_t end, size_t *len)
{
	const char *from = list->texts->text[file].octets;
	size_t size = end - begin + 1, at = begin;
	char *to;

	for (unsigned int i = 0; i < list->n; i++)
		size += strlen(list->patch[i].text);
	to = conf_alloc(1, size);
	*len = 0;
	for (unsigned int i = 0; i < list->n; i++) {
		const struct conf_patch *p = &list->patch[i];

		if (!is_in(p, file, begin, end))
			continue;
		*len = (size_t)(mempcpy(mempcpy(to + *len, from + at, p->at - at), p->text,
					strlen(p->text)) -
				(void *)to);
		at = p->at + p->removed;
	}
	memcpy(to + *len, from + at, end - at);
	*len += end - at;
	return to;
}

static const char *patched_text(const struct conf_patches *own, struct conf_spot begin, size_t end)
{
	size_t len;

	return patched(own, begin.file, begin.at, end, &len);
}

const char *conf_patch_move(struct conf_patches *list, const struct conf_span *s,
	const struct conf_spot *from, const struct conf_patches *own, const struct conf_gap *to,
	bool comma)
{
	const char *text = octets_of(list->texts, s->begin), *mark = comma ? "," : "";
	struct conf_spot begin = s->begin;
	size_t end, after;

	if (!to->lines || (s->has_mark && !has_near_mark(text, s)) || !has_lines(text, s, &end)) {
		conf_patch_remove(list, s);
		return conf_format("%s%s", patched_text(own, begin, s->end.at), mark);
	}
	begin.at = comments_begin(
		text, line_begin(text, begin.at), from->file == begin.file ? from->at : 0);
	after = spot_after(s).at;
	cut_lines(list, begin, end);
	begin.at = indent_end(text, begin.at);
	return conf_format("%s%s%.*s", patched_text(own, begin, s->end.at), mark,
		(int)(end - after), text + after);
}

// --- all ---

static int compare_patches(const void *a, const void *b)
{
	const struct conf_patch *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if ((x->removed > 0) != (y->removed > 0))
		return x->removed > 0 ? 1 : -1;
	return x->number < y->number ? -1 : 1;
}

// Removals may share blanks. False if anything else is removed twice.
static bool come_apart(const struct conf_patch *before, struct conf_patch *p)
{
	size_t end = before->at + before->removed;
	size_t shared = before->file == p->file && p->at < end ? end - p->at : 0;

	if (shared > p->removed || (shared > 0 && p->text[0] != '\0'))
		return false;
	p->at += shared;
	p->removed -= shared;
	return true;
}

bool conf_patches_sort(struct conf_patches *list)
{
	bool apart = true;

	if (list->n > 0)
		qsort(list->patch, list->n, sizeof(list->patch[0]), compare_patches);
	for (unsigned int i = 1; i < list->n; i++)
		apart &= come_apart(&list->patch[i - 1], &list->patch[i]);
	return apart;
}

struct conf_texts conf_patches_apply(const struct conf_patches *list)
{
	struct conf_texts after = {.n = list->texts->n};

	after.text = conf_alloc(after.n, sizeof(after.text[0]));
	for (unsigned int i = 0; i < after.n; i++) {
		const struct conf_text *t = &list->texts->text[i];

		after.text[i].path = t->path;
		after.text[i].octets = patched(list, i, 0, t->len, &after.text[i].len);
	}
	return after;
}
