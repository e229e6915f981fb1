// SPDX-License-Identifier: BSD-3-Clause
// culvertctl: shows what a running culvertd is doing, and flushes its flows. This file reads the
// command line.
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "nearest.h"
#include "show.h"

static enum exit_code command_help(const struct options *options, char **words);

static const struct command {
	const char *name;
	const char *synopsis; // what follows the name
	const char *help;
	enum exit_code (*run)(const struct options *options, char **words);
} commands[] = {
	{"show", " LIST [NAME|FILTER VALUE...]",
		"shows a list, or one object with all fields; see below", command_show},
	{"top", " [--once]", "live view: rates of ports, workers, SAs, drops; q ends it",
		command_top},
	{"watch", " [SECONDS] show ...", "shows it again and again, with rates; q ends it",
		command_watch},
	{"trace", " [FILTER VALUE]...", "what happens to the next packets, step by step; see below",
		command_trace},
	{"events", " [--run COMMAND]", "events as they come: tunnels, links, lifetimes, reloads",
		command_events},
	{"explain", " [REASON]", "what a drop reason means and what to do about it; all of them",
		command_explain},
	{"clear", " [undo]", "show counters since now, or since the start again; metrics go on",
		command_clear},
	{"flush", " flows [FILTER VALUE]...", "has flows forgotten: what goes on is judged anew",
		command_flush},
	{"diff", "", "what a reload would change; exit code 0: nothing, 1: something, 2: failed",
		command_diff},
	{"save", "", "prints the changes, for apply, from the file to what runs; keys excepted",
		command_save},
	{"reload", "", "has the configuration read again; what is wrong with it, if it is refused",
		command_reload},
	{"sa", " add|set|del ...", "changes security associations without the file, see below",
		command_change},
	{"policy", " add|set|del ...", "changes policies", command_change},
	{"rule", " add|set|del ...", "changes firewall rules", command_change},
	{"neighbour", " add|set|del ...", "changes static neighbours", command_change},
	{"route", " add|set|del ...", "changes routes", command_change},
	{"apply", " FILE|-", "makes all changes in a file, or none", command_apply},
	{"keygen", " FILE [CIPHER [AUTH]]", "writes a key file with new random keys",
		command_keygen},
	{"peer-config", " FILE", "prints the SAs and policies of the other end of the tunnels",
		command_peer_config},
	{"list", "", "the running instances", command_list},
	{"help", "", "this", command_help},
};

#define PACKETS_MAX 1000
#define SECONDS_MAX 3600

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void usage_print(FILE *out)
{
	fputs("Usage: culvertctl [-i INSTANCE] [--json] COMMAND\n"
	      "\n"
	      "Shows what a running culvertd is doing, and changes its configuration while it "
	      "runs.\n"
	      "\n",
		out);
	for (size_t i = 0; i < N_COMMANDS; i++)
		fprintf(out, "  %s%-*s  %s\n", commands[i].name,
			(int)(30 - strlen(commands[i].name)), commands[i].synopsis,
			commands[i].help);
	fputs("\n"
	      "  -i, --instance NAME  the daemon of that name; needed if several are running\n"
	      "      --json           JSON, for programs\n"
	      "      --once           top: one picture\n"
	      "      --wide           show, watch: all columns of a table\n"
	      "      --new-keys       reload, sa, apply: keys without sequence numbers are new\n"
	      "  -n, --count N        trace: so many packets, 1 to 1000; 10\n"
	      "  -s, --seconds N      trace: for so long at most; 60\n"
	      "      --run COMMAND    events: a shell runs it for each, with CULVERT_EVENT=..., "
	      "one "
	      "by one\n"
	      "  -h, --help\n"
	      "      --version\n"
	      "\n"
	      "There are to show:\n",
		out);
	show_help(out);
	fputs("  config      the configuration, changes included, as a file; without keys\n", out);
	fputs("\n"
	      "Filters of flows; all that are given have to hold:\n"
	      "  address ADDRESS|PREFIX, port PORT   of either end\n"
	      "  proto NAME|NUMBER, state STATE      as the list shows them\n"
	      "  sa NAME                             of either direction\n"
	      "\nFilters of trace; all have to hold, of an ESP packet or of what is in it:\n"
	      "  address ADDRESS|PREFIX, port PORT, proto NAME|NUMBER\n"
	      "  sa NAME, spi NUMBER, policy NAME\n"
	      "  in PORT, out PORT                   of the gateway, by name\n"
	      "  drop REASON|any                     packets that are dropped\n"
	      "\n"
	      "Changes last until the next reload or restart. SETTINGS are those of the file, - "
	      "reads them:\n"
	      "  sa add SETTINGS                     the same with policy, rule, neighbour, route\n"
	      "  sa set NAME SETTINGS                these; its others stay\n"
	      "  sa del NAME                         a route's is its target, a neighbour's its "
	      "address\n"
	      "  policy add before NAME SETTINGS     or: after NAME, first, last; of rules, too\n"
	      "\nExit codes: 0 done, 1 failed, 2 the command line needs a change.\n",
		out);
}

static enum exit_code command_help(const struct options *options, char **words)
{
	(void)options;
	if (words[0] != NULL) {
		warnx("help: \"%s\" is one word too many", words[0]);
		return EXIT_USAGE;
	}
	usage_print(stdout);
	return EXIT_OK;
}

static enum exit_code command_unknown(const char *word)
{
	struct nearest nearest;

	nearest_init(&nearest, word);
	for (size_t i = 0; i < N_COMMANDS; i++)
		nearest_try(&nearest, commands[i].name);
	fprintf(stderr, "%s: \"%s\" is no command", program_invocation_short_name, word);
	if (nearest.best != NULL)
		fprintf(stderr, ", did you mean \"%s\"? There are:", nearest.best);
	else
		fputs(", there are:", stderr);
	for (size_t i = 0; i < N_COMMANDS; i++)
		fprintf(stderr, "%s %s", i > 0 ? "," : "", commands[i].name);
	putc('\n', stderr);
	return EXIT_USAGE;
}

// words: the command and what belongs to it, ends with NULL.
static enum exit_code command_run(const struct options *options, char **words)
{
	if (words[0] == NULL) {
		usage_print(stderr);
		return EXIT_USAGE;
	}
	for (size_t i = 0; i < N_COMMANDS; i++)
		if (strcmp(commands[i].name, words[0]) == 0)
			return commands[i].run(options, words + 1);
	return command_unknown(words[0]);
}

static bool number_read(unsigned int *number, const char *what, const char *text, unsigned int max)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*end != '\0' || text[0] < '0' || text[0] > '9' || value < 1 || value > max) {
		warnx("%s: \"%s\" is not a number from 1 to %u", what, text, max);
		return false;
	}
	*number = (unsigned int)value;
	return true;
}

static enum exit_code run(int argc, char **argv)
{
	enum { VERSION = 256, JSON, ONCE, WIDE, NEW_KEYS, RUN };
	static const struct option long_options[] = {
		{"instance", required_argument, NULL, 'i'},
		{"json", no_argument, NULL, JSON},
		{"once", no_argument, NULL, ONCE},
		{"wide", no_argument, NULL, WIDE},
		{"new-keys", no_argument, NULL, NEW_KEYS},
		{"run", required_argument, NULL, RUN},
		{"count", required_argument, NULL, 'n'},
		{"seconds", required_argument, NULL, 's'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, VERSION},
		{},
	};
	struct options options = {.packets = 10, .seconds = 60};
	int option;

	while ((option = getopt_long(argc, argv, "i:hn:s:", long_options, NULL)) != -1) {
		switch (option) {
		case 'i':
			options.instance = optarg;
			break;
		case JSON:
			options.json = true;
			break;
		case ONCE:
			options.once = true;
			break;
		case WIDE:
			options.wide = true;
			break;
		case NEW_KEYS:
			options.new_keys = true;
			break;
		case RUN:
			options.run = optarg;
			break;
		case 'n':
			if (!number_read(&options.packets, "count", optarg, PACKETS_MAX))
				return EXIT_USAGE;
			break;
		case 's':
			if (!number_read(&options.seconds, "seconds", optarg, SECONDS_MAX))
				return EXIT_USAGE;
			break;
		case 'h':
			usage_print(stdout);
			return EXIT_OK;
		case VERSION:
			puts("culvertctl " CULVERT_VERSION);
			return EXIT_OK;
		default:
			fputs("Try: culvertctl --help\n", stderr);
			return EXIT_USAGE;
		}
	}
	return command_run(&options, argv + optind);
}

int main(int argc, char **argv)
{
	enum exit_code code = run(argc, argv);

	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	warn("cannot write to standard output");
	return EXIT_FAILED;
}
