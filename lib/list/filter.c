// SPDX-License-Identifier: BSD-3-Clause
#include "filter.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto_model.h"
#include "trace.h"
#include "transit.h"

#define SOURCE_PORT 49152 // the first of the ports that hosts choose (RFC 6335 6)
#define TRACE_COUNT 10    // packets, unless the request has a number

// Type of a value.
enum kind {
	ADDRESS,
	PREFIX,
	PORT,        // in network byte order
	PORT_NUMBER, // in host byte order
	PROTO,
	PROTO_OF_FLOW,
	PROTO_OF_TRACE,
	SPI,
	FLOW_STATE,
	FLOW_SA,
	NAT_RULE,
	SA_NAME,
	POLICY_NAME,
	TUNNEL_NAME,
	PORT_NAME,
	DROP,
	PACKETS,
	TRACE_NUMBER,
	FIELD_TEXT,
	FIELD_PREFIX, // or "any"
};

struct filter_key {
	const char *name;
	enum kind kind;
	size_t offset;       // of the member that the value goes to
	enum trace_key sets; // of a trace
	// Fits, with the key, the 128 octets of a string of librte_telemetry.
	const char *must_be;
};

// --- values ---

// Reads a number of decimal digits up to max; with base 0 also one after 0x.
static bool number_parse(unsigned long *number, const char *text, int base, unsigned long max)
{
	char *end;

	*number = strtoul(text, &end, base);
	return text[0] >= '0' && text[0] <= '9' && *end == '\0' && *number <= max;
}

// Reads a name or number of a protocol; "any" is none.
static bool proto_parse(unsigned long *number, const char *text)
{
	const struct proto_info *p = proto_find(text);

	if (p == NULL)
		return number_parse(number, text, 10, UINT8_MAX);
	*number = p->number;
	return p->number <= UINT8_MAX;
}

static bool flow_state_parse(enum flow_state *state, const char *value)
{
	for (unsigned int i = FLOW_FREE + 1; i < FLOW_STATE_COUNT; i++)
		if (strcmp(flow_state_info[i].name, value) == 0)
			*state = (enum flow_state)i;
	return *state != FLOW_FREE;
}

static bool flow_sa_parse(struct flow_filter *f, const struct snapshot *s, const char *value)
{
	const struct sa *sa;

	for (unsigned int i = 0; (sa = sa_list_at(&s->objects->sas, i)) != NULL; i++)
		if (strcmp(sa->live.name, value) != 0)
			continue;
		else if (sa->opt.direction == SA_OUT)
			f->sa_out = sa_out_of(sa);
		else
			f->ingress = sa->per_packet.ingress;
	f->outs = s->objects->policy_out;
	f->generation = s->flow_generation;
	return f->sa_out != NULL || f->ingress != 0;
}

static bool nat_rule_parse(uint16_t *number, const struct snapshot *s, const char *value)
{
	for (unsigned int i = 0; i < nat_set_count(s->nat); i++)
		if (strcmp(nat_set_at(s->nat, i)->name, value) == 0)
			*number = nat_set_at(s->nat, i)->number;
	return *number != 0;
}

static bool has_policy(const struct snapshot *s, const char *name)
{
	const struct spd_policy *p;

	for (unsigned int i = 0; (p = snapshot_policy_at(s, i)) != NULL; i++)
		if (strcmp(p->name, name) == 0)
			return true;
	return false;
}

static bool port_name_parse(uint16_t *port, const struct snapshot *s, const char *value)
{
	for (*port = 0; *port < s->n_ports; ++*port)
		if (value[0] != '\0' && strcmp(s->port[*port].name, value) == 0)
			return true;
	return false;
}

static bool drop_parse(enum drop *reason, const char *value)
{
	for (unsigned int i = 1; i < DROP_COUNT; i++)
		if (strcmp(drop_info[i].name, value) == 0)
			*reason = (enum drop)i;
	return *reason != DROP_NONE || strcmp(value, "any") == 0;
}

// Reads a value. False if it is invalid.
static bool value_parse(void *to, enum kind kind, const struct snapshot *s, const char *value)
{
	unsigned long n = 0;
	bool ok;

	switch (kind) {
	case ADDRESS:
		return ip_addr_parse(to, value) == 0;
	case PREFIX:
		return ip_prefix_parse(to, value) == 0;
	case PORT:
		ok = number_parse(&n, value, 10, UINT16_MAX) && n != 0;
		*(rte_be16_t *)to = rte_cpu_to_be_16((uint16_t)n);
		return ok;
	case PORT_NUMBER:
		ok = number_parse(&n, value, 10, UINT16_MAX);
		*(uint16_t *)to = (uint16_t)n;
		return ok;
	case PROTO:
	case PROTO_OF_FLOW:
		ok = proto_parse(&n, value) && (n != 0 || kind == PROTO);
		*(uint8_t *)to = (uint8_t)n;
		return ok;
	case PROTO_OF_TRACE:
		ok = proto_parse(&n, value);
		*(uint16_t *)to = (uint16_t)n;
		return ok;
	case SPI:
		ok = number_parse(&n, value, 0, UINT32_MAX);
		*(rte_be32_t *)to = rte_cpu_to_be_32((uint32_t)n);
		return ok;
	case FLOW_STATE:
		return flow_state_parse(to, value);
	case FLOW_SA:
		return flow_sa_parse(to, s, value);
	case NAT_RULE:
		return nat_rule_parse(to, s, value);
	case SA_NAME:
		snprintf(to, TRACE_FILTER_NAME_MAX, "%s", value);
		return flow_sa_parse(&(struct flow_filter){0}, s, value);
	case POLICY_NAME:
		snprintf(to, TRACE_FILTER_NAME_MAX, "%s", value);
		return has_policy(s, value);
	case TUNNEL_NAME:
		snprintf(to, CONF_NAME_MAX, "%s", value);
		return has_policy(s, value);
	case PORT_NAME:
		return port_name_parse(to, s, value);
	case DROP:
		return drop_parse(to, value);
	case PACKETS:
		ok = number_parse(&n, value, 10, TRACE_PACKETS_MAX) && n > 0;
		*(unsigned int *)to = (unsigned int)n;
		return ok;
	case TRACE_NUMBER:
		ok = number_parse(&n, value, 10, INT32_MAX);
		*(unsigned int *)to = (unsigned int)n;
		return ok;
	case FIELD_PREFIX:
		ok = strcmp(value, "any") == 0 ||
		     ip_prefix_parse(&(struct ip_prefix){0}, value) != -EINVAL;
		return ok && value_parse(to, FIELD_TEXT, s, value);
	case FIELD_TEXT:
		n = (unsigned long)snprintf(to, VIEW_TEXT_MAX, "%s", value);
		return n > 0 && n < VIEW_TEXT_MAX;
	}
	return false;
}

// --- filters ---

#define FLOW(member)  offsetof(struct flow_filter, member), 0
#define MATCH(member) offsetof(struct match_query, member), 0
#define TRACE(member) offsetof(struct trace_request, member)
#define PREFIX_TEXT   "an address or a prefix, such as 10.1.0.0/24"
#define PORT_TEXT     "a number from 0 to 65535"

static const struct filter_key flow_keys[] = {
	{"address", PREFIX, FLOW(addr), PREFIX_TEXT},
	{"port", PORT, FLOW(port), "a number from 1 to 65535"},
	{"proto", PROTO_OF_FLOW, FLOW(proto),
		"a protocol, such as tcp, or its number from 1 to 255"},
	{"state", FLOW_STATE, FLOW(state),
		"a state that the list of flows can show, such as tcp_established"},
	{"sa", FLOW_SA, 0, 0, "the name of an SA"},
	{"nat", NAT_RULE, FLOW(nat), "the name of a rule of nat"},
};

static const struct filter_key match_keys[] = {
	{"source", ADDRESS, MATCH(source), "an address"},
	{"destination", ADDRESS, MATCH(destination), "an address"},
	{"proto", PROTO, MATCH(proto), "a name or a number from 0 to 255"},
	{"source_port", PORT_NUMBER, MATCH(source_port), PORT_TEXT},
	{"destination_port", PORT_NUMBER, MATCH(destination_port), PORT_TEXT},
};

static const struct filter_key trace_keys[] = {
	{"count", PACKETS, TRACE(count), 0, "a number from 1 to " RTE_STR(TRACE_PACKETS_MAX)},
	{"address", PREFIX, TRACE(filter.addr), TRACE_KEY_HEADER, PREFIX_TEXT},
	{"port", PORT, TRACE(filter.port), TRACE_KEY_HEADER, "a number from 1 to 65535"},
	{"proto", PROTO_OF_TRACE, TRACE(filter.proto), TRACE_KEY_HEADER,
		"a protocol, such as tcp, or its number"},
	{"spi", SPI, TRACE(filter.spi), TRACE_KEY_SPI, "an SPI, such as 0x1001"},
	{"sa", SA_NAME, TRACE(filter.sa), TRACE_KEY_SA, "the name of an SA"},
	{"policy", POLICY_NAME, TRACE(filter.policy), TRACE_KEY_POLICY, "the name of a policy"},
	{"in", PORT_NAME, TRACE(filter.in), TRACE_KEY_IN, "the name of a port of the gateway"},
	{"out", PORT_NAME, TRACE(filter.out), TRACE_KEY_OUT, "the name of a port of the gateway"},
	{"drop", DROP, TRACE(filter.reason), TRACE_KEY_DROP,
		"a drop reason as listed by culvertctl explain, or any"},
};

#define PING(member) offsetof(struct ping_order, member), 0

static const struct filter_key ping_keys[] = {
	{"tunnel", TUNNEL_NAME, PING(tunnel), "the name of a tunnel, as show tunnels has it"},
	{"to", ADDRESS, PING(to), "an address"},
	{"size", PORT_NUMBER, PING(size), PORT_TEXT},
};

static const struct filter_key ping_number_keys[] = {{"ping", TRACE_NUMBER, 0, 0, "its number"}};

static const struct filter_key number_keys[] = {{"trace", TRACE_NUMBER, 0, 0, "its number"}};

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

// Reads text by a list of n keys; *sets gets their settings. False with the reason in why.
static bool keys_parse(void *filter, const struct filter_key keys[], unsigned int n,
	const struct snapshot *s, const char *text, unsigned int *sets, char *why, size_t size)
{
	char copy[FILTER_MAX];
	uint64_t given = 0;
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
		if ((given & UINT64_C(1) << (key - keys)) != 0) {
			snprintf(why, size, "%s is given twice", key->name);
			return false;
		}
		given |= UINT64_C(1) << (key - keys);
		*sets |= key->sets;
		if (item == NULL ||
			!value_parse((char *)filter + key->offset, key->kind, s, item)) {
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

static bool is_address(enum view_value value)
{
	return value == VALUE_ADDR || value == VALUE_PREFIX || value == VALUE_SELECTOR ||
	       value == VALUE_ADDRESSES;
}

// The keys of a list are its fields.
bool filter_view_parse(
	struct view_filter *f, const char *list, const char *text, char *why, size_t size)
{
	struct filter_key keys[FILTER_FIELDS_MAX];
	unsigned int n = 0, sets;

	*f = (struct view_filter){.any = text[0] == '\0'};
	f->field = view_fields(list, &f->n);
	for (unsigned int i = 0; i < f->n; i++) {
		bool address = is_address(f->field[i].value);

		if (f->field[i].name != NULL)
			keys[n++] = (struct filter_key){f->field[i].name,
				address ? FIELD_PREFIX : FIELD_TEXT,
				offsetof(struct view_filter, wanted) + i * sizeof(f->wanted[0]), 0,
				address ? PREFIX_TEXT : "a value as the list shows it"};
	}
	return keys_parse(f, keys, n, NULL, text, &sets, why, size);
}

bool filter_view_matches(const struct view_filter *f, const void *view)
{
	for (unsigned int i = 0; i < f->n && !f->any; i++)
		if (f->wanted[i][0] != '\0' && !view_matches(&f->field[i], view, f->wanted[i]))
			return false;
	return true;
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

bool filter_ping_parse(
	struct ping_order *o, const struct snapshot *s, const char *text, char *why, size_t size)
{
	unsigned int sets;

	*o = (struct ping_order){0};
	return keys_parse(o, ping_keys, RTE_DIM(ping_keys), s, text, &sets, why, size);
}

bool filter_ping_number_parse(uint32_t *number, const char *text, char *why, size_t size)
{
	unsigned int sets;

	*number = 0;
	return keys_parse(
		number, ping_number_keys, RTE_DIM(ping_number_keys), NULL, text, &sets, why, size);
}
