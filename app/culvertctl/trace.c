// SPDX-License-Identifier: BSD-3-Clause
// culvertctl trace: starts a trace, and prints its steps until all packets are traced, the time is
// over or the user quits.
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "command.h"
#include "control.h"
#include "instances.h"
#include "query.h"
#include "screen.h"
#include "trace_print.h"

#define POLL_MS 50

struct session {
	const char *instance;
	char number[32]; // filter that names the trace
	json_t *steps;   // so far
	size_t printed;  // of which so many are
	struct trace_printer printer;
	bool json;
};

static long long number_in(const json_t *list, const char *name)
{
	return json_integer_value(json_object_get(json_array_get(list, 0), name));
}

static void trace_begin(const struct options *options, struct session *s, const struct query *q)
{
	char text[CLIENT_FILTER_MAX + 32];
	struct answer answer;
	unsigned int number = 0;

	snprintf(text, sizeof(text), "trace count=%u%s", options->packets, q->filter);
	control_order(&answer, s->instance, text);
	sscanf(answer.text, "trace %u", &number);
	answer_fini(&answer);
	clock_gettime(CLOCK_REALTIME, &s->printer.begin);
	snprintf(s->number, sizeof(s->number), ",trace=%u", number);
}

static void trace_end(const struct session *s)
{
	char text[64];
	struct answer answer;

	snprintf(text, sizeof(text), "trace-stop %s", s->number + 1);
	control_order(&answer, s->instance, text);
	answer_fini(&answer);
}

static void steps_take(struct session *s)
{
	query_get_more(s->steps, s->instance, "trace_steps", s->number);
	if (s->json)
		return;
	for (; s->printed < json_array_size(s->steps); s->printed++)
		trace_step_print(&s->printer, json_array_get(s->steps, s->printed));
	fflush(stdout);
}

// Requests the state, a new reference, and then the steps.
static json_t *trace_step(struct session *s, bool *over)
{
	json_t *state = query_get(s->instance, "trace_state", s->number);
	const char *text = json_string_value(json_object_get(json_array_get(state, 0), "state"));

	*over = text == NULL || strcmp(text, "on") != 0;
	steps_take(s);
	return state;
}

// Returns the last state, a new reference.
static json_t *trace_follow(const struct options *options, struct session *s)
{
	bool over = false;

	for (unsigned int ms = 0; ms < options->seconds * 1000 && screen_wait(POLL_MS);
		ms += POLL_MS) {
		json_t *state = trace_step(s, &over);

		if (over)
			return state;
		json_decref(state);
	}
	trace_end(s);
	return trace_step(s, &over);
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
	long long packets = number_in(state, "packets"), lost = number_in(state, "lost_steps");

	if (s->json) {
		json_t *all = json_pack(
			"{s:o, s:I}", "packets", packets_of(s->steps), "lost_steps", lost);
		enum exit_code code = output_json(all);

		json_decref(all);
		return code;
	}
	printf("%s%lld packet%s", packets > 0 ? "\n" : "", packets, packets == 1 ? "" : "s");
	if (lost > 0)
		printf(", %lld steps lost", lost);
	putchar('\n');
	return EXIT_OK;
}

enum exit_code command_trace(const struct options *options, char **words)
{
	struct session s = {.json = options->json};
	enum exit_code code;
	struct query q;
	json_t *state;

	query_read_trace(&q, words);
	s.instance = instance_choose(options->instance);
	s.steps = json_array();
	trace_begin(options, &s, &q);
	screen_begin();
	state = trace_follow(options, &s);
	code = end_print(&s, state);
	json_decref(state);
	json_decref(s.steps);
	return code;
}
