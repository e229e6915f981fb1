// SPDX-License-Identifier: BSD-3-Clause
#include "reload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gateway.h"
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

static void finish(struct gateway *g, int rc)
{
	struct reload *r = &g->reload;

	if (r->stream != NULL)
		fclose(r->stream);
	r->stream = NULL;
	if (rc < 0) {
		log_lines(r->lines != NULL ? r->lines : "no memory\n");
		log_error("not reloaded: nothing has changed");
	} else {
		log_info("reloaded, generation %u", g->snapshot->generation);
	}
	notify_ready();
	pthread_mutex_lock(&g->lock);
	free(r->errors);
	r->errors = rc < 0 ? r->lines : NULL;
	r->refused = rc < 0;
	r->done = r->number;
	pthread_mutex_unlock(&g->lock);
	if (rc == 0)
		free(r->lines);
	r->lines = NULL;
}

static void begin(struct gateway *g, uint32_t asked)
{
	struct reload *r = &g->reload;

	notify_reloading();
	log_info("reloading %s", g->conf_path);
	r->number = asked;
	r->stream = open_memstream(&r->lines, &r->size);
	if (r->stream == NULL || configure_load(g, r->stream) < 0)
		finish(g, -EAGAIN);
}

void reload_tick(struct gateway *g)
{
	uint32_t asked;
	int rc;

	if (g->reload.stream != NULL) {
		rc = configure_loaded(g);
		if (rc != -EINPROGRESS)
			finish(g, rc);
		return;
	}
	pthread_mutex_lock(&g->lock);
	asked = g->reload.asked;
	pthread_mutex_unlock(&g->lock);
	// Not before workers have passed on from the one before.
	if (asked != g->reload.done && g->retired == NULL)
		begin(g, asked);
}

void reload_fini(struct gateway *g)
{
	if (g->reload.stream != NULL)
		fclose(g->reload.stream);
	free(g->reload.lines);
	free(g->reload.errors);
}
