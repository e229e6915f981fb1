// SPDX-License-Identifier: BSD-3-Clause
#include "match_request.h"

#include <netinet/in.h>

#include "telemetry_add.h"
#include "telemetry_filter.h"

#define SOURCE_PORT 49152 // the first of those that hosts choose (RFC 6335 6)

static bool parse_source(void *query, const struct snapshot *s, const char *value)
{
	(void)s;
	return ip_addr_parse(&((struct match_query *)query)->source, value) == 0;
}

static bool parse_destination(void *query, const struct snapshot *s, const char *value)
{
	(void)s;
	return ip_addr_parse(&((struct match_query *)query)->destination, value) == 0;
}

static bool parse_proto(void *query, const struct snapshot *s, const char *value)
{
	(void)s;
	return proto_parse(&((struct match_query *)query)->proto, value);
}

static bool port_read(uint16_t *port, const char *value)
{
	unsigned int number;

	if (!number_parse(&number, value, UINT16_MAX))
		return false;
	*port = (uint16_t)number;
	return true;
}

static bool parse_source_port(void *query, const struct snapshot *s, const char *value)
{
	(void)s;
	return port_read(&((struct match_query *)query)->source_port, value);
}

static bool parse_destination_port(void *query, const struct snapshot *s, const char *value)
{
	(void)s;
	return port_read(&((struct match_query *)query)->destination_port, value);
}

static const struct filter_key keys[] = {
	{"source", parse_source, "an address"},
	{"destination", parse_destination, "an address"},
	{"proto", parse_proto, "a name or a number from 0 to 255"},
	{"source_port", parse_source_port, "a number from 0 to 65535"},
	{"destination_port", parse_destination_port, "a number from 0 to 65535"},
};

// A ping, unless a protocol is asked for; ports of the protocols that have them.
static void query_complete(struct match_query *q)
{
	if (q->proto == 0)
		q->proto = ip_addr_is_v4(&q->source) ? IPPROTO_ICMP : IPPROTO_ICMPV6;
	if (q->source_port == 0 && q->destination_port != 0)
		q->source_port = SOURCE_PORT;
}

bool match_request_parse(
	struct match_query *q, const struct snapshot *s, const char *text, char *why, size_t size)
{
	*q = (struct match_query){0};
	if (!filter_items_parse(q, keys, RTE_DIM(keys), s, text, why, size))
		return false;
	query_complete(q);
	return true;
}
