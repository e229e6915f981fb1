// SPDX-License-Identifier: BSD-3-Clause
#include "command.h"

#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "client.h"
#include "instances.h"
#include "show.h"
#include "table.h"

struct question {
	const struct show *what;
	bool all;                       // also objects whose counter is 0
	char filter[CLIENT_FILTER_MAX]; // as of client_list()
};

// Characters in a line of the terminal; 0: no terminal, no limit.
static size_t terminal_width(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
		return 0;
	return size.ws_col != 0 ? size.ws_col : 80; // a serial line does not know
}

static enum exit_code rows_print(json_t *rows)
{
	if (rows != NULL && table_print(stdout, rows, terminal_width()) == 0)
		return EXIT_OK;
	warnx("out of memory");
	return EXIT_FAILED;
}

static enum exit_code json_print(json_t *objects)
{
	if (json_dumpf(objects, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII) == 0) {
		putchar('\n');
		return EXIT_OK;
	}
	warn("cannot write JSON");
	return EXIT_FAILED;
}

static enum exit_code find(json_t **found)
{
	int ret = instances_find(found);

	if (ret == 0)
		return EXIT_OK;
	warnx("cannot read %s: %s", instances_folder(), client_strerror(ret));
	return EXIT_FAILED;
}

static void none_running(void)
{
	warnx("no running culvertd found in %s; start one: culvertd -c FILE", instances_folder());
	if (getuid() != 0)
		warnx("run as root to see those that root started");
}

enum exit_code command_list(const struct options *options)
{
	json_t *found;
	enum exit_code code = find(&found);

	if (code != EXIT_OK)
		return code;
	if (options->json)
		code = json_print(found);
	else if (json_array_size(found) > 0)
		code = rows_print(found);
	else
		none_running();
	json_decref(found);
	return code;
}

static int objects_get(json_t **objects, const struct sockaddr_un *addr, const struct question *q)
{
	char command[64];
	pid_t pid;
	int fd = client_open(&pid, addr);
	int ret;

	if (fd < 0)
		return fd;
	snprintf(command, sizeof(command), "/culvert/%s",
		q->what->command != NULL ? q->what->command : q->what->word);
	ret = client_list(objects, fd, command, q->filter);
	close(fd);
	return ret;
}

// Asks the instance; *objects becomes a new array.
static enum exit_code ask(json_t **objects, const char *instance, const struct question *q)
{
	struct sockaddr_un addr;
	int ret = instance_address(&addr, instance);

	if (ret == -EINVAL) {
		warnx("\"%s\" is no name of an instance: use [A-Za-z0-9_.-]", instance);
		return EXIT_USAGE;
	}
	if (ret == 0)
		ret = objects_get(objects, &addr, q);
	if (ret == 0)
		return EXIT_OK;
	if (ret == -EBADRQC) {
		fprintf(stderr, "%s: instance %s: ", program_invocation_short_name, instance);
		table_put_text(stderr, json_string_value(json_array_get(*objects, 0)));
		putc('\n', stderr);
		json_decref(*objects);
		return EXIT_USAGE;
	}
	warnx("instance %s (%s): %s", instance, addr.sun_path, client_strerror(ret));
	return EXIT_FAILED;
}

static enum exit_code objects_print(json_t *objects, const struct question *q)
{
	json_t *rows = show_rows(q->what, objects, q->all);
	enum exit_code code = rows_print(rows);

	if (code == EXIT_OK && json_array_size(rows) == 0)
		printf("no %s\n", q->what->word);
	json_decref(rows);
	return code;
}

static enum exit_code ask_instance(
	const struct options *options, const char *instance, const struct question *q)
{
	json_t *objects;
	enum exit_code code = ask(&objects, instance, q);

	if (code != EXIT_OK)
		return code;
	code = options->json ? json_print(objects) : objects_print(objects, q);
	json_decref(objects);
	return code;
}

static const char *instance_name(json_t *found, size_t i)
{
	return json_string_value(json_object_get(json_array_get(found, i), "instance"));
}

static enum exit_code ask_only(const struct options *options, const struct question *q)
{
	json_t *found;
	enum exit_code code = find(&found);

	if (code != EXIT_OK)
		return code;
	if (json_array_size(found) == 1) {
		code = ask_instance(options, instance_name(found, 0), q);
	} else if (json_array_size(found) == 0) {
		none_running();
		code = EXIT_FAILED;
	} else {
		warnx("several instances are running, choose one with -i:");
		for (size_t i = 0; i < json_array_size(found); i++)
			fprintf(stderr, "  %s\n", instance_name(found, i));
		code = EXIT_USAGE;
	}
	json_decref(found);
	return code;
}

static enum exit_code word_unknown(const char *word)
{
	const char *nearest = show_nearest(word);

	if (nearest != NULL)
		warnx("show: \"%s\" is unknown, did you mean \"%s\"? There are:", word, nearest);
	else
		warnx("show: \"%s\" is unknown, there are:", word);
	show_help(stderr);
	return EXIT_USAGE;
}

static enum exit_code ask_chosen(const struct options *options, const struct question *q)
{
	if (options->instance != NULL)
		return ask_instance(options, options->instance, q);
	return ask_only(options, q);
}

static bool is_filter(const struct show *what, const char *word)
{
	const char *const *filter = what->filters;

	while (*filter != NULL && strcmp(*filter, word) != 0)
		filter++;
	return *filter != NULL;
}

static enum exit_code filter_unknown(const char *command, const struct show *what, const char *word)
{
	fprintf(stderr, "%s: %s %s: \"%s\" is no filter, there are:", program_invocation_short_name,
		command, what->word, word);
	for (const char *const *filter = what->filters; *filter != NULL; filter++)
		fprintf(stderr, " %s", *filter);
	putc('\n', stderr);
	return EXIT_USAGE;
}

// Reads pairs of words, a filter and its value.
static enum exit_code filters_read(struct question *q, const char *command, char **words)
{
	size_t len = 0;

	for (; words[0] != NULL; words += 2) {
		if (!is_filter(q->what, words[0]))
			return filter_unknown(command, q->what, words[0]);
		if (words[1] == NULL) {
			warnx("%s %s: %s: of which value?", command, q->what->word, words[0]);
			return EXIT_USAGE;
		}
		len += (size_t)snprintf(
			q->filter + len, sizeof(q->filter) - len, ",%s=%s", words[0], words[1]);
		if (len >= sizeof(q->filter)) {
			warnx("%s %s: the filters are too long", command, q->what->word);
			return EXIT_USAGE;
		}
	}
	return EXIT_OK;
}

enum exit_code command_show(const struct options *options, char **words)
{
	struct question q = {};
	enum exit_code code = EXIT_OK;

	if (words[0] == NULL) {
		warnx("show: what? There are:");
		show_help(stderr);
		return EXIT_USAGE;
	}
	q.what = show_find(words[0]);
	if (q.what == NULL)
		return word_unknown(words[0]);
	words++;
	q.all = q.what->nonzero != NULL && words[0] != NULL && strcmp(words[0], "all") == 0;
	words += q.all;
	if (q.what->filters != NULL) {
		code = filters_read(&q, "show", words);
	} else if (words[0] != NULL) {
		warnx("show %s: \"%s\" is one word too many", q.what->word, words[0]);
		code = EXIT_USAGE;
	}
	return code == EXIT_OK ? ask_chosen(options, &q) : code;
}

enum exit_code command_flush(const struct options *options, char **words)
{
	struct question q = {.what = &show_flush_flows};
	enum exit_code code;

	if (words[0] == NULL || strcmp(words[0], q.what->word) != 0) {
		warnx("flush: what? There is: %s", q.what->word);
		return EXIT_USAGE;
	}
	code = filters_read(&q, "flush", words + 1);
	return code == EXIT_OK ? ask_chosen(options, &q) : code;
}
