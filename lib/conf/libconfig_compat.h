// SPDX-License-Identifier: BSD-3-Clause
// Differences between the versions of libconfig that Culvert builds with, 1.5 (Debian 12) and 1.7
// (Debian 13). Private to lib/conf.
#pragma once

#include <stdio.h>
#include <string.h>

#include <libconfig.h>

#include "conf_arena.h"

#if LIBCONFIG_VER_MAJOR == 1 && LIBCONFIG_VER_MINOR < 7

// Has folder/NAME read for every @include "NAME", also where NAME begins with a slash.
static inline void libconfig_include_from(config_t *file, const char *folder)
{
	config_set_include_dir(file, folder);
}

// The NAME of an included file, by libconfig's name of the file.
static inline const char *libconfig_include_name(const char *file, const char *folder)
{
	(void)folder;
	return file;
}

#else

// libconfig's own function reads absolute names from elsewhere: not the file that conf_scan() has
// checked.
static inline const char **libconfig_include_path(
	config_t *file, const char *folder, const char *name, const char **error)
{
	size_t size = strlen(folder) + strlen(name) + sizeof("/");
	char *path = conf_alloc(1, size);
	const char **paths = conf_alloc(2, sizeof(*paths));

	(void)file;
	*error = NULL;
	snprintf(path, size, "%s/%s", folder, name);
	paths[0] = path; // libconfig frees both
	return paths;
}

static inline void libconfig_include_from(config_t *file, const char *folder)
{
	config_set_include_dir(file, folder);
	config_set_include_func(file, libconfig_include_path);
}

static inline const char *libconfig_include_name(const char *file, const char *folder)
{
	return file + strlen(folder) + strlen("/");
}

#endif
