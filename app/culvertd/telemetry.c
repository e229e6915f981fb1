// SPDX-License-Identifier: BSD-3-Clause
#include "telemetry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_telemetry.h>

#include "collect.h"
#include "lists.h"
#include "telemetry_add.h"
#include "telemetry_cursor.h"
#include "telemetry_filter.h"
#include "telemetry_pages.h"

// Items of a list that are looked at, at once, with the gateway's lock.
#define STRIDE 256

#define PREFIX "/culvert/" // of the names of commands

static struct gateway *gateway;                          // NULL while there is nothing to show
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of the pointer

// Writes the items from number offset on that match the filter, and takes the gateway's lock.
typedef void (*page_fn)(
	struct rte_tel_data *d, struct gateway *g, unsigned int offset, const char *filter);

#define LINK_LOCAL_LEN 64

// Addresses with the length of their network's prefix, and the state of those that are not used;
// after those of the configuration the link-local one that the port has by itself, and those of
// guests, which have no network.
static void add_addresses(struct rte_tel_data *item, const char *name, const struct port_view *v)
{
	static const char *const states[] = {[DAD_TENTATIVE] = " (tentative)",
		[DAD_ASSIGNED] = "",
		[DAD_DUPLICATE] = " (duplicate)"};
	struct rte_tel_data *list = rte_tel_data_alloc();
	char text[IP_PREFIX_STRLEN + 16];

	if (list == NULL)
		return;
	rte_tel_data_start_array(list, RTE_TEL_STRING_VAL);
	for (unsigned int a = 0; a < v->port->n_addrs; a++) {
		unsigned int others = v->port->n_addrs - v->conf->guests.n;
		struct ip_prefix p = {.addr = v->port->addrs[a],
			.len = a < v->conf->n_addrs ? v->conf->addrs[a].net.len
			       : a < others         ? LINK_LOCAL_LEN
						    : 128};

		ip_prefix_format(text, &p);
		strcat(text, states[dad_state(v->dad, v->number, &p.addr)]);
		rte_tel_data_add_array_string(list, text);
	}
	rte_tel_data_add_dict_container(item, name, list, 0);
}

static void add_drops(
	struct rte_tel_data *item, const char *name, const uint64_t packets[DROP_COUNT])
{
	struct rte_tel_data *drops = item_new();

	if (drops == NULL)
		return;
	for (enum drop r = 1; r < DROP_COUNT; r++)
		if (packets[r] > 0)
			add_u64(drops, drop_info[r].name, packets[r]);
	rte_tel_data_add_dict_container(item, name, drops, 0);
}

static void field_add(struct rte_tel_data *item, const struct view_field *f, const void *view)
{
	const uint64_t *numbers = (const void *)((const char *)view + f->offset);
	char text[VIEW_TEXT_MAX];

	if (f->value == VALUE_U64)
		add_u64(item, f->name, *numbers);
	else if (f->value == VALUE_DROPS)
		add_drops(item, f->name, numbers);
	else if (f->value == VALUE_ADDRESSES)
		add_addresses(item, f->name, view);
	else
		add_string(item, f->name, view_text(text, f, view));
}

// Adds a view of the list to the answer, as item i. False: there is no memory.
static bool view_add(struct rte_tel_data *d, unsigned int i, const char *list, const void *view)
{
	struct rte_tel_data *item = item_new();
	unsigned int n;
	const struct view_field *f = view_fields(list, &n);

	if (item == NULL)
		return false;
	for (unsigned int k = 0; k < n; k++)
		if (f[k].name != NULL)
			field_add(item, &f[k], view);
	add_item(d, i, item);
	return true;
}

static void sa_busiest_page(
	struct rte_tel_data *d, struct gateway *g, unsigned int offset, const char *filter)
{
	unsigned int number[SA_BUSIEST], n;
	struct sa_view view;

	(void)filter;
	pthread_mutex_lock(&g->control.lock);
	n = collect_busiest(&g->control, number);
	for (unsigned int i = offset; i < n; i++) {
		collect_sa(&view, &g->control, number[i]);
		if (!view_add(d, i, "sas", &view))
			break;
	}
	pthread_mutex_unlock(&g->control.lock);
}

static void ike_sa_page(
	struct rte_tel_data *d, struct gateway *g, unsigned int offset, const char *filter)
{
	static const char key[] = "name=";
	struct sa_view view;

	pthread_mutex_lock(&g->control.lock);
	if (offset == 0 && strncmp(filter, key, strlen(key)) == 0 &&
		collect_ike_sa(&view, &g->control, filter + strlen(key)))
		view_add(d, 0, "sas", &view);
	pthread_mutex_unlock(&g->control.lock);
}

// What is not a list of views.
static const struct command {
	const char *name;
	const char *help;
	page_fn page;
} commands[] = {
	{"/culvert/device_counters",
		"Counters of the driver of a port. Parameters: number of the first; name=",
		device_counters_page},
	{"/culvert/flows",
		"Flows. Parameters: number of the first; address=, port=, proto=, state=, sa=",
		flow_page},
	{"/culvert/ike_sa", "A security association of IKE. Parameters: 0; name=", ike_sa_page},
	{"/culvert/match",
		"Decisions for a new packet. Parameters: 0; source=, destination=, proto=, "
		"destination_port=, source_port=",
		match_page},
	{"/culvert/sas_busiest", "Security associations with most traffic now, at most 16",
		sa_busiest_page},
	{"/culvert/trace_state", "Whether a trace is on. Parameters: 0; trace=", trace_state_page},
	{"/culvert/trace_steps", "Steps of traced packets. Parameters: number of the first; trace=",
		trace_steps_page},
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

// The items of a list of views that match, from number begin on, for an answer.
struct list_page {
	struct rte_tel_data *answer;
	const struct view_list *list;
	struct view_filter filter;
	uint32_t position;   // of the item that is looked at next
	unsigned int number; // of the next one that matches
	unsigned int begin;  // number of the first in the answer
};

// Looks at some items. False: the answer is complete.
static bool list_step(struct list_page *p, const struct control *c)
{
	union any_view view;

	for (unsigned int i = 0; i < STRIDE; i++) {
		if (!p->list->collect(&view, c, p->position))
			return false;
		p->position++;
		if (!filter_view_matches(&p->filter, &view) || p->number++ < p->begin)
			continue;
		if (!view_add(p->answer, p->number - 1, p->list->name, &view))
			return false;
		cursor_add(p->position);
		if (p->number == p->begin + CURSOR_PAGE)
			return false;
	}
	return true;
}

// Items from number offset on. Without a filter their numbers are their positions.
static void list_page(struct rte_tel_data *d, struct gateway *g, const struct view_list *list,
	unsigned int offset, const char *filter)
{
	struct list_page p = {.answer = d, .list = list, .begin = offset};
	char why[RTE_TEL_MAX_STRING_LEN];
	bool more = true;

	if (!filter_view_parse(&p.filter, list->name, filter, why, sizeof(why))) {
		add_string(d, "error", why);
		return;
	}
	p.position = offset;
	if (p.filter.any || cursor_find(&p.position, list->name, filter, offset))
		p.number = offset;
	else
		p.position = 0;
	cursor_begin(list->name, filter, offset, p.position);
	while (more) {
		pthread_mutex_lock(&g->control.lock);
		more = list_step(&p, &g->control);
		pthread_mutex_unlock(&g->control.lock);
	}
}

// Under the lock of the pointer.
static void page(struct rte_tel_data *d, const char *cmd, unsigned int offset, const char *filter)
{
	for (unsigned int i = 0; i < RTE_DIM(commands); i++)
		if (strcmp(commands[i].name, cmd) == 0)
			commands[i].page(d, gateway, offset, filter);
	for (unsigned int i = 0; i < view_n_lists; i++)
		if (strcmp(view_lists[i].name, cmd + strlen(PREFIX)) == 0)
			list_page(d, gateway, &view_lists[i], offset, filter);
}

// params: "OFFSET", "OFFSET,FILTER", "FILTER" or none.
static int answer(const char *cmd, const char *params, struct rte_tel_data *d)
{
	char *filter = "";
	unsigned long first = params != NULL ? strtoul(params, &filter, 10) : 0;
	unsigned int offset = (unsigned int)RTE_MIN(first, UINT32_MAX / 2ul);

	filter += *filter == ',';
	rte_tel_data_start_dict(d);
	pthread_mutex_lock(&lock);
	if (gateway != NULL)
		page(d, cmd, offset, filter);
	pthread_mutex_unlock(&lock);
	return 0;
}

void telemetry_start(struct gateway *g)
{
	char name[64];

	gateway = g;
	for (unsigned int i = 0; i < RTE_DIM(commands); i++)
		rte_telemetry_register_cmd(commands[i].name, answer, commands[i].help);
	for (unsigned int i = 0; i < view_n_lists; i++) {
		snprintf(name, sizeof(name), PREFIX "%s", view_lists[i].name);
		rte_telemetry_register_cmd(name, answer, view_lists[i].help);
	}
	for (unsigned int i = 0; i < RTE_DIM(unsafe_requests); i++) // found before DPDK's
		rte_telemetry_register_cmd(unsafe_requests[i], refuse,
			"Refused: /culvert/ports and /culvert/device_counters answer instead");
}

void telemetry_stop(void)
{
	pthread_mutex_lock(&lock);
	gateway = NULL;
	pthread_mutex_unlock(&lock);
}
