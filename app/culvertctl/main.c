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
#include "pci_nic.h"
#include "query.h"

static command_fn command_help;

static const struct command {
	const char *name;
	const char *synopsis; // what follows the name
	const char *help;
	command_fn *run;
	bool alone; // takes no words
} commands[] = {
	{"show", " LIST [NAME|FILTER VALUE...]",
		"print a list, or one object with all fields; see below", command_show, false},
	{"top", " [--once]", "live view: rates of ports, workers, SAs, drops; q quits", command_top,
		true},
	{"watch", " [SECONDS] show ...", "repeat a show command every SECONDS, with rates; q quits",
		command_watch, false},
	{"trace", " [FILTER VALUE]...", "trace the next matching packets, step by step; see below",
		command_trace, false},
	{"events", " [--run COMMAND]",
		"print events as they happen: tunnels, links, lifetimes, reloads", command_events,
		true},
	{"explain", " [REASON|SETTING]",
		"explain a drop reason and its remedy, or a setting; without, all reasons; "
		"\"settings\": all settings",
		command_explain, false},
	{"clear", " [undo]", "let show count from now, or from the start again; not for metrics",
		command_clear, false},
	{"flush", " flows|neighbours [FILTER VALUE]...",
		"remove matching flows, whose next packets are evaluated again; or neighbours that "
		"are not "
		"static",
		command_flush, false},
	{"diff", "",
		"print what a reload would change; exit code 0: nothing, 1: something, 2: failed",
		command_diff, true},
	{"save", "", "print the run-time changes that the file lacks, for apply; without keys",
		command_save, true},
	{"reload", "", "reload the configuration file; print its errors if it is refused",
		command_reload, true},
	{"sa", " add|set|del ...", "change security associations at run time, see below",
		command_change, false},
	{"policy", " add|set|del ...", "change policies", command_change, false},
	{"rule", " add|set|del ...", "change firewall rules", command_change, false},
	{"neighbour", " add|set|del ...", "change static neighbours", command_change, false},
	{"route", " add|set|del ...", "change routes", command_change, false},
	{"apply", " FILE|-", "apply all changes in a file, or none", command_apply, false},
	{"keygen", " FILE [CIPHER [AUTH]]", "write a key file with new random keys", command_keygen,
		false},
	{"peer-config", " FILE [PEER]",
		"print the SAs and policies for the peer's configuration; PEER of several: its "
		"address, or the name of a policy",
		command_peer_config, false},
	{"devices", "", "list the network cards, and what each needs to be a port", command_devices,
		true},
	{"bind", " DEVICE...", "give network cards to vfio-pci, for DPDK; idempotent", command_bind,
		false},
	{"unbind", " DEVICE...", "give them back to the kernel's drivers", command_unbind, false},
	{"list", "", "print the running instances", command_list, false},
	{"help", "", "print this text", command_help, true},
};

#define PACKETS_MAX 1000
#define SECONDS_MAX 3600

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void usage_print(FILE *out)
{
	fputs("Usage: culvertctl [-i INSTANCE] [--json] COMMAND\n"
	      "\n"
	      "Inspects a running culvertd, and changes its configuration at run time.\n"
	      "\n",
		out);
	for (size_t i = 0; i < N_COMMANDS; i++)
		fprintf(out, "  %s%-*s  %s\n", commands[i].name,
			(int)(30 - strlen(commands[i].name)), commands[i].synopsis,
			commands[i].help);
	fputs("\n"
	      "  -i, --instance NAME  name of the daemon; needed if several are running\n"
	      "      --json           JSON, for programs\n"
	      "      --once           top: print once and exit\n"
	      "      --wide           show, watch: all columns of a table\n"
	      "      --new-keys       reload, sa, apply: declare that keys without sequence "
	      "numbers are new\n"
	      "  -n, --count N        trace: number of packets, 1 to 1000; default 10\n"
	      "  -s, --seconds N      trace: time limit, 1 to 3600; default 60\n"
	      "      --driver NAME    bind: instead of vfio-pci: uio_pci_generic, ...\n"
	      "      --force          bind: also cards that this machine needs\n"
	      "      --run COMMAND    events: run by a shell for each event, one by one, with "
	      "CULVERT_EVENT=... and more\n"
	      "  -h, --help\n"
	      "      --version\n"
	      "\n"
	      "Lists for show:\n",
		out);
	query_help(out);
	fputs("\n"
	      "Filters of a list are its columns but for counters, as show LIST --wide has them; "
	      "an "
	      "object must match all of them:\n"
	      "  remote ADDRESS|PREFIX, ...          addresses that overlap\n"
	      "  state VALUE, spi VALUE, ...         as the list shows it; - for none\n"
	      "\nFlow filters; a flow must match all of them:\n"
	      "  address ADDRESS|PREFIX, port PORT   source or destination\n"
	      "  proto NAME|NUMBER, state STATE      as the list shows them\n"
	      "  sa NAME                             of either direction\n"
	      "\nTrace filters; the outer or the inner packet must match all of them:\n"
	      "  address ADDRESS|PREFIX, port PORT, proto NAME|NUMBER\n"
	      "  sa NAME, spi NUMBER, policy NAME\n"
	      "  in PORT, out PORT                   of the gateway, by name\n"
	      "  drop REASON|any                     dropped packets\n"
	      "\n"
	      "Changes last until the next reload or restart. SETTINGS are as in the file, or "
	      "- for standard input:\n"
	      "  sa add SETTINGS                     also: policy, rule, neighbour, route\n"
	      "  sa set NAME SETTINGS                other settings of the SA do not change\n"
	      "  sa del NAME                         NAME of a route: its target; of a neighbour: "
	      "its address\n"
	      "  policy add before NAME SETTINGS     or: after NAME, first, last; also for rules\n"
	      "\nExit codes: 0 success, 1 failure, 2 usage error.\n",
		out);
}

static enum exit_code command_help(const struct options *options, char **words)
{
	(void)options, (void)words;
	usage_print(stdout);
	return EXIT_OK;
}

static enum exit_code command_unknown(const char *word)
{
	struct nearest nearest = {.text = word};

	for (size_t i = 0; i < N_COMMANDS; i++)
		nearest_try(&nearest, commands[i].name);
	fprintf(stderr, "%s: unknown command \"%s\"", program_invocation_short_name, word);
	if (nearest.best != NULL)
		fprintf(stderr, ", did you mean \"%s\"? Commands:", nearest.best);
	else
		fputs(", commands:", stderr);
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
	for (size_t i = 0; i < N_COMMANDS; i++) {
		if (strcmp(commands[i].name, words[0]) != 0)
			continue;
		if (commands[i].alone && words[1] != NULL)
			errx(EXIT_USAGE, "%s: unexpected argument \"%s\"", words[0], words[1]);
		return commands[i].run(options, words + 1);
	}
	return command_unknown(words[0]);
}

static unsigned int number_read(const char *what, const char *text, unsigned int max)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*end != '\0' || text[0] < '0' || text[0] > '9' || value < 1 || value > max)
		errx(EXIT_USAGE, "%s: \"%s\" is not a number from 1 to %u", what, text, max);
	return (unsigned int)value;
}

static const char *driver_read(const char *name)
{
	if (!pci_driver_is_for_dpdk(name) || pci_driver_is_shared(name))
		errx(EXIT_USAGE,
			"driver: \"%s\" does not give devices to DPDK, must be vfio-pci, "
			"uio_pci_generic, or the like",
			name);
	return name;
}

static enum exit_code run(int argc, char **argv)
{
	enum { VERSION = 256, JSON, ONCE, WIDE, NEW_KEYS, DRIVER, FORCE, RUN };
	static const struct option long_options[] = {
		{"instance", required_argument, NULL, 'i'},
		{"json", no_argument, NULL, JSON},
		{"once", no_argument, NULL, ONCE},
		{"wide", no_argument, NULL, WIDE},
		{"new-keys", no_argument, NULL, NEW_KEYS},
		{"driver", required_argument, NULL, DRIVER},
		{"force", no_argument, NULL, FORCE},
		{"run", required_argument, NULL, RUN},
		{"count", required_argument, NULL, 'n'},
		{"seconds", required_argument, NULL, 's'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, VERSION},
		{},
	};
	struct options options = {.packets = 10, .seconds = 60, .driver = "vfio-pci"};
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
		case DRIVER:
			options.driver = driver_read(optarg);
			break;
		case FORCE:
			options.force = true;
			break;
		case RUN:
			options.run = optarg;
			break;
		case 'n':
			options.packets = number_read("count", optarg, PACKETS_MAX);
			break;
		case 's':
			options.seconds = number_read("seconds", optarg, SECONDS_MAX);
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
