// SPDX-License-Identifier: BSD-3-Clause
#include "conf_text.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf.h"
#include "die.h"

struct conf *conf_written(void (*write)(FILE *f, const void *arg), const void *arg)
{
	int fd = memfd_create("bench", MFD_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	char path[32];

	if (f == NULL || fchmod(fd, 0600) < 0)
		die("no file for the configuration");
	write(f, arg);
	fflush(f);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);

	struct conf *conf = conf_load(path, NULL, stderr);

	fclose(f);
	if (conf == NULL)
		die("the configuration is refused");
	return conf;
}
