// SPDX-License-Identifier: BSD-3-Clause
// culvertctl trace: has the daemon trace packets, and prints what it tells of them until there are
// enough, the time is over or the user has enough.
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "client.h"
#include "command.h"
#include "control.h"
#include "question.h"
#include "screen.h"
#include "show.h"
#include "trace_print.h"

#define POLL_MS 50

struct session {
	const struct target *target;
	char number[32]; // filter that names the trace
	json_t *steps;   // so far
	size_t printed;  // of which so many are
	struct trace_printer printer;
	bool json;
};

static json_int_t number_in(const json_t *list, const char *name)
{
	return json_integer_value(json_object_get(json_array_get(list, 0), name));
}

// Asks the control socket for something that is done at once.
static enum exit_code request(const struct session *s, const char *text, unsigned int *number)
{
	struct answer answer;
	enum exit_code code = control_ask(&answer, s->target->instance, text, strlen(text));

	if (code != EXIT_OK)
		return code;
	if (strcmp(answer.status, "ok") != 0)
		code = refusal_say(s->target->instance, &answer);
	else
		sscanf(answer.text, "trace %u", number);
	answer_fini(&answer);
	return code;
}

static enum exit_code begin(
	const struct options *options, struct session *s, const struct question *q)
{
	char text[CLIENT_FILTER_MAX + 32];
	unsigned int number = 0;
	enum exit_code code;

	snprintf(text, sizeof(text), "trace count=%u%s", options->packets, q->filter);
	code = request(s, text, &number);
	clock_gettime(CLOCK_REALTIME, &s->printer.begin);
	snprintf(s->number, sizeof(s->number), ",trace=%u", number);
	return code;
}

static enum exit_code end(const struct session *s)
{
	char text[64];
	unsigned int none;

	snprintf(text, sizeof(text), "trace-stop %s", s->number + 1);
	return request(s, text, &none);
}

static enum exit_code steps_take(struct session *s)
{
	enum exit_code code = ask_more(s->steps, s->target, "trace_steps", s->number);

	if (code != EXIT_OK || s->json)
		return code;
	for (; s->printed < json_array_size(s->steps); s->printed++)
		trace_step_print(&s->printer, json_array_get(s->steps, s->printed));
	fflush(stdout);
	return EXIT_OK;
}

// Asks for the state, and then for what there is to be told of.
static enum exit_code step(struct session *s, bool *over, json_t **state)
{
	enum exit_code code = ask_list(state, s->target, "trace_state", s->number);
	const char *text;

	if (code != EXIT_OK)
		return code;
	text = json_string_value(json_object_get(json_array_get(*state, 0), "state"));
	*over = text == NULL || strcmp(text, "on") != 0;
	code = steps_take(s);
	if (code != EXIT_OK)
		json_decref(*state);
	return code;
}

static enum exit_code follow(const struct options *options, struct session *s, json_t **state)
{
	bool over = false;
	enum exit_code code;

	for (unsigned int ms = 0; ms < options->seconds * 1000 && screen_wait(POLL_MS);
		ms += POLL_MS) {
		code = step(s, &over, state);
		if (code != EXIT_OK || over)
			return code;
		json_decref(*state);
	}
	code = end(s);
	return code == EXIT_OK ? step(s, &over, state) : code;
}

// The packets in order of their numbers, each with its steps.
static json_t *packets_of(const json_t *steps)
{
	json_t *packets = json_array();
	json_t *step;
	size_t i;

	json_array_foreach(steps, i, step)
	{
		json_int_t number = json_integer_value(json_object_get(step, "packet"));
		json_t *packet;

		while ((json_int_t)json_array_size(packets) < number)
			json_array_append_new(packets,
				json_pack("{s:I, s:[]}", "packet",
					(json_int_t)json_array_size(packets) + 1, "steps"));
		packet = json_array_get(packets, (size_t)(number - 1));
		json_object_del(step, "packet");
		json_array_append(json_object_get(packet, "steps"), step);
	}
	return packets;
}

static enum exit_code end_print(const struct session *s, const json_t *state)
{
	json_int_t packets = number_in(state, "packets"), lost = number_in(state, "lost_steps");

	if (s->json) {
		json_t *all = json_pack(
			"{s:o, s:I}", "packets", packets_of(s->steps), "lost_steps", lost);
		enum exit_code code = output_json(all);

		json_decref(all);
		return code;
	}
	printf("%s%" JSON_INTEGER_FORMAT " packet%s", packets > 0 ? "\n" : "", packets,
		packets == 1 ? "" : "s");
	if (lost > 0)
		printf(", %" JSON_INTEGER_FORMAT " steps lost", lost);
	putchar('\n');
	return EXIT_OK;
}

static enum exit_code trace(
	const struct options *options, const struct target *target, const struct question *q)
{
	struct session s = {.target = target, .json = options->json};
	enum exit_code code;
	json_t *state;

	s.steps = json_array();
	code = begin(options, &s, q);
	if (code == EXIT_OK) {
		screen_begin();
		code = follow(options, &s, &state);
		screen_end();
	}
	if (code == EXIT_OK) {
		code = end_print(&s, state);
		json_decref(state);
	}
	json_decref(s.steps);
	return code;
}

enum exit_code command_trace(const struct options *options, char **words)
{
	struct question q;
	struct target target;
	enum exit_code code = question_read_trace(&q, words);

	if (code == EXIT_OK)
		code = target_init(&target, options->instance);
	if (code != EXIT_OK)
		return code;
	code = trace(options, &target, &q);
	target_fini(&target);
	return code;
}
