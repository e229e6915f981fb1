// SPDX-License-Identifier: BSD-3-Clause
// culvertctl events: subscribes to the events of a daemon, prints them as they come, and runs a
// command for each.
#include <ctype.h>
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control.h"
#include "field.h"
#include "instances.h"
#include "output.h"

#define PREFIX "CULVERT_"

// An event as text: its fields in order, each "NAME=VALUE".
static json_t *fields_read(const char *line)
{
	json_t *event = json_object();

	while (*line != '\0') {
		size_t len = strcspn(line, "\t"), name = strcspn(line, "=\t");

		if (name < len)
			json_object_setn_new(event, line, name,
				json_stringn_nocheck(line + name + 1, len - name - 1));
		line += len + (line[len] == '\t');
	}
	return event;
}

static const char *text_of(const json_t *event, const char *name)
{
	const char *text = object_text(event, name);

	return text != NULL ? text : "-";
}

// TIME SEVERITY EVENT NAME=VALUE...
static void line_print(json_t *event)
{
	static const char *const first[] = {"time", "severity", "event"};
	const char *name;
	json_t *value;

	for (size_t i = 0; i < 3; i++) {
		output_text(stdout, text_of(event, first[i]));
		if (i < 2)
			putchar(' ');
		json_object_del(event, first[i]);
	}
	json_object_foreach(event, name, value)
	{
		const char *text = json_string_value(value);
		const char *quote = text[strcspn(text, " \"")] != '\0' ? "\"" : "";

		printf(" %s=%s", name, quote);
		output_text(stdout, text);
		printf("%s", quote);
	}
	putchar('\n');
}

static void json_print(json_t *event)
{
	json_t *events = json_pack("[O]", event), *typed = fields_typed("events", events);

	json_dumpf(json_array_get(typed, 0), stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(typed);
	json_decref(events);
}

// Each field as CULVERT_NAME.
static void environment_set(json_t *event, const char *instance)
{
	const char *name;
	json_t *value;
	char variable[64];

	setenv(PREFIX "INSTANCE", instance, 1);
	json_object_foreach(event, name, value)
	{
		size_t len = strlen(PREFIX);

		snprintf(variable, sizeof(variable), PREFIX "%s", name);
		for (; variable[len] != '\0'; len++)
			variable[len] = (char)toupper((unsigned char)variable[len]);
		setenv(variable, json_string_value(value), 1);
	}
}

static void command_run(const char *command, json_t *event, const char *instance)
{
	pid_t pid = fork();
	int status;

	if (pid < 0) {
		warn("%s", command);
		return;
	}
	if (pid == 0) {
		environment_set(event, instance);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	if (TEMP_FAILURE_RETRY(waitpid(pid, &status, 0)) == pid && status != 0)
		warnx("event %s: the command exited with status %d", text_of(event, "event"),
			WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static void event_serve(const struct options *options, const char *line, const char *instance)
{
	json_t *event = fields_read(line), *copy = json_copy(event);

	if (options->json)
		json_print(event);
	else
		line_print(event);
	fflush(stdout);
	if (options->run != NULL)
		command_run(options->run, copy, instance);
	json_decref(event);
	json_decref(copy);
}

enum exit_code command_events(const struct options *options, char **words)
{
	const char *instance = instance_choose(options->instance);
	char line[CONTROL_EVENT_MAX];
	int fd = control_subscribe(instance);

	(void)words;
	while (control_event(fd, instance, line) && !ferror(stdout))
		event_serve(options, line, instance);
	close(fd);
	return EXIT_FAILED;
}
