// SPDX-License-Identifier: BSD-3-Clause
#include "view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "proto_model.h"

static const char *drop_name(unsigned int i)
{
	return drop_info[i].name;
}

static const char *neighbour_state(unsigned int i)
{
	return neigh_state_name((enum neigh_state)i);
}

static const char *tunnel_state_name(unsigned int i)
{
	return tunnel_state_names[i];
}

static const char *burst_size(unsigned int i)
{
	static const char *const sizes[VIEW_BURSTS] = {
		"1", "2-3", "4-7", "8-15", "16-31", "32-63", "64"};

	return sizes[i];
}

#define U64(member)         VALUE_U64, member
#define LEFT(member)        VALUE_LEFT, member
#define AGE(member)         VALUE_AGE, member
#define STRING(member)      VALUE_STRING, member
#define CHARS(member, size) VALUE_CHARS, member
#define YES_NO(member)      VALUE_YES_NO, member
#define ADDR(member)        VALUE_ADDR, member
#define PREFIX(member)      VALUE_PREFIX, member
#define SELECTOR(member)    VALUE_SELECTOR, member
#define PROTO(member)       VALUE_PROTO, member
#define PROTOS(member)      VALUE_PROTOS, member
#define PORTS(member)       VALUE_PORTS, member
#define ICMP(member)        VALUE_ICMP, member
#define DROPS(member)       VALUE_DROPS, member
#define ADDRESSES(member)   VALUE_ADDRESSES, member
#define OF(kind, member)    kind(member)

#define NO_METRIC         .metric = {METRIC_NONE}
#define LABEL(label_)     .metric = {.kind = METRIC_LABEL, .name = (label_)}
#define INFO_LABEL(label) .metric = {.kind = METRIC_INFO_LABEL, .name = (label)}
#define FAMILY(type_, at, name_, ...)                                                              \
	.metric = {.kind = METRIC_FAMILY,                                                          \
		.type = OPENMETRICS_##type_,                                                       \
		.offset = (at),                                                                    \
		.name = (name_),                                                                   \
		__VA_ARGS__}
#define MEMBER(list, member) offsetof(struct list##_view, member)
#define COUNTER(name, text)  FAMILY(COUNTER, METRIC_OF_FIELD, name, .help = (text))
#define GAUGE(name, text)    FAMILY(GAUGE, METRIC_OF_FIELD, name, .help = (text))
#define COUNTER_IN(name, base, by, text)                                                           \
	FAMILY(COUNTER, METRIC_OF_FIELD, name "_" base, .unit = (base), .factor = (by),            \
		.help = (text))
#define GAUGE_IN(name, base, by, text)                                                             \
	FAMILY(GAUGE, METRIC_OF_FIELD, name "_" base, .unit = (base), .factor = (by),              \
		.help = (text))
#define POSITIVE_IN(name, base, by, text)                                                          \
	FAMILY(GAUGE, METRIC_OF_FIELD, name "_" base, .unit = (base), .factor = (by),              \
		.positive = true, .help = (text))
#define COUNTER_AT(list, member, name, text)                                                       \
	FAMILY(COUNTER, MEMBER(list, member), name, .help = (text))
#define GAUGE_AT(list, member, name, text) FAMILY(GAUGE, MEMBER(list, member), name, .help = (text))
#define GAUGE_AT_IN(list, member, name, base, text)                                                \
	FAMILY(GAUGE, MEMBER(list, member), name "_" base, .unit = (base), .help = (text))
#define COUNTERS(list, member, name, label_, words, from, to, only, text)                          \
	FAMILY(COUNTER, MEMBER(list, member), name, .label = (label_), .word = (words),            \
		.first = (from), .n = (to), .positive = (only), .help = (text))
#define GAUGES(list, member, name, label_, words, from, to, text)                                  \
	FAMILY(GAUGE, MEMBER(list, member), name, .label = (label_), .word = (words),              \
		.first = (from), .n = (to), .help = (text))
#define INFO(name, text) FAMILY(INFO, METRIC_OF_FIELD, name, .help = (text))

static const struct view_field fields[] = {
#define ROW(list_, name_, kind, member, ...)                                                       \
	{.list = #list_,                                                                           \
		.name = #name_,                                                                    \
		.value = kind,                                                                     \
		.offset = MEMBER(list_, member),                                                   \
		__VA_ARGS__},
#define FIELD(list, name, type, role, value, metric) ROW(list, name, value, metric)
#define METRIC(list_, metric)                        {.list = #list_, metric},
#include "field.def"
};

const struct view_field *view_fields(const char *list, unsigned int *n)
{
	unsigned int first = 0, end;

	while (first < RTE_DIM(fields) && strcmp(fields[first].list, list) != 0)
		first++;
	for (end = first; end < RTE_DIM(fields) && strcmp(fields[end].list, list) == 0; end++)
		;
	*n = end - first;
	return &fields[first];
}

static const char *number_text(char text[VIEW_TEXT_MAX], uint64_t value)
{
	snprintf(text, VIEW_TEXT_MAX, "%" PRIu64, value);
	return text;
}

// Elements of a list as far as there is room, and how many more there are.
static const char *list_text(char text[VIEW_TEXT_MAX], const char *list)
{
	size_t len = VIEW_TEXT_MAX - sizeof(",+1024");
	unsigned int more = 0;

	if (strlen(list) < VIEW_TEXT_MAX)
		return list;
	while (len > 0 && list[len] != ',')
		len--;
	for (const char *c = list + len; *c != '\0'; c++)
		more += *c == ',';
	snprintf(text, VIEW_TEXT_MAX, "%.*s,+%u", (int)len, list, more);
	return text;
}

static const char *end_prefix_text(char text[VIEW_TEXT_MAX], const struct end_view *e)
{
	if (e->prefix_text != NULL)
		return list_text(text, e->prefix_text);
	return e->family == IP_ANY ? "any" : ip_prefix_format(text, &e->prefix);
}

// The range of an end is one of ports, or of ICMP types and codes: the other is shown as any.
static const struct acl_port_range any_port = {0, ACL_PORT_OPAQUE};

static const char *ports_text(char text[VIEW_TEXT_MAX], const struct end_view *e)
{
	const struct acl_port_range *r = acl_is_icmp(e->proto) ? &any_port : &e->ports;

	if (r->max == ACL_PORT_OPAQUE)
		return "any";
	if (e->ports_text != NULL)
		return list_text(text, e->ports_text);
	snprintf(text, VIEW_TEXT_MAX, r->min == r->max ? "%" PRIu32 : "%" PRIu32 "-%" PRIu32,
		r->min, r->max);
	return text;
}

// Types and codes that an end may send, as in the configuration.
static const char *icmp_text(char text[VIEW_TEXT_MAX], const struct end_view *e)
{
	const struct acl_port_range *r = acl_is_icmp(e->proto) ? &e->ports : &any_port;
	unsigned int type = r->min >> 8, last = r->max >> 8, code = r->min & 0xff;

	if (r->min > r->max)
		return "none";
	if (r->max == ACL_PORT_OPAQUE)
		return "any";
	if (e->ports_text != NULL)
		return list_text(text, e->ports_text);
	if (type != last)
		snprintf(text, VIEW_TEXT_MAX, "%u-%u", type, last);
	else if (r->max - r->min == UINT8_MAX)
		snprintf(text, VIEW_TEXT_MAX, "%u", type);
	else if (r->min == r->max)
		snprintf(text, VIEW_TEXT_MAX, "%u/%u", type, code);
	else
		snprintf(text, VIEW_TEXT_MAX, "%u/%u-%u", type, code, r->max & 0xff);
	return text;
}

const char *view_text(char text[VIEW_TEXT_MAX], const struct view_field *f, const void *view)
{
	const void *at = (const char *)view + f->offset;
	const struct end_view *end = at;
	uint64_t number;

	switch (f->value) {
	case VALUE_U64:
		return number_text(text, *(const uint64_t *)at);
	case VALUE_LEFT:
		number = *(const uint64_t *)at;
		return number > INT64_MAX ? "-" : number_text(text, number);
	case VALUE_AGE:
		number = *(const uint64_t *)at;
		return number == UINT64_MAX ? "-" : number_text(text, number / 1000);
	case VALUE_STRING:
		return *(const char *const *)at != NULL ? *(const char *const *)at : "-";
	case VALUE_CHARS:
		return at;
	case VALUE_YES_NO:
		return *(const bool *)at ? "yes" : "no";
	case VALUE_ADDR:
		return ip_addr_is_none(at) ? "any" : ip_addr_format(text, at);
	case VALUE_PREFIX:
		return ip_prefix_format(text, at);
	case VALUE_SELECTOR:
		return end_prefix_text(text, end);
	case VALUE_PROTO:
		return proto_format(text, *(const uint16_t *)at);
	case VALUE_PROTOS:
		return end->proto_text != NULL ? list_text(text, end->proto_text)
					       : proto_format(text, end->proto);
	case VALUE_PORTS:
		return ports_text(text, end);
	case VALUE_ICMP:
		return icmp_text(text, end);
	case VALUE_ADDRESSES:
	case VALUE_DROPS:
		break;
	}
	return "";
}

static bool has_word(const char *words, const char *wanted)
{
	size_t len = strlen(wanted);

	for (; *words != '\0'; words += strcspn(words, ",") + (strchr(words, ',') != NULL))
		if (strcspn(words, ",") == len && strncmp(words, wanted, len) == 0)
			return true;
	return false;
}

static bool has_drops(const uint64_t packets[DROP_COUNT], const char *reason)
{
	for (enum drop r = 1; r < DROP_COUNT; r++)
		if (packets[r] > 0 && strcmp(drop_info[r].name, reason) == 0)
			return true;
	return false;
}

static bool port_overlaps(const struct snapshot_port *port, const struct ip_prefix *p)
{
	for (unsigned int a = 0; a < port->n_addrs; a++)
		if (ip_prefix_contains(p, &port->addrs[a]))
			return true;
	return false;
}

static bool overlaps(const struct view_field *f, const void *view, const struct ip_prefix *p)
{
	const void *at = (const char *)view + f->offset;
	const struct end_view *end = at;

	switch (f->value) {
	case VALUE_ADDR:
		return ip_prefix_contains(p, at);
	case VALUE_PREFIX:
		return ip_prefix_overlaps(p, at);
	case VALUE_SELECTOR:
		return end->prefixes != NULL
			       ? conf_prefixes_overlap(end->prefixes, p)
			       : end->family == IP_ANY || ip_prefix_overlaps(p, &end->prefix);
	case VALUE_ADDRESSES:
		return port_overlaps(((const struct ports_view *)view)->port, p);
	default:
		return false;
	}
}

bool view_matches(const struct view_field *f, const void *view, const char *wanted)
{
	char buf[VIEW_TEXT_MAX];
	const char *text = view_text(buf, f, view);
	struct ip_prefix p;

	if (f->value == VALUE_DROPS)
		return has_drops((const void *)((const char *)view + f->offset), wanted);
	if (strcmp(text[0] != '\0' ? text : "-", wanted) == 0 || has_word(text, wanted))
		return true;
	return ip_prefix_parse(&p, wanted) != -EINVAL && overlaps(f, view, &p);
}
