// SPDX-License-Identifier: BSD-3-Clause
// Completion in a shell: "culvertctl complete -- WORD..." prints the completions of the last word,
// one on each line with a tab and its help, and ":file" for the name of a file. The files in
// conf/completion hand this to bash, zsh and fish.
//
// A daemon that does not answer ends the program: words that it knows come last.
#include "command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conf_explain.h"
#include "drop.h"
#include "field.h"
#include "instances.h"
#include "pci_nic.h"
#include "query.h"
#include "sysfs.h"

static const char *begun; // the word to complete

// --- abbreviations ---

#define CHOICES_MAX 32

// The keywords that a word may be short for; names are never abbreviated.
static struct choice {
	const char *word;
	bool last; // no word follows
	char *found[CHOICES_MAX];
	size_t n;
	bool equal; // found[0] is the word, or differs from it in number alone
} * choice;         // NULL: words are printed

// Octets of a word without the end of its plural; *y: that was "ies".
static size_t singular(const char *word, bool *y)
{
	size_t len = strlen(word);

	*y = len > 3 && strcmp(word + len - 3, "ies") == 0;
	if (*y)
		return len - 3;
	return len > 1 && word[len - 1] == 's' ? len - 1 : len;
}

// policy and policies, route and routes.
static bool same_but_number(const char *a, const char *b)
{
	bool ya, yb;
	size_t na = singular(a, &ya), nb = singular(b, &yb);

	na -= yb && !ya && na > 1 && a[na - 1] == 'y';
	nb -= ya && !yb && nb > 1 && b[nb - 1] == 'y';
	return na == nb && strncmp(a, b, na) == 0;
}

static void choice_add(const char *word)
{
	bool same = strcmp(choice->word, word) == 0;

	if (choice->equal && !same)
		return;
	if (same || same_but_number(choice->word, word)) {
		choice->n = 0;
		choice->equal = true;
	} else if (strncmp(word, choice->word, strlen(choice->word)) != 0) {
		return;
	}
	if (choice->n < CHOICES_MAX)
		choice->found[choice->n++] = strdup(word);
}

static void offer(const char *word, const char *help)
{
	if (choice != NULL) {
		choice_add(word);
		return;
	}
	if (strncmp(word, begun, strlen(begun)) != 0)
		return;
	output_text(stdout, word);
	putchar('\t');
	output_text(stdout, help);
	putchar('\n');
	fflush(stdout); // a query may end the program
}

static void offer_words(const char *const *words)
{
	for (; *words != NULL; words++)
		offer(*words, "");
}

// A name is completed, but never abbreviated.
static void offer_name(const char *name, const char *help)
{
	if (choice == NULL)
		offer(name, help);
}

// --- words of the daemon ---

static void value_offer(json_t *seen, const json_t *value)
{
	char number[24];
	const char *text = json_string_value(value);

	if (json_is_integer(value)) {
		snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(value));
		text = number;
	}
	if (text == NULL || text[0] == '\0' || strpbrk(text, " ,") != NULL ||
		json_object_get(seen, text) != NULL)
		return;
	json_object_set_new(seen, text, json_true());
	offer(text, "");
}

// The values of a field in a list, each once.
static void values_offer(
	const struct options *options, const char *list, const char *filter, const char *field)
{
	json_t *objects, *seen, *object;
	size_t i;

	if (choice != NULL)
		return;
	objects = query_get(instance_choose(options->instance), list, filter);
	seen = json_object();

	json_array_foreach(objects, i, object) value_offer(seen, json_object_get(object, field));
	json_decref(seen);
	json_decref(objects);
}

static void names_offer(const struct options *options, const char *list, const char *filter)
{
	values_offer(options, list, filter, field_key(list));
}

static void reasons_offer(void)
{
	for (enum drop d = 1; d < DROP_COUNT; d++)
		offer(drop_info[d].name, drop_info[d].help);
}

// --- lists and filters ---

static void filters_offer(const struct query_list *list)
{
	const char *filter;

	for (unsigned int i = 0; (filter = query_filter(list, i)) != NULL; i++)
		offer(filter, "");
}

// The values of a filter: of flows and traces, whose filters are no fields, the names of objects.
static void filter_values_offer(
	const struct options *options, const struct query_list *list, const char *filter)
{
	static const char *const protos[] = {"tcp", "udp", "icmp", "icmpv6", "sctp", "esp", NULL};
	static const char *const lists[][2] = {{"sa", "sas"}, {"nat", "nat"},
		{"policy", "policies"}, {"in", "ports"}, {"out", "ports"}};

	if (list->filters == NULL) {
		values_offer(options, list->word, "", filter);
		return;
	}
	if (strcmp(filter, "proto") == 0)
		offer_words(protos);
	if (strcmp(filter, "drop") == 0) {
		offer("any", "");
		reasons_offer();
	}
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		if (strcmp(filter, lists[i][0]) == 0)
			names_offer(options, lists[i][1], "");
	if (strcmp(filter, "state") == 0)
		values_offer(options, list->word, "", filter);
}

// n words of pairs, a filter and its value.
static void pairs_offer(
	const struct options *options, const struct query_list *list, char **words, size_t n)
{
	if (n % 2 == 0 && (choice == NULL || !choice->last)) // else it is the name of an object
		filters_offer(list);
	if (n % 2 == 1)
		filter_values_offer(options, list, words[n - 1]);
}

static const struct query_list *list_of(const char *word)
{
	for (size_t i = 0; i < query_n_lists; i++)
		if (strcmp(query_lists[i].word, word) == 0)
			return &query_lists[i];
	return NULL;
}

void complete_show(const struct options *options, char **words, size_t n)
{
	const struct query_list *list;
	bool all;

	if (n == 0) {
		for (size_t i = 0; i < query_n_lists; i++)
			offer(query_lists[i].word, query_lists[i].help);
		offer("config", "running configuration");
		return;
	}
	list = list_of(words[0]);
	if (list == NULL || list->positions != NULL)
		return;
	if (n == 1 && strcmp(list->word, "drops") == 0)
		offer("all", "also reasons with none");
	all = n > 1 && strcmp(words[1], "all") == 0;
	pairs_offer(options, list, words + 1 + all, n - 1 - all);
	if (n == 1 && list->filters == NULL && field_key(list->word) != NULL)
		names_offer(options, list->word, "");
}

void complete_flush(const struct options *options, char **words, size_t n)
{
	static const char *const lists[] = {"flows", "neighbours", NULL};

	if (n == 0)
		offer_words(lists);
	else if (list_of(words[0]) != NULL)
		pairs_offer(options, list_of(words[0]), words + 1, n - 1);
}

void complete_revisions(const struct options *options, char **words, size_t n)
{
	(void)words;
	if (n < 2)
		names_offer(options, "history", "");
}

void complete_group(const struct options *options, char **words, size_t n)
{
	static const char *const roles[] = {"active", "standby", "drain", NULL};

	(void)words;
	if (n == 0)
		names_offer(options, "groups", "");
	if (n == 1)
		offer_words(roles);
}

void complete_drain(const struct options *options, char **words, size_t n)
{
	static const char *const states[] = {"now", "off", NULL};

	(void)options, (void)words;
	if (n == 0)
		offer_words(states);
}

void complete_ping(const struct options *options, char **words, size_t n)
{
	(void)words;
	if (n == 0)
		names_offer(options, "tunnels", "");
}

void complete_trace(const struct options *options, char **words, size_t n)
{
	pairs_offer(options, &query_trace, words, n);
}

// --- changes ---

void complete_change(const struct options *options, char **words, size_t n)
{
	static const char *const verbs[] = {"add", "set", "del", NULL};
	static const char *const states[] = {"down", "up", NULL};
	static const char *const places[] = {"first", "last", "before", "after", NULL};
	const struct conf_kind_info *kind = conf_kinds;
	bool add = n > 0 && strcmp(words[0], "add") == 0;

	while (strcmp(kind->noun, words[-1]) != 0)
		kind++;
	if (n == 0)
		offer_words(verbs);
	if (n == 0 && kind == &conf_kinds[CONF_TUNNEL])
		offer_words(states);
	if (n == 1 && add && kind->ordered)
		offer_words(places);
	else if ((n == 1 && !add) ||
		 (n == 2 && add && kind->ordered && word_is_of("before, after", words[1])))
		names_offer(options, kind->list,
			kind == &conf_kinds[CONF_NEIGHBOUR] ? ",state=static" : "");
}

// --- words without the daemon ---

static void setting_offer(void *arg, const struct conf_explanation *e)
{
	(void)arg;
	offer(e->setting, "a setting");
}

void complete_explain(const struct options *options, char **words, size_t n)
{
	(void)options, (void)words;
	if (n > 0)
		return;
	offer("settings", "all settings");
	offer("schema", "JSON Schema of the settings");
	reasons_offer();
	conf_explain(setting_offer, NULL);
}

void complete_clear(const struct options *options, char **words, size_t n)
{
	(void)options, (void)words;
	if (n == 0)
		offer("undo", "count from the start again");
}

void complete_commands(const struct options *options, char **words, size_t n)
{
	(void)options, (void)words;
	for (size_t i = 0; n == 0 && i < n_commands; i++)
		offer(commands[i].name, commands[i].help);
}

void complete_file(const struct options *options, char **words, size_t n)
{
	(void)options, (void)words;
	if (n == 0 && choice == NULL)
		puts(":file");
}

void complete_devices(const struct options *options, char **words, size_t n)
{
	struct pci_nic *nics = NULL;
	int count = pci_nics_read(&nics, SYSFS);

	(void)options, (void)words, (void)n;
	for (int i = 0; i < count; i++)
		offer_name(nics[i].name, nics[i].interface);
	free(nics);
}

static void instances_offer(void)
{
	json_t *found = instances_find(), *object;
	size_t i;

	json_array_foreach(found, i, object) offer(object_text(object, "instance"), "");
	json_decref(found);
}

// --- the command line ---

// The option that a word is; NULL: it is none.
static const struct option_row *option_of(const char *word)
{
	for (const struct option_row *o = option_rows; o < option_rows + n_option_rows; o++)
		if ((strncmp(word, "--", 2) == 0 && strcmp(word + 2, o->name) == 0) ||
			(word[0] == '-' && o->letter != 0 && word[1] == o->letter &&
				word[2] == '\0'))
			return o;
	return NULL;
}

static void options_offer(const char *command)
{
	char name[32];

	for (const struct option_row *o = option_rows; o < option_rows + n_option_rows; o++) {
		snprintf(name, sizeof(name), "--%s", o->name);
		if (option_is_of(o, command))
			offer(name, o->help);
	}
}

static void argument_offer(const struct option_row *o)
{
	static const char *const drivers[] = {"vfio-pci", "uio_pci_generic", NULL};

	if (o->letter == 'i')
		instances_offer();
	else if (o->offset == offsetof(struct options, driver))
		offer_words(drivers);
}

// Takes options and their arguments out of the words, up to the one that is completed: returns how
// many remain. *last: the option whose argument that is; NULL: it is none.
static size_t options_take(struct options *options, char **words, const struct option_row **last)
{
	size_t n = 0;

	*last = NULL;
	for (char **w = words; w[0] != NULL && w[1] != NULL; w++) {
		const struct option_row *o = *last == NULL ? option_of(*w) : NULL;

		if (*last != NULL && (*last)->letter == 'i')
			options->instance = *w;
		else if (*last == NULL && w[0][0] != '-')
			words[n++] = *w;
		*last = o != NULL && o->arg != NULL ? o : NULL;
	}
	return n;
}

// Prints or chooses among the words that may follow n words.
static void words_offer(const struct options *options, char **words, size_t n)
{
	const struct command *c = n > 0 ? command_find(words[0]) : NULL;

	if (n == 0)
		complete_commands(options, words, 0);
	else if (c != NULL && c->complete != NULL)
		c->complete(options, words + 1, n - 1);
}

static void ambiguous(const struct choice *c)
{
	fprintf(stderr, "%s: \"%s\" is ambiguous:", program_invocation_short_name, c->word);
	for (size_t i = 0; i < c->n; i++)
		fprintf(stderr, "%s %s", i > 0 ? "," : "", c->found[i]);
	putc('\n', stderr);
	exit(EXIT_USAGE);
}

// The keyword that a word is short for, or the word.
static char *word_expand(
	const struct options *options, char **words, size_t n, char *word, bool last)
{
	struct choice c = {.word = word, .last = last};

	choice = &c;
	words_offer(options, words, n);
	choice = NULL;
	if (c.n > 1)
		ambiguous(&c);
	return c.n == 1 ? c.found[0] : word;
}

void complete_abbreviations(const struct options *options, char **words, size_t n)
{
	char **plain = calloc(n + 1, sizeof(*plain)); // words that are no options
	size_t n_plain = 0;
	bool argument = false; // of an option

	for (size_t i = 0; plain != NULL && i < n; i++) {
		const struct option_row *o = argument ? NULL : option_of(words[i]);

		if (!argument && words[i][0] != '-' && words[i][0] != '{') {
			plain[n_plain] = NULL;
			words[i] = word_expand(
				options, plain, n_plain, words[i], words[i + 1] == NULL);
			plain[n_plain++] = words[i];
		}
		argument = o != NULL && o->arg != NULL;
	}
	free(plain);
}

enum exit_code command_complete(const struct options *options, char **words)
{
	struct options given = *options;
	const struct option_row *argument;
	size_t n = 0;

	begun = "";
	for (char **w = words; *w != NULL; w++)
		begun = *w;
	n = options_take(&given, words, &argument);
	if (argument != NULL) {
		argument_offer(argument);
	} else if (n > 0 && begun[0] == '-') {
		options_offer(words[0]);
	} else {
		words_offer(&given, words, n);
		if (n == 0)
			options_offer("");
	}
	return EXIT_OK;
}
