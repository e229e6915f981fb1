// SPDX-License-Identifier: BSD-3-Clause
#include "commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "nearest.h"

const struct command commands[] = {
	{"show", " LIST [NAME|FILTER VALUE...]",
		"print a list, or one object with all fields; see below", command_show, false,
		complete_show},
	{"top", " [--once]", "live view: rates of ports, workers, SAs, drops; q quits", command_top,
		true, NULL},
	{"watch", " [SECONDS] show ...", "repeat a show command every SECONDS, with rates; q quits",
		command_watch, false, complete_watch},
	{"trace", " [FILTER VALUE]...", "trace the next matching packets, step by step; see below",
		command_trace, false, complete_trace},
	{"events", " [--run COMMAND]",
		"print events as they happen: tunnels, links, lifetimes, reloads", command_events,
		true, NULL},
	{"explain", " [REASON|SETTING|COUNTER]",
		"explain a drop reason and its remedy, a setting or a counter; without, all "
		"reasons; "
		"\"settings\": all settings",
		command_explain, false, complete_explain},
	{"clear", " [undo]", "let show count from now, or from the start again; not for metrics",
		command_clear, false, complete_clear},
	{"flush", " flows|neighbours [FILTER VALUE]...",
		"remove matching flows, whose next packets are evaluated again; or neighbours that "
		"are not static",
		command_flush, false, complete_flush},
	{"diff", "",
		"print what a reload would change; exit code 0: nothing, 1: something, 2: failed",
		command_diff, true, NULL},
	{"save", "", "print the run-time changes that the file lacks, for apply; without keys",
		command_save, true, NULL},
	{"reload", "",
		"reload the configuration file; print its errors, or the run-time changes that "
		"would be lost, if it is refused",
		command_reload, true, NULL},
	{"sa", " add|set|del ...", "change security associations at run time, see below",
		command_change, false, complete_change},
	{"policy", " add|set|del ...", "change policies", command_change, false, complete_change},
	{"rule", " add|set|del ...", "change firewall rules", command_change, false,
		complete_change},
	{"neighbour", " add|set|del ...", "change static neighbours", command_change, false,
		complete_change},
	{"route", " add|set|del ...", "change routes", command_change, false, complete_change},
	{"apply", " FILE|-", "apply all changes in a file, or none", command_apply, false,
		complete_file},
	{"keygen", " FILE [CIPHER [AUTH]]", "write a key file with new random keys", command_keygen,
		false, complete_file},
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

const struct option_row option_rows[] = {
	{"instance", 'i', "NAME", NULL, "name of the daemon; needed if several are running"},
	{"json", OPTION_JSON, NULL, NULL, "JSON, for programs"},
	{"once", OPTION_ONCE, NULL, "top", "print once and exit"},
	{"wide", OPTION_WIDE, NULL, "show, watch", "all columns of a table"},
	{"new-keys", OPTION_NEW_KEYS, NULL, "reload, sa, apply",
		"declare that keys without sequence numbers are new"},
	{"discard", OPTION_DISCARD, NULL, "reload",
		"also if run-time changes are lost that the file lacks"},
	{"count", 'n', "N", "trace", "number of packets, 1 to 1000; default 10"},
	{"seconds", 's', "N", "trace", "time limit, 1 to 3600; default 60"},
	{"driver", OPTION_DRIVER, "NAME", "bind", "instead of vfio-pci: uio_pci_generic, ..."},
	{"test", OPTION_TEST, NULL, "devices",
		"test devices that no daemon uses, as culvertd opens them"},
	{"force", OPTION_FORCE, NULL, "bind", "also cards that this machine needs"},
	{"run", OPTION_RUN, "COMMAND", "events",
		"run by a shell for each event, one by one, with CULVERT_EVENT=... and more"},
	{"help", 'h', NULL, NULL, "print this text; after a command, its own"},
	{"version", OPTION_VERSION, NULL, NULL, "print the version"},
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
