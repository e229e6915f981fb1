// SPDX-License-Identifier: BSD-3-Clause
#include "shell_history.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINES_MAX  1000
#define KEY_DIGITS 20 // hexadecimal digits that may be a key: a MAC address has 12

// Makes the folders of a path, for the user alone.
static void folders_make(char *path)
{
	for (char *c = path + 1; (c = strchr(c, '/')) != NULL; c++) {
		*c = '\0';
		mkdir(path, 0700);
		*c = '/';
	}
}

// False: there is no place for it.
static bool path_of(char path[PATH_MAX])
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	int len = -1;

	if (state != NULL && state[0] == '/')
		len = snprintf(path, PATH_MAX, "%s/culvert/history", state);
	else if (home != NULL && home[0] == '/')
		len = snprintf(path, PATH_MAX, "%s/.local/state/culvert/history", home);
	return len > 0 && len < PATH_MAX;
}

static FILE *file_open(int flags, const char *mode)
{
	char path[PATH_MAX];
	struct stat st;
	int fd;

	if (!path_of(path))
		return NULL;
	folders_make(path);
	fd = open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && fchmod(fd, 0600) == 0)
		return fdopen(fd, mode);
	close(fd);
	return NULL;
}

// The lines of the history, the oldest first.
static void file_write(History *h)
{
	FILE *f = file_open(O_WRONLY | O_TRUNC, "w");
	HistEvent event;

	for (int rc = history(h, &event, H_LAST); f != NULL && rc >= 0;
		rc = history(h, &event, H_PREV))
		fputs(event.str, f);
	if (f != NULL)
		fclose(f);
}

History *shell_history_open(void)
{
	History *h = history_init();
	unsigned int n = 0;
	HistEvent event;
	char *line = NULL;
	size_t size = 0;
	FILE *f;

	if (h == NULL)
		return NULL;
	history(h, &event, H_SETSIZE, LINES_MAX);
	history(h, &event, H_SETUNIQUE, 1);
	f = file_open(O_RDONLY, "r");
	for (; f != NULL && getline(&line, &size, f) > 0; n++)
		history(h, &event, H_ENTER, line);
	free(line);
	if (f != NULL)
		fclose(f);
	if (n > 2 * LINES_MAX)
		file_write(h);
	return h;
}

static bool has_key(const char *line)
{
	size_t digits = 0;

	for (const char *c = line; *c != '\0' && digits < KEY_DIGITS; c++)
		digits = isxdigit((unsigned char)*c) ? digits + 1 : 0;
	return digits == KEY_DIGITS || strstr(line, "cipher_key") != NULL ||
	       strstr(line, "auth_key") != NULL;
}

void shell_history_add(History *h, const char *line)
{
	HistEvent event;
	FILE *f;

	if (line[strspn(line, " \t\r\n")] == '\0' || has_key(line))
		return;
	if (history(h, &event, H_FIRST) >= 0 && strcmp(event.str, line) == 0)
		return;
	history(h, &event, H_ENTER, line);
	f = file_open(O_WRONLY | O_APPEND | O_CREAT, "a");
	if (f != NULL) {
		fputs(line, f);
		fclose(f);
	}
}
