// SPDX-License-Identifier: BSD-3-Clause
#include "access.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_eal.h>

#include "log.h"

#define NO_GROUP  ((gid_t)-1)
#define GROUP_MAX 1024 // of a client

static _Atomic gid_t changers = NO_GROUP; // control_group

// The number of the group that a setting of this name has, NO_GROUP if it names none. Returns 0, or
// -EIO after a message if there is no such group.
static int group_find(gid_t *number, const struct conf *conf, const char *setting, const char *name)
{
	const struct group *group;
	struct conf_where where;

	*number = NO_GROUP;
	if (name == NULL)
		return 0;
	errno = 0;
	group = getgrnam(name);
	if (group != NULL) {
		*number = group->gr_gid;
		return 0;
	}
	where = conf_where_of(conf, setting);
	log_error("%s:%u: %s: there is no group \"%s\"%s%s: 'groupadd --system %s'", where.file,
		where.line, setting, name, errno != 0 ? ": " : "",
		errno != 0 ? strerror(errno) : "", name);
	return -EIO;
}

int access_find(struct access_groups *groups, const struct conf *conf)
{
	return group_find(&groups->control, conf, "control_group", conf->control_group) |
	       group_find(&groups->show, conf, "show_group", conf->show_group);
}

static bool is_member(int fd, gid_t primary, gid_t group)
{
	gid_t groups[GROUP_MAX];
	socklen_t size = sizeof(groups);

	if (group == NO_GROUP)
		return false;
	if (primary == group)
		return true;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) < 0)
		return false;
	for (size_t i = 0; i < size / sizeof(groups[0]); i++)
		if (groups[i] == group)
			return true;
	return false;
}

bool access_is_permitted(int fd, gid_t group)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       (peer.uid == 0 || peer.uid == geteuid() || is_member(fd, peer.gid, group));
}

bool access_may_change(int fd)
{
	return access_is_permitted(fd, atomic_load_explicit(&changers, memory_order_relaxed));
}

// The parent is DPDK's, for all its programs: others may only pass it, and see no names in it.
static int open_parent(const char *folder)
{
	char parent[256];
	struct stat st;

	snprintf(parent, sizeof(parent), "%.*s", (int)(strrchr(folder, '/') - folder), folder);
	if (stat(parent, &st) < 0)
		return -1;
	return (st.st_mode & 0111) == 0111 ? 0 : chmod(parent, (st.st_mode & 07777) | 0111);
}

// A folder has one group. With two, everybody may pass it: files in it have modes of their own.
static int open_folder(const char *folder, gid_t control, gid_t show)
{
	gid_t group = control != NO_GROUP ? control : show;

	if (control != NO_GROUP && show != NO_GROUP && control != show)
		return chmod(folder, 0711);
	return chown(folder, (uid_t)-1, group) < 0 ? -1 : chmod(folder, 0710);
}

// There may be none, with eal_args.
static int open_telemetry(const char *folder, gid_t group)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/dpdk_telemetry.v2", folder);
	if (chown(path, (uid_t)-1, group) < 0 || chmod(path, 0660) < 0)
		return errno == ENOENT ? 0 : -1;
	return 0;
}

// Devices on a bus, which DPDK removes by rte_dev_remove().
static bool has_cards(const struct conf *conf)
{
	for (unsigned int i = 0; i < conf->n_devices; i++)
		if (!conf_device_is_virtual(conf->devices[i].device))
			return true;
	return false;
}

int access_open(const struct conf *conf, const struct access_groups *groups)
{
	const char *folder = rte_eal_get_runtime_dir();
	gid_t control = groups->control, show = groups->show;

	// As another user the daemon answers dpdk-dumpcap through sockets in its folder, and looks
	// for such programs there before it removes a card.
	if (conf->user != NULL && (conf->capture || has_cards(conf)) && open_parent(folder) < 0) {
		log_error("%s: cannot be opened for user: %s", folder, strerror(errno));
		return -EIO;
	}
	atomic_store_explicit(&changers, control, memory_order_relaxed);
	if (control == NO_GROUP && show == NO_GROUP)
		return 0;
	if (open_parent(folder) == 0 && open_folder(folder, control, show) == 0 &&
		open_telemetry(folder, show != NO_GROUP ? show : control) == 0)
		return 0;
	log_error("%s: cannot give access to control_group and show_group: %s; only root or a "
		  "member of the group can",
		folder, strerror(errno));
	return -EIO;
}
