// SPDX-License-Identifier: BSD-3-Clause
// Views of a running gateway, and the rows of lib/stats/field.def as tables: the JSON fields of the
// items of a list, and their metrics. Constant; any thread.
#pragma once

#include "control.h"
#include "event_log.h"
#include "route_follow.h"
#include "stage.h"
#include "wall_clock.h"

#define VIEW_TABLE_MAX    12 // octets of the number of a table of the kernel
#define NEIGH_STATES      (NEIGH_STATIC + 1)
#define VIEW_BURSTS       7                          // sizes of bursts that are counted
#define VIEW_SAS_MAX      (SPD_IN_MAX * SA_NAME_MAX) // octets of the names of the SAs of a policy
#define ROUTE_HOPS_STRLEN 1024                       // words about the next hops of a route
#define VIEW_FLOW_SAS_MAX (2 * SA_NAME_MAX + 2)      // the same of a flow
#define VIEW_GROUP_MAX    (CONF_GROUP_ADDRS_MAX * IP_ADDR_STRLEN) // addresses of a group
#define NAT_RULES_STRLEN  (2 * NAT_NAME_MAX) // words about the rules of nat of a flow

// Counters of a device.
struct device_counts {
	uint64_t rx_packets, rx_bytes, rx_missed, rx_no_buffer, rx_errors;
	uint64_t tx_packets, tx_bytes, tx_errors;
};

// One end of the packets of a policy or rule. The values of lists and aliases are also as they are
// written in the configuration, or NULL.
struct end_view {
	struct ip_prefix prefix;
	enum ip_family family;
	uint16_t proto;              // above UINT8_MAX: any
	struct acl_port_range ports; // or types and codes of ICMP
	const char *prefix_text, *proto_text, *ports_text;
	const struct conf_prefixes *prefixes; // all of them; NULL: the one above
};

// clang-format off
// Members of views by their values in field.def.
#define VIEW_U64(member)         uint64_t member;
#define VIEW_LEFT                VIEW_U64
#define VIEW_AGE                 VIEW_U64
#define VIEW_STRING(member)      const char *member;
#define VIEW_CHARS(member, size) char member[size];
#define VIEW_YES_NO(member)      bool member;
#define VIEW_ADDR(member)        struct ip_addr member;
#define VIEW_PREFIX(member)      struct ip_prefix member;
#define VIEW_SELECTOR(member)    struct end_view member;
#define VIEW_PROTO(member)       uint16_t member;
#define VIEW_DROPS(member)       uint64_t member[DROP_COUNT];
#define VIEW_OF(...)
#define VIEW_PROTOS              VIEW_OF
#define VIEW_PORTS               VIEW_OF
#define VIEW_ICMP                VIEW_OF
#define VIEW_ADDRESSES           VIEW_OF

#define LIST(list, help)         VIEW(list)
#define VIEW(list)               struct list##_view {
#define END                      };
#define FIELD(list, name, type, role, value, metric) VIEW_##value
#define MEMBERS(...)             __VA_ARGS__
#include "field.def"
// clang-format on

// How a field of JSON is found in the view.
enum view_value {
	VALUE_U64,
	VALUE_LEFT,
	VALUE_AGE,
	VALUE_STRING,
	VALUE_CHARS,
	VALUE_YES_NO,
	VALUE_ADDR,
	VALUE_PREFIX,
	VALUE_SELECTOR,
	VALUE_PROTO,
	VALUE_PROTOS,
	VALUE_PORTS,
	VALUE_ICMP,
	VALUE_ADDRESSES,
	VALUE_DROPS,
};

enum openmetrics_type { OPENMETRICS_COUNTER, OPENMETRICS_GAUGE, OPENMETRICS_INFO };

enum metric_kind { METRIC_NONE, METRIC_LABEL, METRIC_INFO_LABEL, METRIC_FAMILY };

struct metric {
	enum metric_kind kind;
	const char *name; // of the family, without "culvert_"; of a label
	const char *unit; // that the name ends with; NULL: none
	const char *help;
	enum openmetrics_type type;
	size_t offset; // of the value in the view; METRIC_OF_FIELD: the field's
	double factor; // to be multiplied by; 0 or 1: the value as it is
	bool positive; // there is no sample of 0
	// For an array, the name of the label that distinguishes its values; its value is word(i),
	// with i from first to n - 1. NULL: there is one value.
	const char *label;
	const char *(*word)(unsigned int i);
	unsigned int first, n;
};

#define METRIC_OF_FIELD SIZE_MAX

struct view_field {
	const char *list, *name; // name NULL: a metric alone
	enum view_value value;
	size_t offset; // in the view
	struct metric metric;
};

struct view_list {
	const char *name, *help;
	size_t size; // octets of a view
	// Fills in the view of item i; false after the last. See collect.h.
	bool (*collect)(void *view, const struct control *c, unsigned int i);
};

// Fields and metrics of a list, in the order of JSON; sets *n to how many.
const struct view_field *view_fields(const char *list, unsigned int *n);

// Room for the view of any list.
union any_view {
#define LIST(list, help) struct list##_view list;
#include "field.def"
};

#define VIEW_TEXT_MAX 128

// The value of a field as text: the value's own, or in text. An absent number is "-". Of a long
// list the first elements, and how many follow: "10.1.0.0/24,+99". "" if it is an array or object.
const char *view_text(char text[VIEW_TEXT_MAX], const struct view_field *f, const void *view);

// Whether the value of a field is, as text, the one that is wanted ("-": none), or one of its
// words, or a drop reason that occurred; of addresses and prefixes, whether they overlap.
bool view_matches(const struct view_field *f, const void *view, const char *wanted);
