// SPDX-License-Identifier: BSD-3-Clause
#include "load_ports.h"

#include <errno.h>

#include <rte_cycles.h>

#include "device_thread.h"
#include "lists.h"
#include "port_change.h"
#include "port_try.h"
#include "reopen.h"

#define TRY_MS 10000 // for all ports: cards excepted, devices answer at once

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

static bool is_in_time(uint64_t end_ms)
{
	rte_delay_us_sleep(1000);
	return gateway_now_ms() < end_ms;
}

static bool device_try(struct gateway *g, const struct conf *conf, unsigned int number,
	uint64_t end_ms, FILE *errors)
{
	static const char late[] = "it has not answered, or another one that is being opened";
	const struct conf_port *p = &conf->ports[number];
	const struct port *opened;
	const char *why;

	while (device_thread_has(number) || !is_closed(&g->control))
		if (!is_in_time(end_ms))
			return refuse(p, late, errors);
	device_thread_try(number, conf);
	while (device_thread_tries(number))
		if (!is_in_time(end_ms))
			return refuse(p, late, errors);
	opened = device_thread_tried(number, &why);
	if (opened == NULL && why[0] == '\0')
		return refuse(p, "it cannot be opened", errors);
	if (opened == NULL)
		fprintf(errors, "%s\n", why);
	else
		tried[number] = *opened;
	return opened != NULL;
}

static bool device_open(struct gateway *g, const struct conf *conf, unsigned int number,
	uint64_t end_ms, FILE *errors)
{
	const struct conf_port *p = &conf->ports[number];

	if (!device_thread_may_open(p))
		return refuse(p,
			"opening it takes capabilities that no device of the start has needed, "
			"needs a restart",
			errors);
	return device_try(g, conf, number, end_ms, errors);
}

// A port of the former configuration waits for a device that cannot be opened, as for one that was
// lost: the change that removed it would stay, with all that it cut off.
static bool device_expect(struct gateway *g, const struct conf *conf, unsigned int number,
	uint64_t end_ms, FILE *errors)
{
	char *text = NULL;
	size_t len = 0;
	FILE *lines = open_memstream(&text, &len);
	bool opened = device_open(g, conf, number, end_ms, lines != NULL ? lines : errors);
	bool waits = !opened && !device_thread_has(number);

	if (lines != NULL && fclose(lines) == 0 && waits)
		log_lines(LOG_LEVEL_WARN, "", text, len);
	else if (text != NULL)
		fputs(text, errors);
	free(text);
	if (waits)
		port_expect(&tried[number], conf, &conf->ports[number]);
	return opened || waits;
}

static bool port_add(struct gateway *g, const struct conf *conf, unsigned int number, bool back,
	uint64_t end_ms, FILE *errors)
{
	const struct conf_port *p = &conf->ports[number];
	bool good = true;

	if (port_waits_for_peer(conf, p))
		port_expect(&tried[number], conf, p);
	else if (back)
		good = device_expect(g, conf, number, end_ms, errors);
	else
		good = device_open(g, conf, number, end_ms, errors);
	if (!good)
		return false;
	pthread_mutex_lock(&g->control.lock);
	g->control.ports[number].mac = tried[number].mac;
	pthread_mutex_unlock(&g->control.lock);
	return true;
}

bool load_ports_try(struct gateway *g, struct conf *conf, bool back, FILE *errors)
{
	const uint64_t end_ms = gateway_now_ms() + TRY_MS;
	const struct conf_port *last = NULL;
	unsigned int queues = 0;
	bool good = true;

	for (unsigned int i = 0; i < conf->n_ports; i++)
		if (is_added(g, conf, i) && has_device(conf, i)) {
			tried[i] = (struct port){0};
			good &= port_add(g, conf, i, back, end_ms, errors);
			queues += tried[i].n_rx;
			last = &conf->ports[i];
		}
	if (last == NULL || loops_have_room(g->loops, conf->n_workers, queues))
		return good;
	fprintf(errors,
		"%s:%u: port \"%s\": workers have no room for its RX queues, at most %d each\n",
		last->where.file, last->where.line, last->name, LOOP_QUEUES_MAX);
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
		if (is_added(g, conf, i)) {
			port_free(&g->ports[i]);
			g->ports[i] = (struct port){0};
		}
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
