// SPDX-License-Identifier: BSD-3-Clause
#include "telemetry_filter.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "telemetry_add.h"
#include "trace.h"
#include "transit.h"

#define SOURCE_PORT 49152 // the first of those that hosts choose (RFC 6335 6)
#define TRACE_COUNT 10    // packets, unless the request says how many

struct filter_key {
	const char *name;
	// Reads the value into the member at offset. False if it is not what it must be.
	bool (*parse)(void *member, const struct snapshot *s, const char *value);
	size_t offset;
	// Fits, with the key, the 128 octets of a string of librte_telemetry.
	const char *must_be;
	enum trace_key sets; // of a trace
};

// --- values ---

static bool parse_addr(void *addr, const struct snapshot *s, const char *value)
{
	(void)s;
	return ip_addr_parse(addr, value) == 0;
}

static bool parse_prefix(void *prefix, const struct snapshot *s, const char *value)
{
	(void)s;
	return ip_prefix_parse(prefix, value) == 0;
}

// In host byte order.
static bool parse_host_port(void *port, const struct snapshot *s, const char *value)
{
	unsigned int number;

	(void)s;
	if (!number_parse(&number, value, UINT16_MAX))
		return false;
	*(uint16_t *)port = (uint16_t)number;
	return true;
}

// From 1 to 65535, in network byte order.
static bool parse_port(void *port, const struct snapshot *s, const char *value)
{
	uint16_t *p = port;
	bool ok = parse_host_port(p, s, value) && *p != 0;

	*p = rte_cpu_to_be_16(*p);
	return ok;
}

static bool parse_proto(void *proto, const struct snapshot *s, const char *value)
{
	(void)s;
	return proto_parse(proto, value);
}

static bool parse_flow_proto(void *proto, const struct snapshot *s, const char *value)
{
	return parse_proto(proto, s, value) && *(uint8_t *)proto != 0;
}

static bool parse_trace_proto(void *proto, const struct snapshot *s, const char *value)
{
	uint8_t number = 0;
	bool ok = parse_proto(&number, s, value);

	*(uint16_t *)proto = number;
	return ok;
}

static bool parse_state(void *state, const struct snapshot *s, const char *value)
{
	enum flow_state *found = state;

	(void)s;
	for (unsigned int i = FLOW_FREE + 1; i < FLOW_STATE_COUNT; i++)
		if (strcmp(flow_state_info[i].name, value) == 0)
			*found = (enum flow_state)i;
	return *found != FLOW_FREE;
}

static bool parse_flow_sa(void *filter, const struct snapshot *s, const char *value)
{
	struct flow_filter *f = filter;

	for (unsigned int i = 0; i < s->n_sa_out; i++)
		if (strcmp(s->sa_out[i]->sa.live.name, value) == 0)
			f->sa_out = s->sa_out[i];
	for (unsigned int i = 0; i < s->n_sa_in; i++)
		if (strcmp(s->sa_in[i]->sa.live.name, value) == 0)
			f->ingress = transit_ingress_sa(s->sa_in[i]);
	f->generation = s->generation;
	return f->sa_out != NULL || f->ingress != 0;
}

static bool parse_count(void *count, const struct snapshot *s, const char *value)
{
	(void)s;
	return number_parse(count, value, TRACE_PACKETS_MAX) && *(unsigned int *)count > 0;
}

static bool parse_number(void *number, const struct snapshot *s, const char *value)
{
	(void)s;
	return number_parse(number, value, INT32_MAX);
}

static bool parse_spi(void *spi, const struct snapshot *s, const char *value)
{
	char *end;
	unsigned long number = strtoul(value, &end, 0);

	(void)s;
	*(rte_be32_t *)spi = rte_cpu_to_be_32((uint32_t)number);
	return value[0] >= '0' && value[0] <= '9' && *end == '\0' && number <= UINT32_MAX;
}

static bool parse_sa_name(void *name, const struct snapshot *s, const char *value)
{
	struct flow_filter f = {0};

	snprintf(name, TRACE_FILTER_NAME_MAX, "%s", value);
	return parse_flow_sa(&f, s, value);
}

static bool parse_policy_name(void *name, const struct snapshot *s, const char *value)
{
	bool found = false;

	for (unsigned int i = 0; i < spd_count(s->spd); i++)
		found |= strcmp(spd_at(s->spd, i)->name, value) == 0;
	snprintf(name, TRACE_FILTER_NAME_MAX, "%s", value);
	return found;
}

static bool parse_port_name(void *port, const struct snapshot *s, const char *value)
{
	for (uint16_t i = 0; i < s->n_ports; i++)
		if (strcmp(s->port[i].name, value) == 0) {
			*(uint16_t *)port = i;
			return true;
		}
	return false;
}

static bool parse_drop(void *reason, const struct snapshot *s, const char *value)
{
	enum drop *found = reason;

	(void)s;
	for (unsigned int i = 1; i < DROP_COUNT; i++)
		if (strcmp(drop_info[i].name, value) == 0)
			*found = (enum drop)i;
	return *found != DROP_NONE || strcmp(value, "any") == 0;
}

// --- filters ---

#define FLOW(member)  offsetof(struct flow_filter, member)
#define MATCH(member) offsetof(struct match_query, member)
#define TRACE(member) offsetof(struct trace_request, member)

static const struct filter_key flow_keys[] = {
	{"address", parse_prefix, FLOW(addr), "an address or a prefix, such as 10.1.0.0/24", 0},
	{"port", parse_port, FLOW(port), "a number from 1 to 65535", 0},
	{"proto", parse_flow_proto, FLOW(proto),
		"a protocol, such as tcp, or its number from 1 to 255", 0},
	{"state", parse_state, FLOW(state),
		"a state that the list of flows can show, such as tcp_established", 0},
	{"sa", parse_flow_sa, 0, "the name of an SA", 0},
};

static const struct filter_key match_keys[] = {
	{"source", parse_addr, MATCH(source), "an address", 0},
	{"destination", parse_addr, MATCH(destination), "an address", 0},
	{"proto", parse_proto, MATCH(proto), "a name or a number from 0 to 255", 0},
	{"source_port", parse_host_port, MATCH(source_port), "a number from 0 to 65535", 0},
	{"destination_port", parse_host_port, MATCH(destination_port), "a number from 0 to 65535",
		0},
};

static const struct filter_key trace_keys[] = {
	{"count", parse_count, TRACE(count), "a number from 1 to " RTE_STR(TRACE_PACKETS_MAX), 0},
	{"address", parse_prefix, TRACE(filter.addr), "an address or a prefix, such as 10.1.0.0/24",
		TRACE_KEY_HEADER},
	{"port", parse_port, TRACE(filter.port), "a number from 1 to 65535", TRACE_KEY_HEADER},
	{"proto", parse_trace_proto, TRACE(filter.proto), "a protocol, such as tcp, or its number",
		TRACE_KEY_HEADER},
	{"spi", parse_spi, TRACE(filter.spi), "an SPI, such as 0x1001", TRACE_KEY_SPI},
	{"sa", parse_sa_name, TRACE(filter.sa), "the name of an SA", TRACE_KEY_SA},
	{"policy", parse_policy_name, TRACE(filter.policy), "the name of a policy",
		TRACE_KEY_POLICY},
	{"in", parse_port_name, TRACE(filter.in), "the name of a port of the gateway",
		TRACE_KEY_IN},
	{"out", parse_port_name, TRACE(filter.out), "the name of a port of the gateway",
		TRACE_KEY_OUT},
	{"drop", parse_drop, TRACE(filter.reason),
		"a drop reason as listed by culvertctl explain, or any", TRACE_KEY_DROP},
};

static const struct filter_key number_keys[] = {{"trace", parse_number, 0, "its number", 0}};

static const struct filter_key *key_find(
	const struct filter_key keys[], unsigned int n, const char *name)
{
	for (unsigned int i = 0; i < n; i++)
		if (strcmp(keys[i].name, name) == 0)
			return &keys[i];
	return NULL;
}

static void write_unknown(char *why, size_t size, const struct filter_key keys[], unsigned int n)
{
	size_t len = (size_t)snprintf(why, size, "a filter must be one of");

	for (unsigned int i = 0; i < n && len < size; i++)
		len += (size_t)snprintf(
			why + len, size - len, "%s %s", i > 0 ? "," : "", keys[i].name);
}

// Reads text by a list of n keys; *sets gets what they set. False with the reason in why.
static bool keys_parse(void *filter, const struct filter_key keys[], unsigned int n,
	const struct snapshot *s, const char *text, unsigned int *sets, char *why, size_t size)
{
	char copy[FILTER_MAX];
	unsigned int given = 0;
	char *rest = copy, *item;

	snprintf(copy, sizeof(copy), "%s", text);
	*sets = 0;
	while ((item = strsep(&rest, ",")) != NULL && text[0] != '\0') {
		const char *name = strsep(&item, "=");
		const struct filter_key *key = key_find(keys, n, name);

		if (key == NULL) {
			write_unknown(why, size, keys, n);
			return false;
		}
		if ((given & 1u << (key - keys)) != 0) {
			snprintf(why, size, "%s is given twice", key->name);
			return false;
		}
		given |= 1u << (key - keys);
		*sets |= key->sets;
		if (item == NULL || !key->parse((char *)filter + key->offset, s, item)) {
			snprintf(why, size, "%s must be %s", key->name, key->must_be);
			return false;
		}
	}
	return true;
}

bool filter_parse(
	struct flow_filter *f, const struct snapshot *s, const char *text, char *why, size_t size)
{
	unsigned int sets;

	*f = (struct flow_filter){0};
	return keys_parse(f, flow_keys, RTE_DIM(flow_keys), s, text, &sets, why, size);
}

// A ping, unless a protocol is given; ports of the protocols that have them.
bool filter_match_parse(
	struct match_query *q, const struct snapshot *s, const char *text, char *why, size_t size)
{
	unsigned int sets;

	*q = (struct match_query){0};
	if (!keys_parse(q, match_keys, RTE_DIM(match_keys), s, text, &sets, why, size))
		return false;
	if (q->proto == 0)
		q->proto = ip_addr_is_v4(&q->source) ? IPPROTO_ICMP : IPPROTO_ICMPV6;
	if (q->source_port == 0 && q->destination_port != 0)
		q->source_port = SOURCE_PORT;
	return true;
}

bool filter_trace_parse(
	struct trace_request *r, const struct snapshot *s, const char *text, char *why, size_t size)
{
	*r = (struct trace_request){.filter.proto = PROTO_ANY, .count = TRACE_COUNT};
	return keys_parse(r, trace_keys, RTE_DIM(trace_keys), s, text, &r->filter.keys, why, size);
}

bool filter_trace_number_parse(unsigned int *number, const char *text, char *why, size_t size)
{
	unsigned int sets;

	*number = 0;
	return keys_parse(number, number_keys, RTE_DIM(number_keys), NULL, text, &sets, why, size);
}
