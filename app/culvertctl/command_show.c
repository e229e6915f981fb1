// SPDX-License-Identifier: BSD-3-Clause
#include "command.h"

#include <err.h>
#include <stdio.h>
#include <string.h>

#include "ask.h"
#include "baseline.h"
#include "client.h"
#include "control.h"
#include "field.h"
#include "question.h"

enum exit_code command_list(const struct options *options, char **words)
{
	json_t *found;
	enum exit_code code;

	if (words[0] != NULL || options->instance != NULL) {
		warnx("list takes no argument and no -i");
		return EXIT_USAGE;
	}
	code = ask_find(&found);
	if (code != EXIT_OK)
		return code;
	if (options->json)
		code = output_json(found);
	else if (json_array_size(found) > 0)
		code = output_rows(stdout, found);
	else
		ask_none_running();
	json_decref(found);
	return code;
}

static enum exit_code typed_print(const struct question *q, const json_t *objects)
{
	json_t *typed = fields_typed(q->what->word, objects);
	enum exit_code code = output_json(typed);

	json_decref(typed);
	return code;
}

static enum exit_code list_print(
	const struct options *options, const struct target *target, const struct question *q)
{
	json_t *objects;
	enum exit_code code = ask_list(&objects, target, q->what->word, q->filter);

	if (code != EXIT_OK)
		return code;
	code = baseline_subtract(target, q->what->word, objects);
	if (code == EXIT_OK)
		code = question_choose(q, objects);
	if (code == EXIT_OK && options->json)
		code = typed_print(q, objects);
	else if (code == EXIT_OK)
		code = question_print(q, objects, stdout);
	json_decref(objects);
	return code;
}

static enum exit_code ask_chosen(const struct options *options, const struct question *q)
{
	struct target target;
	enum exit_code code = target_init(&target, options->instance);

	if (code != EXIT_OK)
		return code;
	code = list_print(options, &target, q);
	target_fini(&target);
	return code;
}

enum exit_code command_show(const struct options *options, char **words)
{
	struct question q;

	if (words[0] != NULL && strcmp(words[0], "config") == 0)
		return command_show_config(options, words + 1);

	enum exit_code code = question_read_show(&q, options, words);

	return code == EXIT_OK ? ask_chosen(options, &q) : code;
}

static enum exit_code flushed_print(const struct options *options)
{
	static const char done[] = "matching flows will be removed within some seconds";
	json_t *object;
	enum exit_code code;

	if (!options->json) {
		puts(done);
		return EXIT_OK;
	}
	object = json_pack("[{s:s}]", "result", done);
	code = output_json(object);
	json_decref(object);
	return code;
}

static enum exit_code flush(
	const struct options *options, const struct target *target, const struct question *q)
{
	char request[CLIENT_FILTER_MAX + 16];
	int len = snprintf(request, sizeof(request), "flush %s", q->filter + (q->filter[0] == ','));
	struct answer answer;
	enum exit_code code = control_ask(&answer, target->instance, request, (size_t)len);

	if (code != EXIT_OK)
		return code;
	code = strcmp(answer.status, "ok") == 0 ? flushed_print(options)
						: refusal_say(target->instance, &answer);
	answer_fini(&answer);
	return code;
}

enum exit_code command_flush(const struct options *options, char **words)
{
	struct question q;
	struct target target;
	enum exit_code code = question_read_flush(&q, words);

	if (code == EXIT_OK)
		code = target_init(&target, options->instance);
	if (code != EXIT_OK)
		return code;
	code = flush(options, &target, &q);
	target_fini(&target);
	return code;
}

enum exit_code command_clear(const struct options *options, char **words)
{
	bool undo = words[0] != NULL && strcmp(words[0], "undo") == 0;
	struct target target;
	enum exit_code code;

	if (words[undo] != NULL) {
		warnx("clear: unexpected argument \"%s\"", words[undo]);
		return EXIT_USAGE;
	}
	code = target_init(&target, options->instance);
	if (code != EXIT_OK)
		return code;
	code = undo ? baseline_remove(&target) : baseline_take(&target);
	target_fini(&target);
	return code;
}
