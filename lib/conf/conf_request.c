// SPDX-License-Identifier: BSD-3-Clause
#include "conf_request.h"

#include <string.h>

#define WORDS_MAX 6 // of a change: neighbour set ADDRESS port NAME, and one too many

// What changes are about: the lists of the file that need no restart.
static const char *const lists[] = {"sas", "policies", "rules", "neighbours", "routes"};

static const char *const verbs[] = {[CONF_ADD] = "add", [CONF_SET] = "set", [CONF_DEL] = "del"};

static const char *const places[] = {[CONF_LAST] = "last",
	[CONF_FIRST] = "first",
	[CONF_BEFORE] = "before",
	[CONF_AFTER] = "after"};

// A change as words, before it is known what they mean.
struct sentence {
	struct conf_where where;
	const char *word[WORDS_MAX + 1]; // NULL behind the last
	unsigned int n_words;
	const char *settings; // NULL: none
	size_t settings_len;
	struct conf_where settings_where;
};

static void go_to(struct conf_request_reader *in, const char *p)
{
	for (; in->p < p; in->p++)
		if (*in->p == '\n')
			in->where.line++;
}

static const char *line_end(const char *p)
{
	return p + strcspn(p, "\n");
}

// Behind a comment, if one begins at p.
static const char *skip_comment(const char *p)
{
	const char *end;

	if (*p == '#' || (p[0] == '/' && p[1] == '/'))
		return line_end(p);
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
static bool settings_read(struct conf_request_reader *in, struct sentence *s)
{
	const char *end = closing(in->p);

	if (end == NULL) {
		conf_err_at(in->r, in->where, NULL, "settings are not closed, must end with }");
		go_to(in, in->p + strlen(in->p));
		return false;
	}
	s->settings_where = in->where;
	s->settings = in->p + 1;
	s->settings_len = (size_t)(end - s->settings);
	go_to(in, end + 1);
	return true;
}

static void word_read(struct conf_request_reader *in, struct sentence *s)
{
	size_t len = strcspn(in->p, " \t\r\n;{}#\"");

	len += len == 0; // a quotation mark or a brace
	if (s->n_words < WORDS_MAX)
		s->word[s->n_words++] = conf_format("%.*s", (int)len, in->p);
	go_to(in, in->p + len);
}

// Reads up to the end of the line or the settings. False if that is not possible.
static bool sentence_read(struct conf_request_reader *in, struct sentence *s)
{
	*s = (struct sentence){.where = in->where};
	while (*in->p != '\0' && *in->p != '\n' && *in->p != ';') {
		const char *behind = skip_comment(in->p);

		if (*in->p == '{')
			return settings_read(in, s);
		if (behind != in->p)
			go_to(in, behind);
		else if (strchr(" \t\r", *in->p) != NULL)
			in->p++;
		else
			word_read(in, s);
	}
	return true;
}

// The number of a word; n, after a message, if it is none of them.
static unsigned int word_choose(struct conf_reader *r, const struct sentence *s, const char *word,
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
	conf_err_at(r, s->where, NULL, "unknown %s %s, %s", what, conf_quote(word),
		conf_hint(&near, conf_format("must be one of %s", all)));
	return n;
}

// False, after a message, if there is a further word.
static bool end_check(struct conf_reader *r, const struct sentence *s, const struct conf_request *c,
	const char *word)
{
	if (word != NULL)
		conf_err_at(r, s->where, NULL, "%s %s: unexpected argument %s",
			c->list->schema->noun, verbs[c->verb], conf_quote(word));
	return word == NULL;
}

static bool list_find(struct conf_reader *r, const struct sentence *s, struct conf_request *out)
{
	const char *nouns[RTE_DIM(lists)];
	unsigned int i;

	for (i = 0; i < RTE_DIM(lists); i++)
		nouns[i] = conf_schema_find(&conf_schema, lists[i])->schema->noun;
	i = word_choose(r, s, s->word[0], nouns, RTE_DIM(lists), "object");
	if (i == RTE_DIM(lists))
		return false;
	out->list = conf_schema_find(&conf_schema, lists[i]);
	return true;
}

// word: those behind the verb.
static bool place_read(struct conf_reader *r, const struct sentence *s, const char *const word[],
	struct conf_request *out)
{
	const char *noun = out->list->schema->noun;
	unsigned int place;

	if (word[0] == NULL)
		return true;
	if (!out->list->schema->ordered)
		return end_check(r, s, out, word[0]);
	place = word_choose(r, s, word[0], places, RTE_DIM(places), "place");
	if (place == RTE_DIM(places))
		return false;
	out->place = place;
	if (place == CONF_BEFORE || place == CONF_AFTER) {
		out->beside = word[1];
		if (word[1] == NULL) {
			conf_err_at(r, s->where, NULL, "%s add %s: expected the name of a %s", noun,
				places[place], noun);
			return false;
		}
		word++;
	}
	return end_check(r, s, out, word[1]);
}

// word: those behind the verb.
static bool item_read(struct conf_reader *r, const struct sentence *s, const char *const word[],
	struct conf_request *out)
{
	const struct conf_schema *schema = out->list->schema;

	out->item = word[0];
	if (word[0] == NULL) {
		conf_err_at(r, s->where, NULL, "%s %s: its %s is missing", schema->noun,
			verbs[out->verb], schema->identity);
		return false;
	}
	if (schema->scope != NULL && word[1] != NULL && strcmp(word[1], schema->scope) == 0 &&
		word[2] != NULL) {
		out->scope = word[2];
		word += 2;
	}
	return end_check(r, s, out, word[1]);
}

static bool settings_check(
	struct conf_reader *r, const struct sentence *s, const struct conf_request *c)
{
	const char *noun = c->list->schema->noun, *verb = verbs[c->verb];

	if (c->verb == CONF_DEL && s->settings != NULL)
		conf_err_at(r, s->where, NULL, "%s %s: takes no settings { }", noun, verb);
	else if (c->verb != CONF_DEL && s->settings == NULL)
		conf_err_at(r, s->where, NULL, "%s %s: settings { } are missing", noun, verb);
	else
		return true;
	return false;
}

static bool sentence_parse(
	struct conf_reader *r, const struct sentence *s, struct conf_request *out)
{
	unsigned int verb;

	*out = (struct conf_request){.where = s->where};
	if (s->n_words == 0) {
		conf_err_at(r, s->where, NULL,
			"settings without a command, such as \"sa add\", before them");
		return false;
	}
	if (!list_find(r, s, out))
		return false;
	if (s->word[1] == NULL) {
		conf_err_at(r, s->where, NULL, "%s: expected one of add, set, del", s->word[0]);
		return false;
	}
	verb = word_choose(r, s, s->word[1], verbs, RTE_DIM(verbs), "change");
	if (verb == RTE_DIM(verbs))
		return false;
	out->verb = verb;
	out->settings = s->settings;
	out->settings_len = s->settings_len;
	out->settings_where = s->settings_where;
	return (verb == CONF_ADD ? place_read(r, s, s->word + 2, out)
				 : item_read(r, s, s->word + 2, out)) &&
	       settings_check(r, s, out);
}

bool conf_request_next(struct conf_request_reader *in, struct conf_request *out)
{
	struct sentence s;

	while (*in->p != '\0') {
		bool good = sentence_read(in, &s);

		if (*in->p == '\n' || *in->p == ';')
			go_to(in, in->p + 1);
		if (good && (s.n_words > 0 || s.settings != NULL) && sentence_parse(in->r, &s, out))
			return true;
	}
	return false;
}
