// SPDX-License-Identifier: BSD-3-Clause
// libconfig 1.5 reads an integer of more than 32 bits as another one without a word, takes a NUL
// octet for the end, lets a string or comment run on into the next file, joins two strings of an
// array if there is no comma between them, and ends the process when it includes a folder. For
// other mistakes it reports "syntax error" and the line of the token that follows, which is far
// away if a quotation mark is missing. So the tokens are checked here first; libconfig reports the
// other mistakes itself.
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "conf_reader.h"

#define DEPTH_MAX 64 // of brackets; a configuration has six

#define BYTE_ORDER_MARK "\xef\xbb\xbf" // of UTF-8, which editors hide

struct bracket {
	char octet;
	unsigned int line;
};

struct scan {
	struct conf_reader *r;
	struct conf_where where;
	const char *p;
	bool (*include)(struct conf_reader *r, const char *name, struct conf_where where);
	struct bracket open[DEPTH_MAX];
	unsigned int depth;
	unsigned int value_line; // where the token before ends if it can end a value, else 0
	unsigned int comma_line; // where it is if it is a comma, else 0
	bool assigned;           // it is = or :
	bool line_start;
	bool ok;
};

static void scan_fail_at(struct scan *s, unsigned int line, const char *problem)
{
	conf_err_at(s->r, (struct conf_where){s->where.file, line}, NULL, "%s", problem);
	s->ok = false;
}

static void scan_fail(struct scan *s, const char *problem)
{
	scan_fail_at(s, s->where.line, problem);
}

static void go_to(struct scan *s, const char *p)
{
	for (; s->p < p; s->p++)
		if (*s->p == '\n')
			s->where.line++;
}

// The tokens after it tell nothing more.
static void scan_end(struct scan *s)
{
	s->p += strlen(s->p);
	s->depth = 0;
}

static void skip_line(struct scan *s)
{
	s->p += strcspn(s->p, "\n");
	if (*s->p == '\0')
		scan_fail(s, "comment ends with the file, must end with a newline");
}

static void skip_comment(struct scan *s)
{
	const char *end = strstr(s->p + 2, "*/");

	if (end == NULL) {
		scan_fail(s, "comment is not closed, must end with */");
		end = s->p + strlen(s->p) - 2;
	}
	go_to(s, end + 2);
}

static bool in_list(const struct scan *s)
{
	return s->depth > 0 && s->open[s->depth - 1].octet != '{';
}

// Two elements of a list with nothing between them; reported where the first one ends.
static void begin_value(struct scan *s)
{
	if (in_list(s) && s->value_line != 0)
		scan_fail_at(s, s->value_line,
			"a comma is missing at the end of this line, or between two elements on "
			"it");
}

static void end_value(struct scan *s)
{
	s->value_line = s->where.line;
	s->comma_line = 0;
	s->assigned = false;
}

// Tokens that cannot follow a string that ends where it was meant to.
static void check_after_string(struct scan *s, unsigned int line)
{
	char next = s->p[strspn(s->p, " \t")];

	if (isalnum((unsigned char)*s->p) ||
		(*s->p != '\0' && strchr("_*./", *s->p) != NULL && strncmp(s->p, "//", 2) != 0 &&
			strncmp(s->p, "/*", 2) != 0))
		scan_fail_at(s, line,
			conf_format("a quotation mark is missing: a string begins here and ends on "
				    "line %u",
				s->where.line));
	else if (next == '=' || next == ':')
		scan_fail_at(s, line,
			"the name of a setting is in quotation marks, must be NAME = VALUE: "
			"JSON is not read");
	else
		return;
	scan_end(s);
}

static void scan_string(struct scan *s)
{
	const char *p = s->p + 1;
	unsigned int line = s->where.line;

	begin_value(s);
	while (*p != '"' && *p != '\0')
		p += p[0] == '\\' && (p[1] == '"' || p[1] == '\\') ? 2 : 1;
	if (*p == '\0')
		scan_fail(s, "string is not closed, must end with a quotation mark");
	else
		p++;
	go_to(s, p);
	end_value(s);
	check_after_string(s, line);
}

#define WORD_OCTETS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789*_-"

static bool is_word(char c)
{
	return c != '\0' && strchr(WORD_OCTETS, c) != NULL;
}

// "30m", or a key. Returns false if the number ends where it must.
static bool fail_letters(struct scan *s, const char *number, const char *end)
{
	const char *text;

	if (!isalpha((unsigned char)*end))
		return false;
	while (is_word(*end))
		end++;
	s->p = end;
	text = conf_format("%.*s", (int)(end - number), number);
	scan_fail(s, conf_format("must be in quotation marks: %s", conf_quote(text)));
	return true;
}

// A number with L after it is read as one of 64 bits, every other integer must fit 32.
static void scan_number(struct scan *s)
{
	const char *number = s->p;
	bool hex = s->p[0] == '0' && (s->p[1] | 0x20) == 'x' && isxdigit((unsigned char)s->p[2]);
	char *end;
	// It saturates: it is too large all the same.
	unsigned long long value = strtoull(s->p, &end, hex ? 16 : 10);
	bool fits = *end == 'L' || value <= (hex ? UINT32_MAX : INT32_MAX);

	begin_value(s);
	if (!hex && (*end == '.' || (*end | 0x20) == 'e'))
		strtod(s->p, &end);
	s->p = end + strspn(end, "L");
	if (!fail_letters(s, number, s->p) && !fits)
		scan_fail(s, "number does not fit 32 bits, must be written as a string");
	end_value(s);
}

// "no" for false. NULL: it is a value.
static const char *word_problem(const char *word)
{
	static const char *const booleans[][2] = {{"true", NULL}, {"false", NULL}, {"yes", "true"},
		{"on", "true"}, {"no", "false"}, {"off", "false"}};

	for (size_t i = 0; i < sizeof(booleans) / sizeof(booleans[0]); i++)
		if (strcasecmp(word, booleans[i][0]) == 0)
			return booleans[i][1] == NULL
				       ? NULL
				       : conf_format("\"%s\" is no value, must be %s", word,
						 booleans[i][1]);
	return conf_format("must be in quotation marks: %s", conf_quote(word));
}

static void scan_word(struct scan *s)
{
	const char *word = s->p, *problem;
	bool value = s->assigned || in_list(s);

	begin_value(s);
	while (is_word(*s->p))
		s->p++;
	word = conf_format("%.*s", (int)(s->p - word), word);
	problem = value ? word_problem(word) : NULL;
	if (problem != NULL)
		scan_fail(s, problem);
	end_value(s);
}

// The end of a string without a beginning. False if it is none.
static bool fail_unbegun(struct scan *s)
{
	size_t len = strspn(s->p, WORD_OCTETS);

	if (s->p[len] != '"' || len == 0)
		return false;
	scan_fail(s, conf_format("a quotation mark is missing before %s",
			     conf_quote(conf_format("%.*s", (int)len, s->p))));
	scan_end(s);
	return true;
}

static void scan_opening(struct scan *s)
{
	begin_value(s);
	if (s->depth == 0 && !s->assigned) {
		scan_fail(s, conf_format("%c without a name before it, must be NAME = VALUE: "
					 "JSON is not read",
				     *s->p));
		scan_end(s);
		return;
	}
	if (s->depth == DEPTH_MAX) {
		scan_fail(s, "brackets are nested too deeply");
		go_to(s, s->p + strlen(s->p));
		return;
	}
	s->open[s->depth++] = (struct bracket){*s->p++, s->where.line};
	s->value_line = 0;
	s->comma_line = 0;
	s->assigned = false;
}

static void fail_open(struct scan *s)
{
	const struct bracket *b = &s->open[s->depth - 1];

	scan_fail_at(s, b->line, conf_format("the bracket %c is not closed", b->octet));
	s->depth = 0;
}

// After a bracket of another kind the brackets that follow cannot be checked.
static void scan_closing(struct scan *s)
{
	static const char opening[] = "({[", closing[] = ")}]";
	char wanted = opening[strchr(closing, *s->p) - closing];

	if (s->depth > 0 && s->open[s->depth - 1].octet != wanted) {
		fail_open(s);
		go_to(s, s->p + strlen(s->p));
		return;
	}
	if (in_list(s) && s->comma_line != 0)
		scan_fail_at(s, s->comma_line, "a comma follows the last element, must be removed");
	s->depth -= s->depth > 0;
	s->p++;
	end_value(s);
}

// The text after '@include "' at the start of a line, or NULL.
static const char *include_name(const char *p)
{
	p += strspn(p, " \t");
	if (strncmp(p, "@include", 8) != 0)
		return NULL;
	p += 8;

	size_t blanks = strspn(p, " \t");

	return blanks > 0 && p[blanks] == '"' ? p + blanks + 1 : NULL;
}

static void scan_include(struct scan *s, const char *name)
{
	size_t len = strcspn(name, "\"\\\n");

	if (name[len] == '"')
		s->ok &= s->include(s->r, conf_format("%.*s", (int)len, name), s->where);
	else
		scan_fail(s, "file to include must be in quotation marks, without \\");
	s->p = name[len] == '"' ? name + len + 1 : name + strcspn(name, "\n");
	s->value_line = 0;
}

static void scan_token(struct scan *s)
{
	const char *name = s->line_start ? include_name(s->p) : NULL;
	char c = *s->p;

	s->line_start = c == '\n';
	if (name != NULL) {
		scan_include(s, name);
	} else if (c == '#' || (c == '/' && s->p[1] == '/')) {
		skip_line(s);
	} else if (c == '/' && s->p[1] == '*') {
		skip_comment(s);
	} else if (c == '"') {
		scan_string(s);
	} else if (fail_unbegun(s)) {
		return;
	} else if (isdigit((unsigned char)c)) {
		scan_number(s);
	} else if (isalpha((unsigned char)c) || c == '*') {
		scan_word(s);
	} else if (strchr("({[", c) != NULL) {
		scan_opening(s);
	} else if (strchr(")}]", c) != NULL) {
		scan_closing(s);
	} else {
		if (!isspace((unsigned char)c)) {
			s->value_line = 0;
			s->comma_line = c == ',' ? s->where.line : 0;
			s->assigned = c == '=' || c == ':';
		}
		go_to(s, s->p + 1);
	}
}

bool conf_scan(struct conf_reader *r, struct conf_where where, const char *text, size_t len,
	bool (*include)(struct conf_reader *r, const char *name, struct conf_where where))
{
	struct scan s = {.r = r,
		.where = where,
		.p = text,
		.include = include,
		.line_start = true,
		.ok = true};

	if (strlen(text) != len) {
		go_to(&s, text + strlen(text));
		scan_fail(&s, "NUL octet, must be text");
		return false;
	}
	if (strncmp(text, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0) {
		scan_fail(&s, "begins with a byte order mark, must be saved as UTF-8 without one");
		return false;
	}
	while (*s.p != '\0')
		scan_token(&s);
	if (s.depth > 0)
		fail_open(&s);
	return s.ok;
}
