// SPDX-License-Identifier: BSD-3-Clause
#include "telemetry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect.h"
#include "filter.h"
#include "page.h"
#include "ranking.h"

// Items of a list that are looked at, at once, with the gateway's lock.
#define STRIDE 256

static struct control *control;                          // NULL while there is nothing to show
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of the pointer
static const struct view_list *lists;
static unsigned int n_lists;

typedef void ranking_fn(struct ranking *r, const struct control *c);
typedef bool collect_fn(void *view, const struct control *c, unsigned int i);

static void ranking_page(
	const struct page *p, const char *list, ranking_fn *rank, collect_fn *collect)
{
	union any_view view;
	struct ranking r;

	rank(&r, p->c);
	for (unsigned int i = p->offset; i < r.n; i++) {
		collect(&view, p->c, r.number[i]);
		if (!page_add_view(p, i, list, &view))
			break;
	}
}

static void sa_busiest_page(const struct page *p)
{
	ranking_page(p, "sas", ranking_busiest_sas, collect_sas);
}

static void tunnels_worst_page(const struct page *p)
{
	ranking_page(p, "tunnels", ranking_worst_tunnels, collect_tunnels);
}

static void ike_sa_page(const struct page *p)
{
	static const char key[] = "name=";
	struct sas_view view;

	if (p->offset == 0 && strncmp(p->filter, key, strlen(key)) == 0 &&
		collect_ike_sa(&view, p->c, p->filter + strlen(key)))
		page_add_view(p, 0, "sas", &view);
}

// Counters that the driver of a port's device has by names of its own; a VLAN has those of its
// parent.
static void device_counters_page(const struct page *p)
{
	static const char key[] = "name=";
	struct device_counter counters[PAGE_ITEMS];
	const struct conf *conf = p->c->conf;
	unsigned int n = 0;

	for (uint16_t i = 0; i < conf->n_ports && strncmp(p->filter, key, strlen(key)) == 0; i++)
		if (!conf_port_is_free(&conf->ports[i]) &&
			strcmp(conf->ports[i].name, p->filter + strlen(key)) == 0)
			n = p->c->io->device_counters(
				p->c->io_arg, i, p->offset, counters, PAGE_ITEMS);
	for (unsigned int i = 0; i < n; i++) {
		struct rte_tel_data *item = item_new();

		if (item == NULL)
			return;
		add_string(item, "counter", counters[i].name);
		add_u64(item, "value", RTE_MIN(counters[i].value, (uint64_t)INT64_MAX)); // of JSON
		page_add(p, p->offset + i, item);
	}
}

// Everything but lists of views.
static const struct command {
	const char *name;
	const char *help;
	page_fn *page;
} commands[] = {
	{"device_counters",
		"Counters of the driver of a port. Parameters: number of the first; name=",
		device_counters_page},
	{"flows",
		"Flows. Parameters: number of the first; address=, port=, proto=, state=, sa=, "
		"nat=",
		flow_page},
	{"ike_sa", "A security association of IKE. Parameters: 0; name=", ike_sa_page},
	{"match",
		"Decisions for a new packet. Parameters: 0; source=, destination=, proto=, "
		"destination_port=, source_port=",
		match_page},
	{"ping", "Result of a ping. Parameters: 0; ping=", ping_page},
	{"sas_busiest", "Security associations with most traffic now, at most 16", sa_busiest_page},
	{"trace_state", "Whether a trace is on. Parameters: 0; trace=", trace_state_page},
	{"trace_steps", "Steps of traced packets. Parameters: number of the first; trace=",
		trace_steps_page},
	{"tunnels_worst", "Tunnels that are not up, the worst first, at most 16",
		tunnels_worst_page},
};

// DPDK's own requests about devices. They would read a device while the device thread closes it:
// only requests above take the lock that keeps it open.
static const char *const unsafe_requests[] = {
	"/ethdev/dcb",
	"/ethdev/dump_priv",
	"/ethdev/fec",
	"/ethdev/flow_ctrl",
	"/ethdev/info",
	"/ethdev/link_status",
	"/ethdev/list",
	"/ethdev/macs",
	"/ethdev/module_eeprom",
	"/ethdev/rss_info",
	"/ethdev/rx_queue",
	"/ethdev/stats",
	"/ethdev/tm_capability",
	"/ethdev/tm_level_capability",
	"/ethdev/tm_node_capability",
	"/ethdev/tx_queue",
	"/ethdev/vlan",
	"/ethdev/xstats",
};

static int refuse(const char *cmd, const char *params, struct rte_tel_data *d)
{
	(void)cmd;
	(void)params;
	(void)d;
	return -ENOTSUP;
}

// The items of a list of views that match, from the page's first on.
struct list_page {
	const struct page *page;
	const struct view_list *list;
	struct view_filter filter;
	uint32_t position;   // of the item that is looked at next
	unsigned int number; // of the next one that matches
};

// Looks at some items. False: the answer is complete.
static bool list_step(struct list_page *l)
{
	const struct page *p = l->page;
	union any_view view;

	for (unsigned int i = 0; i < STRIDE; i++) {
		if (!l->list->collect(&view, p->c, l->position))
			return false;
		l->position++;
		if (!filter_view_matches(&l->filter, &view) || l->number++ < p->offset)
			continue;
		if (!page_add_view(p, l->number - 1, l->list->name, &view))
			return false;
		cursor_add(l->position);
		if (l->number == p->offset + PAGE_ITEMS)
			return false;
	}
	return true;
}

// Without a filter the numbers of items are their positions.
static void list_page(const struct page *p, const struct view_list *list)
{
	struct list_page l = {.page = p, .list = list, .position = p->offset};
	char why[RTE_TEL_MAX_STRING_LEN];
	bool more = true;

	if (!filter_view_parse(&l.filter, list->name, p->filter, why, sizeof(why))) {
		page_refuse(p, why);
		return;
	}
	if (l.filter.any || cursor_find(&l.position, p))
		l.number = p->offset;
	else
		l.position = 0;
	cursor_begin(p, l.position);
	while (more) {
		pthread_mutex_lock(&p->c->lock);
		more = list_step(&l);
		pthread_mutex_unlock(&p->c->lock);
	}
}

static void command_page(const struct page *p, page_fn *page)
{
	if (page == flow_page) {
		page(p);
		return;
	}
	pthread_mutex_lock(&p->c->lock);
	page(p);
	pthread_mutex_unlock(&p->c->lock);
}

// Under the lock of the pointer.
static void page_fill(const struct page *p)
{
	for (unsigned int i = 0; i < RTE_DIM(commands); i++)
		if (strcmp(commands[i].name, p->list) == 0)
			command_page(p, commands[i].page);
	for (unsigned int i = 0; i < n_lists; i++)
		if (strcmp(lists[i].name, p->list) == 0)
			list_page(p, &lists[i]);
}

// cmd: "/culvert/LIST"; params: "OFFSET", "OFFSET,FILTER", "FILTER" or none.
static int answer(const char *cmd, const char *params, struct rte_tel_data *d)
{
	char *filter = "";
	unsigned long first = params != NULL ? strtoul(params, &filter, 10) : 0;
	struct page p = {.answer = d,
		.list = strrchr(cmd, '/') + 1,
		.offset = (unsigned int)RTE_MIN(first, UINT32_MAX / 2ul),
		.filter = filter + (*filter == ',')};

	rte_tel_data_start_dict(d);
	pthread_mutex_lock(&lock);
	p.c = control;
	if (p.c != NULL)
		page_fill(&p);
	pthread_mutex_unlock(&lock);
	return 0;
}

static void command_register(const char *list, const char *help)
{
	char name[64];

	snprintf(name, sizeof(name), "/culvert/%s", list);
	rte_telemetry_register_cmd(name, answer, help);
}

void telemetry_start(struct control *c, const struct view_list all[], unsigned int n)
{
	control = c;
	lists = all;
	n_lists = n;
	for (unsigned int i = 0; i < RTE_DIM(commands); i++)
		command_register(commands[i].name, commands[i].help);
	for (unsigned int i = 0; i < n; i++)
		command_register(all[i].name, all[i].help);
	for (unsigned int i = 0; i < RTE_DIM(unsafe_requests); i++) // found before DPDK's
		rte_telemetry_register_cmd(unsafe_requests[i], refuse,
			"Refused: /culvert/ports and /culvert/device_counters answer instead");
}

void telemetry_stop(void)
{
	pthread_mutex_lock(&lock);
	control = NULL;
	pthread_mutex_unlock(&lock);
}
