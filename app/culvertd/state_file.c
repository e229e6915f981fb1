// SPDX-License-Identifier: BSD-3-Clause
#include "state_file.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

#define SEQUENCE_RISK "others could cause sequence numbers to be reused"

static bool is_trusted(uid_t owner, const struct conf *conf)
{
	const struct passwd *user;

	if (owner == 0 || owner == geteuid())
		return true;
	user = conf->user != NULL ? getpwnam(conf->user) : NULL;
	return user != NULL && owner == user->pw_uid;
}

// Not through a symbolic link: whoever may change that chooses what is behind it.
static int check(const char *path, mode_t type, const struct conf *conf, const char *risk,
	char *why, size_t size)
{
	struct stat st;

	if (lstat(path, &st) < 0) {
		snprintf(why, size, "%s: %s", path, strerror(errno));
		return -errno;
	}
	if ((st.st_mode & S_IFMT) != type)
		snprintf(why, size, "%s is not a %s, %s: move it away", path,
			type == S_IFDIR ? "folder" : "regular file", risk);
	else if (!is_trusted(st.st_uid, conf))
		snprintf(why, size, "%s belongs to user %u, %s: chown %u %s", path, st.st_uid, risk,
			geteuid(), path);
	else if ((st.st_mode & 022) != 0)
		snprintf(why, size, "%s has mode %04o, %s: chmod go-w %s", path, st.st_mode & 07777,
			risk, path);
	else
		return 0;
	return -EPERM;
}

int folder_check(
	const char *path, const struct conf *conf, const char *risk, char *why, size_t size)
{
	return check(path, S_IFDIR, conf, risk, why, size);
}

static int state_check(const char *path, mode_t type, const struct conf *conf)
{
	char why[2 * PATH_MAX + 256];
	int rc = check(path, type, conf, SEQUENCE_RISK, why, sizeof(why));

	if (rc == -EPERM)
		log_error("%s", why);
	return rc;
}

int state_folder_check(const char *path, const struct conf *conf, const char *advice)
{
	if (mkdir(path, 0700) < 0 && errno != EEXIST) {
		int error = errno;

		log_error("cannot create %s: %s; %s", path, strerror(error), advice);
		return -error;
	}
	return state_check(path, S_IFDIR, conf);
}

int state_file_check(const char *path, const struct conf *conf)
{
	int rc = state_check(path, S_IFREG, conf);

	return rc == -ENOENT ? 0 : rc;
}
