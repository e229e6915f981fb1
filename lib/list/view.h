// SPDX-License-Identifier: BSD-3-Clause
// Views of a running gateway, and the rows of lib/stats/field.def as tables: the JSON fields of the
// items of a list, and their metrics. Constant; any thread.
#pragma once

#include "control.h"
#include "event_log.h"
#include "stage.h"

#define NEIGH_STATES (NEIGH_STATIC + 1)
#define VIEW_BURSTS  7                          // sizes of bursts that are counted
#define VIEW_SAS_MAX (SPD_IN_MAX * SA_NAME_MAX) // octets of the names of the SAs of a policy

struct info_view {
	const char *instance, *version, *config;
	uint64_t pid, uptime_s, generation, workers;
};

struct total_view {
	struct counters counters;
	uint64_t drops, held;
	uint64_t buffers, buffers_in_use, buffers_free_min;
	uint64_t flows, flows_max;
	struct flow_counters flow;
	uint64_t neighbours[NEIGH_STATES];
	uint64_t heap_used, heap_size; // octets of DPDK's memory
	uint64_t events[EVENT_IDS];    // since the start
};

struct worker_view {
	uint64_t worker, cpu, queues;
	const char *idle; // its activity without packets
	const char *state;
	uint64_t stalled, stalls;
	uint64_t longest_round_us; // from one pass to the next, sleep left out
	struct counters counters;
	uint64_t drops, held;
	uint64_t busy_ms, idle_ms; // since the start; idle: looking for packets that are not there
};

// Counters of a device.
struct device_counts {
	uint64_t rx_packets, rx_bytes, rx_missed, rx_no_buffer, rx_errors;
	uint64_t tx_packets, tx_bytes, tx_errors;
};

struct port_view {
	char name[CONF_NAME_MAX], driver[64], mac[RTE_ETHER_ADDR_FMT_SIZE];
	const char *side, *link;
	const char *parent, *host; // of a VLAN, and of a port with a host; else ""
	const struct conf_port *conf;
	const struct snapshot_port *port;
	const struct dad *dad;                // state of its IPv6 addresses,
	uint16_t number;                      // which are of the port of this number
	uint64_t up, link_changes, link_mbps; // link_mbps 0: not known
	uint64_t rx_queues, mtu, vlan;        // vlan 0: it is none
	struct device_counts counts;
	// How a piece of work is done: "hardware", "software" or "off".
	const char *rx_checksum, *tx_checksum, *vlan_tags, *spread, *spread_esp, *spread_esp_udp;
	uint64_t steered_sas;        // SAs that a rule of the card gives a queue
	uint64_t to_host, from_host; // packets; UINT64_MAX: there is no host
};

struct member_view {
	char port[CONF_NAME_MAX], device[256], driver[64];
	const char *link;
	bool active;
	uint64_t up, is_active;                // the same as numbers
	char partner[RTE_ETHER_ADDR_FMT_SIZE]; // of LACP; "": none is known
	uint64_t link_mbps;                    // 0: not known
	struct device_counts counts;
};

struct queue_view {
	char port[CONF_NAME_MAX];
	uint64_t worker, queue;
	uint64_t bursts[VIEW_BURSTS];
};

// From the passes that were measured.
struct stage_view {
	const char *name, *help;
	struct stage_counters counters;
	uint64_t packets_per_call, cycles_per_packet; // 0 without any
};

struct sa_view {
	char name[SA_NAME_MAX], spi[16];
	const char *direction, *mode, *cipher, *auth, *engine;
	struct ip_addr local, remote;             // remote: as far as it is known, else none
	uint64_t local_port, remote_port;         // of ESP in UDP, else 0
	bool esn, ecn;                            // ecn: of tunnel mode
	const char *df;                           // outbound, tunnel mode, else "-"
	char dscp[SA_WORD_MAX], tfc[SA_WORD_MAX]; // the same; dscp inbound, too; "-": no tfc
	uint64_t tfc_dummies;                     // packets a second, 0: none
#define SA_COUNTER(name, ...) uint64_t name;
#include "sa_counter.def"
	uint64_t errors;
	uint64_t drops[DROP_COUNT];
	uint64_t sequence;      // outbound the last that was taken, inbound the highest that came
	uint64_t window;        // inbound, else 0
	uint64_t mtu, path_mtu; // outbound, else 0: octets that fit, inside and in all
	uint64_t used[LIFETIME_UNITS], left[LIFETIME_UNITS]; // left: UINT64_MAX without a limit
	// Since the last packet that was sealed, or opened and found good; UINT64_MAX: there was
	// none.
	uint64_t seen_ms;
};

struct tunnel_view {
	char name[SPD_NAME_MAX], out[SA_NAME_MAX], probe[IP_ADDR_STRLEN]; // probe "-": none
	char in[VIEW_SAS_MAX];
	const char *state;
	uint64_t is[TUNNEL_STATES]; // 1 for that state, else 0
	struct ip_addr peer;        // as far as it is known, else none
	uint64_t received_ms;       // since the last packet; UINT64_MAX: there was none
	uint64_t probes;
	uint64_t silent_ms; // since it is silent; UINT64_MAX: it is not
	const char *reason; // for which it is failing; "-": it is not
};

// One end of the packets of a policy or rule.
struct end_view {
	struct ip_prefix prefix;
	enum ip_family family;
	uint16_t proto;              // above UINT8_MAX: any
	struct acl_port_range ports; // or types and codes of ICMP
};

struct policy_view {
	char name[SPD_NAME_MAX], in[VIEW_SAS_MAX];
	const char *action, *out;
	struct end_view local, remote;
	struct decided did;
};

struct rule_view {
	char name[RULE_NAME_MAX];
	const char *action, *in, *out, *tunnel;
	char states[32];
	bool host, log;
	struct end_view source, destination; // of the fallback: any
	struct decided did;
};

struct memory_view {
	const char *name, *what, *setting; // an array, and the member with its length
	uint64_t used, size;
	uint64_t entries_used, entries; // the same, or UINT64_MAX where octets are counted
};

struct route_view {
	struct ip_prefix to;
	const char *kind;
	char via[IP_ADDR_STRLEN], port[CONF_NAME_MAX], source[IP_ADDR_STRLEN];
	uint64_t failed; // 1: the next hop does not answer; UINT64_MAX: it is no gateway
};

struct neighbour_view {
	struct ip_addr addr;
	const char *port, *state;
	char mac[RTE_ETHER_ADDR_FMT_SIZE];
	uint64_t age_s;
};

#define VIEW_FLOW_SAS_MAX (2 * SA_NAME_MAX + 2) // octets of the names of the SAs of a flow

// A flow: source and outbound counters are those of the end that began it.
struct flow_item_view {
	char source[IP_ADDR_STRLEN], destination[IP_ADDR_STRLEN];
	const char *state;
	bool replied;
	uint16_t proto;
	uint64_t source_port, destination_port, idle_s, age_s;
	uint64_t packets_out, packets_in, bytes_out, bytes_in;
	char sa_out[VIEW_FLOW_SAS_MAX], sa_in[VIEW_FLOW_SAS_MAX];
};

// Decisions for a packet that is not sent, "" for none.
struct match_view {
	char source[IP_ADDR_STRLEN], destination[IP_ADDR_STRLEN];
	char route[IP_PREFIX_STRLEN], next_hop[IP_ADDR_STRLEN];
	uint16_t proto;
	uint64_t source_port, destination_port, mtu;
	const char *port, *sa_in, *policy_in, *policy_out, *rule, *sa_out, *out, *verdict, *reason;
};

struct drop_view {
	const char *name, *help;
	uint64_t packets;
};

// How a field of JSON is found in the view.
enum view_value {
	VALUE_ELSEWHERE,
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
	struct info_view info;
	struct total_view total;
	struct worker_view worker;
	struct port_view port;
	struct member_view member;
	struct queue_view queue;
	struct stage_view stage;
	struct sa_view sa;
	struct tunnel_view tunnel;
	struct policy_view policy;
	struct rule_view rule;
	struct memory_view memory;
	struct route_view route;
	struct neighbour_view neighbour;
	struct drop_view drop;
};

#define VIEW_TEXT_MAX 64

// The value of a field as text: the value's own, or in text. An absent number is "-". "" if it is
// an array or object.
const char *view_text(char text[VIEW_TEXT_MAX], const struct view_field *f, const void *view);

// Whether the value of a field is, as text, the one that is wanted ("-": none), or one of its
// words, or a drop reason that occurred; of addresses and prefixes, whether they overlap.
bool view_matches(const struct view_field *f, const void *view, const char *wanted);
