// SPDX-License-Identifier: BSD-3-Clause
// culvertctl: shows the state of a running culvertd, and changes it. This file reads the command
// line.
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "shell.h"
#include "version.h"

// given: a bit for each option_rows[] of the command line.
static void options_check(uint32_t given, const char *command)
{
	for (size_t i = 0; i < n_option_rows; i++)
		if ((given >> i & 1) != 0 && !option_is_of(&option_rows[i], command))
			errx(EXIT_USAGE, "%s: --%s is for %s", command, option_rows[i].name,
				option_rows[i].commands);
}

// words: the command and its arguments, ends with NULL.
static enum exit_code command_run(const struct options *options, uint32_t given, char **words)
{
	const struct command *c;

	if (words[0] == NULL)
		return shell_run(options);
	c = command_find(words[0]);
	if (c == NULL)
		return command_unknown(words[0]);
	options_check(given, c->name);
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

static void option_read(struct options *options, const struct option_row *o)
{
	void *to = (char *)options + o->offset;

	if (o->check != NULL)
		o->check(optarg);
	if (o->arg == NULL)
		*(bool *)to = true;
	else if (o->max > 0)
		*(unsigned int *)to = number_read(o->name, optarg, o->max);
	else
		*(const char **)to = optarg;
}

#define OPTIONS_MAX  32
#define FIRST_OPTION 256 // result of getopt_long() for the first row

// Sets *given as for options_check(). False if there is an option that is none, after a message.
static bool options_read(struct options *options, uint32_t *given, int argc, char **argv)
{
	struct option rows[OPTIONS_MAX] = {};
	char letters[2 * OPTIONS_MAX + 1] = "", *letter = letters;
	size_t i;
	int value;

	for (i = 0; i < n_option_rows; i++) {
		const struct option_row *o = &option_rows[i];

		rows[i] = (struct option){o->name, o->arg != NULL ? required_argument : no_argument,
			NULL, FIRST_OPTION + (int)i};
		if (o->letter != 0)
			letter += sprintf(letter, "%c%s", o->letter, o->arg != NULL ? ":" : "");
	}
	while ((value = getopt_long(argc, argv, letters, rows, NULL)) != -1) {
		for (i = 0; i < n_option_rows; i++)
			if (value == FIRST_OPTION + (int)i || value == option_rows[i].letter)
				break;
		if (i == n_option_rows)
			return false;
		option_read(options, &option_rows[i]);
		*given |= UINT32_C(1) << i;
	}
	return true;
}

enum exit_code command_line(const struct options *defaults, int argc, char **argv)
{
	struct options options = *defaults;
	uint32_t given = 0;

	optind = 0; // getopt_long() begins again
	if (!options_read(&options, &given, argc, argv)) {
		fputs("Try: culvertctl --help\n", stderr);
		return EXIT_USAGE;
	}
	if (options.version) {
		puts("culvertctl " CULVERT_VERSION);
		return EXIT_OK;
	}
	if (options.help) {
		argv[argc > optind ? optind + 1 : optind] = NULL; // that command alone
		return command_help(&options, argv + optind);
	}
	return command_run(&options, given, argv + optind);
}

int main(int argc, char **argv)
{
	static const struct options defaults = {
		.packets = 10, .pause = 1, .seconds = 60, .driver = "vfio-pci"};
	enum exit_code code = command_line(&defaults, argc, argv);

	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	warn("cannot write to standard output");
	return EXIT_FAILED;
}
