// SPDX-License-Identifier: BSD-3-Clause
// culvertd: reads the configuration, starts everything in order, stops everything in reverse.
#include <errno.h>
#include <getopt.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

#include "address.h"
#include "build_flow.h"
#include "capability.h"
#include "collect.h"
#include "configure.h"
#include "control_thread.h"
#include "crash.h"
#include "device_test.h"
#include "device_thread.h"
#include "dpdk.h"
#include "driver_calls.h"
#include "eal_log.h"
#include "gateway.h"
#include "health.h"
#include "host_iface.h"
#include "host_guests.h"
#include "host_thread.h"
#include "links.h"
#include "lists.h"
#include "load.h"
#include "log.h"
#include "machine.h"
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
#include "sandbox.h"
#include "stack_wipe.h"
#include "state.h"
#include "sysfs.h"
#include "telemetry.h"
#include "trace.h"
#include "version.h"

#define MBUF_CACHE 256u
// At most one packet buffer in four is given to fragments that wait; but a worker has room for two
// datagrams of 65535 octets on each side.
#define REASSEMBLY_SHARE   4
#define REASSEMBLY_MIN     96u
#define REASSEMBLY_SECONDS 15 // RFC 1122 3.3.2 asks for 60 to 120 of hosts; Linux takes 30

enum exit_code { EXIT_OK, EXIT_FAILED, EXIT_USAGE };

struct options {
	const char *conf;
	bool check_only, new_keys, verbose, test_devices;
};

static const char usage[] =
	"Usage: culvertd -c FILE [-t | --new-keys] [-v]\n"
	"       culvertd --test-devices DEVICE [DEVICE]\n"
	"Userspace IPsec ESP gateway.\n"
	"\n"
	"  -c, --config FILE  the configuration\n"
	"  -t, --test         check the configuration and exit\n"
	"      --new-keys     declare that keys without sequence numbers are new, and exit\n"
	"      --test-devices test devices as ports, and exit: culvertctl devices --test\n"
	"  -v, --verbose      log more, DPDK's lines included\n"
	"      --version      show the version and exit\n"
	"  -h, --help         show this text and exit\n"
	"\n"
	"Runs in the foreground and logs to standard error. SIGHUP reloads the\n"
	"configuration, SIGTERM and SIGINT stop culvertd.\n"
	"Inspect the running daemon with culvertctl.\n";

// Returns false when the program is done already, *rc being its exit code.
static bool options_read(struct options *o, int *rc, int argc, char **argv)
{
	static const struct option longs[] = {{"config", required_argument, NULL, 'c'},
		{"test", no_argument, NULL, 't'}, {"new-keys", no_argument, NULL, 'N'},
		{"test-devices", no_argument, NULL, 'D'}, {"verbose", no_argument, NULL, 'v'},
		{"version", no_argument, NULL, 'V'}, {"help", no_argument, NULL, 'h'}, {0}};
	int c;

	*rc = EXIT_OK;
	while ((c = getopt_long(argc, argv, "c:tvh", longs, NULL)) != -1) {
		switch (c) {
		case 'c':
			o->conf = optarg;
			break;
		case 't':
			o->check_only = true;
			break;
		case 'N':
			o->new_keys = true;
			break;
		case 'D':
			o->test_devices = true;
			break;
		case 'v':
			o->verbose = true;
			break;
		case 'V':
			printf("culvertd %s\n", CULVERT_VERSION);
			return false;
		case 'h':
			fputs(usage, stdout);
			return false;
		default:
			*rc = EXIT_USAGE;
			return false;
		}
	}
	if (o->test_devices ? optind < argc : o->conf != NULL && optind == argc)
		return true;
	fputs(usage, stderr);
	*rc = EXIT_USAGE;
	return false;
}

static unsigned int largest_mtu(const struct conf *conf)
{
	unsigned int mtu = 0;

	for (unsigned int i = 0; i < conf->n_ports; i++)
		mtu = RTE_MAX(mtu, (unsigned int)conf->ports[i].mtu);
	return mtu;
}

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

	unsigned int mtu = largest_mtu(conf);
	int node = conf->hugepages ? numa_node(conf, SYSFS) : SOCKET_ID_ANY;

	g->control.pool = pool_new("packets", conf->packet_buffers, mtu, node);
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

// Takes from workers what even the control thread may still do.
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
	struct worker_params wp = {
		.pool = g->control.pool,
		.large_pool = g->control.large_pool,
		.neigh = g->control.neigh,
		.dad = g->control.dad,
		.flows = g->control.flows,
		.flow_slice = conf->flows_max / conf->n_workers / FLOW_ROUND_MS + 1,
		.published = &g->control.snapshot,
		.tsc_hz = rte_get_tsc_hz(),
		.errors_per_second = conf->icmp_errors_per_second,
		.echoes_per_second = conf->icmp_echoes_per_second,
		.host_per_second = conf->host_packets_per_second,
		.held_max = conf->neighbour_hold,
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
	eal_log_end(false); // what devices lack, the line above has said
	rc = host_thread_start(g->host, &g->control,
		&(struct host_thread_io){.confine = confine, .wake = worker_wake, .arg = g});
	if (rc < 0)
		return rc;
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
	reserve_finish(g->reserve, g->control.snapshot);
	host_thread_close(g->host);
	reopen_stop();
	if (!device_thread_stop()) {
		log_warn("a device does not answer: culvertd ends without closing it");
		_exit(EXIT_OK);
	}
	for (unsigned int i = 0; i < g->control.conf->n_ports; i++)
		port_free(&g->ports[i]);
	for (unsigned int i = 0; i < g->control.conf->n_workers; i++)
		loop_free(g->loops[i]);
	retire_all(&g->control);
	load_stop();
	configure_stop(&g->control);
	path_mtus_free(&g->control.path_mtus);
	reserve_free(g->reserve);
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
	host_thread_stop(g->host);
	control_thread_stop_workers(g);
	host_thread_drop(g->host);
	last_words(g);
}

static int gateway_run(struct gateway *g)
{
	int rc = memory_start(g);

	if (rc == 0)
		rc = device_thread_start(&g->control, g->ports);
	reopen_listen();
	if (rc == 0)
		rc = ports_start(&g->control, g->ports);
	if (rc == 0 && g->control.conf->capture)
		rc = dpdk_share(g->control.conf);
	if (rc == 0)
		rc = load_first(g);
	stack_wipe(); // the configuration was read here
	if (rc == 0)
		rc = host_thread_open(&g->host, &g->control);
	if (rc == 0)
		rc = host_guests_start(&g->control);
	if (rc == 0)
		address_start(&g->control);
	if (rc == 0)
		links_start(&g->control);
	if (rc == 0)
		rc = request_start(g);
	if (rc == 0)
		crash_start();
	if (rc == 0)
		rc = privilege_drop(g->control.conf, device_thread_tid());
	if (rc == 0)
		rc = device_thread_confine();
	if (rc == 0 && g->control.conf->sandbox)
		rc = sandbox_enter();
	if (rc == 0)
		rc = workers_confine(g);
	if (rc == 0)
		rc = workers_start(g);
	if (rc == 0)
		gateway_serve(g);
	gateway_stop(g);
	return rc;
}

static int system_check(const struct conf *conf)
{
	pid_t by;

	return machine_check(conf) | host_iface_check(conf, dpdk_instance_held(conf, &by));
}

static int check(const char *path, const struct conf *conf)
{
	int rc = privilege_names_check(conf) | system_check(conf);
	int state_dir = state_dir_check(conf);

	if (rc < 0 || state_dir < 0)
		return -EIO;
	printf("%s: configuration is good\n", path);
	for (unsigned int i = 0; i < conf->n_ports; i++)
		printf("port \"%s\" faces the %s side\n", conf->ports[i].name,
			conf->ports[i].unprotected ? "unprotected" : "protected");
	conf_notes_print(conf, stdout);
	if (state_dir > 0)
		printf("note: state_dir \"%s\" does not exist: a start makes it; outbound SAs then "
		       "need --new-keys\n",
			conf->state_dir);
	return 0;
}

int main(int argc, char **argv)
{
	struct gateway g = {.control = {.io = &control_thread_io,
				    .io_arg = &g,
				    .version = CULVERT_VERSION,
				    .lock = PTHREAD_MUTEX_INITIALIZER}};
	struct options o = {0};
	int rc;

	if (!options_read(&o, &rc, argc, argv))
		return rc;
	if (o.verbose)
		log_set_level(LOG_LEVEL_DEBUG);
	if (o.test_devices) {
		rc = device_test(CULVERT_VERSION, argv + optind, (unsigned int)(argc - optind));
		return rc == 0 ? EXIT_OK : EXIT_FAILED;
	}
	// One heap: with an arena for each of librte_telemetry's threads, every thread would keep
	// the 8 MB that a page of a list needs.
	mallopt(M_ARENA_MAX, 1);
	privilege_forbid_cores();
	if (!o.check_only)
		privilege_lock_memory();
	g.control.conf_path = o.conf;
	if (!o.check_only)
		log_start();
	g.control.conf = conf_load(o.conf, NULL, log_failures());
	if (g.control.conf == NULL)
		return EXIT_FAILED;
	if (o.check_only) {
		rc = check(o.conf, g.control.conf);
		conf_free(g.control.conf);
		return rc == 0 ? EXIT_OK : EXIT_FAILED;
	}
	if (o.new_keys) {
		rc = state_keys_declare(g.control.conf, stdout);
		conf_free(g.control.conf);
		return rc == 0 ? EXIT_OK : EXIT_FAILED;
	}
	if (!o.verbose)
		log_set_level(g.control.conf->log_level);
	notify_start();
	log_info("version %s, instance %s, configuration %s", CULVERT_VERSION,
		g.control.conf->instance, o.conf);
	rc = control_thread_block_signals() | privilege_check(g.control.conf) |
	     system_check(g.control.conf) | RTE_MIN(state_dir_check(g.control.conf), 0);
	if (rc == 0)
		rc = dpdk_start(g.control.conf, o.verbose);
	if (rc == 0) {
		rc = gateway_run(&g);
		dpdk_stop(g.control.conf);
	}
	conf_free(g.control.conf);
	return rc == 0 ? EXIT_OK : EXIT_FAILED;
}
