// SPDX-License-Identifier: BSD-3-Clause
#include "load_ports.h"

#include <errno.h>

#include <rte_cycles.h>

#include "device_thread.h"
#include "lists.h"
#include "port_change.h"
#include "port_try.h"
#include "reopen.h"

#define TRY_MS 10000 // cards excepted, devices answer at once

// The ports that are added, as they were opened; by number. Written by the thread that loads.
static struct port tried[PORTS_MAX];

static bool is_added(const struct gateway *g, const struct conf *conf, unsigned int number)
{
	return conf_port_is_only_in(conf, g->control.conf, number);
}

static bool has_device(const struct conf *conf, unsigned int number)
{
	return conf_port_n_devices(&conf->ports[number]) > 0;
}

// --- opening ---

// Whether devices of ports that were removed are closed: a new one may have the same name.
static bool is_closed(struct control *c)
{
	bool closed = true;

	pthread_mutex_lock(&c->lock);
	for (unsigned int i = 0; i < PORTS_MAX; i++)
		closed &= !c->leaving[i].has_device;
	pthread_mutex_unlock(&c->lock);
	return closed;
}

static bool refuse(const struct conf_port *p, const char *why, FILE *errors)
{
	fprintf(errors, "%s:%u: port \"%s\": device \"%s\": %s\n", p->where.file, p->where.line,
		p->name, p->device, why);
	return false;
}

static bool device_try(
	struct gateway *g, const struct conf *conf, unsigned int number, FILE *errors)
{
	const struct conf_port *p = &conf->ports[number];
	const struct port *opened;
	unsigned int ms = 0;
	const char *why;

	for (; ms < TRY_MS && (device_thread_has(number) || !is_closed(&g->control)); ms++)
		rte_delay_us_sleep(1000);
	if (ms < TRY_MS)
		device_thread_try(number, conf);
	for (; ms < TRY_MS && device_thread_tries(number); ms++)
		rte_delay_us_sleep(1000);
	if (ms == TRY_MS)
		return refuse(p, "it has not answered for 10 seconds", errors);
	opened = device_thread_tried(number, &why);
	if (opened == NULL)
		fprintf(errors, "%s\n", why);
	else
		tried[number] = *opened;
	return opened != NULL;
}

static bool port_add(struct gateway *g, const struct conf *conf, unsigned int number, FILE *errors)
{
	const struct conf_port *p = &conf->ports[number];

	if (!device_thread_may_open(p))
		return refuse(p,
			"opening it takes capabilities that no device of the start has needed, "
			"needs a restart",
			errors);
	tried[number] = (struct port){0};
	if (port_waits_for_peer(conf, p))
		port_expect(&tried[number], conf, p);
	else if (!device_try(g, conf, number, errors))
		return false;
	pthread_mutex_lock(&g->control.lock);
	g->control.ports[number].mac = tried[number].mac;
	pthread_mutex_unlock(&g->control.lock);
	return true;
}

bool load_ports_try(struct gateway *g, struct conf *conf, FILE *errors)
{
	unsigned int queues = 0;
	bool good = true;

	for (unsigned int i = 0; i < conf->n_ports; i++)
		if (is_added(g, conf, i) && has_device(conf, i)) {
			good &= port_add(g, conf, i, errors);
			queues += tried[i].n_rx;
		}
	if (loops_have_room(g->loops, conf->n_workers, queues))
		return good;
	fprintf(errors, "ports: more than %d RX queues for one worker\n", LOOP_QUEUES_MAX);
	return false;
}

void load_ports_discard(const struct gateway *g, const struct conf *conf)
{
	for (unsigned int i = 0; i < conf->n_ports; i++)
		if (is_added(g, conf, i) && has_device(conf, i))
			device_thread_drop(i);
}

// --- the ports of workers ---

int load_ports_prepare(struct gateway *g, const struct conf *conf)
{
	int rc = 0;

	port_change_prepare(&g->control, conf);
	for (unsigned int i = 0; i < conf->n_ports; i++)
		if (is_added(g, conf, i) && has_device(conf, i)) {
			g->ports[i] = tried[i];
			g->ports[i].conf = &conf->ports[i];
		}
	for (unsigned int i = 0; i < conf->n_ports && rc == 0; i++)
		if (is_added(g, conf, i) && conf->ports[i].vlan != 0) {
			rc = port_prepare_vlan(g->ports, &conf->ports[i], i);
			g->vlan_since[i] = lists_vlan_counters(g, i);
		}
	return rc;
}

void load_ports_forget(struct gateway *g, const struct conf *conf)
{
	ports_forget_vlans(g->ports, g->control.conf);
	for (unsigned int i = 0; i < conf->n_ports; i++)
		if (is_added(g, conf, i))
			port_free(&g->ports[i]);
}

void load_ports_follow(struct gateway *g, const struct conf *former)
{
	struct conf *conf = g->control.conf;

	for (unsigned int i = 0; i < conf->n_ports; i++)
		g->ports[i].conf = &conf->ports[i];
	ports_follow_vlans(g->ports, conf);
	for (unsigned int i = 0; i < conf->n_workers; i++)
		loop_vlans_follow(g->loops[i]);
	for (unsigned int i = 0; i < conf->n_ports; i++)
		if (conf_port_is_only_in(conf, former, i) && has_device(conf, i))
			reopen_add(i);
		else if (conf_port_is_only_in(former, conf, i) && has_device(former, i))
			reopen_remove(i);
	port_change_follow(&g->control, former);
}
