// SPDX-License-Identifier: BSD-3-Clause
#include "gateway_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

#include "address.h"
#include "binding_log.h"
#include "build_flow.h"
#include "capability.h"
#include "collect.h"
#include "collector.h"
#include "configure.h"
#include "control_thread.h"
#include "crash.h"
#include "device_thread.h"
#include "dpdk.h"
#include "driver_calls.h"
#include "eal_log.h"
#include "fleet.h"
#include "flow_export.h"
#include "health.h"
#include "hold.h"
#include "host_guests.h"
#include "host_thread.h"
#include "route_follow.h"
#include "links.h"
#include "lists.h"
#include "load.h"
#include "log.h"
#include "member.h"
#include "metrics.h"
#include "notify.h"
#include "numa.h"
#include "originate.h"
#include "packet_pool.h"
#include "path_mtu.h"
#include "ports_start.h"
#include "privilege.h"
#include "request.h"
#include "retire.h"
#include "revisions.h"
#include "sandbox.h"
#include "stack_wipe.h"
#include "sysfs.h"
#include "telemetry.h"
#include "trace.h"

#define MBUF_CACHE 256u
// At most one packet buffer in four is given to fragments that wait; but a worker has room for two
// datagrams of 65535 octets on each side.
#define REASSEMBLY_SHARE   4
#define REASSEMBLY_MIN     96u
#define REASSEMBLY_SECONDS 15 // RFC 1122 3.3.2 asks for 60 to 120 of hosts; Linux takes 30

static struct rte_mempool *pool_new(const char *name, unsigned int n, unsigned int packet, int node)
{
	unsigned int room = RTE_PKTMBUF_HEADROOM + RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN + packet +
			    WORKER_TAILROOM;

	room = RTE_MAX(room, (unsigned int)RTE_MBUF_DEFAULT_BUF_SIZE);
	return packet_pool_new(name, n, RTE_MIN(MBUF_CACHE, n / 4),
		(uint16_t)RTE_MIN(room, (unsigned int)UINT16_MAX), node);
}

static int no_memory(const char *what)
{
	log_error("out of memory for %s: raise memory.size", what);
	return -ENOMEM;
}

static int flows_start(struct gateway *g)
{
	struct flow_config config = build_flow_config(g->control.conf);
	struct flow_params p = {
		.capacity = g->control.conf->flows_max,
		.capacity_max = (uint32_t)RTE_MIN(
			(uint64_t)g->control.conf->flows_first * CONF_FLOWS_GROWTH,
			(uint64_t)FLOW_CAPACITY_MAX),
		.workers = g->control.conf->n_workers,
		.qsbr = g->control.qsbr,
		.reader = g->control.conf->n_workers,
	};

	g->control.flows = flow_table_new(&p, &config);
	if (g->control.flows != NULL)
		return 0;
	log_error("flows.max: out of memory for %u flows, which take %zu MB: %s", p.capacity,
		flow_table_memory(&p) >> 20, strerror(errno));
	return -ENOMEM;
}

static int memory_start(struct gateway *g)
{
	const struct conf *conf = g->control.conf;
	size_t qsbr_size = rte_rcu_qsbr_get_memsize(conf->n_workers + 1);
	struct neigh_params np = {
		.max = conf->neighbours_max,
		.n_ports = conf->n_ports,
		.reachable_s = conf->neighbour_reachable_s,
		.solicit = originate_solicitation,
		.arg = &g->control,
	};
	int node = conf->hugepages ? numa_node(conf, SYSFS) : SOCKET_ID_ANY;

	g->control.pool = pool_new("packets", conf->packet_buffers, conf->packet_max, node);
	g->control.large_pool =
		pool_new("reassembled", conf->n_workers * CONF_LARGE_BUFFERS, UINT16_MAX, node);
	if (g->control.pool == NULL || g->control.large_pool == NULL)
		return no_memory("packet buffers (memory.packet_buffers)");
	g->control.qsbr = rte_zmalloc("qsbr", qsbr_size, RTE_CACHE_LINE_SIZE);
	if (g->control.qsbr == NULL)
		return no_memory("workers");
	rte_rcu_qsbr_init(g->control.qsbr, conf->n_workers + 1);
	rte_rcu_qsbr_thread_register(g->control.qsbr, conf->n_workers);
	np.qsbr = g->control.qsbr;
	g->control.neigh = neigh_table_new(&np);
	if (g->control.neigh == NULL)
		return no_memory("neighbours");
	if (address_init(&g->control) < 0)
		return no_memory("addresses");
	return flows_start(g);
}

static int confine(void *arg)
{
	const struct gateway *g = arg;
	int rc = capabilities_drop();

	return rc == 0 && g->control.conf->sandbox ? sandbox_enter_worker() : rc;
}

// Takes from workers system calls that even the control thread keeps.
static int workers_confine(struct gateway *g)
{
	int rc = 0;

	for (unsigned int i = 0; i < g->control.conf->n_workers && rc == 0; i++) {
		rc = rte_eal_remote_launch(confine, g, i + 1);
		if (rc == 0)
			rc = rte_eal_wait_lcore(i + 1);
	}
	if (rc == 0)
		return 0;
	log_error("cannot restrict the system calls of workers: %s", strerror(-rc));
	return -EIO;
}

static int channel_confine(void *arg)
{
	const struct gateway *g = arg;
	int rc = capabilities_drop();

	return rc == 0 && g->control.conf->sandbox ? sandbox_enter_channel() : rc;
}

static int fleet_confine(void *arg)
{
	const struct gateway *g = arg;
	int rc = capabilities_drop();

	return rc == 0 && g->control.conf->sandbox ? sandbox_enter_etcd() : rc;
}

static unsigned int inbound_sas(const struct conf *conf)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < conf->n_sas; i++)
		n += conf->sas[i].opt.direction == SA_IN;
	return n;
}

static void worker_wake(void *gateway, unsigned int worker)
{
	const struct gateway *g = gateway;

	idle_wake(&g->loops[worker]->idle);
}

static int workers_start(struct gateway *g)
{
	const struct conf *conf = g->control.conf;
	const uint32_t hold_max = hold_max_of(conf->packet_buffers, conf->n_workers);
	struct worker_params wp = {
		.pool = g->control.pool,
		.large_pool = g->control.large_pool,
		.neigh = g->control.neigh,
		.dad = g->control.dad,
		.flows = g->control.flows,
		.flow_slice = flow_table_slice(g->control.flows),
		.published = &g->control.snapshot,
		.tsc_hz = rte_get_tsc_hz(),
		.errors_per_second = conf->icmp_errors_per_second,
		.echoes_per_second = conf->icmp_echoes_per_second,
		.host_per_second = conf->host_packets_per_second,
		.held_max = conf->neighbour_hold,
		.hold_max = hold_max,
		.released_max = hold_max * conf->n_workers,
		.reassembly_max =
			RTE_MAX(conf->packet_buffers /
					(REASSEMBLY_SHARE * REASSEMBLY_SIDES * conf->n_workers),
				REASSEMBLY_MIN),
		.reassembly_s = REASSEMBLY_SECONDS,
	};

	int rc = hash_key_draw(&wp.hash_key);

	if (rc < 0) {
		log_error("cannot get random numbers: %s", strerror(-rc));
		return rc;
	}
	for (unsigned int i = 0; i < conf->n_workers; i++) {
		wp.id = i;

		struct worker *w = worker_new(&wp);

		if (w == NULL)
			return no_memory("workers");
		g->loops[i] = loop_new(w);
		if (g->loops[i] == NULL) {
			worker_free(w);
			return no_memory("workers");
		}
		g->control.workers[i] = w;
		g->control.deadlines.of[i] = &w->deadline;
	}
	for (unsigned int i = 0; i < conf->n_workers; i++)
		worker_peers_set(g->control.workers[i], g->control.workers, conf->n_workers);
	rc = loops_assign(g->loops, conf->n_workers, g->ports, conf->n_ports, inbound_sas(conf),
		g->control.qsbr);
	if (rc == -ENOMEM)
		return no_memory("workers");
	if (rc < 0) {
		log_error(
			"more than %d RX queues for one worker: reduce rx_queues of the ports, or "
			"add workers",
			LOOP_QUEUES_MAX);
		return -E2BIG;
	}
	peer_memory_guard(g->control.qsbr);
	eal_log_begin();
	crash_survive_unplugging();
	reopen_start(&g->control, g->ports, &control_thread_reopen_io, g);
	loops_idle(g->loops, conf->n_workers, conf->idle);
	eal_log_end(false); // the line above has the missing features
	rc = host_thread_start(g->host, &g->control,
		&(struct host_thread_io){.confine = confine, .wake = worker_wake, .arg = g});
	if (rc < 0)
		return rc;
	rc = member_connect(&g->control, channel_confine, g);
	if (rc == 0)
		rc = fleet_connect(&g->control, fleet_confine, g);
	if (rc < 0)
		return rc;
	g->control.deadlines.n = conf->n_workers;
	for (unsigned int i = 0; i < conf->n_workers; i++)
		rte_eal_remote_launch(loop_run, g->loops[i], i + 1);
	return 0;
}

static void last_words(const struct gateway *g)
{
	struct counters sum = collect_counters(&g->control);

	log_info("stopped: rx=%" PRIu64 " originated=%" PRIu64 " tx=%" PRIu64 " drops=%" PRIu64
		 " local=%" PRIu64,
		sum.rx, sum.originated, sum.tx, counters_drops(&sum), sum.local);
}

static void gateway_stop(struct gateway *g)
{
	member_stop(&g->control);
	fleet_stop(&g->control);
	reserve_finish(g->reserve, g->control.snapshot);
	route_follow_stop();
	reopen_stop();
	if (!device_thread_stop()) {
		log_warn("a device does not answer: culvertd ends without closing it");
		_exit(EXIT_SUCCESS);
	}
	host_thread_close(g->host); // which the thread of devices uses
	for (unsigned int i = 0; i < PORTS_MAX; i++)
		port_free(&g->ports[i]);
	for (unsigned int i = 0; i < g->control.conf->n_workers; i++)
		loop_free(g->loops[i]);
	retire_all(&g->control);
	configure_stop(&g->control);
	path_mtus_free(&g->control.path_mtus);
	reserve_free(g->reserve);
	binding_log_stop(g->bindings);
	flow_export_free(&g->control);
	collector_close();
	request_stop();
	trace_free(g->control.tracing.trace);
	flow_table_free(g->control.flows);
	neigh_table_free(g->control.neigh);
	dad_free(g->control.dad);
	listener_free(g->control.listener);
	peer_memory_guard(NULL);
	rte_free(g->control.qsbr);
	rte_mempool_free(g->control.pool);
	rte_mempool_free(g->control.large_pool);
}

// While workers run.
static void gateway_serve(struct gateway *g)
{
	g->control.started_ms = gateway_now_ms();
	telemetry_start(&g->control, view_lists, view_n_lists);
	metrics_start(&g->control, view_lists, view_n_lists);
	health_start(&g->control, notify_watchdog_ms());
	log_info("ready");
	notify_ready();
	control_thread_run(g);
	metrics_stop();
	telemetry_stop();
	device_thread_hosts_give(NULL);
	host_thread_stop(g->host);
	load_stop(g);
	control_thread_stop_workers(g);
	host_thread_drop(g->host);
	last_words(g);
}

// Everything before packets are served, in order. False after a message.
static bool gateway_start(struct gateway *g)
{
	const struct conf *conf = g->control.conf;
	bool ok;

	reopen_listen();
	ok = memory_start(g) == 0 && device_thread_start(&g->control, g->ports) == 0 &&
	     ports_start(&g->control, g->ports) == 0 && (!conf->capture || dpdk_share(conf) == 0) &&
	     load_first(g) == 0;
	stack_wipe(); // the configuration was read here
	if (!ok || host_thread_open(&g->host, &g->control) < 0 ||
		host_guests_start(&g->control) < 0 || route_follow_start(&g->control) < 0)
		return false;
	device_thread_hosts_give(g->host);
	address_start(&g->control);
	links_start(&g->control);
	if (request_start(g) < 0 || member_start(&g->control) < 0 || fleet_start(&g->control) < 0)
		return false;
	crash_start();
	if (privilege_drop(conf, device_thread_tid()) < 0 || device_thread_confine() < 0 ||
		(conf->sandbox && sandbox_enter() < 0) || workers_confine(g) < 0)
		return false;
	revisions_start(&g->control);
	return workers_start(g) == 0;
}

bool gateway_run(struct gateway *g)
{
	bool ok = gateway_start(g);

	if (ok)
		gateway_serve(g);
	gateway_stop(g);
	return ok;
}
