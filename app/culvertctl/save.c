// SPDX-License-Identifier: BSD-3-Clause
// culvertctl show config: what runs, as a configuration. culvertctl save: what of it the file
// lacks, as changes that culvertctl apply takes.
#include <err.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "control.h"

static enum exit_code text_ask(
	const struct options *options, const char *command, const char *request, char **words)
{
	struct answer answer;
	enum exit_code code;

	if (words[0] != NULL) {
		warnx("%s: unexpected argument \"%s\"", command, words[0]);
		return EXIT_USAGE;
	}
	code = control_ask(&answer, options->instance, request, strlen(request));
	if (code != EXIT_OK)
		return code;
	if (strcmp(answer.status, "text") == 0) {
		fputs(answer.text, stdout);
	} else {
		fputs(answer.text, stderr);
		warnx("%s: the file has mistakes", command);
		code = EXIT_FAILED;
	}
	answer_fini(&answer);
	return code;
}

enum exit_code command_show_config(const struct options *options, char **words)
{
	return text_ask(options, "show config", "config", words);
}

enum exit_code command_save(const struct options *options, char **words)
{
	return text_ask(options, "save", "save", words);
}
