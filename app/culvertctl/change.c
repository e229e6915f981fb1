// SPDX-License-Identifier: BSD-3-Clause
// culvertctl sa|policy|rule|neighbour|route, and culvertctl apply: changes without the file. Only
// the daemon knows their meaning (lib/conf/conf_change.h); here they become a request. And
// culvertctl reload.
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"
#include "instances.h"
#include "output.h"

#define TEXT_MAX (64 * 1024) // that a daemon takes, and some more is seen to be too long

// Reads a whole file or, for "-", standard input. To be freed; NULL after a message.
static char *file_read(const char *name)
{
	char *text = calloc(1, TEXT_MAX + 2);
	FILE *f = NULL;
	size_t len;

	if (text != NULL)
		f = strcmp(name, "-") == 0 ? stdin : fopen(name, "re");
	if (f == NULL) {
		warn("%s", name);
		free(text);
		return NULL;
	}
	len = fread(text, 1, TEXT_MAX + 1, f);
	if (ferror(f) || len > TEXT_MAX || strlen(text) != len) {
		if (ferror(f))
			warn("%s", name);
		else
			warnx("%s: must be text of at most %d octets", name, TEXT_MAX);
		free(text);
		text = NULL;
	}
	if (f != stdin)
		fclose(f);
	return text;
}

// Sends changes, which messages call by that name. NULL: there is no text, after a message.
static enum exit_code changes_send(
	const struct options *options, const char *name, const char *text)
{
	enum exit_code code = EXIT_FAILED;
	struct answer answer;
	char *request;

	if (text == NULL)
		return EXIT_FAILED;
	request = control_change_request(options, "change %s\n%s", name, text);
	if (control_try(&answer, options->instance, request)) {
		code = answer_print(options, &answer, "changed");
		answer_fini(&answer);
	}
	explicit_bzero(request, strlen(request)); // keys
	free(request);
	return code;
}

// Words that are not settings.
static void words_check(const char *kind, char **words, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (words[i][0] == '\0' || strpbrk(words[i], " \t\r\n;{}#\"") != NULL)
			errx(EXIT_USAGE, "%s: invalid name \"%s\"", kind, words[i]);
}

// The text of a change: settings (NULL: none) get braces around them unless they have some; their
// first line is that of the change. NULL without memory.
static char *change_text(const char *kind, char **words, unsigned int n, const char *settings)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (f == NULL)
		return NULL;
	fputs(kind, f);
	for (unsigned int i = 0; i < n; i++)
		fprintf(f, " %s", words[i]);
	if (settings == NULL)
		fputs(" \n", f);
	else if (settings[strspn(settings, " \t\r\n")] == '{')
		fprintf(f, " %s\n", settings + strspn(settings, " \t\r\n"));
	else
		fprintf(f, " {%s\n}\n", settings);
	fclose(f);
	return text;
}

// Gives an object another state, or role, by the request KIND-STATE NAME.
static enum exit_code state_order(
	const struct options *options, const char *kind, const char *name, const char *state)
{
	struct answer answer;
	char *request;

	if (asprintf(&request, "%s-%s %s", kind, state, name) < 0)
		err(EXIT_FAILED, NULL);
	control_order(&answer, instance_choose(options->instance), request);
	answer_fini(&answer);
	free(request);
	return options->json ? output_json(json_pack("{s:s}", "result", state)) : EXIT_OK;
}

enum exit_code command_group(const struct options *options, char **words)
{
	if (words[0] == NULL || words[1] == NULL || words[2] != NULL ||
		(strcmp(words[1], "active") != 0 && strcmp(words[1], "standby") != 0 &&
			strcmp(words[1], "drain") != 0))
		errx(EXIT_USAGE,
			"group: expected the name of a group, and \"active\", \"standby\" or "
			"\"drain\"");
	words_check("group", words, 1);
	return state_order(options, "group", words[0], words[1]);
}

enum exit_code command_drain(const struct options *options, char **words)
{
	const bool off = words[0] != NULL && strcmp(words[0], "off") == 0;
	const bool now = words[0] != NULL && strcmp(words[0], "now") == 0;
	struct answer answer;

	if (words[off || now] != NULL)
		errx(EXIT_USAGE, "drain: expected nothing more, or \"now\" or \"off\"");
	control_order(&answer, instance_choose(options->instance),
		off   ? "drain-off"
		: now ? "drain-now"
		      : "drain");
	answer_fini(&answer);
	return options->json ? output_json(json_pack("{s:s}", "result", off ? "serves" : "drains"))
			     : EXIT_OK;
}

enum exit_code command_change(const struct options *options, char **words)
{
	const char *kind = words[-1], *settings;
	char *read = NULL, *text;
	enum exit_code code;
	unsigned int n = 0;

	while (words[n] != NULL)
		n++;
	if (n == 2 && strcmp(kind, "tunnel") == 0 &&
		(strcmp(words[0], "down") == 0 || strcmp(words[0], "up") == 0))
		return state_order(options, kind, words[1], words[0]);
	if (n < 2)
		errx(EXIT_USAGE,
			"%s: expected \"add\" or \"set\" and settings, or \"del\" and a name",
			kind);
	settings = strcmp(words[0], "del") == 0 ? NULL : words[--n];
	words_check(kind, words, n);
	if (settings != NULL && strcmp(settings, "-") == 0) {
		settings = read = file_read("-");
		if (read == NULL)
			return EXIT_FAILED;
	}
	text = change_text(kind, words, n, settings);
	code = changes_send(options, read != NULL ? "stdin" : "argument", text);
	free(read);
	free(text);
	return code;
}

enum exit_code command_apply(const struct options *options, char **words)
{
	enum exit_code code;
	char *text;

	if (words[0] == NULL || words[1] != NULL)
		errx(EXIT_USAGE, "apply: expected one file name, or -");
	text = file_read(words[0]);
	code = changes_send(options, strcmp(words[0], "-") == 0 ? "stdin" : words[0], text);
	free(text);
	return code;
}

// Sends a request without keys, which it frees; done: the word for its success.
static enum exit_code request_send(const struct options *options, char *request, const char *done)
{
	struct answer answer;
	enum exit_code code;

	control_request(&answer, options->instance, request, EXIT_FAILED);
	code = answer_print(options, &answer, done);
	answer_fini(&answer);
	free(request);
	return code;
}

enum exit_code command_reload(const struct options *options, char **words)
{
	(void)words;
	return request_send(options,
		control_change_request(options, "reload%s", options->discard ? " discard" : ""),
		"reloaded");
}

enum exit_code command_rollback(const struct options *options, char **words)
{
	if (words[0] == NULL || words[1] != NULL)
		errx(EXIT_USAGE, "rollback: expected one revision: culvertctl history lists them");
	words_check("rollback", words, 1);
	return request_send(
		options, control_change_request(options, "rollback %s", words[0]), "rolled back");
}

enum exit_code command_confirm(const struct options *options, char **words)
{
	(void)words;
	return request_send(options, control_change_request(options, "confirm"), "confirmed");
}
