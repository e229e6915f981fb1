// SPDX-License-Identifier: BSD-3-Clause
#include "conf_change_text.h"

#include <string.h>

static const char *const verbs[] = {[CONF_ADD] = "add", [CONF_SET] = "set", [CONF_DEL] = "del"};

static const char *const places[] = {[CONF_LAST] = "last",
	[CONF_FIRST] = "first",
	[CONF_BEFORE] = "before",
	[CONF_AFTER] = "after"};

// --- words ---

static void go_to(struct conf_record *in, const char *p)
{
	for (; in->p < p; in->p++)
		if (*in->p == '\n')
			in->where.line++;
}

// Returns the end of a comment, if one begins at p.
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
static bool settings_read(struct conf_record *in, struct conf_words *w)
{
	const char *end = closing(in->p);

	if (end == NULL) {
		conf_err_at(in->r, in->where, NULL, "settings are not closed, must end with }");
		go_to(in, in->p + strlen(in->p));
		return false;
	}
	w->settings_where = in->where;
	w->settings = in->p + 1;
	w->settings_len = (size_t)(end - w->settings);
	go_to(in, end + 1);
	return true;
}

static void word_read(struct conf_record *in, struct conf_words *w)
{
	size_t len = strcspn(in->p, " \t\r\n;{}#\"");

	len += len == 0; // a quotation mark or a brace
	if (w->n < CONF_WORDS_MAX)
		w->word[w->n++] = conf_format("%.*s", (int)len, in->p);
	go_to(in, in->p + len);
}

// Reads up to the end of the line or the settings. False if that is not possible.
static bool words_read(struct conf_record *in, struct conf_words *w)
{
	*w = (struct conf_words){.where = in->where};
	while (*in->p != '\0' && *in->p != '\n' && *in->p != ';') {
		const char *behind = skip_comment(in->p);

		if (*in->p == '{')
			return settings_read(in, w);
		if (behind != in->p)
			go_to(in, behind);
		else if (strchr(" \t\r", *in->p) != NULL)
			in->p++;
		else
			word_read(in, w);
	}
	return true;
}

// --- meaning ---

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
			conf_kinds[c->kind].noun, verbs[c->verb], conf_quote(word));
	return word == NULL;
}

// Whether a record may be about items of this kind: they need no restart, and an IKE daemon has
// some.
static bool is_allowed(const struct conf_reader *r, enum conf_kind kind)
{
	bool allowed = !r->ike && !conf_kind_needs_restart(kind);

	for (const struct conf_option *o = conf_kinds[kind].options; r->ike && o->name != NULL; o++)
		allowed |= (o->only & CONF_ONLY_IKE) != 0;
	return allowed;
}

static bool kind_find(struct conf_reader *r, const char *word, struct conf_change *c)
{
	enum conf_kind kinds[CONF_KINDS];
	const char *nouns[CONF_KINDS];
	unsigned int n = 0, i;

	// Kinds of most changes come first, for messages.
	for (i = 0; i < CONF_KINDS; i++) {
		kinds[n] = i < CONF_KINDS - CONF_SA ? CONF_SA + i : CONF_KINDS - 1 - i;
		nouns[n] = conf_kinds[kinds[n]].noun;
		n += is_allowed(r, kinds[n]);
	}
	i = word_choose(r, c, word, nouns, n, "object");
	if (i < n)
		c->kind = kinds[i];
	return i < n;
}

// word: the words after the verb.
static bool place_parse(struct conf_reader *r, struct conf_change *c, const char *const word[])
{
	const struct conf_kind_info *kind = &conf_kinds[c->kind];

	if (word[0] == NULL)
		return true;
	if (!kind->ordered)
		return end_check(r, c, word[0]);
	c->place = word_choose(r, c, word[0], places, RTE_DIM(places), "place");
	if (c->place == RTE_DIM(places))
		return false;
	if (c->place == CONF_FIRST || c->place == CONF_LAST)
		return end_check(r, c, word[1]);
	c->beside = word[1];
	if (word[1] != NULL)
		return end_check(r, c, word[2]);
	conf_err_at(r, c->where, NULL, "%s add %s: expected the name of a %s", kind->noun,
		places[c->place], kind->noun);
	return false;
}

// word: the words after the verb.
static bool name_parse(struct conf_reader *r, struct conf_change *c, const char *const word[])
{
	const struct conf_kind_info *kind = &conf_kinds[c->kind];

	c->name = word[0];
	if (word[0] == NULL) {
		conf_err_at(r, c->where, NULL, "%s %s: its %s is missing", kind->noun,
			verbs[c->verb], kind->identity);
		return false;
	}
	if (kind->scope != NULL && word[1] != NULL && strcmp(word[1], kind->scope) == 0 &&
		word[2] != NULL) {
		c->name = conf_format("%s %s %s", word[0], word[1], word[2]);
		word += 2;
	}
	return end_check(r, c, word[1]);
}

bool conf_change_parse(struct conf_reader *r, const struct conf_words *w, struct conf_change *c)
{
	bool given = w->settings != NULL;

	*c = (struct conf_change){.where = w->where};
	if (w->n == 0) {
		conf_err_at(r, c->where, NULL,
			"settings without a command, such as \"sa add\", before them");
		return false;
	}
	if (!kind_find(r, w->word[0], c))
		return false;
	if (w->word[1] == NULL) {
		conf_err_at(r, c->where, NULL, "%s: expected one of add, set, del", w->word[0]);
		return false;
	}
	c->verb = word_choose(r, c, w->word[1], verbs, RTE_DIM(verbs), "change");
	if (c->verb == RTE_DIM(verbs) || !(c->verb == CONF_ADD ? place_parse(r, c, w->word + 2)
							       : name_parse(r, c, w->word + 2)))
		return false;
	if (given != (c->verb != CONF_DEL))
		conf_err_at(r, c->where, NULL, "%s %s: %s", w->word[0], w->word[1],
			given ? "takes no settings { }" : "settings { } are missing");
	return given == (c->verb != CONF_DEL);
}

bool conf_change_settings(struct conf_reader *r, const struct conf_words *w, struct conf_change *c,
	config_t *settings)
{
	config_init(settings);
	if (w->settings == NULL)
		return true;
	if (!conf_text_read(r, settings, w->settings, w->settings_len, w->settings_where))
		return false;
	c->settings = config_root_setting(settings);
	return true;
}

bool conf_record_begin(struct conf_record *in, struct conf_reader *r)
{
	const struct conf_where start = {.file = conf_show(r->name), .line = 1};

	*in = (struct conf_record){r, r->text, start, start, 0};
	if (strlen(r->text) == r->len)
		return true;
	conf_err_at(r, start, NULL, "NUL octet, must be text");
	return false;
}

bool conf_record_next(struct conf_record *in, struct conf_words *w)
{
	while (*in->p != '\0') {
		bool good = words_read(in, w);

		if (*in->p == '\n' || *in->p == ';')
			go_to(in, in->p + 1);
		if (good && (w->n > 0 || w->settings != NULL)) {
			in->n++;
			return true;
		}
	}
	if (in->n == 0 && in->r->n_messages == 0)
		conf_err_at(in->r, in->start, NULL, "no change is given");
	return false;
}

// --- lists ---

config_setting_t *conf_change_add(struct conf_reader *r, const struct conf_change *c)
{
	const char *name = conf_kinds[c->kind].list;
	config_setting_t *list = conf_member(r->root, name);
	config_setting_t *item;

	if (list == NULL) {
		list = config_setting_add(r->root, name, CONFIG_TYPE_LIST);
		list->file = c->where.file;
		list->line = c->where.line;
	}
	item = config_setting_add(list, NULL, CONFIG_TYPE_GROUP);
	item->file = c->where.file;
	item->line = c->where.line;
	for (int i = 0; i < config_setting_length(c->settings); i++)
		conf_tree_add(
			item, config_setting_get_elem(c->settings, (unsigned int)i), c->where.file);
	return list;
}
