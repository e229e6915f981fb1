// SPDX-License-Identifier: BSD-3-Clause
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "conf_schema.h"

#define SHOWN_MAX      120 // octets of a text from the file in a message
#define KEY_DIGITS_MIN 20  // this many hexadecimal digits could be a key; a MAC address has 12

struct conf_message {
	struct conf_message *next;
	struct conf_where where;
	unsigned int number; // keeps messages on one line in the order in which they were found
	const char *text;
};

struct conf_where conf_where(const config_setting_t *s)
{
	return (struct conf_where){.file = s->file, .line = s->line > 0 ? s->line : 1};
}

// Whether text has enough hexadecimal digits in a row to be a key.
static bool could_be_key(const char *text)
{
	unsigned int run = 0;

	for (; *text != '\0'; text++) {
		if (isxdigit((unsigned char)*text))
			run++;
		else if (strchr(" :_\t\r\n", *text) == NULL)
			run = 0;
		if (run >= KEY_DIGITS_MIN)
			return true;
	}
	return false;
}

const char *conf_show(const char *text)
{
	char buf[4 * SHOWN_MAX + 4];
	char *p = buf;

	if (could_be_key(text))
		return "(digits that could be a key)";
	for (unsigned int i = 0; text[i] != '\0'; i++) {
		unsigned char c = (unsigned char)text[i];

		if (i == SHOWN_MAX) {
			strcpy(p, "...");
			return conf_strdup(buf);
		}
		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			p += sprintf(p, "\\x%02x", c);
		else
			*p++ = (char)c;
	}
	*p = '\0';
	return conf_strdup(buf);
}

const char *conf_quote(const char *text)
{
	return conf_format("\"%s\"", conf_show(text));
}

// The kind of an item; NULL if s is something else.
static const struct conf_kind_info *kind_of(const config_setting_t *s)
{
	if (s->type != CONFIG_TYPE_GROUP || s->parent == NULL || s->parent->name == NULL)
		return NULL;
	for (const struct conf_kind_info *k = conf_kinds; k < conf_kinds + CONF_KINDS; k++)
		if (strcmp(k->list, s->parent->name) == 0)
			return k;
	return NULL;
}

// 'sa "to-b"', or 'sa 3' if it has no name.
static const char *item_label(const config_setting_t *item)
{
	const struct conf_kind_info *kind = kind_of(item);
	const char *identity;

	if (config_setting_lookup_string(item, kind->identity, &identity))
		return conf_format("%s %s", kind->noun, conf_quote(identity));
	return conf_format("%s %d", kind->noun, config_setting_index(item) + 1);
}

// 'flows.timeouts.udp', from the top of the file or the element of a list that it is in.
static const char *setting_path(const config_setting_t *s)
{
	if (s->name == NULL) // 'hops[2]'
		return conf_format("%s[%d]", setting_path(s->parent), config_setting_index(s) + 1);
	if (s->parent->parent == NULL || kind_of(s->parent) != NULL)
		return conf_show(s->name);
	return conf_format("%s.%s", setting_path(s->parent), conf_show(s->name));
}

// The text between the line and the problem: 'sa "to-b": spi: ', or nothing.
static const char *setting_label(const config_setting_t *s)
{
	const config_setting_t *item = s;

	if (s == NULL || s->parent == NULL)
		return "";
	while (item->parent != NULL && kind_of(item) == NULL)
		item = item->parent;
	if (item == s)
		return conf_format("%s: ", item_label(s));
	if (item->parent != NULL)
		return conf_format("%s: %s: ", item_label(item), setting_path(s));
	return conf_format("%s: ", setting_path(s));
}

const char *conf_ref(const config_setting_t *item)
{
	struct conf_where where = conf_where(item);

	return conf_format("%s (%s:%u)", item_label(item), where.file, where.line);
}

static void message_add(struct conf_reader *r, struct conf_where where, config_setting_t *s,
	const char *fmt, va_list ap)
{
	struct conf_message *m = conf_alloc(1, sizeof(*m));

	m->where = where;
	m->number = r->n_messages++;
	m->text = conf_format("%s%s", setting_label(s), conf_vformat(fmt, ap));
	m->next = r->messages;
	r->messages = m;
	if (s != NULL)
		config_setting_set_hook(s, m);
}

void conf_err(struct conf_reader *r, config_setting_t *s, const char *fmt, ...)
{
	va_list ap;

	// An element of an array goes by the array's name and line; libconfig takes the line of a
	// string in an array from the token after it.
	if (s->name == NULL && s->parent != NULL && kind_of(s) == NULL)
		s = s->parent;
	va_start(ap, fmt);
	message_add(r, conf_where(s), s, fmt, ap);
	va_end(ap);
}

void conf_err_at(
	struct conf_reader *r, struct conf_where where, config_setting_t *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	message_add(r, where, s, fmt, ap);
	va_end(ap);
}

static int compare_messages(const void *a, const void *b)
{
	const struct conf_message *x = *(const struct conf_message *const *)a;
	const struct conf_message *y = *(const struct conf_message *const *)b;
	int by_file = strcmp(x->where.file, y->where.file);

	if (by_file != 0)
		return by_file;
	if (x->where.line != y->where.line)
		return x->where.line < y->where.line ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

void conf_err_print(const struct conf_reader *r, FILE *out)
{
	const struct conf_message **sorted = conf_alloc(r->n_messages, sizeof(sorted[0]));
	unsigned int n = 0;

	for (const struct conf_message *m = r->messages; m != NULL; m = m->next)
		sorted[n++] = m;
	qsort(sorted, n, sizeof(sorted[0]), compare_messages);
	for (unsigned int i = 0; i < n; i++)
		fprintf(out, "%s:%u: %s\n", sorted[i]->where.file, sorted[i]->where.line,
			sorted[i]->text);
}

const char *conf_hint(const struct nearest *near, const char *otherwise)
{
	return near->best != NULL ? conf_format("did you mean \"%s\"?", near->best) : otherwise;
}

const char *conf_join(const char *words, const char *word)
{
	return words[0] == '\0' ? word : conf_format("%s, %s", words, word);
}
