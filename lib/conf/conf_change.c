// SPDX-License-Identifier: BSD-3-Clause
#include "conf_change.h"

#include <string.h>

#include "conf_schema.h"

#define WORDS_MAX 6 // of a change: neighbour set ADDRESS port NAME, and one too many

enum verb { ADD, SET, DEL };

enum place { LAST, FIRST, BEFORE, AFTER };

// What changes are about: the lists of the file that need no restart.
static const char *const lists[] = {"sas", "policies", "rules", "neighbours", "routes"};

static const char *const verbs[] = {[ADD] = "add", [SET] = "set", [DEL] = "del"};

static const char *const places[] = {
	[LAST] = "last", [FIRST] = "first", [BEFORE] = "before", [AFTER] = "after"};

// One change, which stands in text of the request. Texts are in the memory of the configuration
// that is being made.
struct change {
	struct conf_where where;
	const char *word[WORDS_MAX + 1]; // NULL behind the last
	unsigned int n_words;
	// What stands between { and }, and where it begins; NULL: nothing is added or set.
	const char *settings;
	size_t settings_len;
	struct conf_where settings_where;

	// What the words mean:
	enum verb verb;
	const struct conf_option *list; // of conf_schema
	const char *item;               // that is set or deleted; NULL: one is added
	const char *scope;              // "wan" of "port wan"; NULL: does not matter
	enum place place;               // for the one that is added
	const char *beside;             // with BEFORE, AFTER: this item
};

// What has not been read yet of a request; ends with NUL.
struct text {
	struct conf_reader *r;
	const char *p;
	struct conf_where where;
};

// --- words ---

static void go_to(struct text *in, const char *p)
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
static bool settings_read(struct text *in, struct change *c)
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

static void word_read(struct text *in, struct change *c)
{
	size_t len = strcspn(in->p, " \t\r\n;{}#\"");

	len += len == 0; // a quotation mark or a brace
	if (c->n_words < WORDS_MAX)
		c->word[c->n_words++] = conf_format("%.*s", (int)len, in->p);
	go_to(in, in->p + len);
}

// Reads up to the end of the line or the settings. False if that is not possible.
static bool words_read(struct text *in, struct change *c)
{
	*c = (struct change){.where = in->where};
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
static unsigned int word_choose(struct conf_reader *r, const struct change *c, const char *word,
	const char *const words[], unsigned int n, const char *what)
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
static bool end_check(struct conf_reader *r, const struct change *c, const char *word)
{
	if (word != NULL)
		conf_err_at(r, c->where, NULL, "%s %s: unexpected argument %s",
			c->list->schema->noun, verbs[c->verb], conf_quote(word));
	return word == NULL;
}

static bool list_find(struct conf_reader *r, struct change *c)
{
	const char *nouns[RTE_DIM(lists)];
	unsigned int i;

	for (i = 0; i < RTE_DIM(lists); i++)
		nouns[i] = conf_schema_find(&conf_schema, lists[i])->schema->noun;
	i = word_choose(r, c, c->word[0], nouns, RTE_DIM(lists), "object");
	if (i < RTE_DIM(lists))
		c->list = conf_schema_find(&conf_schema, lists[i]);
	return i < RTE_DIM(lists);
}

// word: those behind the verb.
static bool place_parse(struct conf_reader *r, struct change *c, const char *const word[])
{
	const char *noun = c->list->schema->noun;

	if (word[0] == NULL)
		return true;
	if (!c->list->schema->ordered)
		return end_check(r, c, word[0]);
	c->place = word_choose(r, c, word[0], places, RTE_DIM(places), "place");
	if (c->place == RTE_DIM(places))
		return false;
	if (c->place == FIRST || c->place == LAST)
		return end_check(r, c, word[1]);
	c->beside = word[1];
	if (word[1] != NULL)
		return end_check(r, c, word[2]);
	conf_err_at(r, c->where, NULL, "%s add %s: expected the name of a %s", noun,
		places[c->place], noun);
	return false;
}

// word: those behind the verb.
static bool item_parse(struct conf_reader *r, struct change *c, const char *const word[])
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

static bool settings_check(struct conf_reader *r, const struct change *c)
{
	bool given = c->settings != NULL, wanted = c->verb != DEL;

	if (given != wanted)
		conf_err_at(r, c->where, NULL, "%s %s: %s", c->list->schema->noun, verbs[c->verb],
			given ? "takes no settings { }" : "settings { } are missing");
	return given == wanted;
}

static bool words_parse(struct conf_reader *r, struct change *c)
{
	if (c->n_words == 0) {
		conf_err_at(r, c->where, NULL,
			"settings without a command, such as \"sa add\", before them");
		return false;
	}
	if (!list_find(r, c))
		return false;
	if (c->word[1] == NULL) {
		conf_err_at(r, c->where, NULL, "%s: expected one of add, set, del", c->word[0]);
		return false;
	}
	c->verb = word_choose(r, c, c->word[1], verbs, RTE_DIM(verbs), "change");
	if (c->verb == RTE_DIM(verbs))
		return false;
	return (c->verb == ADD ? place_parse(r, c, c->word + 2) : item_parse(r, c, c->word + 2)) &&
	       settings_check(r, c);
}

// Reads the next change that is right, and reports those that are not. False behind the last.
static bool change_next(struct text *in, struct change *c)
{
	while (*in->p != '\0') {
		bool good = words_read(in, c);

		if (*in->p == '\n' || *in->p == ';')
			go_to(in, in->p + 1);
		if (good && (c->n_words > 0 || c->settings != NULL) && words_parse(in->r, c))
			return true;
	}
	return false;
}

// --- what they do ---

static void reject_unknown(
	struct conf_reader *r, const struct change *c, const char *name, struct nearest *near)
{
	const char *noun = c->list->schema->noun;

	if (near->best != NULL)
		conf_err_at(r, c->where, NULL, "there is no %s %s, did you mean \"%s\"?", noun,
			conf_quote(name), near->best);
	else
		conf_err_at(r, c->where, NULL, "there is no %s %s%s", noun, conf_quote(name),
			c->scope != NULL ? conf_format(" %s %s", c->list->schema->scope,
						   conf_quote(c->scope))
					 : "");
}

// The place of an item in its list; -1, after a message, if there is none or more than one.
static int item_find(struct conf_reader *r, const struct change *c, const config_setting_t *list,
	const char *name)
{
	const struct conf_schema *schema = c->list->schema;
	struct nearest near = {.text = name};
	const char *wanted = conf_identity_plain(schema, name);
	int found = -1;

	for (int i = 0; list != NULL && i < config_setting_length(list); i++) {
		const config_setting_t *item = config_setting_get_elem(list, (unsigned int)i);
		const char *text = conf_text_in(item, schema->identity);

		if (strcmp(conf_identity_plain(schema, text), wanted) != 0) {
			nearest_try(&near, text);
		} else if (c->scope != NULL &&
			   strcmp(conf_text_in(item, schema->scope), c->scope) != 0) {
			continue;
		} else if (found >= 0) {
			conf_err_at(r, c->where, NULL,
				"there are several %ss %s, choose one with \"%s NAME\"",
				schema->noun, conf_quote(name), schema->scope);
			return -1;
		} else {
			found = i;
		}
	}
	if (found < 0)
		reject_unknown(r, c, name, &near);
	return found;
}

// Moves the last item of a list to place i.
static void move_last(config_setting_t *list, int i)
{
	config_setting_t **items = list->value.list->elements;
	int last = config_setting_length(list) - 1;
	config_setting_t *item = items[last];

	memmove(&items[i + 1], &items[i], (size_t)(last - i) * sizeof(items[0]));
	items[i] = item;
}

static config_setting_t *list_make(struct conf_reader *r, const struct change *c)
{
	config_setting_t *list = config_setting_add(r->root, c->list->name, CONFIG_TYPE_LIST);

	list->file = c->where.file;
	list->line = c->where.line;
	return list;
}

// Where to put the new item; -1, after a message, if that is nowhere.
static int place_find(struct conf_reader *r, const struct change *c, const config_setting_t *list)
{
	int at;

	if (c->place == FIRST)
		return 0;
	if (c->place == LAST)
		return config_setting_length(list);
	at = item_find(r, c, list, c->beside);
	return at >= 0 && c->place == AFTER ? at + 1 : at;
}

static void item_add(struct conf_reader *r, const struct change *c, config_setting_t *list,
	const config_setting_t *settings)
{
	config_setting_t *item;
	int at;

	if (list == NULL)
		list = list_make(r, c);
	at = place_find(r, c, list);
	if (at < 0)
		return;
	item = config_setting_add(list, NULL, CONFIG_TYPE_GROUP);
	item->file = c->where.file;
	item->line = c->where.line;
	for (int i = 0; i < config_setting_length(settings); i++)
		conf_tree_add(item, config_setting_get_elem(settings, (unsigned int)i));
	move_last(list, at);
}

static void take_out(config_setting_t *item, const char *name)
{
	if (conf_member(item, name) != NULL)
		config_setting_remove(item, name);
}

static void item_set(config_setting_t *item, const config_setting_t *settings)
{
	// A file has both keys.
	if (conf_member(settings, "key_file") != NULL) {
		take_out(item, "cipher_key");
		take_out(item, "auth_key");
	}
	for (int i = 0; i < config_setting_length(settings); i++) {
		const config_setting_t *s = config_setting_get_elem(settings, (unsigned int)i);

		take_out(item, s->name);
		conf_tree_add(item, s);
	}
}

static void change_apply(
	struct conf_reader *r, const struct change *c, const config_setting_t *settings)
{
	config_setting_t *list = conf_member(r->root, c->list->name);
	config_setting_t *item;
	int i;

	if (c->verb == ADD) {
		item_add(r, c, list, settings);
		return;
	}
	i = item_find(r, c, list, c->item);
	if (i < 0)
		return;
	item = config_setting_get_elem(list, (unsigned int)i);
	if (c->verb == SET)
		item_set(item, settings);
	else
		config_setting_remove_elem(list, (unsigned int)i);
}

static void change_read(struct conf_reader *r, const struct change *c)
{
	config_t settings;

	if (c->settings == NULL) {
		change_apply(r, c, NULL);
		return;
	}
	if (conf_text_read(r, &settings, c->settings, c->settings_len, c->settings_where))
		change_apply(r, c, config_root_setting(&settings));
	config_destroy(&settings);
}

struct changing {
	struct conf_reader r;
	const char *name, *text;
	size_t len;
};

static void change_all(void *arg)
{
	struct changing *ch = arg;
	struct conf_reader *r = &ch->r;
	const struct conf_tree *tree = r->running->tree;
	struct conf_where start;
	struct change c;
	struct text in;
	unsigned int n = 0;

	conf_begin(r, tree->dir);
	conf_tree_copy(r->c->tree, tree);
	r->root = config_root_setting(&r->c->tree->file);
	start = (struct conf_where){.file = conf_show(ch->name), .line = 1};
	in = (struct text){r, ch->text, start};
	if (strlen(ch->text) != ch->len)
		conf_err_at(r, start, NULL, "NUL octet, must be text");
	else
		for (; change_next(&in, &c); n++)
			change_read(r, &c);
	if (n == 0 && r->n_messages == 0)
		conf_err_at(r, start, NULL, "no change is given");
	if (r->n_messages == 0)
		conf_read(r);
}

struct conf *conf_change(
	const struct conf *running, const char *name, const char *text, size_t len, FILE *errors)
{
	struct changing ch = {.r.running = running, .name = name, .text = text, .len = len};

	return conf_make(&ch.r, change_all, &ch, name, errors);
}
