// SPDX-License-Identifier: BSD-3-Clause
// libconfig 1.5 reads an integer of more than 32 bits as another one without a word, takes a NUL
// octet for the end, lets a string or comment run on into the next file, and ends the process when
// it is told to include a folder. So its tokens are looked at first. What is wrong in other ways it
// reports itself.
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "conf_reader.h"

struct scan {
	struct conf_reader *r;
	struct conf_where where;
	const char *p;
	bool ok;
};

static void fail(struct scan *s, const char *problem)
{
	conf_err_at(s->r, s->where, NULL, "%s", problem);
	s->ok = false;
}

static void go_to(struct scan *s, const char *p)
{
	for (; s->p < p; s->p++)
		if (*s->p == '\n')
			s->where.line++;
}

static void skip_line(struct scan *s)
{
	s->p += strcspn(s->p, "\n");
	if (*s->p == '\0')
		fail(s, "comment ends with the file, must end with a newline");
}

static void skip_comment(struct scan *s)
{
	const char *end = strstr(s->p + 2, "*/");

	if (end == NULL) {
		fail(s, "comment is not closed, must end with */");
		end = s->p + strlen(s->p) - 2;
	}
	go_to(s, end + 2);
}

static void skip_string(struct scan *s)
{
	const char *p = s->p + 1;

	while (*p != '"' && *p != '\0')
		p += p[0] == '\\' && (p[1] == '"' || p[1] == '\\') ? 2 : 1;
	if (*p == '\0')
		fail(s, "string is not closed, must end with a quotation mark");
	else
		p++;
	go_to(s, p);
}

// A number with L behind it is read as one of 64 bits, everything else must fit 32.
static void check_number(struct scan *s)
{
	bool hex = s->p[0] == '0' && (s->p[1] | 0x20) == 'x' && isxdigit((unsigned char)s->p[2]);
	unsigned long long most = hex ? UINT32_MAX : INT32_MAX;
	char *end;

	// The value saturates: it is too large all the same.
	if (strtoull(s->p, &end, hex ? 16 : 10) > most && *end != 'L')
		fail(s, "number does not fit 32 bits, must be written as a string");
	s->p = end;
}

// The text behind '@include "' if that is what stands at the start of a line.
static const char *include_name(const char *p)
{
	p += strspn(p, " \t");
	if (strncmp(p, "@include", 8) != 0)
		return NULL;
	p += 8;

	size_t blanks = strspn(p, " \t");

	return blanks > 0 && p[blanks] == '"' ? p + blanks + 1 : NULL;
}

bool conf_scan(struct conf_reader *r, struct conf_where where, const char *text, size_t len,
	bool (*include)(struct conf_reader *r, const char *name, struct conf_where where))
{
	struct scan s = {.r = r, .where = where, .p = text, .ok = true};
	bool line_start = true;

	if (strlen(text) != len) {
		go_to(&s, text + strlen(text));
		fail(&s, "NUL octet, must be text");
		return false;
	}
	while (*s.p != '\0') {
		const char *name = line_start ? include_name(s.p) : NULL;
		unsigned char c = (unsigned char)*s.p;

		line_start = c == '\n';
		if (name != NULL) {
			size_t name_len = strcspn(name, "\"\\\n");

			if (name[name_len] == '"')
				s.ok &= include(
					r, conf_format(r, "%.*s", (int)name_len, name), s.where);
			else
				fail(&s, "file to include must stand in quotation marks, without "
					 "\\");
			s.p = name + name_len + (name[name_len] == '"');
		} else if (c == '#' || (c == '/' && s.p[1] == '/')) {
			skip_line(&s);
		} else if (c == '/' && s.p[1] == '*') {
			skip_comment(&s);
		} else if (c == '"') {
			skip_string(&s);
		} else if (isdigit(c)) {
			check_number(&s);
		} else if (isalpha(c) || c == '*') {
			while (isalnum((unsigned char)*s.p) ||
				(*s.p != '\0' && strchr("*_-", *s.p)))
				s.p++;
		} else {
			go_to(&s, s.p + 1);
		}
	}
	return s.ok;
}
