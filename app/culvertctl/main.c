// SPDX-License-Identifier: BSD-3-Clause
// culvertctl: shows what a running culvertd is doing, and flushes its flows. This file reads the
// command line.
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "pci_nic.h"
#include "version.h"

#define PACKETS_MAX 1000
#define SECONDS_MAX 3600

// words: the command and what belongs to it, ends with NULL.
static enum exit_code command_run(const struct options *options, char **words)
{
	const struct command *c;

	if (words[0] == NULL) {
		help_print(stderr);
		return EXIT_USAGE;
	}
	c = command_find(words[0]);
	if (c == NULL)
		return command_unknown(words[0]);
	if (c->alone && words[1] != NULL)
		errx(EXIT_USAGE, "%s: unexpected argument \"%s\"", words[0], words[1]);
	return c->run(options, words + 1);
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

#define OPTIONS_MAX 32

static void long_options_fill(struct option rows[OPTIONS_MAX])
{
	for (size_t i = 0; i < n_option_rows; i++)
		rows[i] = (struct option){option_rows[i].name,
			option_rows[i].arg != NULL ? required_argument : no_argument, NULL,
			option_rows[i].value};
}

static enum exit_code run(int argc, char **argv)
{
	struct option long_options[OPTIONS_MAX] = {};
	struct options options = {.packets = 10, .seconds = 60, .driver = "vfio-pci"};
	bool help = false;
	int option;

	long_options_fill(long_options);
	while ((option = getopt_long(argc, argv, "i:hn:s:", long_options, NULL)) != -1) {
		switch (option) {
		case 'i':
			options.instance = optarg;
			break;
		case OPTION_JSON:
			options.json = true;
			break;
		case OPTION_ONCE:
			options.once = true;
			break;
		case OPTION_WIDE:
			options.wide = true;
			break;
		case OPTION_NEW_KEYS:
			options.new_keys = true;
			break;
		case OPTION_DISCARD:
			options.discard = true;
			break;
		case OPTION_DRIVER:
			options.driver = driver_read(optarg);
			break;
		case OPTION_TEST:
			options.test = true;
			break;
		case OPTION_FORCE:
			options.force = true;
			break;
		case OPTION_RUN:
			options.run = optarg;
			break;
		case 'n':
			options.packets = number_read("count", optarg, PACKETS_MAX);
			break;
		case 's':
			options.seconds = number_read("seconds", optarg, SECONDS_MAX);
			break;
		case 'h':
			help = true;
			break;
		case OPTION_VERSION:
			puts("culvertctl " CULVERT_VERSION);
			return EXIT_OK;
		default:
			fputs("Try: culvertctl --help\n", stderr);
			return EXIT_USAGE;
		}
	}
	if (help) {
		argv[argc > optind ? optind + 1 : optind] = NULL; // that command alone
		return command_help(&options, argv + optind);
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
