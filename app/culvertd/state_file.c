// SPDX-License-Identifier: BSD-3-Clause
#include "state_file.h"

#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

static bool is_trusted(uid_t owner, const struct conf *conf)
{
	const struct passwd *user = conf->user != NULL ? getpwnam(conf->user) : NULL;

	return owner == 0 || owner == geteuid() || (user != NULL && owner == user->pw_uid);
}

// Not through a symbolic link: whoever may change that chooses what is behind it.
static int check(const char *path, mode_t type, const struct conf *conf)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return -errno;
	if ((st.st_mode & S_IFMT) != type)
		log_error("%s is not a %s: others could choose the sequence numbers that are used "
			  "again; "
			  "move it away",
			path, type == S_IFDIR ? "folder" : "regular file");
	else if (!is_trusted(st.st_uid, conf))
		log_error("%s belongs to user %u, who could have sequence numbers used again: "
			  "chown %u %s",
			path, st.st_uid, geteuid(), path);
	else if ((st.st_mode & 022) != 0)
		log_error("%s has mode %04o, others could have sequence numbers used again: chmod "
			  "go-w %s",
			path, st.st_mode & 07777, path);
	else
		return 0;
	return -EPERM;
}

int state_folder_check(const char *path, const struct conf *conf, const char *advice)
{
	if (mkdir(path, 0700) < 0 && errno != EEXIST) {
		int error = errno;

		log_error("cannot make %s: %s; %s", path, strerror(error), advice);
		return -error;
	}
	return check(path, S_IFDIR, conf);
}

int state_file_check(const char *path, const struct conf *conf)
{
	int rc = check(path, S_IFREG, conf);

	return rc == -ENOENT ? 0 : rc;
}
