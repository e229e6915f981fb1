// SPDX-License-Identifier: BSD-3-Clause
#include "trace_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "telemetry_add.h"
#include "telemetry_filter.h"
#include "trace.h"

#define COUNT 10 // packets, unless the request says how many

static bool parse_count(void *request, const struct snapshot *s, const char *value)
{
	struct trace_request *r = request;

	(void)s;
	return number_parse(&r->count, value, TRACE_PACKETS_MAX) && r->count > 0;
}

static bool parse_address(void *request, const struct snapshot *s, const char *value)
{
	struct trace_filter *f = &((struct trace_request *)request)->filter;

	(void)s;
	f->keys |= TRACE_KEY_HEADER;
	return ip_prefix_parse(&f->addr, value) == 0;
}

static bool parse_port(void *request, const struct snapshot *s, const char *value)
{
	struct trace_filter *f = &((struct trace_request *)request)->filter;
	unsigned int port;

	(void)s;
	if (!number_parse(&port, value, UINT16_MAX) || port == 0)
		return false;
	f->keys |= TRACE_KEY_HEADER;
	f->port = rte_cpu_to_be_16((uint16_t)port);
	return true;
}

static bool parse_proto(void *request, const struct snapshot *s, const char *value)
{
	struct trace_filter *f = &((struct trace_request *)request)->filter;
	uint8_t proto;

	(void)s;
	if (!proto_parse(&proto, value))
		return false;
	f->keys |= TRACE_KEY_HEADER;
	f->proto = proto;
	return true;
}

static bool parse_spi(void *request, const struct snapshot *s, const char *value)
{
	struct trace_filter *f = &((struct trace_request *)request)->filter;
	char *end;
	unsigned long spi = strtoul(value, &end, 0);

	(void)s;
	f->keys |= TRACE_KEY_SPI;
	f->spi = rte_cpu_to_be_32((uint32_t)spi);
	return value[0] >= '0' && value[0] <= '9' && *end == '\0' && spi <= UINT32_MAX;
}

static bool parse_sa(void *request, const struct snapshot *s, const char *value)
{
	struct trace_filter *f = &((struct trace_request *)request)->filter;
	bool found = false;

	for (unsigned int i = 0; i < s->n_sa_out; i++)
		found |= strcmp(s->sa_out[i]->sa.name, value) == 0;
	for (unsigned int i = 0; i < s->n_sa_in; i++)
		found |= strcmp(s->sa_in[i]->sa.name, value) == 0;
	f->keys |= TRACE_KEY_SA;
	snprintf(f->sa, sizeof(f->sa), "%s", value);
	return found;
}

static bool parse_policy(void *request, const struct snapshot *s, const char *value)
{
	struct trace_filter *f = &((struct trace_request *)request)->filter;
	bool found = false;

	for (unsigned int i = 0; i < spd_count(s->spd); i++)
		found |= strcmp(spd_at(s->spd, i)->name, value) == 0;
	f->keys |= TRACE_KEY_POLICY;
	snprintf(f->policy, sizeof(f->policy), "%s", value);
	return found;
}

static bool port_find(uint16_t *port, const struct snapshot *s, const char *name)
{
	for (*port = 0; *port < s->n_ports; ++*port)
		if (strcmp(s->port[*port].name, name) == 0)
			return true;
	return false;
}

static bool parse_in(void *request, const struct snapshot *s, const char *value)
{
	struct trace_filter *f = &((struct trace_request *)request)->filter;

	f->keys |= TRACE_KEY_IN;
	return port_find(&f->in, s, value);
}

static bool parse_out(void *request, const struct snapshot *s, const char *value)
{
	struct trace_filter *f = &((struct trace_request *)request)->filter;

	f->keys |= TRACE_KEY_OUT;
	return port_find(&f->out, s, value);
}

static bool parse_drop(void *request, const struct snapshot *s, const char *value)
{
	struct trace_filter *f = &((struct trace_request *)request)->filter;

	(void)s;
	f->keys |= TRACE_KEY_DROP;
	for (unsigned int i = 1; i < DROP_COUNT; i++)
		if (strcmp(drop_info[i].name, value) == 0)
			f->reason = (enum drop)i;
	return f->reason != DROP_NONE || strcmp(value, "any") == 0;
}

static const struct filter_key keys[] = {
	{"count", parse_count, "a number from 1 to " RTE_STR(TRACE_PACKETS_MAX)},
	{"address", parse_address, "an address or a prefix, such as 10.1.0.0/24"},
	{"port", parse_port, "a number from 1 to 65535"},
	{"proto", parse_proto, "a protocol, such as tcp, or its number"},
	{"spi", parse_spi, "an SPI, such as 0x1001"},
	{"sa", parse_sa, "the name of an SA"},
	{"policy", parse_policy, "the name of a policy"},
	{"in", parse_in, "the name of a port of the gateway"},
	{"out", parse_out, "the name of a port of the gateway"},
	{"drop", parse_drop, "a drop reason as listed by culvertctl explain, or any"},
};

bool trace_request_parse(
	struct trace_request *r, const struct snapshot *s, const char *text, char *why, size_t size)
{
	*r = (struct trace_request){.filter.proto = TRACE_PROTO_ANY, .count = COUNT};
	return filter_items_parse(r, keys, RTE_DIM(keys), s, text, why, size);
}
