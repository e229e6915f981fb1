// SPDX-License-Identifier: BSD-3-Clause
// culvertctl diff, save, show config and peer-config: configurations, and how they differ.
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "conf_print.h"
#include "control.h"
#include "difference.h"
#include "save.h"

// --- diff: changes of a reload ---

// The exit code is that of diff(1).
#define SAME      EXIT_OK
#define DIFFERENT EXIT_FAILED
#define TROUBLE   EXIT_USAGE

// revisions: there is no file, so no reload.
static enum exit_code differences_print(
	const struct options *options, const char *text, bool revisions)
{
	json_t *differences = json_loads(text, 0, NULL), *d;
	unsigned int n_restart = 0, n_run_time = 0;
	size_t i;

	if (differences == NULL)
		errx(TROUBLE, "diff: malformed answer: is this a culvertd of the same version?");
	json_array_foreach(differences, i, d)
	{
		n_restart += json_is_true(json_object_get(d, "restart"));
		n_run_time += json_is_true(json_object_get(d, "run_time"));
		if (!options->json)
			difference_print(d, true);
	}
	if (options->json)
		output_json(json_incref(differences));
	else if (n_restart > 0)
		printf("A %s would be refused, as %u of these need%s a restart.\n",
			revisions ? "rollback" : "reload", n_restart, n_restart == 1 ? "s" : "");
	else if (n_run_time > 0 && !revisions)
		printf("A reload would be refused without --discard, as it would discard %u "
		       "run-time change%s.\n",
			n_run_time, n_run_time == 1 ? "" : "s");
	json_decref(differences);
	return DIFFERENT;
}

static enum exit_code result_print(
	const struct options *options, const struct answer *answer, bool revisions)
{
	if (strcmp(answer->status, "different") == 0)
		return differences_print(options, answer->text, revisions);
	if (strcmp(answer->status, "same") != 0) {
		answer_print(options, answer, "");
		return TROUBLE;
	}
	puts(options->json ? "[]" : "nothing would change");
	return SAME;
}

enum exit_code command_diff(const struct options *options, char **words)
{
	const char *from = words[0], *to = from != NULL ? words[1] : NULL;
	struct answer answer;
	enum exit_code code;
	char request[64];

	if (to != NULL && words[2] != NULL)
		errx(TROUBLE,
			"diff: expected at most two revisions: culvertctl history lists them");
	snprintf(request, sizeof(request), "diff%s%s%s%s", from != NULL ? " " : "",
		from != NULL ? from : "", to != NULL ? " " : "", to != NULL ? to : "");
	control_request(&answer, options->instance, request, TROUBLE);
	code = result_print(options, &answer, from != NULL);
	answer_fini(&answer);
	return code;
}

// --- history ---

enum exit_code command_history(const struct options *options, char **words)
{
	return command_show(options, words - 1); // it is a list
}

// --- save, show config ---

static enum exit_code text_print(
	const struct options *options, const char *command, const char *request)
{
	struct answer answer;
	enum exit_code code = EXIT_OK;

	control_request(&answer, options->instance, request, EXIT_FAILED);
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

// The running configuration, as a file.
enum exit_code command_show_config(const struct options *options, char **words)
{
	if (options->watch > 0)
		errx(EXIT_USAGE, "show config: --watch is for lists");
	if (words[0] != NULL)
		errx(EXIT_USAGE, "show config: unexpected argument \"%s\"", words[0]);
	return text_print(options, "show config", "config");
}

// The changes that the file lacks, for apply; or they are put into it.
enum exit_code command_save(const struct options *options, char **words)
{
	(void)words;
	return options->write ? save_write(options) : text_print(options, "save", "save");
}

// --- peer-config: the other end of the tunnels of a file ---

enum exit_code command_peer_config(const struct options *options, char **words)
{
	struct conf *conf;
	int rc;

	(void)options;
	if (words[0] == NULL || (words[1] != NULL && words[2] != NULL))
		errx(EXIT_USAGE, "peer-config: expected a configuration file, and perhaps a peer");
	conf = conf_load(words[0], NULL, stderr);
	if (conf == NULL)
		return EXIT_FAILED;
	rc = conf_print_peer(conf, words[1], stdout, stderr);
	conf_free(conf);
	if (rc == -ENOMEM)
		warnx("peer-config: out of memory");
	return rc < 0 ? EXIT_FAILED : EXIT_OK;
}
