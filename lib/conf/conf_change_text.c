// SPDX-License-Identifier: BSD-3-Clause
#include "conf_change_text.h"

#include <string.h>

static const char *const verbs[] = {[CONF_ADD] = "add", [CONF_SET] = "set", [CONF_DEL] = "del"};

static const char *const places[] = {[CONF_LAST] = "last",
	[CONF_FIRST] = "first",
	[CONF_BEFORE] = "before",
	[CONF_AFTER] = "after"};

// --- words ---

static void go_to(struct conf_change_text *in, const char *p)
{
	for (; in->p < p; in->p++)
		if (*in->p == '\n')
			in->where.line++;
}

// Behind a comment, if one begins at p.
static const char *skip_comment(const char *p)
{
	const char *end;

	if (*p == '#' || (p[0] == '/' && p[1] == '/'))
		return p + strcspn(p, "\n");
	if (p[0] != '/' || p[1] != '*')
		return p;
	end = strstr(p + 2, "*/");
	return end != NULL ? end + 2 : p + strlen(p);
}

static const char *skip_string(const char *p)
{
	for (p++; *p != '\0' && *p != '"'; p++)
		if (p[0] == '\\' && p[1] != '\0')
			p++;
	return p + (*p == '"');
}

// The } that belongs to the { at p; NULL if there is none.
static const char *closing(const char *p)
{
	unsigned int depth = 0;

	while (*p != '\0') {
		const char *behind = skip_comment(p);

		if (behind != p) {
			p = behind;
			continue;
		}
		depth += *p == '{';
		depth -= *p == '}';
		if (depth == 0)
			return p;
		p = *p == '"' ? skip_string(p) : p + 1;
	}
	return NULL;
}

// False, after a message, if they do not end.
static bool settings_read(struct conf_change_text *in, struct conf_change *c)
{
	const char *end = closing(in->p);

	if (end == NULL) {
		conf_err_at(in->r, in->where, NULL, "settings are not closed, must end with }");
		go_to(in, in->p + strlen(in->p));
		return false;
	}
	c->settings_where = in->where;
	c->settings = in->p + 1;
	c->settings_len = (size_t)(end - c->settings);
	go_to(in, end + 1);
	return true;
}

static void word_read(struct conf_change_text *in, struct conf_change *c)
{
	size_t len = strcspn(in->p, " \t\r\n;{}#\"");

	len += len == 0; // a quotation mark or a brace
	if (c->n_words < CONF_CHANGE_WORDS_MAX)
		c->word[c->n_words++] = conf_format("%.*s", (int)len, in->p);
	go_to(in, in->p + len);
}

// Reads up to the end of the line or the settings. False if that is not possible.
static bool words_read(struct conf_change_text *in, struct conf_change *c)
{
	*c = (struct conf_change){.where = in->where};
	while (*in->p != '\0' && *in->p != '\n' && *in->p != ';') {
		const char *behind = skip_comment(in->p);

		if (*in->p == '{')
			return settings_read(in, c);
		if (behind != in->p)
			go_to(in, behind);
		else if (strchr(" \t\r", *in->p) != NULL)
			in->p++;
		else
			word_read(in, c);
	}
	return true;
}

// --- what they mean ---

// The number of a word; n, after a message, if it is none of them.
static unsigned int word_choose(struct conf_reader *r, const struct conf_change *c,
	const char *word, const char *const words[], unsigned int n, const char *what)
{
	struct nearest near = {.text = word};
	const char *all = "";

	for (unsigned int i = 0; i < n; i++) {
		if (strcmp(words[i], word) == 0)
			return i;
		nearest_try(&near, words[i]);
		all = conf_join(all, words[i]);
	}
	conf_err_at(r, c->where, NULL, "unknown %s %s, %s", what, conf_quote(word),
		conf_hint(&near, conf_format("must be one of %s", all)));
	return n;
}

// False, after a message, if there is a further word.
static bool end_check(struct conf_reader *r, const struct conf_change *c, const char *word)
{
	if (word != NULL)
		conf_err_at(r, c->where, NULL, "%s %s: unexpected argument %s",
			c->list->schema->noun, verbs[c->verb], conf_quote(word));
	return word == NULL;
}

static bool list_find(struct conf_reader *r, struct conf_change *c, const char *const lists[])
{
	const char *nouns[CONF_CHANGE_LISTS_MAX];
	unsigned int i, n = 0;

	for (; lists[n] != NULL; n++)
		nouns[n] = conf_schema_find(&conf_schema, lists[n])->schema->noun;
	i = word_choose(r, c, c->word[0], nouns, n, "object");
	if (i < n)
		c->list = conf_schema_find(&conf_schema, lists[i]);
	return i < n;
}

// word: those behind the verb.
static bool place_parse(struct conf_reader *r, struct conf_change *c, const char *const word[])
{
	const char *noun = c->list->schema->noun;

	if (word[0] == NULL)
		return true;
	if (!c->list->schema->ordered)
		return end_check(r, c, word[0]);
	c->place = word_choose(r, c, word[0], places, RTE_DIM(places), "place");
	if (c->place == RTE_DIM(places))
		return false;
	if (c->place == CONF_FIRST || c->place == CONF_LAST)
		return end_check(r, c, word[1]);
	c->beside = word[1];
	if (word[1] != NULL)
		return end_check(r, c, word[2]);
	conf_err_at(r, c->where, NULL, "%s add %s: expected the name of a %s", noun,
		places[c->place], noun);
	return false;
}

// word: those behind the verb.
static bool item_parse(struct conf_reader *r, struct conf_change *c, const char *const word[])
{
	const struct conf_schema *schema = c->list->schema;

	c->item = word[0];
	if (word[0] == NULL) {
		conf_err_at(r, c->where, NULL, "%s %s: its %s is missing", schema->noun,
			verbs[c->verb], schema->identity);
		return false;
	}
	if (schema->scope != NULL && word[1] != NULL && strcmp(word[1], schema->scope) == 0 &&
		word[2] != NULL) {
		c->scope = word[2];
		word += 2;
	}
	return end_check(r, c, word[1]);
}

static bool settings_check(struct conf_reader *r, const struct conf_change *c)
{
	bool given = c->settings != NULL, wanted = c->verb != CONF_DEL;

	if (given != wanted)
		conf_err_at(r, c->where, NULL, "%s %s: %s", c->list->schema->noun, verbs[c->verb],
			given ? "takes no settings { }" : "settings { } are missing");
	return given == wanted;
}

bool conf_change_parse(struct conf_reader *r, struct conf_change *c, const char *const lists[])
{
	if (c->n_words == 0) {
		conf_err_at(r, c->where, NULL,
			"settings without a command, such as \"sa add\", before them");
		return false;
	}
	if (!list_find(r, c, lists))
		return false;
	if (c->word[1] == NULL) {
		conf_err_at(r, c->where, NULL, "%s: expected one of add, set, del", c->word[0]);
		return false;
	}
	c->verb = word_choose(r, c, c->word[1], verbs, RTE_DIM(verbs), "change");
	if (c->verb == RTE_DIM(verbs))
		return false;
	return (c->verb == CONF_ADD ? place_parse(r, c, c->word + 2)
				    : item_parse(r, c, c->word + 2)) &&
	       settings_check(r, c);
}

bool conf_change_begin(struct conf_change_text *in, struct conf_reader *r, const char *name,
	const char *text, size_t len)
{
	const struct conf_where start = {.file = conf_show(name), .line = 1};

	*in = (struct conf_change_text){r, text, start, start};
	if (strlen(text) == len)
		return true;
	conf_err_at(r, start, NULL, "NUL octet, must be text");
	return false;
}

bool conf_change_next(struct conf_change_text *in, struct conf_change *c)
{
	while (*in->p != '\0') {
		bool good = words_read(in, c);

		if (*in->p == '\n' || *in->p == ';')
			go_to(in, in->p + 1);
		if (good && (c->n_words > 0 || c->settings != NULL))
			return true;
	}
	return false;
}

// --- items ---

config_setting_t *conf_change_add(
	struct conf_reader *r, const struct conf_change *c, const config_setting_t *settings)
{
	config_setting_t *list = conf_member(r->root, c->list->name);
	config_setting_t *item;

	if (list == NULL) {
		list = config_setting_add(r->root, c->list->name, CONFIG_TYPE_LIST);
		list->file = c->where.file;
		list->line = c->where.line;
	}
	item = config_setting_add(list, NULL, CONFIG_TYPE_GROUP);
	item->file = c->where.file;
	item->line = c->where.line;
	for (int i = 0; i < config_setting_length(settings); i++)
		conf_tree_add(item, config_setting_get_elem(settings, (unsigned int)i));
	return list;
}
