// SPDX-License-Identifier: BSD-3-Clause
#include "conf_span.h"

#include <string.h>

#include "conf_arena.h"

#define INCLUDES_MAX 16 // libconfig has 10 files in each other

#define BLANKS " \t\r\n\f\v"

struct lexer {
	const struct conf_texts *texts;
	struct conf_spot open[INCLUDES_MAX]; // in each of the files in each other
	unsigned int depth;
	bool line_start;
	char kind; // of the token: '"', 'w' of a name or number, itself, or 0 at the end
	struct conf_spot begin, end;
};

static struct conf_spot *here(struct lexer *l)
{
	return &l->open[l->depth - 1];
}

static const char *octets(struct lexer *l)
{
	return l->texts->text[here(l)->file].octets + here(l)->at;
}

// The octets of "@include" and the name after it; 0: there is none.
static size_t include_len(const char *p)
{
	const char *name = p + strspn(p, " \t");

	if (strncmp(name, "@include", 8) != 0 || strspn(name + 8, " \t") == 0)
		return 0;
	name += 8 + strspn(name + 8, " \t");
	return *name == '"' ? (size_t)(name + 1 - p) + strcspn(name + 1, "\"") + 1 : 0;
}

// False: it cannot be opened.
static bool file_open(struct lexer *l, size_t name_len)
{
	unsigned int opened = here(l)->opened;

	if (l->depth == INCLUDES_MAX || opened == l->texts->n)
		return false;
	here(l)->at += name_len;
	l->open[l->depth++] = (struct conf_spot){.file = opened, .opened = opened + 1};
	l->line_start = true;
	return true;
}

static void file_close(struct lexer *l)
{
	unsigned int opened = here(l)->opened;

	l->depth--;
	here(l)->opened = opened;
	l->line_start = false;
}

static size_t comment_len(const char *p)
{
	const char *end;

	if (*p == '#' || strncmp(p, "//", 2) == 0)
		return strcspn(p, "\n");
	if (strncmp(p, "/*", 2) != 0)
		return 0;
	end = strstr(p + 2, "*/");
	return end != NULL ? (size_t)(end + 2 - p) : strlen(p);
}

// Goes to the next token. False if a file cannot be opened; at the end the octet is NUL.
static bool go_to_token(struct lexer *l)
{
	for (;;) {
		const char *p = octets(l);
		size_t include = l->line_start ? include_len(p) : 0;
		size_t comment = comment_len(p);

		if (include > 0 && !file_open(l, include))
			return false;
		if (include > 0)
			continue;
		if (*p == '\0' && l->depth == 1)
			return true;
		if (*p == '\0')
			file_close(l);
		else if (comment == 0 && strchr(BLANKS, *p) == NULL)
			return true;
		else
			here(l)->at += comment > 0 ? comment : 1;
		l->line_start = *p == '\n';
	}
}

static size_t string_len(const char *p)
{
	size_t n = 1;

	while (p[n] != '"' && p[n] != '\0')
		n += p[n] == '\\' && p[n + 1] != '\0' ? 2 : 1;
	return p[n] == '"' ? n + 1 : n;
}

static size_t token_len(struct lexer *l, const char *p)
{
	size_t word = strcspn(p, BLANKS "\"(){}[],;=:#/");

	l->kind = word > 0 ? 'w' : *p;
	if (*p == '"')
		return string_len(p);
	return word > 0 ? word : *p != '\0';
}

static bool next(struct lexer *l)
{
	if (!go_to_token(l))
		return false;
	l->begin = *here(l);
	here(l)->at += token_len(l, octets(l));
	l->end = *here(l);
	l->line_start = false;
	return true;
}

// --- settings ---

static bool read_value(struct lexer *l, struct conf_span *s);

static struct conf_span *member_add(struct conf_span *group)
{
	if ((group->n & (group->n - 1)) == 0)
		group->member =
			conf_resize(group->member, (2 * group->n + 1) * sizeof(group->member[0]));
	group->member[group->n] = (struct conf_span){.name = NULL};
	return &group->member[group->n++];
}

static bool read_mark(struct lexer *l, struct conf_span *s)
{
	s->has_mark = l->kind == ';' || l->kind == ',';
	s->mark = l->begin;
	return !s->has_mark || next(l);
}

static bool read_name(struct lexer *l, struct conf_span *s)
{
	s->name = l->texts->text[l->begin.file].octets + l->begin.at;
	s->name_len = l->end.at - l->begin.at;
	s->begin = l->begin;
	if (l->kind != 'w' || !next(l) || (l->kind != '=' && l->kind != ':'))
		return false;
	return next(l);
}

// All members up to a bracket, or the end.
static bool read_members(struct lexer *l, struct conf_span *group, char closing)
{
	bool named = closing == '}' || closing == '\0';

	while (l->kind != closing) {
		struct conf_span *s = member_add(group);

		s->begin = l->begin;
		if ((named && !read_name(l, s)) || !read_value(l, s) || !read_mark(l, s))
			return false;
	}
	return true;
}

static bool read_brackets(struct lexer *l, struct conf_span *s, char closing)
{
	s->bracket = l->kind;
	if (!next(l) || !read_members(l, s, closing))
		return false;
	s->end = l->end;
	return next(l);
}

// A string may have several parts.
static bool read_scalar(struct lexer *l, struct conf_span *s)
{
	char kind = l->kind;

	do {
		s->end = l->end;
		if (!next(l))
			return false;
	} while (kind == '"' && l->kind == '"');
	return kind == '"' || kind == 'w';
}

static bool read_value(struct lexer *l, struct conf_span *s)
{
	s->value = l->begin;
	switch (l->kind) {
	case '{':
		return read_brackets(l, s, '}');
	case '(':
		return read_brackets(l, s, ')');
	case '[':
		return read_brackets(l, s, ']');
	default:
		return read_scalar(l, s);
	}
}

static struct lexer lexer_at_start(const struct conf_texts *texts)
{
	return (struct lexer){.texts = texts, .open[0].opened = 1, .depth = 1, .line_start = true};
}

bool conf_span_read(struct conf_span *all, const struct conf_texts *texts)
{
	struct lexer l = lexer_at_start(texts);

	*all = (struct conf_span){.bracket = '{'};
	return next(&l) && read_members(&l, all, '\0');
}

const struct conf_span *conf_span_member(const struct conf_span *group, const char *name)
{
	size_t len = strlen(name);

	for (unsigned int i = 0; group != NULL && i < group->n; i++)
		if (group->member[i].name_len == len &&
			strncmp(group->member[i].name, name, len) == 0)
			return &group->member[i];
	return NULL;
}

bool conf_span_is_whole(const struct conf_spot *begin, const struct conf_spot *end)
{
	return begin->file == end->file && begin->opened == end->opened;
}

const char *conf_texts_join(const struct conf_texts *texts, size_t *len)
{
	struct lexer l = lexer_at_start(texts);
	size_t size = 1;
	char *joined;

	for (unsigned int i = 0; i < texts->n; i++)
		size += 2 * texts->text[i].len; // a newline after each token
	joined = conf_alloc(1, size);
	*len = 0;
	while (next(&l) && l.kind != '\0') {
		size_t n = l.end.at - l.begin.at;

		memcpy(joined + *len, texts->text[l.begin.file].octets + l.begin.at, n);
		joined[*len + n] = '\n';
		*len += n + 1;
	}
	return joined;
}
