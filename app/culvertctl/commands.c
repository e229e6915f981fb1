// SPDX-License-Identifier: BSD-3-Clause
#include "command.h"

#include <err.h>
#include <errno.h>
#include <string.h>

#include "conf.h"
#include "control.h"
#include "nearest.h"
#include "pci_nic.h"
#include "query.h"
#include "shell.h"

// The commands from there on are those of kinds of items.
#define FIRST_KIND 15
enum {
#define KIND(...)
#define COMMAND(noun, ...) COMMAND_##noun,
#include "conf_kind.def"
	KIND_COMMANDS,
};
#define AFTER_KINDS (FIRST_KIND + KIND_COMMANDS)

const struct command commands[] = {
	{"status", "",
		"print whether all is well: ports, tunnels, growing drops, unsaved changes; exit "
		"code 3 if it is not",
		command_status, true, NULL},
	{"show", " LIST [NAME|FILTER VALUE...]",
		"print a list, or one object with all fields; see below", command_show, false,
		complete_show},
	{"top", " [--once]", "live view: rates of ports, workers, SAs, drops; q quits", command_top,
		true, NULL},
	{"trace", " [FILTER VALUE]...", "trace the next matching packets, step by step; see below",
		command_trace, false, complete_trace},
	{"ping", " TUNNEL [ADDRESS]",
		"send echo requests through a tunnel to an address at its other end, and print "
		"round trips and loss; or, with --mtu, the largest packet that passes",
		command_ping, false, complete_ping},
	{"events", " [--run COMMAND]",
		"print events as they happen: tunnels, links, lifetimes, reloads", command_events,
		true, NULL},
	{"explain", " [REASON|SETTING|COUNTER]",
		"explain a drop reason and its remedy, a setting or a counter; without, all "
		"reasons; "
		"\"settings\": all settings; \"schema\": their JSON Schema, for editors",
		command_explain, false, complete_explain},
	{"clear", " [undo]", "let show count from now, or from the start again; not for metrics",
		command_clear, false, complete_clear},
	{"flush", " flows|neighbours [FILTER VALUE]...",
		"remove matching flows, whose next packets are evaluated again; or neighbours that "
		"are not static",
		command_flush, false, complete_flush},
	{"diff", " [REVISION [REVISION]]",
		"print what a reload would change, or a rollback, or what differs between two "
		"revisions; exit code 0: nothing, 1: something, 2: failed",
		command_diff, false, complete_revisions},
	{"history", "", "print the last revisions of the configuration: who changed it, and when",
		command_history, true, NULL},
	{"rollback", " REVISION", "run an earlier revision of the configuration again",
		command_rollback, false, complete_revisions},
	{"confirm", "", "confirm a change by --confirm, which returns by itself otherwise",
		command_confirm, true, NULL},
	{"save", "",
		"print the run-time changes that the file lacks, for apply; without keys; or write "
		"them into it",
		command_save, true, NULL},
	{"reload", "",
		"reload the configuration file; print its errors, or the run-time changes that "
		"would be lost, if it is refused",
		command_reload, true, NULL},
#undef COMMAND
#define KIND(...)
#define COMMAND(noun, place, help)                                                                 \
	[FIRST_KIND + (place)] = {                                                                 \
		#noun, " add|set|del ...", help, command_change, false, complete_change},
#include "conf_kind.def"
	[AFTER_KINDS] = {"group", " NAME active|standby|drain",
		"answer for the addresses of a group, leave that to another gateway, or prepare "
		"that",
		command_group, false, complete_group},
	{"drain", " [now|off]",
		"have other members of the fleet take over all groups, one by one, and take none; "
		"now: all at once, with loss; off: take groups again",
		command_drain, false, complete_drain},
	{"apply", " FILE|-", "apply all changes in a file, or none", command_apply, false,
		complete_file},
	{"keygen", " FILE [CIPHER [AUTH]]|pair NAME",
		"write a key file with new random keys; or NAME.key and NAME.crt, for the channel "
		"of a pair",
		command_keygen, false, complete_file},
	{"peer-config", " FILE [PEER]",
		"print the SAs and policies for the peer's configuration; with several peers PEER "
		"is the address of one, or the name of a policy to it",
		command_peer_config, false, complete_file},
	{"devices", " [--test DEVICE [DEVICE]]",
		"list the network cards, and what each needs to be a port; or test one, or two "
		"that a cable connects",
		command_devices, false, complete_devices},
	{"bind", " DEVICE...", "give network cards to vfio-pci, for DPDK; idempotent", command_bind,
		false, complete_devices},
	{"unbind", " DEVICE...", "give them back to the kernel's drivers", command_unbind, false,
		complete_devices},
	{"list", "", "print the running instances", command_list, false, NULL},
	{"help", " [COMMAND]", "print this text, or that of one command", command_help, false,
		complete_commands},
	{"complete", " -- WORD...", "print what the last word may become, for shells",
		command_complete, false, NULL},
};

const size_t n_commands = sizeof(commands) / sizeof(commands[0]);

static void driver_check(const char *name)
{
	if (!pci_driver_is_for_dpdk(name) || pci_driver_is_shared(name))
		errx(EXIT_USAGE,
			"driver: \"%s\" does not give devices to DPDK, must be vfio-pci, "
			"uio_pci_generic, or the like",
			name);
}

// A shell may be all that its user has: docs/remote.md.
static void run_check(const char *command)
{
	(void)command;
	if (shell_has_begun())
		errx(EXIT_USAGE, "events: --run is for the command line, not for the shell");
}

static void confirm_check(const char *text)
{
	if (control_confirm_s(text) == 0)
		errx(EXIT_USAGE,
			"confirm: \"%s\" is no time, must be minutes from 1 to 1440, or seconds "
			"as 30s",
			text);
}

#define AT(member) .offset = offsetof(struct options, member)

const struct option_row option_rows[] = {
	{"instance", 'i', "NAME", NULL, "name of the daemon; needed if several are running",
		AT(instance)},
	{"json", 0, NULL, NULL, "JSON, for programs", AT(json)},
	{"once", 0, NULL, "top", "print once and exit", AT(once)},
	{"wide", 0, NULL, "show", "all columns of a table", AT(wide)},
	{"watch", 0, "SECONDS", "show, status",
		"repeat it every SECONDS, with rates; q or Ctrl-C quits", AT(watch), .max = 3600},
	{"new-keys", 0, NULL, "reload, sa, apply",
		"declare that keys without sequence numbers are new", AT(new_keys)},
	{"discard", 0, NULL, "reload", "also if run-time changes are lost that the file lacks",
		AT(discard)},
	{"confirm", 0, "MINUTES", "reload, apply, rollback"
#undef COMMAND
#define KIND(...)
#define COMMAND(noun, ...) ", " #noun
#include "conf_kind.def"
		,
		"undo it by itself after MINUTES, 1 to 1440, or 30s, unless culvertctl confirm "
		"follows",
		AT(confirm), .check = confirm_check},
	{"write", 0, NULL, "save", "edit the file, keep the former one, and reload", AT(write)},
	{"count", 'n', "N", "trace, ping", "number of packets, 1 to 1000; default 10", AT(packets),
		.max = 1000},
	{"size", 0, "N", "ping", "octets of the IP packet in the tunnel", AT(size), .max = 65535},
	{"mtu", 0, NULL, "ping", "find the largest packet that passes, and what refuses more",
		AT(mtu)},
	{"interval", 0, "SECONDS", "ping", "between two requests, 1 to 3600; default 1", AT(pause),
		.max = 3600},
	{"seconds", 's', "N", "trace", "time limit, 1 to 3600; default 60", AT(seconds),
		.max = 3600},
	{"driver", 0, "NAME", "bind", "instead of vfio-pci: uio_pci_generic, ...", AT(driver),
		.check = driver_check},
	{"test", 0, NULL, "devices", "test devices that no daemon uses, as culvertd opens them",
		AT(test)},
	{"force", 0, NULL, "bind", "also cards that this machine needs", AT(force)},
	{"run", 0, "COMMAND", "events",
		"run by a shell for each event, one by one, with CULVERT_EVENT=... and more",
		AT(run), .check = run_check},
	{"help", 'h', NULL, NULL, "print this text; after a command, its own", AT(help)},
	{"version", 0, NULL, NULL, "print the version", AT(version)},
};

const size_t n_option_rows = sizeof(option_rows) / sizeof(option_rows[0]);

const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < n_commands; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

enum exit_code command_unknown(const char *word)
{
	struct nearest nearest = {.text = word};

	for (size_t i = 0; i < n_commands; i++)
		nearest_try(&nearest, commands[i].name);
	fprintf(stderr, "%s: unknown command \"%s\"", program_invocation_short_name, word);
	if (nearest.best != NULL)
		fprintf(stderr, ", did you mean \"%s\"? Commands:", nearest.best);
	else
		fputs(", commands:", stderr);
	for (size_t i = 0; i < n_commands; i++)
		fprintf(stderr, "%s %s", i > 0 ? "," : "", commands[i].name);
	putc('\n', stderr);
	return EXIT_USAGE;
}

bool word_is_of(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; *at != '\0'; at += strspn(at, ", ")) {
		size_t n = strcspn(at, ",");

		if (n == len && strncmp(at, word, n) == 0)
			return true;
		at += n;
	}
	return false;
}

bool option_is_of(const struct option_row *o, const char *command)
{
	return o->commands == NULL || word_is_of(o->commands, command);
}

// --- help ---

// The kinds but the one that is the example, and the rest of its help.
static void changes_help(FILE *out)
{
	for (size_t i = FIRST_KIND + 1; i < AFTER_KINDS; i++)
		fprintf(out, "%s%s", commands[i].name, i + 1 < AFTER_KINDS ? ", " : "\n");
	fputs("  sa set NAME SETTINGS                other settings of the SA do not change\n"
	      "  sa del NAME                         NAME of a neighbour: its address [port PORT]\n"
	      "                                      of a route: its target [source ADDRESS]\n"
	      "  policy add before NAME SETTINGS     or: after NAME, first, last; also for rules\n",
		out);
}

// Help texts that several commands share.
static const struct topic {
	const char *commands;
	const char *text;
	void (*print)(FILE *out); // after the text; NULL: nothing
} topics[] = {
	{"show", "Lists for show:\n", query_help},
	{"show, flush",
		"Filters of a list are its columns but for counters, as show LIST --wide has them; "
		"an "
		"object must match all of them:\n"
		"  remote ADDRESS|PREFIX, ...          addresses that overlap\n"
		"  state VALUE, spi VALUE, ...         as the list shows it; - for none\n",
		NULL},
	{"show, flush",
		"Flow filters; a flow must match all of them:\n"
		"  address ADDRESS|PREFIX, port PORT   source or destination, before nat or after\n"
		"  proto NAME|NUMBER, state STATE      as the list shows them\n"
		"  sa NAME                             of either direction\n"
		"  nat NAME                            rule of nat that translated it\n",
		NULL},
	{"trace",
		"Trace filters; the outer or the inner packet must match all of them:\n"
		"  address ADDRESS|PREFIX, port PORT, proto NAME|NUMBER\n"
		"  sa NAME, spi NUMBER, policy NAME\n"
		"  in PORT, out PORT                   of the gateway, by name\n"
		"  drop REASON|any                     dropped packets\n",
		NULL},
	{"change, apply",
		"Changes last until the next reload --discard or restart. SETTINGS are as in the "
		"file, or "
		"- for standard input:\n"
		"  sa add SETTINGS                     also: ",
		changes_help},
};

// Of one command, or of all with the commands that they are for.
static void options_print(FILE *out, const char *command)
{
	for (const struct option_row *o = option_rows; o < option_rows + n_option_rows; o++) {
		int used;

		if (command != NULL && !option_is_of(o, command))
			continue;
		used = o->letter != 0 ? fprintf(out, "  -%c, ", o->letter) : fprintf(out, "      ");
		used += fprintf(out, "--%s", o->name);
		used += o->arg != NULL ? fprintf(out, " %s", o->arg) : 0;
		fprintf(out, "%*s  ", 21 - used, "");
		if (command == NULL && o->commands != NULL)
			fprintf(out, "%s: ", o->commands);
		fprintf(out, "%s\n", o->help);
	}
}

// Of one command, or all; the kinds share the topic "change".
static void topics_print(FILE *out, const struct command *c)
{
	const char *of = c != NULL && c->run == command_change ? "change"
			 : c != NULL                           ? c->name
							       : NULL;

	for (size_t i = 0; i < sizeof(topics) / sizeof(topics[0]); i++) {
		if (of != NULL && !word_is_of(topics[i].commands, of))
			continue;
		fprintf(out, "\n%s", topics[i].text);
		if (topics[i].print != NULL)
			topics[i].print(out);
	}
}

void help_print(FILE *out)
{
	fputs("Usage: culvertctl [-i INSTANCE] [--json] COMMAND\n"
	      "       culvertctl [-i INSTANCE] [--json]\n"
	      "\n"
	      "Inspects a running culvertd, and changes its configuration at run time. Without\n"
	      "COMMAND it is a shell; if its input is no terminal, each line is a command.\n"
	      "\n",
		out);
	for (size_t i = 0; i < n_commands; i++)
		fprintf(out, "  %s%-*s  %s\n", commands[i].name,
			(int)(30 - strlen(commands[i].name)), commands[i].synopsis,
			commands[i].help);
	putc('\n', out);
	options_print(out, NULL);
	topics_print(out, NULL);
	fputs("\nExit codes: 0 success, 1 failure, 2 usage error, 3 (status) degraded.\n", out);
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
	printf("Usage: culvertctl [OPTION]... %s%s\n\n%s.\n\n", c->name, c->synopsis, c->help);
	options_print(stdout, c->name);
	topics_print(stdout, c);
	return EXIT_OK;
}
