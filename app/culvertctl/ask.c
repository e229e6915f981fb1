// SPDX-License-Identifier: BSD-3-Clause
#include "ask.h"

#include <err.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "client.h"
#include "instances.h"
#include "table.h"

json_t *ask_find(void)
{
	json_t *found;
	int ret = instances_find(&found);

	if (ret != 0)
		errx(EXIT_FAILED, "cannot read %s: %s", instances_folder(), client_strerror(ret));
	return found;
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

const char *ask_instance(const char *name)
{
	static char only[NAME_MAX + 1];
	json_t *found;
	size_t n;

	if (name != NULL)
		return name;
	found = ask_find();
	n = json_array_size(found);
	if (n == 0)
		ask_none_running();
	else if (n > 1)
		warnx("several instances are running, choose one with -i:");
	for (size_t i = 0; n > 1 && i < n; i++)
		fprintf(stderr, "  %s\n", instance_name(found, i));
	if (n == 1)
		snprintf(only, sizeof(only), "%s", instance_name(found, 0));
	json_decref(found);
	if (n != 1)
		exit(n == 0 ? EXIT_FAILED : EXIT_USAGE);
	return only;
}

void ask_address(struct sockaddr_un *addr, const char *instance, const char *file)
{
	int ret = instance_address(addr, instance, file);

	if (ret == -EINVAL)
		errx(EXIT_USAGE, "invalid instance name \"%s\": use [A-Za-z0-9_.-]", instance);
	if (ret != 0)
		errx(EXIT_FAILED, "instance %s (%s): %s", instance, addr->sun_path,
			client_strerror(ret));
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

void ask_more(json_t *objects, const char *instance, const char *command, const char *filter)
{
	struct sockaddr_un addr;
	int ret;

	ask_address(&addr, instance, INSTANCE_TELEMETRY);
	ret = objects_get(objects, &addr, command, filter);
	if (ret == -EBADRQC) {
		fprintf(stderr, "%s: instance %s: ", program_invocation_short_name, instance);
		table_put_text(stderr, json_string_value(json_array_get(objects, 0)));
		putc('\n', stderr);
		exit(EXIT_USAGE);
	}
	if (ret != 0)
		errx(EXIT_FAILED, "instance %s (%s): %s", instance, addr.sun_path,
			client_strerror(ret));
}

json_t *ask_list(const char *instance, const char *command, const char *filter)
{
	json_t *objects = json_array();

	if (objects == NULL)
		err(EXIT_FAILED, NULL);
	ask_more(objects, instance, command, filter);
	return objects;
}
