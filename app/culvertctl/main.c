// SPDX-License-Identifier: BSD-3-Clause
// culvertctl: shows what a running culvertd is doing, and flushes its flows. This file reads the
// command line.
#include <err.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "show.h"

static void usage_print(FILE *out)
{
	fputs("Usage: culvertctl [-i INSTANCE] [--json] show WORD [FILTER VALUE]...\n"
	      "       culvertctl [-i INSTANCE] [--json] flush flows [FILTER VALUE]...\n"
	      "       culvertctl [--json] list\n"
	      "\n"
	      "Shows what a running culvertd is doing, and has it forget flows.\n"
	      "\n"
	      "  -i, --instance NAME  the daemon of that name; needed if several are running\n"
	      "      --json           an array of JSON objects, for programs\n"
	      "  -h, --help\n"
	      "      --version\n"
	      "\n"
	      "list shows the running instances. show WORD shows of one instance:\n",
		out);
	show_help(out);
	fputs("\n"
	      "flush flows has them forgotten: what goes on is judged anew, as a new flow.\n"
	      "Filters of flows; all that are given have to hold:\n"
	      "  address ADDRESS|PREFIX, port PORT   of either end\n"
	      "  proto NAME|NUMBER, state STATE      as the list shows them\n"
	      "  sa NAME                             of either direction\n"
	      "\nExit codes: 0 done, 1 failed, 2 the command line needs a change.\n",
		out);
}

// words: the command and what belongs to it, ends with NULL.
static enum exit_code command_run(const struct options *options, char **words)
{
	if (words[0] == NULL) {
		usage_print(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(words[0], "show") == 0)
		return command_show(options, words + 1);
	if (strcmp(words[0], "flush") == 0)
		return command_flush(options, words + 1);
	if (strcmp(words[0], "list") != 0) {
		warnx("\"%s\" is no command, there are: show, flush, list", words[0]);
		return EXIT_USAGE;
	}
	if (words[1] != NULL || options->instance != NULL) {
		warnx("list takes neither further words nor -i");
		return EXIT_USAGE;
	}
	return command_list(options);
}

static enum exit_code run(int argc, char **argv)
{
	enum { VERSION = 256, JSON };
	static const struct option long_options[] = {
		{"instance", required_argument, NULL, 'i'},
		{"json", no_argument, NULL, JSON},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, VERSION},
		{},
	};
	struct options options = {};
	int option;

	while ((option = getopt_long(argc, argv, "i:h", long_options, NULL)) != -1) {
		switch (option) {
		case 'i':
			options.instance = optarg;
			break;
		case JSON:
			options.json = true;
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
