// SPDX-License-Identifier: BSD-3-Clause
// culvertctl help: what there is, and what there is about one command.
#include <err.h>
#include <string.h>

#include "commands.h"
#include "query.h"

// What several commands have in common.
static const struct topic {
	const char *commands;
	const char *text;
	void (*print)(FILE *out); // behind the text; NULL: nothing
} topics[] = {
	{"show, watch", "Lists for show:\n", query_help},
	{"show, watch, flush",
		"Filters of a list are its columns but for counters, as show LIST --wide has them; "
		"an "
		"object must match all of them:\n"
		"  remote ADDRESS|PREFIX, ...          addresses that overlap\n"
		"  state VALUE, spi VALUE, ...         as the list shows it; - for none\n",
		NULL},
	{"show, watch, flush",
		"Flow filters; a flow must match all of them:\n"
		"  address ADDRESS|PREFIX, port PORT   source or destination\n"
		"  proto NAME|NUMBER, state STATE      as the list shows them\n"
		"  sa NAME                             of either direction\n",
		NULL},
	{"trace",
		"Trace filters; the outer or the inner packet must match all of them:\n"
		"  address ADDRESS|PREFIX, port PORT, proto NAME|NUMBER\n"
		"  sa NAME, spi NUMBER, policy NAME\n"
		"  in PORT, out PORT                   of the gateway, by name\n"
		"  drop REASON|any                     dropped packets\n",
		NULL},
	{"sa, policy, rule, neighbour, route, apply",
		"Changes last until the next reload --discard or restart. SETTINGS are as in the "
		"file, or "
		"- for standard input:\n"
		"  sa add SETTINGS                     also: policy, rule, neighbour, route\n"
		"  sa set NAME SETTINGS                other settings of the SA do not change\n"
		"  sa del NAME                         NAME of a neighbour: its address [port "
		"PORT]\n"
		"                                      of a route: its target [source ADDRESS]\n"
		"  policy add before NAME SETTINGS     or: after NAME, first, last; also for "
		"rules\n",
		NULL},
};

// Of one command, or of all with the commands that they are for.
static void options_print(FILE *out, const char *command)
{
	for (const struct option_row *o = option_rows; o < option_rows + n_option_rows; o++) {
		bool lettered = o->value < OPTION_VERSION;
		int used;

		if (command != NULL && !option_is_of(o, command))
			continue;
		used = lettered ? fprintf(out, "  -%c, ", o->value) : fprintf(out, "      ");
		used += fprintf(out, "--%s", o->name);
		used += o->arg != NULL ? fprintf(out, " %s", o->arg) : 0;
		fprintf(out, "%*s  ", 21 - used, "");
		if (command == NULL && o->commands != NULL)
			fprintf(out, "%s: ", o->commands);
		fprintf(out, "%s\n", o->help);
	}
}

static void topics_print(FILE *out, const char *command)
{
	for (size_t i = 0; i < sizeof(topics) / sizeof(topics[0]); i++) {
		if (command != NULL && !word_is_of(topics[i].commands, command))
			continue;
		fprintf(out, "\n%s", topics[i].text);
		if (topics[i].print != NULL)
			topics[i].print(out);
	}
}

void help_print(FILE *out)
{
	fputs("Usage: culvertctl [-i INSTANCE] [--json] COMMAND\n"
	      "\n"
	      "Inspects a running culvertd, and changes its configuration at run time.\n"
	      "\n",
		out);
	for (size_t i = 0; i < n_commands; i++)
		fprintf(out, "  %s%-*s  %s\n", commands[i].name,
			(int)(30 - strlen(commands[i].name)), commands[i].synopsis,
			commands[i].help);
	putc('\n', out);
	options_print(out, NULL);
	topics_print(out, NULL);
	fputs("\nExit codes: 0 success, 1 failure, 2 usage error.\n", out);
}

static void help_print_command(const struct command *c)
{
	printf("Usage: culvertctl [OPTION]... %s%s\n\n%s.\n\n", c->name, c->synopsis, c->help);
	options_print(stdout, c->name);
	topics_print(stdout, c->name);
}

enum exit_code command_help(const struct options *options, char **words)
{
	const struct command *c;

	(void)options;
	if (words[0] == NULL) {
		help_print(stdout);
		return EXIT_OK;
	}
	if (words[1] != NULL)
		errx(EXIT_USAGE, "help: unexpected argument \"%s\"", words[1]);
	c = command_find(words[0]);
	if (c == NULL)
		return command_unknown(words[0]);
	help_print_command(c);
	return EXIT_OK;
}
