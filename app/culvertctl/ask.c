// SPDX-License-Identifier: BSD-3-Clause
#include "ask.h"

#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "client.h"
#include "instances.h"
#include "table.h"

enum exit_code ask_find(json_t **found)
{
	int ret = instances_find(found);

	if (ret == 0)
		return EXIT_OK;
	warnx("cannot read %s: %s", instances_folder(), client_strerror(ret));
	return EXIT_FAILED;
}

void ask_none_running(void)
{
	warnx("no running culvertd found in %s; start one: culvertd -c FILE", instances_folder());
	if (getuid() != 0)
		warnx("run as root to see instances that root started, or name one: -i INSTANCE");
}

static const char *instance_name(const json_t *found, size_t i)
{
	return json_string_value(json_object_get(json_array_get(found, i), "instance"));
}

static enum exit_code choose_only(struct target *t)
{
	enum exit_code code = ask_find(&t->found);

	if (code != EXIT_OK)
		return code;
	if (json_array_size(t->found) == 1) {
		t->instance = instance_name(t->found, 0);
		return EXIT_OK;
	}
	if (json_array_size(t->found) == 0) {
		ask_none_running();
		return EXIT_FAILED;
	}
	warnx("several instances are running, choose one with -i:");
	for (size_t i = 0; i < json_array_size(t->found); i++)
		fprintf(stderr, "  %s\n", instance_name(t->found, i));
	return EXIT_USAGE;
}

enum exit_code target_init(struct target *t, const char *instance)
{
	enum exit_code code = EXIT_OK;

	*t = (struct target){.instance = instance};
	if (instance == NULL)
		code = choose_only(t);
	if (code != EXIT_OK)
		target_fini(t);
	return code;
}

void target_fini(struct target *t)
{
	json_decref(t->found);
	t->found = NULL;
}

static int objects_get(
	json_t *objects, const struct sockaddr_un *addr, const char *command, const char *filter)
{
	char path[64];
	pid_t pid;
	int fd = client_open(&pid, addr);
	int ret;

	if (fd < 0)
		return fd;
	snprintf(path, sizeof(path), "/culvert/%s", command);
	ret = client_list(objects, fd, path, filter);
	close(fd);
	return ret;
}

enum exit_code ask_more(
	json_t *objects, const struct target *t, const char *command, const char *filter)
{
	struct sockaddr_un addr;
	int ret = instance_address(&addr, t->instance, INSTANCE_TELEMETRY);

	if (ret == -EINVAL) {
		warnx("invalid instance name \"%s\": use [A-Za-z0-9_.-]", t->instance);
		return EXIT_USAGE;
	}
	if (ret == 0)
		ret = objects_get(objects, &addr, command, filter);
	if (ret == 0)
		return EXIT_OK;
	if (ret == -EBADRQC) {
		fprintf(stderr, "%s: instance %s: ", program_invocation_short_name, t->instance);
		table_put_text(stderr, json_string_value(json_array_get(objects, 0)));
		putc('\n', stderr);
		return EXIT_USAGE;
	}
	warnx("instance %s (%s): %s", t->instance, addr.sun_path, client_strerror(ret));
	return EXIT_FAILED;
}

enum exit_code ask_list(
	json_t **objects, const struct target *t, const char *command, const char *filter)
{
	enum exit_code code;

	*objects = json_array();
	if (*objects == NULL)
		err(EXIT_FAILED, NULL);
	code = ask_more(*objects, t, command, filter);
	if (code != EXIT_OK)
		json_decref(*objects);
	return code;
}
