// SPDX-License-Identifier: BSD-3-Clause
#include "telemetry_filter.h"

#include <stdio.h>
#include <string.h>

#include "telemetry_add.h"
#include "transit.h"

static bool parse_address(void *filter, const struct snapshot *s, const char *value)
{
	struct flow_filter *f = filter;

	(void)s;
	return ip_prefix_parse(&f->addr, value) == 0;
}

static bool parse_port(void *filter, const struct snapshot *s, const char *value)
{
	struct flow_filter *f = filter;
	unsigned int port;

	(void)s;
	if (!number_parse(&port, value, UINT16_MAX) || port == 0)
		return false;
	f->port = rte_cpu_to_be_16((uint16_t)port);
	return true;
}

static bool parse_proto(void *filter, const struct snapshot *s, const char *value)
{
	struct flow_filter *f = filter;

	(void)s;
	return proto_parse(&f->proto, value) && f->proto != 0;
}

static bool parse_state(void *filter, const struct snapshot *s, const char *value)
{
	struct flow_filter *f = filter;

	(void)s;
	for (unsigned int i = FLOW_FREE + 1; i < FLOW_STATE_COUNT; i++)
		if (strcmp(flow_state_info[i].name, value) == 0)
			f->state = (enum flow_state)i;
	return f->state != FLOW_FREE;
}

static bool parse_sa(void *filter, const struct snapshot *s, const char *value)
{
	struct flow_filter *f = filter;

	for (unsigned int i = 0; i < s->n_sa_out; i++)
		if (strcmp(s->sa_out[i]->sa.name, value) == 0)
			f->sa_out = s->sa_out[i];
	for (unsigned int i = 0; i < s->n_sa_in; i++)
		if (strcmp(s->sa_in[i]->sa.name, value) == 0)
			f->arrival = transit_arrival(s->sa_in[i]);
	f->generation = s->generation;
	return f->sa_out != NULL || f->arrival != 0;
}

// What a value must be has to fit the 128 octets of a string of librte_telemetry.
static const struct filter_key flow_keys[] = {
	{"address", parse_address, "an address or a prefix, such as 10.1.0.0/24"},
	{"port", parse_port, "a number from 1 to 65535"},
	{"proto", parse_proto, "a protocol, such as tcp, or its number from 1 to 255"},
	{"state", parse_state, "a state that the list of flows can show, such as tcp_established"},
	{"sa", parse_sa, "the name of an SA"},
};

static const struct filter_key *key_find(
	const struct filter_key keys[], unsigned int n, const char *name)
{
	for (unsigned int i = 0; i < n; i++)
		if (strcmp(keys[i].name, name) == 0)
			return &keys[i];
	return NULL;
}

static void say_unknown(char *why, size_t size, const struct filter_key keys[], unsigned int n)
{
	size_t len = (size_t)snprintf(why, size, "a filter must be one of");

	for (unsigned int i = 0; i < n && len < size; i++)
		len += (size_t)snprintf(
			why + len, size - len, "%s %s", i > 0 ? "," : "", keys[i].name);
}

bool filter_items_parse(void *filter, const struct filter_key keys[], unsigned int n,
	const struct snapshot *s, const char *text, char *why, size_t size)
{
	char copy[FILTER_MAX];
	unsigned int given = 0;
	char *rest = copy, *item;

	snprintf(copy, sizeof(copy), "%s", text);
	while ((item = strsep(&rest, ",")) != NULL && text[0] != '\0') {
		const char *name = strsep(&item, "=");
		const struct filter_key *key = key_find(keys, n, name);

		if (key == NULL) {
			say_unknown(why, size, keys, n);
			return false;
		}
		if ((given & 1u << (key - keys)) != 0) {
			snprintf(why, size, "%s is given twice", key->name);
			return false;
		}
		given |= 1u << (key - keys);
		if (item == NULL || !key->parse(filter, s, item)) {
			snprintf(why, size, "%s must be %s", key->name, key->must_be);
			return false;
		}
	}
	return true;
}

bool filter_parse(
	struct flow_filter *f, const struct snapshot *s, const char *text, char *why, size_t size)
{
	*f = (struct flow_filter){0};
	return filter_items_parse(f, flow_keys, RTE_DIM(flow_keys), s, text, why, size);
}
