// SPDX-License-Identifier: BSD-3-Clause
#include "flow_export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event_log.h"
#include "flow_describe.h"
#include "log.h"
#include "peers.h"
#include "wall_clock.h"

#define TEMPLATES_MS 30000 // between templates, which a collector that has restarted needs (8.4)
#define PROBE_MS     1000  // the same while the collector is gone
#define RETURNED_MS  3000  // without an error: the collector is there again
#define WAIT_MS      500   // that a record waits for others in a message
#define SCAN_MS      100   // between parts of the scan for long flows
#define BURST_MS     100   // for which unused tokens count
#define AT_ONCE      2048  // records in a call
#define RETRY_MS     10000 // after memory was short

#define RECORD_TOKENS 2000 // a record of a flow becomes two at most

struct flow_export {
	struct flow_names *names;
	struct ipfix_message message;
	unsigned int flows;  // in the message
	uint64_t message_ms; // when its first record was added
	uint32_t sequence;
	struct ip_addr collector; // that the state below is about
	unsigned int port;
	uint64_t tokens;                          // thousandths of records
	uint64_t earned_ms;                       // when tokens were added last
	uint64_t templates_ms, scan_ms, retry_ms; // when these are due
	uint32_t scan;
	bool on, gone;
	uint64_t error_ms;
	struct flow_export_counters counters;
};

static const char *collector_format(char buf[ENDPOINT_STRLEN], const struct control *c)
{
	return endpoint_format(
		buf, &c->conf->export_collector, rte_cpu_to_be_16((uint16_t)c->conf->export_port));
}

static void collector_failed(struct control *c, int rc, uint64_t now_ms)
{
	struct flow_export *e = c->flow_export;
	char collector[ENDPOINT_STRLEN];

	if (rc == -EAGAIN) // the socket is full: the collector may be there
		return;
	e->error_ms = now_ms;
	if (e->gone)
		return;
	e->gone = true;
	e->templates_ms = now_ms + PROBE_MS;
	event_post(COLLECTOR_LOST, EVENT_TEXT(collector_format(collector, c)),
		EVENT_TEXT(strerror(-rc)));
}

static void message_send(struct control *c, uint64_t now_ms)
{
	struct flow_export *e = c->flow_export;
	int rc;

	ipfix_end(&e->message, wall_clock_ms(), e->sequence, c->conf->export_domain);
	rc = c->io->export_send(c->io_arg, &c->conf->export_collector,
		(uint16_t)c->conf->export_port, e->message.data, e->message.len);
	e->sequence += e->message.records; // the collector sees that some are missing
	if (rc == 0) {
		e->counters.messages++;
		e->counters.octets += e->message.len;
		e->counters.records += e->flows;
	} else {
		e->counters.not_sent += e->flows;
		collector_failed(c, rc, now_ms);
	}
	ipfix_begin(&e->message);
	e->flows = 0;
}

static void message_flush(struct control *c, uint64_t now_ms)
{
	if (!ipfix_is_empty(&c->flow_export->message))
		message_send(c, now_ms);
}

// --- templates, statistics, names ---

static void templates_send(struct control *c, uint64_t now_ms)
{
	struct flow_export *e = c->flow_export;
	struct flow_counters flows;

	flow_counters_sum(c->flows, &flows);
	message_flush(c, now_ms);
	ipfix_add_templates(&e->message);
	ipfix_add_statistics(
		&e->message, &(struct ipfix_statistics){
				     .domain = c->conf->export_domain,
				     .messages = e->counters.messages,
				     .flows = e->counters.records,
				     .octets = e->counters.octets,
				     .process = 1,
				     .flows_not_sent = e->counters.not_sent + flows.records_lost,
			     });
	message_send(c, now_ms);
	flow_names_forget(e->names);
	e->templates_ms = now_ms + (e->gone ? PROBE_MS : TEMPLATES_MS);
}

static void interface_name(struct control *c, uint32_t interface, uint64_t now_ms)
{
	struct flow_export *e = c->flow_export;
	const char *name = flow_names_interface(e->names, c, interface);

	if (name == NULL || ipfix_add_name(&e->message, interface, name))
		return;
	message_send(c, now_ms);
	ipfix_add_name(&e->message, interface, name);
}

// --- records ---

static void flow_add(struct control *c, const struct ipfix_flow *f, uint64_t now_ms)
{
	struct flow_export *e = c->flow_export;

	if (ipfix_is_empty(&e->message))
		e->message_ms = now_ms;
	interface_name(c, f->ingress, now_ms);
	interface_name(c, f->egress, now_ms);
	if (!ipfix_add_flow(&e->message, f)) {
		message_send(c, now_ms);
		e->message_ms = now_ms;
		ipfix_add_flow(&e->message, f);
	}
	e->flows++;
}

static void record_add(struct control *c, const struct flow_record *r, uint64_t now_ms)
{
	struct flow_export *e = c->flow_export;
	struct ipfix_flow f[2];
	const unsigned int n = flow_describe(f, c, e->names, r, (uint32_t)now_ms, wall_clock_ms());

	for (unsigned int i = 0; i < n; i++)
		flow_add(c, &f[i], now_ms);
	e->tokens -= RTE_MIN(e->tokens, 1000 * n);
}

static bool may_add(const struct flow_export *e)
{
	return !e->gone && e->tokens >= RECORD_TOKENS;
}

// Tokens for the time since the last call, at most the number of BURST_MS.
static void tokens_earn(struct flow_export *e, const struct conf *conf, uint64_t now_ms)
{
	const uint64_t ms = RTE_MIN(now_ms - e->earned_ms, (uint64_t)BURST_MS);

	e->tokens = RTE_MIN(e->tokens + ms * conf->export_rate,
		RTE_MAX((uint64_t)conf->export_rate * BURST_MS, (uint64_t)RECORD_TOKENS));
	e->earned_ms = now_ms;
}

// Returns whether the rings are empty.
static bool ended_export(struct control *c, uint64_t now_ms)
{
	struct flow_record r;
	unsigned int n = 0;

	for (unsigned int i = 0; i < c->conf->n_workers; i++)
		for (;; n++) {
			if (n == AT_ONCE || !may_add(c->flow_export))
				return false;
			if (!flow_record_next(c->flows, i, &r))
				break;
			record_add(c, &r, now_ms);
		}
	return true;
}

struct scanning {
	struct control *c;
	uint64_t now_ms;
	unsigned int n;
};

static bool long_export(void *arg, const struct flow_record *r)
{
	struct scanning *s = arg;

	if (s->n++ == AT_ONCE || !may_add(s->c->flow_export))
		return false;
	record_add(s->c, r, s->now_ms);
	return true;
}

static void long_scan(struct control *c, uint64_t now_ms)
{
	struct scanning s = {.c = c, .now_ms = now_ms};
	struct flow_export *e = c->flow_export;

	if (now_ms < e->scan_ms)
		return;
	e->scan_ms = now_ms + SCAN_MS;
	flow_records_scan(c->flows, &e->scan, (uint32_t)now_ms, 1000 * c->conf->export_active_s,
		long_export, &s);
}

// --- begin and end ---

static bool is_wanted(const struct control *c)
{
	return !ip_addr_is_none(&c->conf->export_collector);
}

static struct flow_export *export_new(void)
{
	struct flow_export *e = calloc(1, sizeof(*e));

	if (e == NULL)
		return NULL;
	e->names = flow_names_new();
	if (e->names != NULL) {
		ipfix_begin(&e->message);
		return e;
	}
	free(e);
	return NULL;
}

static bool export_start(struct control *c, uint64_t now_ms)
{
	struct flow_export *e = c->flow_export;

	if (e == NULL)
		e = c->flow_export = export_new();
	if (e == NULL || now_ms < e->retry_ms)
		return false;
	e->on = flow_records_start(c->flows) == 0;
	e->retry_ms = now_ms + RETRY_MS;
	e->earned_ms = now_ms;
	e->templates_ms = now_ms;
	if (!e->on)
		log_warn("out of memory for flow_export: tried again in %d seconds",
			RETRY_MS / 1000);
	return e->on;
}

static void export_stop(struct control *c)
{
	struct flow_export *e = c->flow_export;

	e->counters.not_sent += e->flows;
	e->flows = 0;
	ipfix_begin(&e->message);
	flow_records_stop(c->flows);
	e->on = e->gone = false;
	e->retry_ms = 0;
}

// Another one knows no templates yet.
static void collector_set(struct flow_export *e, const struct conf *conf, uint64_t now_ms)
{
	if (ip_addr_equal(&e->collector, &conf->export_collector) && e->port == conf->export_port)
		return;
	e->collector = conf->export_collector;
	e->port = conf->export_port;
	e->gone = false;
	e->templates_ms = now_ms;
}

static void collector_returned(struct control *c, uint64_t now_ms)
{
	struct flow_export *e = c->flow_export;
	char collector[ENDPOINT_STRLEN];

	if (!e->gone || now_ms - e->error_ms < RETURNED_MS)
		return;
	e->gone = false;
	e->templates_ms = now_ms;
	event_post(COLLECTOR_BACK, EVENT_TEXT(collector_format(collector, c)));
}

bool flow_export_tick(struct control *c, uint64_t now_ms)
{
	struct flow_export *e = c->flow_export;
	bool all;

	if (!is_wanted(c)) {
		if (e != NULL && e->on)
			export_stop(c);
		return false;
	}
	if ((e == NULL || !e->on) && !export_start(c, now_ms))
		return false;
	e = c->flow_export;
	collector_set(e, c->conf, now_ms);
	tokens_earn(e, c->conf, now_ms);
	collector_returned(c, now_ms);
	if (now_ms >= e->templates_ms)
		templates_send(c, now_ms);
	all = ended_export(c, now_ms);
	if (all)
		long_scan(c, now_ms);
	if (!e->gone && now_ms - e->message_ms >= WAIT_MS)
		message_flush(c, now_ms);
	return !all && may_add(e);
}

struct flow_export_counters flow_export_counts(const struct control *c)
{
	return c->flow_export != NULL ? c->flow_export->counters
				      : (struct flow_export_counters){.records = 0};
}

void flow_export_free(struct control *c)
{
	if (c->flow_export != NULL)
		free(c->flow_export->names);
	free(c->flow_export);
	c->flow_export = NULL;
}
