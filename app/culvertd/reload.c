// SPDX-License-Identifier: BSD-3-Clause
#include "reload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "configure.h"
#include "log.h"
#include "notify.h"

uint32_t reload_ask(struct gateway *g)
{
	uint32_t number;

	pthread_mutex_lock(&g->lock);
	number = ++g->reload.asked;
	pthread_mutex_unlock(&g->lock);
	return number;
}

static void log_lines(const char *lines)
{
	while (*lines != '\0') {
		size_t len = strcspn(lines, "\n");

		log_error("%.*s", (int)len, lines);
		lines += len + (lines[len] == '\n');
	}
}

// Returns what went wrong, NULL if nothing did.
static char *run(struct gateway *g)
{
	char *lines = NULL;
	size_t size;
	FILE *errors = open_memstream(&lines, &size);

	if (errors == NULL)
		return strdup("no memory");

	int rc = configure_reload(g, errors);

	fclose(errors);
	if (rc == 0) {
		free(lines);
		return NULL;
	}
	return lines;
}

void reload_tick(struct gateway *g)
{
	uint32_t asked;
	char *errors;

	pthread_mutex_lock(&g->lock);
	asked = g->reload.asked;
	pthread_mutex_unlock(&g->lock);
	// Until workers have passed on from the one before.
	if (asked == g->reload.done || g->retired != NULL)
		return;
	notify_reloading();
	log_info("reloading %s", g->conf_path);
	errors = run(g);
	if (errors != NULL) {
		log_lines(errors);
		log_error("not reloaded: nothing has changed");
	} else {
		log_info("reloaded, generation %u", g->snapshot->generation);
	}
	notify_ready();
	pthread_mutex_lock(&g->lock);
	free(g->reload.errors);
	g->reload.errors = errors;
	g->reload.refused = errors != NULL;
	g->reload.done = asked;
	pthread_mutex_unlock(&g->lock);
}

void reload_fini(struct gateway *g)
{
	free(g->reload.errors);
}
