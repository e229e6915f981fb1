// SPDX-License-Identifier: BSD-3-Clause
// culvertctl reload: has the configuration read again, and says what comes of it.
#include <err.h>
#include <string.h>

#include "control.h"

enum exit_code command_reload(const struct options *options, char **words)
{
	const char *request;
	struct answer answer;
	enum exit_code code;

	if (words[0] != NULL) {
		warnx("reload: unexpected argument \"%s\"", words[0]);
		return EXIT_USAGE;
	}
	request = options->new_keys ? "new-keys reload" : "reload";
	code = control_ask(&answer, options->instance, request, strlen(request));
	if (code != EXIT_OK)
		return code;
	code = answer_print(options, &answer, "reloaded");
	answer_fini(&answer);
	return code;
}
