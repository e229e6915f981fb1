// SPDX-License-Identifier: BSD-3-Clause
// culvertctl reload: has the configuration read again, and waits for what comes of it.
#include <err.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ask.h"
#include "command.h"
#include "table.h"

#define WAIT_S  120
#define WAIT_MS 50

static json_int_t number_in(const json_t *list, const char *name)
{
	return json_integer_value(json_object_get(json_array_get(list, 0), name));
}

static const char *text_in(const json_t *list, size_t i, const char *name)
{
	const char *text = json_string_value(json_object_get(json_array_get(list, i), name));

	return text != NULL ? text : "";
}

// What was wrong, as the daemon's log has it.
static void errors_print(const json_t *result)
{
	for (size_t i = 1; i < json_array_size(result); i++) {
		table_put_text(stderr, text_in(result, i, "text"));
		if (strcmp(text_in(result, i, "more"), "yes") != 0)
			putc('\n', stderr);
	}
}

static enum exit_code result_print(const struct options *options, json_t *result)
{
	bool refused = strcmp(text_in(result, 0, "refused"), "no") != 0;

	if (refused) {
		errors_print(result);
		warnx("not reloaded: nothing has changed");
	} else if (!options->json) {
		printf("reloaded, generation %" JSON_INTEGER_FORMAT "\n",
			number_in(result, "generation"));
	}
	if (options->json && output_json(result) != EXIT_OK)
		return EXIT_FAILED;
	return refused ? EXIT_FAILED : EXIT_OK;
}

static enum exit_code wait_for(
	const struct options *options, const struct target *target, json_int_t number)
{
	for (unsigned int ms = 0; ms < WAIT_S * 1000; ms += WAIT_MS) {
		json_t *result;
		enum exit_code code = ask_list(&result, target, "reloaded", "");

		if (code != EXIT_OK)
			return code;

		bool done = number_in(result, "done") >= number;

		if (done)
			code = result_print(options, result);
		json_decref(result);
		if (done)
			return code;
		nanosleep(&(struct timespec){.tv_nsec = WAIT_MS * 1000000}, NULL);
	}
	warnx("not reloaded within %d seconds, see the daemon's log", WAIT_S);
	return EXIT_FAILED;
}

enum exit_code command_reload(const struct options *options, char **words)
{
	struct target target;
	json_t *asked;
	enum exit_code code;

	if (words[0] != NULL) {
		warnx("reload: \"%s\" is one word too many", words[0]);
		return EXIT_USAGE;
	}
	code = target_init(&target, options->instance);
	if (code != EXIT_OK)
		return code;
	code = ask_list(&asked, &target, "reload", "");
	if (code == EXIT_OK) {
		code = wait_for(options, &target, number_in(asked, "number"));
		json_decref(asked);
	}
	target_fini(&target);
	return code;
}
