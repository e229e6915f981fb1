// SPDX-License-Identifier: BSD-3-Clause
#include "privilege.h"

#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_eal.h>

#include "access.h"
#include "capability.h"
#include "log.h"
#include "memory_lock.h"

#define DROP       (SIGRTMAX - 1) // the signal on which a thread drops its capabilities
#define DROP_TRIES 1000           // one each millisecond

void privilege_forbid_cores(void)
{
#ifndef __SANITIZE_ADDRESS__ // whose search for leaks looks at the process as a debugger does
	prctl(PR_SET_DUMPABLE, 0);
#endif
}

void privilege_lock_memory(void)
{
	int rc = memory_lock();

	if (rc < 0 && memory_has_swap())
		log_warn("cannot lock memory (%s), and this system has swap: keys may be "
			 "written to it. Set LimitMEMLOCK=infinity (ulimit -l unlimited), or give "
			 "culvertd no swap (MemorySwapMax=0)",
			strerror(-rc));
	else if (rc < 0)
		log_debug("memory is not locked: %s; this system has no swap", strerror(-rc));
}

// NULL after a message.
static const struct passwd *user_find(const struct conf *conf)
{
	const struct conf_where where = conf_where_of(conf, "user");
	const struct passwd *user;

	errno = 0;
	user = getpwnam(conf->user);
	if (user == NULL)
		log_error("%s:%u: user: there is no user \"%s\"%s%s: 'useradd --system %s'",
			where.file, where.line, conf->user, errno != 0 ? ": " : "",
			errno != 0 ? strerror(errno) : "", conf->user);
	return user;
}

int privilege_names_check(const struct conf *conf)
{
	struct access_groups groups;
	int rc = access_find(&groups, conf);

	if (conf->user != NULL && user_find(conf) == NULL)
		rc = -EIO;
	return rc;
}

int privilege_check(const struct conf *conf)
{
	if (privilege_names_check(conf) < 0)
		return -EIO;
	if (conf->user == NULL || geteuid() == 0 || geteuid() == user_find(conf)->pw_uid)
		return 0;
	log_error("user: only root can become \"%s\": start culvertd as root or as that user, or "
		  "leave user out",
		conf->user);
	return -EIO;
}

// The folders that are written to later: they may be those of a user it was before. Their group is
// that of the control socket.
static int give_folders(const struct conf *conf, uid_t user)
{
	const char *const folders[] = {rte_eal_get_runtime_dir(), conf->state_dir};

	for (size_t i = 0; i < RTE_DIM(folders); i++)
		if (folders[i] != NULL && lchown(folders[i], user, (gid_t)-1) < 0)
			return -errno;
	return 0;
}

// glibc does each of these for all threads. When root becomes another user the kernel takes all
// capabilities away.
static int become(const struct conf *conf)
{
	const struct passwd *user = getpwnam(conf->user);
	int rc;

	if (user == NULL)
		return errno != 0 ? -errno : -ENOENT;
	if (geteuid() == user->pw_uid)
		return 0;
	rc = give_folders(conf, user->pw_uid);
	if (rc == 0 && (initgroups(conf->user, user->pw_gid) < 0 ||
			       setresgid(user->pw_gid, user->pw_gid, user->pw_gid) < 0 ||
			       setresuid(user->pw_uid, user->pw_uid, user->pw_uid) < 0))
		rc = -errno;
	privilege_forbid_cores(); // another user: Linux has begun with its own default
	return rc;
}

// --- every other thread ---

static void on_drop(int signal)
{
	int error = errno;

	(void)signal;
	capabilities_drop();
	errno = error;
}

// Whether a thread of the process has capabilities; one that has ended has none.
static bool has_capabilities(pid_t tid)
{
	unsigned long long permitted = 0;
	char path[64], line[256];

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", (int)tid);

	FILE *f = fopen(path, "re");

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "CapPrm: %llx", &permitted) == 1)
			break;
	if (f != NULL)
		fclose(f);
	return permitted != 0;
}

// Signals the threads that have to drop theirs. Returns how many, or -errno.
static int others_signal(pid_t keeper)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *d;
	int n = 0;

	if (tasks == NULL)
		return -errno;
	while ((d = readdir(tasks)) != NULL) {
		pid_t tid = atoi(d->d_name);

		if (tid == 0 || tid == keeper || !has_capabilities(tid))
			continue;
		tgkill(getpid(), tid, DROP);
		n++;
	}
	closedir(tasks);
	return n;
}

// Each thread has its own, and only itself can drop them: also threads of libraries. Ends when the
// kernel shows that none has any.
static int others_drop(pid_t keeper)
{
	struct sigaction drop = {.sa_handler = on_drop, .sa_flags = SA_RESTART};
	static const struct timespec ms = {.tv_nsec = 1000000};
	int n;

	sigaction(DROP, &drop, NULL);
	n = others_signal(keeper);
	for (unsigned int i = 0; n > 0 && i < DROP_TRIES; i++) {
		nanosleep(&ms, NULL);
		n = others_signal(keeper);
	}
	drop.sa_handler = SIG_IGN; // one may be pending
	sigaction(DROP, &drop, NULL);
	return n > 0 ? -ETIMEDOUT : n;
}

int privilege_drop(const struct conf *conf, pid_t keeper)
{
	int rc = 0;

	if (conf->user != NULL)
		rc = become(conf);
	else if (geteuid() == 0)
		rc = give_folders(conf, 0);
	if (rc < 0 && conf->user == NULL) {
		log_error("cannot change the owner of state_dir to root: %s", strerror(-rc));
		return -EIO;
	}
	if (rc < 0) {
		log_error("user: cannot become \"%s\": %s", conf->user, strerror(-rc));
		return -EIO;
	}
	rc = capabilities_drop();
	if (rc == 0)
		rc = others_drop(keeper);
	if (rc == 0)
		return 0;
	log_error("cannot drop capabilities of all threads: %s", strerror(-rc));
	return -EIO;
}
