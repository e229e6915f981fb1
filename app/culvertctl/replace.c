// SPDX-License-Identifier: BSD-3-Clause
#include "replace.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "file_save.h"

static bool fail(const char *doing, const char *path)
{
	warn("%s %s", doing, path);
	return false;
}

// --- new files ---

// The owner first: the octets are only for users that could read the former file.
static bool is_written(int fd, const struct replacement *r, const struct stat *former)
{
	if (fchown(fd, former->st_uid, former->st_gid) < 0)
		return fail("cannot give the owner and group of the former file to", r->fresh);
	if (fchmod(fd, former->st_mode & 07777) < 0)
		return fail("cannot write", r->fresh);
	errno = -file_write(fd, r->text, r->len);
	return errno == 0 || fail("cannot write", r->fresh);
}

static void fresh_remove(struct replacement *r)
{
	if (r->fresh != NULL)
		unlink(r->fresh);
	free(r->fresh);
	r->fresh = NULL;
}

static bool fresh_make(struct replacement *r)
{
	struct stat former;
	bool ok;
	int fd;

	if (stat(r->path, &former) < 0)
		return fail("cannot open", r->path);
	if (asprintf(&r->fresh, "%s.XXXXXX", r->path) < 0)
		err(EXIT_FAILURE, NULL);
	fd = mkostemp(r->fresh, O_CLOEXEC);
	if (fd < 0) {
		warn("cannot create a file beside %s", r->path);
		free(r->fresh);
		r->fresh = NULL;
		return false;
	}
	ok = is_written(fd, r, &former);
	return close(fd) == 0 && ok;
}

// --- names ---

static bool former_keep(struct replacement *r, const struct tm *now)
{
	char suffix[sizeof(".YYYYMMDD-HHMMSS")];

	strftime(suffix, sizeof(suffix), ".%Y%m%d-%H%M%S", now);
	if (asprintf(&r->former, "%s%s", r->path, suffix) < 0)
		err(EXIT_FAILURE, NULL);
	if (link(r->path, r->former) == 0)
		return true;
	warn("cannot keep the former file as %s", r->former);
	free(r->former);
	r->former = NULL;
	return false;
}

static bool replace_one(struct replacement *r, const struct tm *now)
{
	if (!former_keep(r, now))
		return false;
	if (rename(r->fresh, r->path) < 0)
		return fail("cannot replace", r->path);
	free(r->fresh);
	r->fresh = NULL;
	errno = -file_sync_folder(r->path);
	return errno == 0 || fail("cannot write to the disk the folder of", r->path);
}

void replace_undo(struct replacement *r, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		// Names of one file stay both: the former one was not replaced.
		if (r[i].former != NULL && rename(r[i].former, r[i].path) < 0)
			warn("cannot give its name back to %s", r[i].former);
		else if (r[i].former != NULL)
			unlink(r[i].former);
		free(r[i].former);
		r[i].former = NULL;
		fresh_remove(&r[i]);
	}
}

bool replace_all(struct replacement *r, size_t n)
{
	time_t at = time(NULL);
	struct tm now;
	bool ok = true;

	gmtime_r(&at, &now);
	for (size_t i = 0; ok && i < n; i++)
		ok = fresh_make(&r[i]);
	for (size_t i = 0; ok && i < n; i++)
		ok = replace_one(&r[i], &now);
	if (!ok)
		replace_undo(r, n);
	return ok;
}

void replace_free(struct replacement *r, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (r[i].text != NULL)
			explicit_bzero(r[i].text, r[i].len);
		free(r[i].text);
		free(r[i].path);
		free(r[i].former);
	}
}
