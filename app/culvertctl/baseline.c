// SPDX-License-Identifier: BSD-3-Clause
#include "baseline.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "field.h"
#include "instances.h"
#include "output.h"
#include "query.h"

#define FILE_NAME   "cleared.json"
#define PATH_SIZE   (sizeof(((struct sockaddr_un *)NULL)->sun_path) + 8)
#define START_SLACK 2 // seconds that two answers may differ about the start of one daemon

static void path_of(char path[PATH_SIZE], const char *instance, const char *end)
{
	struct sockaddr_un addr;

	instance_address(&addr, instance, FILE_NAME);
	snprintf(path, PATH_SIZE, "%s%s", addr.sun_path, end);
}

// Which run of the daemon this is: process, and when it started by a clock that nobody sets.
static json_t *run_of(const char *instance)
{
	json_t *objects = query_get(instance, "info", ""), *run;
	const json_t *info = json_array_get(objects, 0);
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	run = json_pack("{s:I, s:I}", "pid", object_number(info, "pid"), "started",
		(json_int_t)now.tv_sec - object_number(info, "uptime_s"));
	json_decref(objects);
	return run;
}

static bool same_run(const json_t *a, const json_t *b)
{
	return object_number(a, "pid") == object_number(b, "pid") &&
	       llabs(object_number(a, "started") - object_number(b, "started")) <= START_SLACK;
}

static void file_failed(const char *path)
{
	warn("%s", path);
	if (errno == EACCES || errno == EPERM)
		warnx("run as root");
	exit(EXIT_FAILED);
}

// As a whole or not at all. The folder may belong to the user of the daemon, who could have put a
// link there.
static void file_write(const char *instance, const json_t *baseline)
{
	char path[PATH_SIZE], made[PATH_SIZE];
	int fd;

	path_of(path, instance, "");
	path_of(made, instance, ".new");
	unlink(made);
	fd = open(made, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || json_dumpfd(baseline, fd, JSON_COMPACT) != 0 || fchmod(fd, 0644) < 0 ||
		close(fd) < 0)
		file_failed(made);
	if (rename(made, path) < 0)
		file_failed(path);
}

void baseline_take(const char *instance)
{
	json_t *baseline = json_object();

	json_object_set_new(baseline, "run", run_of(instance));
	for (size_t i = 0; i < query_n_lists; i++) {
		const char *list = query_lists[i].word;

		if (query_lists[i].filters == NULL && fields_count(list)) // flows come and go
			json_object_set_new(baseline, list, query_get(instance, list, ""));
	}
	json_object_set_new(baseline, "at", json_integer(time(NULL)));
	file_write(instance, baseline);
	json_decref(baseline);
}

void baseline_remove(const char *instance)
{
	char path[PATH_SIZE];

	path_of(path, instance, "");
	if (unlink(path) < 0 && errno != ENOENT)
		file_failed(path);
}

// Anything but a file is ignored, such as a pipe, which would never end.
static json_t *file_read(const char *path)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	json_t *read = NULL;
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		read = json_loadfd(fd, 0, NULL);
	if (fd >= 0)
		close(fd);
	return read;
}

// The baseline of this run of the daemon, or NULL.
static json_t *baseline_read(const char *instance)
{
	char path[PATH_SIZE];
	json_t *baseline, *run;

	path_of(path, instance, "");
	baseline = file_read(path);
	if (baseline == NULL)
		return NULL;
	run = run_of(instance);
	if (!same_run(run, json_object_get(baseline, "run"))) {
		json_decref(baseline);
		baseline = NULL;
	}
	json_decref(run);
	return baseline;
}

// A counter that is less than it was belongs to another object of that name, and counts whole.
static json_t *counter_less(const json_t *now, const json_t *before)
{
	json_int_t n = json_integer_value(now), b = json_integer_value(before);

	return json_integer(n >= b ? n - b : n);
}

// Counters by name, without counters that are 0 now.
static json_t *counters_less(json_t *now, const json_t *before)
{
	json_t *rest = json_object();
	const char *name;
	json_t *value;

	json_object_foreach(now, name, value)
	{
		json_t *n = counter_less(value, json_object_get(before, name));

		if (json_integer_value(n) > 0)
			json_object_set(rest, name, n);
		json_decref(n);
	}
	return rest;
}

static void object_subtract(const char *list, json_t *object, const json_t *before)
{
	const char *name;
	json_t *value;
	void *next;

	json_object_foreach_safe(object, next, name, value)
	{
		const json_t *old = json_object_get(before, name);

		if (json_is_object(value))
			json_object_set_new(object, name, counters_less(value, old));
		else if (field_is_counter(list, name))
			json_object_set_new(object, name, counter_less(value, old));
	}
}

static void since_print(const json_t *baseline)
{
	char at[OUTPUT_TIME_MAX];

	warnx("counting since %s; \"culvertctl clear undo\" counts from the start again",
		output_time(at, (time_t)object_number(baseline, "at")));
}

void baseline_subtract(const char *instance, const char *list, json_t *objects)
{
	json_t *baseline = baseline_read(instance), *index;
	const json_t *before = json_object_get(baseline, list);

	if (before == NULL) {
		json_decref(baseline);
		return;
	}
	index = fields_index(list, before);
	for (size_t i = 0; i < json_array_size(objects); i++) {
		json_t *object = json_array_get(objects, i);

		object_subtract(list, object, fields_same(index, list, object));
	}
	since_print(baseline);
	json_decref(index);
	json_decref(baseline);
}
