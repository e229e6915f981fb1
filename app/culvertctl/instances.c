// SPDX-License-Identifier: BSD-3-Clause
#include "instances.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client.h"

#define PREFIX "culvert-"
#define LETTERS                                                                                    \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-" // as the config allows

const char *instances_folder(void)
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

int instance_address(struct sockaddr_un *addr, const char *name, const char *file)
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

static int has_prefix(const struct dirent *entry)
{
	return strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0;
}

// Appends the instance to found if it runs; what a dead daemon left behind is passed over.
static int instance_check(json_t *found, const char *name)
{
	struct sockaddr_un addr;
	json_t *row, *pid_or_null = NULL;
	const char *state = "running";
	pid_t pid;
	int fd = instance_address(&addr, name, INSTANCE_TELEMETRY);

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

int instances_find(json_t **found)
{
	struct dirent **entries = NULL;
	int n = scandir(instances_folder(), &entries, has_prefix, alphasort);
	int ret = 0;

	if (n < 0 && errno == ENOENT)
		n = 0;
	else if (n < 0)
		return -errno;
	*found = json_array();
	for (int i = 0; i < n; i++) {
		if (ret == 0)
			ret = instance_check(*found, entries[i]->d_name + strlen(PREFIX));
		free(entries[i]);
	}
	free(entries);
	if (ret != 0)
		json_decref(*found);
	return ret;
}
