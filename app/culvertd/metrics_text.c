// SPDX-License-Identifier: BSD-3-Clause
#include "metrics_text.h"

#include <inttypes.h>
#include <stdlib.h>

#include "collect.h"
#include "openmetrics.h"

#define COUNTER(view, member, metric, text)                                                        \
	{                                                                                          \
		.name = "culvert_" metric, .help = text, .type = OPENMETRICS_COUNTER,              \
		.offset = offsetof(struct view, member)                                            \
	}
#define GAUGE(view, member, metric, text)                                                          \
	{                                                                                          \
		.name = "culvert_" metric, .help = text, .type = OPENMETRICS_GAUGE,                \
		.offset = offsetof(struct view, member)                                            \
	}
#define BYTES(view, member, metric, text)                                                          \
	{                                                                                          \
		.name = "culvert_" metric "_bytes", .help = text, .type = OPENMETRICS_COUNTER,     \
		.unit = "bytes", .offset = offsetof(struct view, member)                           \
	}
#define SECONDS(view, member, metric, kind, scale, text)                                           \
	{                                                                                          \
		.name = "culvert_" metric "_seconds", .help = text, .type = OPENMETRICS_##kind,    \
		.unit = "seconds", .offset = offsetof(struct view, member), .factor = scale        \
	}
// A gauge in a base unit, which the name ends with.
#define UNIT(view, member, metric, base, scale, text)                                              \
	{                                                                                          \
		.name = "culvert_" metric "_" base, .help = text, .type = OPENMETRICS_GAUGE,       \
		.unit = base, .offset = offsetof(struct view, member), .factor = scale             \
	}
// The same, without a sample where it is 0.
#define UNIT_IF(view, member, metric, base, scale, text)                                           \
	{                                                                                          \
		.name = "culvert_" metric "_" base, .help = text, .type = OPENMETRICS_GAUGE,       \
		.unit = base, .offset = offsetof(struct view, member), .factor = scale,            \
		.nonzero = true                                                                    \
	}
#define ARRAY(view, member, kind, metric, key, value_of, from, to, only, text)                     \
	{                                                                                          \
		.name = "culvert_" metric, .help = text, .type = OPENMETRICS_##kind,               \
		.offset = offsetof(struct view, member), .label = key, .label_value = value_of,    \
		.first = from, .n = to, .nonzero = only                                            \
	}
#define INFO(metric, fn, text)                                                                     \
	{                                                                                          \
		.name = "culvert_" metric, .help = text, .type = OPENMETRICS_INFO, .labels = fn    \
	}

static const char *drop_name(unsigned int i)
{
	return drop_info[i].name;
}

static const char *neighbour_state(unsigned int i)
{
	return neigh_state_name((enum neigh_state)i);
}

static const char *burst_size(unsigned int i)
{
	static const char *const sizes[LOOP_SIZES] = {"1", "2-3", "4-7", "8-15", "16-31", "32"};

	return sizes[i];
}

static void label_number(struct openmetrics_labels *l, const char *name, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	openmetrics_label(l, name, text);
}

static void label_addr(struct openmetrics_labels *l, const char *name, const struct ip_addr *a)
{
	char text[IP_ADDR_STRLEN];

	openmetrics_label(l, name, ip_addr_format(text, a));
}

static void build_labels(struct openmetrics_labels *l, const void *view)
{
	(void)view;
	openmetrics_label(l, "version", CULVERT_VERSION);
}

static const struct openmetrics_family total_families[] = {
	INFO("build", build_labels, "The running version."),
	SECONDS(total_view, uptime_s, "uptime", GAUGE, 0, "Since the daemon was ready."),
	GAUGE(total_view, generation, "configuration_generation",
		"Configurations that were put to work."),
	COUNTER(total_view, counters.rx, "received_packets", "Packets that came in by ports."),
	COUNTER(total_view, counters.originated, "originated_packets",
		"Packets made here: answers, errors, requests, additional fragments."),
	COUNTER(total_view, counters.keepalives_out, "keepalives_originated",
		"NAT-keepalives among these."),
	COUNTER(total_view, counters.tx, "sent_packets", "Packets that ports took."),
	COUNTER(total_view, counters.local, "local_packets",
		"Packets that ended here: served, or joined to a reassembled one."),
	COUNTER(total_view, counters.keepalives_in, "keepalives_received",
		"NAT-keepalives among these."),
	GAUGE(total_view, held, "held_packets", "Packets that wait inside the gateway."),
	ARRAY(total_view, counters.drops, COUNTER, "dropped_packets", "reason", drop_name, 1,
		DROP_COUNT, false, "Packets dropped, by reason as in docs/drops.md."),
	COUNTER(total_view, counters.errors_suppressed, "icmp_errors_suppressed",
		"ICMP errors that were not sent, for their rate."),
	GAUGE(total_view, buffers_free_min, "buffers_free_min",
		"Fewest packet buffers that were free at any time."),
	GAUGE(total_view, flows, "flows", "Flows in the table."),
	COUNTER(total_view, flow.created, "flows_created", "Flows that began."),
	COUNTER(total_view, flow.expired, "flows_expired", "Flows that timed out."),
	COUNTER(total_view, flow.evicted, "flows_evicted",
		"Flows without an answer, or closing, that made room for new ones."),
	COUNTER(total_view, flow.flushed, "flows_flushed", "Flows removed on request."),
	COUNTER(total_view, flow.reopened, "flows_reopened",
		"Connections that began in the entry of a closed one."),
	ARRAY(total_view, flow.refused, COUNTER, "flow_refused_packets", "reason", drop_name, 1,
		DROP_COUNT, true,
		"Packets that connection tracking objected to, also where a setting lets them "
		"pass; reasons that occurred."),
	ARRAY(total_view, neighbours, GAUGE, "neighbours", "state", neighbour_state, 0,
		NEIGH_STATES, false, "Entries of the neighbour table, by state."),
	{0},
};

static void worker_labels(struct openmetrics_labels *l, const void *view)
{
	const struct worker_view *v = view;

	label_number(l, "worker", v->worker);
	label_number(l, "cpu", v->cpu);
}

static const struct openmetrics_family worker_families[] = {
	SECONDS(worker_view, busy_ms, "worker_busy", COUNTER, 0.001,
		"Time in which the worker had packets."),
	SECONDS(worker_view, idle_ms, "worker_idle", COUNTER, 0.001,
		"Time in which it looked for packets and there were none, or slept."),
	COUNTER(worker_view, counters.passes, "worker_passes", "Passes with a packet at least."),
	COUNTER(worker_view, counters.rx, "worker_received_packets", "As the gateway's."),
	COUNTER(worker_view, counters.originated, "worker_originated_packets", "As the gateway's."),
	COUNTER(worker_view, counters.tx, "worker_sent_packets", "As the gateway's."),
	COUNTER(worker_view, counters.local, "worker_local_packets", "As the gateway's."),
	COUNTER(worker_view, drops, "worker_dropped_packets", "Packets dropped for any reason."),
	COUNTER(worker_view, counters.errors_suppressed, "worker_icmp_errors_suppressed",
		"As the gateway's."),
	GAUGE(worker_view, held, "worker_held_packets", "As the gateway's."),
	GAUGE(worker_view, stalled, "worker_stalled", "1: it has not moved for a second."),
	COUNTER(worker_view, stalls, "worker_stalls", "Times that it stalled."),
	GAUGE(worker_view, queues, "worker_receive_queues", "Queues that it receives from."),
	SECONDS(worker_view, longest_round_us, "worker_longest_round", GAUGE, 0.000001,
		"Longest from one pass to the next since the start."),
	{0},
};

static void port_labels(struct openmetrics_labels *l, const void *view)
{
	openmetrics_label(l, "port", ((const struct port_view *)view)->name);
}

static void port_info_labels(struct openmetrics_labels *l, const void *view)
{
	const struct port_view *v = view;
	char mac[RTE_ETHER_ADDR_FMT_SIZE];

	rte_ether_format_addr(mac, sizeof(mac), &v->mac);
	openmetrics_label(l, "driver", v->driver);
	openmetrics_label(l, "side", v->unprotected ? "unprotected" : "protected");
	openmetrics_label(l, "mac", mac);
}

static const struct openmetrics_family port_families[] = {
	INFO("port", port_info_labels, "What the port is."),
	GAUGE(port_view, up, "port_up", "1: there is a link."),
	COUNTER(port_view, link_changes, "port_link_changes", "Times that the link came or went."),
	UNIT_IF(port_view, link_mbps, "port_speed", "bytes", 125000,
		"Speed of the link in bytes per second; none if it is unknown."),
	UNIT(port_view, mtu, "port_mtu", "bytes", 0, "Octets of the largest IP packet."),
	GAUGE(port_view, rx_queues, "port_receive_queues", "Its receive queues."),
	COUNTER(port_view, rx_packets, "port_received_packets", "Frames, as the device counts."),
	BYTES(port_view, rx_bytes, "port_received", "Their octets."),
	COUNTER(port_view, rx_missed, "port_receive_missed_packets",
		"Frames that the device had no room for: workers did not fetch in time."),
	COUNTER(port_view, rx_no_buffer, "port_receive_no_buffer",
		"Times that there was no packet buffer for a frame."),
	COUNTER(port_view, rx_errors, "port_receive_errors", "Damaged frames."),
	COUNTER(port_view, tx_packets, "port_sent_packets", "Frames, as the device counts."),
	BYTES(port_view, tx_bytes, "port_sent", "Their octets."),
	COUNTER(port_view, tx_errors, "port_send_errors", "Frames that were not sent."),
	{0},
};

static void queue_labels(struct openmetrics_labels *l, const void *view)
{
	const struct queue_view *v = view;

	openmetrics_label(l, "port", v->port);
	label_number(l, "queue", v->queue);
	label_number(l, "worker", v->worker);
}

static const struct openmetrics_family queue_families[] = {
	ARRAY(queue_view, bursts, COUNTER, "queue_bursts", "frames", burst_size, 0, LOOP_SIZES,
		false, "Bursts that were fetched from the queue, by size."),
	{0},
};

static void stage_labels(struct openmetrics_labels *l, const void *view)
{
	openmetrics_label(l, "stage", ((const struct stage_view *)view)->stage->name);
}

static const struct openmetrics_family stage_families[] = {
	COUNTER(stage_view, counters.calls, "stage_sampled_calls",
		"Calls of the stage with packets, of one pass in 1024."),
	COUNTER(stage_view, counters.packets, "stage_sampled_packets", "Packets of those calls."),
	COUNTER(stage_view, counters.cycles, "stage_sampled_cycles", "TSC cycles of those calls."),
	{0},
};

static void sa_labels(struct openmetrics_labels *l, const void *view)
{
	const struct sa_view *v = view;

	openmetrics_label(l, "sa", v->name);
	openmetrics_label(l, "direction", v->out ? "out" : "in");
}

static void sa_info_labels(struct openmetrics_labels *l, const void *view)
{
	const struct sa_view *v = view;
	char spi[16];

	snprintf(spi, sizeof(spi), "0x%08" PRIx32, rte_be_to_cpu_32(v->spi));
	openmetrics_label(l, "spi", spi);
	label_addr(l, "local", &v->local);
	if (ip_addr_is_none(&v->remote))
		openmetrics_label(l, "remote", "any");
	else
		label_addr(l, "remote", &v->remote);
	openmetrics_label(l, "mode", v->transport ? "transport" : "tunnel");
	openmetrics_label(l, "esn", v->esn ? "yes" : "no");
	openmetrics_label(l, "cipher", v->cipher->name);
	openmetrics_label(l, "auth", v->auth->name);
	openmetrics_label(l, "engine", v->engine);
}

static const struct openmetrics_family sa_families[] = {
	INFO("sa", sa_info_labels, "What the security association is."),
	COUNTER(sa_view, packets, "sa_packets", "Packets sealed or opened."),
	BYTES(sa_view, bytes, "sa", "Octets of their inner packets."),
	COUNTER(sa_view, dummies, "sa_dummies", "Of the packets, dummies made here."),
	ARRAY(sa_view, drops, COUNTER, "sa_dropped_packets", "reason", drop_name, 1, DROP_COUNT,
		true, "Packets of the SA that were dropped, by reason; reasons that occurred."),
	GAUGE(sa_view, sequence, "sa_sequence_number",
		"Outbound the last that was used, inbound the highest that was accepted."),
	GAUGE(sa_view, window, "sa_replay_window_packets", "Inbound: size of the replay window."),
	UNIT_IF(sa_view, mtu, "sa_mtu", "bytes", 0,
		"Outbound: octets of the largest inner packet."),
	UNIT_IF(sa_view, path_mtu, "sa_path_mtu", "bytes", 0,
		"Outbound: octets of IP packet that the path to the peer carries."),
	SECONDS(sa_view, seen_ms, "sa_last_seen", GAUGE, 0.001,
		"Since the last packet; none if there was none."),
	UNIT(sa_view, used[LIFETIME_BYTES], "sa_lifetime_used", "bytes", 0,
		"Octets of inner packets that count for the lifetime."),
	UNIT(sa_view, left[LIFETIME_BYTES], "sa_lifetime_left", "bytes", 0,
		"Left of the hard lifetime; none without one."),
	UNIT(sa_view, used[LIFETIME_PACKETS], "sa_lifetime_used", "packets", 0,
		"Sequence numbers that were used."),
	UNIT(sa_view, left[LIFETIME_PACKETS], "sa_lifetime_left", "packets", 0,
		"Left of the hard lifetime, or of the sequence numbers."),
	UNIT(sa_view, used[LIFETIME_SECONDS], "sa_lifetime_used", "seconds", 0,
		"Since the SA was added."),
	UNIT(sa_view, left[LIFETIME_SECONDS], "sa_lifetime_left", "seconds", 0,
		"Left of the hard lifetime; none without one."),
	{0},
};

static const char *tunnel_state_name(unsigned int i)
{
	return tunnel_state_names[i];
}

static void tunnel_labels(struct openmetrics_labels *l, const void *view)
{
	const struct tunnel_view *v = view;

	openmetrics_label(l, "tunnel", v->name);
	openmetrics_label(l, "sa", v->out);
}

static const struct openmetrics_family tunnel_families[] = {
	ARRAY(tunnel_view, is, GAUGE, "tunnel_state", "state", tunnel_state_name, 0, TUNNEL_STATES,
		false, "1: the state of the tunnel, by what its peer has sent."),
	SECONDS(tunnel_view, received_ms, "tunnel_last_received", GAUGE, 0.001,
		"Since the last packet of the peer that passed the integrity check; none if there "
		"was none."),
	SECONDS(tunnel_view, silent_ms, "tunnel_silent", GAUGE, 0.001,
		"Since the first packet that was not answered, while the tunnel is silent."),
	COUNTER(tunnel_view, probes, "tunnel_probes", "Pings that were sent through the tunnel."),
	{0},
};

static void policy_labels(struct openmetrics_labels *l, const void *view)
{
	const struct asked_view *v = view;

	openmetrics_label(l, "policy", v->name);
	openmetrics_label(l, "action", v->action);
}

static const struct openmetrics_family policy_families[] = {
	COUNTER(asked_view, asked, "policy_asked_packets",
		"Packets that the policy was looked up for, mostly the first of a flow each way."),
	COUNTER(asked_view, packets, "policy_packets",
		"Packets that it decided, all of their flows."),
	BYTES(asked_view, bytes, "policy", "Octets of these, as IP packets."),
	{0},
};

static void rule_labels(struct openmetrics_labels *l, const void *view)
{
	const struct asked_view *v = view;

	openmetrics_label(l, "rule", v->name);
	openmetrics_label(l, "action", v->action);
}

static const struct openmetrics_family rule_families[] = {
	COUNTER(asked_view, asked, "rule_asked_packets",
		"Packets that the firewall rule was looked up for, mostly the first of a flow each "
		"way."),
	COUNTER(asked_view, packets, "rule_packets",
		"Packets that it decided, all of their flows."),
	BYTES(asked_view, bytes, "rule", "Octets of these, as IP packets."),
	{0},
};

static void memory_labels(struct openmetrics_labels *l, const void *view)
{
	openmetrics_label(l, "memory", ((const struct memory_view *)view)->name);
}

static const struct openmetrics_family memory_families[] = {
	GAUGE(memory_view, used, "memory_used", "Used entries of a pool or table of fixed size."),
	GAUGE(memory_view, size, "memory_size", "Its size in entries."),
	{0},
};

static const struct openmetrics_family heap_families[] = {
	UNIT(memory_view, used, "heap_used", "bytes", 0, "Used of the memory of DPDK."),
	UNIT(memory_view, size, "heap_size", "bytes", 0, "Its size."),
	{0},
};

// What can be gathered, in the order in which it is written.
#define COLLECT(kind)                                                                              \
	static bool kind##_collect(void *view, const struct gateway *g, unsigned int i)            \
	{                                                                                          \
		return collect_##kind(view, g, i);                                                 \
	}
COLLECT(total)
COLLECT(worker)
COLLECT(port)
COLLECT(queue)
COLLECT(stage)
COLLECT(sa)
COLLECT(tunnel)
COLLECT(policy)
COLLECT(rule)

// The heap, the last one, is counted in octets and has families of its own.
static bool memory_collect(void *view, const struct gateway *g, unsigned int i)
{
	return i < MEMORY_HEAP && collect_memory(view, g, i);
}

static bool heap_collect(void *view, const struct gateway *g, unsigned int i)
{
	return i == 0 && collect_memory(view, g, MEMORY_HEAP);
}

static const struct kind {
	bool (*collect)(void *view, const struct gateway *g, unsigned int i);
	size_t size;
	void (*labels)(struct openmetrics_labels *l, const void *view);
	const struct openmetrics_family *families;
} kinds[] = {
	{total_collect, sizeof(struct total_view), NULL, total_families},
	{worker_collect, sizeof(struct worker_view), worker_labels, worker_families},
	{port_collect, sizeof(struct port_view), port_labels, port_families},
	{queue_collect, sizeof(struct queue_view), queue_labels, queue_families},
	{stage_collect, sizeof(struct stage_view), stage_labels, stage_families},
	{sa_collect, sizeof(struct sa_view), sa_labels, sa_families},
	{tunnel_collect, sizeof(struct tunnel_view), tunnel_labels, tunnel_families},
	{policy_collect, sizeof(struct asked_view), policy_labels, policy_families},
	{rule_collect, sizeof(struct asked_view), rule_labels, rule_families},
	{memory_collect, sizeof(struct memory_view), memory_labels, memory_families},
	{heap_collect, sizeof(struct memory_view), NULL, heap_families},
};

// All views of a kind, in new memory; *n says how many. NULL if memory is short.
static void *views_new(const struct kind *kind, const struct gateway *g, unsigned int *n)
{
	unsigned int room = 64;
	char *views = malloc(room * kind->size);

	*n = 0;
	while (views != NULL && kind->collect(views + *n * kind->size, g, *n)) {
		if (++*n < room)
			continue;
		room *= 2;

		char *larger = realloc(views, room * kind->size);

		if (larger == NULL)
			free(views);
		views = larger;
	}
	return views;
}

char *metrics_text_new(struct gateway *g, size_t *len)
{
	void *views[RTE_DIM(kinds)];
	unsigned int n[RTE_DIM(kinds)];
	bool complete = true;
	char *text = NULL;
	FILE *out = open_memstream(&text, len);

	pthread_mutex_lock(&g->lock);
	for (unsigned int k = 0; k < RTE_DIM(kinds); k++) {
		views[k] = views_new(&kinds[k], g, &n[k]);
		complete = complete && views[k] != NULL;
	}
	pthread_mutex_unlock(&g->lock);
	for (unsigned int k = 0; k < RTE_DIM(kinds) && out != NULL && complete; k++)
		openmetrics_write(out,
			&(struct openmetrics_list){views[k], kinds[k].size, n[k], kinds[k].labels,
				kinds[k].families, "gateway", g->conf->instance});
	for (unsigned int k = 0; k < RTE_DIM(kinds); k++)
		free(views[k]);
	if (out == NULL)
		return NULL;
	openmetrics_end(out);
	if (fclose(out) == 0 && complete)
		return text;
	free(text);
	return NULL;
}
