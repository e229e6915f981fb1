// SPDX-License-Identifier: BSD-3-Clause
#include "load.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "binding_log.h"
#include "configure.h"
#include "device_thread.h"
#include "fleet.h"
#include "frozen.h"
#include "group.h"
#include "load_ports.h"
#include "log.h"
#include "metrics.h"
#include "stack_wipe.h"

// The configuration that is loaded.
static struct {
	pthread_t thread;
	request_make *make;
	FILE *errors;  // NULL: nothing is loaded
	bool new_keys; // the operator declares unknown keys new
	bool back;     // it ran before
	struct conf *conf;
	struct snapshot *snapshot; // NULL: it was refused
	atomic_bool ready;         // set by the thread when conf and snapshot are
} load;

static void warn_unkept(const struct gateway *g, const struct snapshot *s)
{
	for (unsigned int i = 0; g->reserve == NULL && i < s->control->n_sa; i++)
		if (s->control->sa[i]->opt.direction == SA_OUT &&
			cipher_alg_counts(s->control->sa[i]->opt.cipher)) {
			log_warn("state_dir is \"none\": every start begins with sequence number 1 "
				 "and repeats nonces; never start twice with the same keys");
			return;
		}
}

// The gateway's lock may be taken by a thread that waits for this one.
static void renew(void *control)
{
	struct control *c = control;

	frozen_renew(c);
	if (pthread_mutex_trylock(&c->lock) != 0)
		return;
	fleet_keep(c, gateway_now_ms());
	pthread_mutex_unlock(&c->lock);
}

int load_first(struct gateway *g)
{
	struct conf *conf = g->control.conf;
	char why[256];
	struct snapshot *s = configure_build(&g->control, conf, why, sizeof(why));

	if (s == NULL) {
		log_error("cannot apply the configuration: %s", why);
		return -EIO;
	}
	if (reserve_open(&g->reserve, conf, s->objects->ledger) < 0 ||
		reserve_keys_check(g->reserve, conf, false, log_failures()) < 0 ||
		reserve_begin(g->reserve, s) < 0 ||
		binding_log_start(&g->bindings, conf, g->control.flows, gateway_now_ms) < 0) {
		build_snapshot_free(s);
		return -EIO;
	}
	reserve_meanwhile_set(g->reserve, renew, &g->control);
	warn_unkept(g, s);
	return configure_start(&g->control, s);
}

static void *discard(void *conf)
{
	device_thread_conf_free(conf);
	return NULL;
}

// With many SAs that takes longer than neighbours can wait, too.
static void discard_aside(struct conf *conf)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, discard, conf) == 0)
		pthread_detach(thread);
	else
		device_thread_conf_free(conf);
}

// The addresses that hosts have by now.
static void addresses_take(const struct control *c, struct conf *conf)
{
	char *text = NULL;
	size_t len = 0;
	FILE *lines = open_memstream(&text, &len);

	for (unsigned int i = 0; i < conf->n_ports; i++)
		if (!conf_port_is_free(&conf->ports[i])) {
			conf_follow_host(
				conf, i, &c->followed[i], lines != NULL ? lines : log_failures());
			conf->ports[i].guests = c->guests[i];
		}
	if (lines != NULL && fclose(lines) == 0)
		log_lines(LOG_LEVEL_WARN, "", text, len);
	free(text);
}

static void *load_run(void *arg)
{
	struct gateway *g = arg;
	const struct control *c = &g->control;
	char why[256];
	bool good;

	load.conf = load.make(c->conf, load.errors);
	if (load.conf != NULL)
		addresses_take(c, load.conf);
	good = load.conf != NULL && load_ports_try(g, load.conf, load.back, load.errors);
	if (good)
		load.snapshot = configure_build(c, load.conf, why, sizeof(why));
	if (good && load.snapshot == NULL)
		fprintf(load.errors, "cannot apply the configuration: %s\n", why);
	stack_wipe(); // the C library keeps the stack for the next thread
	atomic_store_explicit(&load.ready, true, memory_order_release);
	return NULL;
}

int load_begin(void *gateway, request_make *make, bool new_keys, bool back, FILE *errors)
{
	struct gateway *g = gateway;

	load.make = make;
	load.new_keys = new_keys;
	load.back = back;
	load.errors = errors;
	load.conf = NULL;
	load.snapshot = NULL;
	atomic_store_explicit(&load.ready, false, memory_order_relaxed);
	if (pthread_create(&load.thread, NULL, load_run, g) != 0) {
		fputs("out of memory for the thread that loads the configuration\n", errors);
		load.errors = NULL;
		return -EAGAIN;
	}
	pthread_setname_np(load.thread, "culvert-load");
	return 0;
}

static int replace(struct gateway *g)
{
	struct conf *old = g->control.conf;
	int rc;

	pthread_mutex_lock(&g->control.lock);
	rc = load_ports_prepare(g, load.conf);
	if (rc == 0)
		rc = configure_replace(&g->control, load.conf, load.snapshot, gateway_now_ms());
	if (rc == 0)
		load_ports_follow(g, old);
	else
		load_ports_forget(g, load.conf);
	pthread_mutex_unlock(&g->control.lock);
	if (rc < 0)
		return rc;
	device_thread_listen();
	device_thread_hosts_change();
	if (!g->verbose)
		log_set_level(load.conf->log_level);
	discard_aside(old);
	configure_warn(load.conf, load.snapshot);
	return 0;
}

// Nothing fails after something was changed.
static int reserve_and_replace(struct gateway *g)
{
	int rc;

	frozen_renew(&g->control);
	rc = reserve_begin(g->reserve, load.snapshot);
	frozen_renew(&g->control);
	if (rc == -ENOMEM)
		fputs("out of memory for the sequence numbers of new SAs\n", load.errors);
	else if (rc < 0)
		fputs("cannot reserve sequence numbers for new SAs, see the log\n", load.errors);
	if (rc < 0)
		return -EINVAL;
	rc = replace(g);
	if (rc == -ENOSPC)
		fputs("the table of routes is full\n", load.errors);
	else if (rc < 0)
		fputs("out of memory for routes, or for the paths of SAs\n", load.errors);
	return rc < 0 ? -EINVAL : 0;
}

static int apply(struct gateway *g)
{
	int rc;

	if (load.snapshot == NULL || !groups_keep_roles(&g->control, load.conf, load.errors) ||
		reserve_keys_check(g->reserve, load.conf, load.new_keys, load.errors) < 0 ||
		!configure_prepare(&g->control, load.conf, load.errors) ||
		metrics_prepare(load.conf, load.back, load.errors) < 0)
		return -EINVAL;
	rc = reserve_and_replace(g);
	if (rc == 0)
		metrics_commit(load.conf);
	else
		metrics_discard();
	return rc;
}

// A device that does not answer may still be opened with the configuration.
static void load_discard(const struct gateway *g)
{
	build_snapshot_free(load.snapshot);
	if (load.conf == NULL)
		return;
	load_ports_discard(g, load.conf);
	discard_aside(load.conf);
}

int load_finish(void *gateway)
{
	struct gateway *g = gateway;
	int rc;

	if (!atomic_load_explicit(&load.ready, memory_order_acquire))
		return -EINPROGRESS;
	pthread_join(load.thread, NULL);
	rc = apply(g);
	if (rc < 0)
		load_discard(g);
	load.errors = NULL;
	return rc;
}

int load_sa_begin(void *gateway, struct sa *sa, bool new_keys)
{
	return reserve_sa_begin(((struct gateway *)gateway)->reserve, sa, new_keys);
}

void load_stop(struct gateway *g)
{
	if (load.errors == NULL)
		return;
	pthread_join(load.thread, NULL);
	load_discard(g);
	load.errors = NULL;
	pthread_mutex_lock(&g->control.lock);
	g->control.loading = false;
	pthread_mutex_unlock(&g->control.lock);
}
