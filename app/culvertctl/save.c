// SPDX-License-Identifier: BSD-3-Clause
// culvertctl show config: what runs, as a configuration. culvertctl save: what of it the file
// lacks, as changes that culvertctl apply takes.
#include <err.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "control.h"

static enum exit_code text_ask(
	const struct options *options, const char *command, const char *request)
{
	struct answer answer;
	enum exit_code code = EXIT_OK;

	control_ask(&answer, options->instance, request, EXIT_FAILED);
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
	if (words[0] != NULL)
		errx(EXIT_USAGE, "show config: unexpected argument \"%s\"", words[0]);
	return text_ask(options, "show config", "config");
}

enum exit_code command_save(const struct options *options, char **words)
{
	(void)words;
	return text_ask(options, "save", "save");
}
