// SPDX-License-Identifier: BSD-3-Clause
#include "history.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_common.h>

#include "file_save.h"
#include "log.h"

#define HEADER_MAX 256 // octets of the first line
#define HEADER     "# revision %" PRIu32 " time %" PRIu64 " user %" PRIu32 " %s: %s\n"
#define HEADER_IN  "# revision %" SCNu32 " time %" SCNu64 " user %" SCNu32 " %15[a-z]: %95[^\n]"

static void path_of(char path[PATH_MAX], const struct history *h, uint32_t number)
{
	snprintf(path, PATH_MAX, "%s%" PRIu32, h->path, number);
}

static void mark_path(char path[PATH_MAX], const struct history *h)
{
	snprintf(path, PATH_MAX, "%sunconfirmed", h->path);
}

// --- finding them ---

// Opens a file of the history for reading. -1 with errno.
static int file_open(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1 ||
			       (st.st_mode & 077) != 0)) {
		close(fd);
		errno = EPERM;
		return -1;
	}
	return fd;
}

// Reads the begin of a file. False if it cannot be read.
static bool line_read(const char *path, char *line, size_t size)
{
	int fd = file_open(path);
	ssize_t len = fd >= 0 ? read(fd, line, size - 1) : -1;

	if (fd >= 0)
		close(fd);
	line[RTE_MAX(len, 0)] = '\0';
	return len > 0;
}

static bool header_read(const struct history *h, uint32_t number, struct revision *r)
{
	char path[PATH_MAX], line[HEADER_MAX];

	path_of(path, h, number);
	*r = (struct revision){0};
	return line_read(path, line, sizeof(line)) &&
	       sscanf(line, HEADER_IN, &r->number, &r->at_s, &r->user, r->source, r->summary) ==
		       5 &&
	       r->number == number;
}

static void mark_read(struct history *h)
{
	char path[PATH_MAX], line[HEADER_MAX];
	uint32_t unconfirmed, former;

	mark_path(path, h);
	if (line_read(path, line, sizeof(line)) &&
		sscanf(line, "%" SCNu32 " %" SCNu32, &unconfirmed, &former) == 2) {
		h->unconfirmed = unconfirmed;
		h->former = former;
	}
}

// A start may need the former revision of the mark.
static void forget(const struct history *h, uint32_t number)
{
	if (number != h->former)
		history_drop(h, number);
}

// Adds a revision to the list, without the oldest one if there is no room.
static void insert(struct history *h, const struct revision *r)
{
	unsigned int i;

	if (h->n == h->max && r->number < h->revision[0].number) {
		forget(h, r->number);
		return;
	}
	while (h->n >= h->max) {
		forget(h, h->revision[0].number);
		memmove(&h->revision[0], &h->revision[1], --h->n * sizeof(h->revision[0]));
	}
	for (i = h->n++; i > 0 && h->revision[i - 1].number > r->number; i--)
		h->revision[i] = h->revision[i - 1];
	h->revision[i] = *r;
}

// The number in the name of a file; 0: it is no revision.
static uint32_t number_of(const char *name, const char *prefix)
{
	size_t len = strlen(prefix);
	char *end;
	unsigned long n;

	if (strncmp(name, prefix, len) != 0 || name[len] < '1' || name[len] > '9')
		return 0;
	n = strtoul(name + len, &end, 10);
	return *end == '\0' && n < UINT32_MAX ? (uint32_t)n : 0;
}

static void give(const struct history *h, const struct conf *conf, uint32_t number)
{
	const struct passwd *user = conf->user != NULL ? getpwnam(conf->user) : NULL;
	char path[PATH_MAX];
	int fd;

	path_of(path, h, number);
	fd = file_open(path);
	if (fd >= 0 && geteuid() == 0 && fchown(fd, user != NULL ? user->pw_uid : 0, (gid_t)-1) < 0)
		log_debug("%s stays with its owner: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
}

unsigned int history_room(const struct conf *conf)
{
	return RTE_MAX(conf->history, 2u);
}

void history_clear(struct history *h)
{
	for (unsigned int i = 0; i < h->n; i++)
		history_drop(h, h->revision[i].number);
	h->n = 0;
}

void history_open(struct history *h, const struct conf *conf)
{
	const struct dirent *d;
	struct revision r;
	char prefix[64];
	DIR *folder;

	*h = (struct history){.max = history_room(conf)};
	if (conf->state_dir == NULL)
		return;
	snprintf(prefix, sizeof(prefix), "%s.revision-", conf->instance);
	snprintf(h->path, sizeof(h->path), "%s/%s", conf->state_dir, prefix);
	mark_read(h);
	folder = opendir(conf->state_dir);
	while (folder != NULL && (d = readdir(folder)) != NULL)
		if (number_of(d->d_name, prefix) != 0 &&
			header_read(h, number_of(d->d_name, prefix), &r))
			insert(h, &r);
	if (folder != NULL)
		closedir(folder);
	for (unsigned int i = 0; i < h->n; i++)
		give(h, conf, h->revision[i].number);
}

uint32_t history_next(const struct history *h)
{
	return h->n > 0 ? h->revision[h->n - 1].number + 1 : 1;
}

const struct revision *history_find(const struct history *h, uint32_t number)
{
	for (unsigned int i = 0; i < h->n; i++)
		if (h->revision[i].number == number)
			return &h->revision[i];
	return NULL;
}

// --- writing and reading ---

void history_begin(FILE *out, const struct revision *r)
{
	fprintf(out, HEADER, r->number, r->at_s, r->user, r->source, r->summary);
}

int history_write(const struct history *h, uint32_t number, const char *text, size_t len)
{
	char path[PATH_MAX];

	path_of(path, h, number);
	return file_save(path, text, len);
}

void history_drop(const struct history *h, uint32_t number)
{
	char path[PATH_MAX];

	path_of(path, h, number);
	unlink(path);
}

void history_keep(struct history *h, const struct revision *r)
{
	insert(h, r);
}

static char *text_read(int fd, size_t size, size_t *len)
{
	char *text = malloc(size + 1), *body;
	ssize_t n = text != NULL ? pread(fd, text, size, 0) : 0;

	if (text == NULL)
		return NULL;
	text[RTE_MAX(n, 0)] = '\0';
	body = strchr(text, '\n');
	if (n != (ssize_t)size || body == NULL) {
		errno = n < 0 ? errno : EBADMSG;
		explicit_bzero(text, size);
		free(text);
		return NULL;
	}
	*len = size - (size_t)(body + 1 - text);
	memmove(text, body + 1, *len + 1);
	return text;
}

char *history_read(const struct history *h, uint32_t number, size_t *len)
{
	char path[PATH_MAX], *text = NULL;
	struct stat st;
	int fd;

	path_of(path, h, number);
	fd = file_open(path);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0)
		text = text_read(fd, (size_t)st.st_size, len);
	close(fd);
	return text;
}

int history_mark(const struct history *h, uint32_t unconfirmed, uint32_t former)
{
	char path[PATH_MAX], line[64];
	int rc = 0;

	if (h->path[0] == '\0')
		return 0;
	mark_path(path, h);
	if (unconfirmed != 0)
		rc = file_save(path, line,
			(size_t)snprintf(line, sizeof(line), "%" PRIu32 " %" PRIu32 "\n",
				unconfirmed, former));
	else
		rc = file_remove(path);
	return rc;
}
