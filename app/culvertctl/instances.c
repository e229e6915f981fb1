// SPDX-License-Identifier: BSD-3-Clause
#include "instances.h"

#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client.h"
#include "output.h"

#define PREFIX "culvert-"
#define LETTERS                                                                                    \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-" // as the config allows

// DPDK's runtime folder, by DPDK's own rule (eal_create_runtime_dir): $RUNTIME_DIRECTORY/dpdk, else
// /var/run/dpdk for root and $XDG_RUNTIME_DIR/dpdk for others, else /tmp/dpdk. In static memory.
static const char *instances_folder(void)
{
	static char folder[PATH_MAX];
	const char *parent = getenv("RUNTIME_DIRECTORY");

	if (parent == NULL)
		parent = getuid() == 0 ? "/var/run" : getenv("XDG_RUNTIME_DIR");
	snprintf(folder, sizeof(folder), "%s/dpdk", parent != NULL ? parent : "/tmp");
	return folder;
}

// Where root's daemons are, to which members of control_group and show_group have access.
static const char roots[] = "/var/run/dpdk";

static bool has_instance(const char *folder, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/" PREFIX "%s", folder, name);
	return access(path, F_OK) == 0;
}

int instance_file(struct sockaddr_un *addr, const char *name, const char *file)
{
	const char *folder = instances_folder();
	int len;

	if (name[0] == '\0' || name[strspn(name, LETTERS)] != '\0')
		return -EINVAL;
	if (getenv("RUNTIME_DIRECTORY") == NULL && !has_instance(folder, name) &&
		has_instance(roots, name))
		folder = roots;
	addr->sun_family = AF_UNIX;
	len = snprintf(
		addr->sun_path, sizeof(addr->sun_path), "%s/" PREFIX "%s/%s", folder, name, file);
	return (size_t)len < sizeof(addr->sun_path) ? 0 : -ENAMETOOLONG;
}

void instance_address(struct sockaddr_un *addr, const char *instance, const char *file)
{
	int ret = instance_file(addr, instance, file);

	if (ret == -EINVAL)
		errx(EXIT_USAGE, "invalid instance name \"%s\": use [A-Za-z0-9_.-]", instance);
	if (ret != 0)
		errx(EXIT_FAILED, "instance %s (%s): %s", instance, addr->sun_path,
			client_strerror(ret));
}

static int has_prefix(const struct dirent *entry)
{
	return strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0;
}

// Appends the instance to found if it runs; files of a dead daemon are skipped.
static int instance_check(json_t *found, const char *name)
{
	struct sockaddr_un addr;
	json_t *row, *pid_or_null = NULL;
	const char *state = "running";
	pid_t pid;
	int fd = instance_file(&addr, name, INSTANCE_TELEMETRY);

	if (fd == 0)
		fd = client_open(&pid, &addr);
	if (fd == -EINVAL || fd == -ENAMETOOLONG || fd == -ENOENT || fd == -ECONNREFUSED)
		return 0;
	if (fd < 0) {
		state = client_strerror(fd);
	} else {
		pid_or_null = json_integer(pid);
		close(fd);
	}
	row = json_pack("{s:s, s:o?, s:s, s:s}", "instance", name, "pid", pid_or_null, "state",
		state, "socket", addr.sun_path);
	return json_array_append_new(found, row) == 0 ? 0 : -ENOMEM;
}

json_t *instances_find(void)
{
	struct dirent **entries = NULL;
	int n = scandir(instances_folder(), &entries, has_prefix, alphasort);
	json_t *found = json_array();
	int ret = n < 0 && errno != ENOENT ? -errno : 0; // a missing folder: no instances

	for (int i = 0; i < n; i++) {
		if (ret == 0)
			ret = instance_check(found, entries[i]->d_name + strlen(PREFIX));
		free(entries[i]);
	}
	free(entries);
	if (ret != 0)
		errx(EXIT_FAILED, "cannot read %s: %s", instances_folder(), client_strerror(ret));
	return found;
}

void instances_none(void)
{
	warnx("no running culvertd found in %s; start one: culvertd -c FILE", instances_folder());
	if (getuid() != 0)
		warnx("run as root to see instances that root started, or name one: -i INSTANCE");
}

void instance_refused(const char *instance, const char *why)
{
	fprintf(stderr, "%s: instance %s: ", program_invocation_short_name, instance);
	output_text(stderr, why);
	putc('\n', stderr);
	exit(EXIT_USAGE);
}

static const char *name_at(const json_t *found, size_t i)
{
	return object_text(json_array_get(found, i), "instance");
}

const char *instance_choose(const char *name)
{
	static char only[NAME_MAX + 1];
	json_t *found;
	size_t n;

	if (name != NULL)
		return name;
	found = instances_find();
	n = json_array_size(found);
	if (n == 0)
		instances_none();
	else if (n > 1)
		warnx("several instances are running, choose one with -i:");
	for (size_t i = 0; n > 1 && i < n; i++)
		fprintf(stderr, "  %s\n", name_at(found, i));
	if (n == 1)
		snprintf(only, sizeof(only), "%s", name_at(found, 0));
	json_decref(found);
	if (n != 1)
		exit(n == 0 ? EXIT_FAILED : EXIT_USAGE);
	return only;
}
