// SPDX-License-Identifier: BSD-3-Clause
#include "harness.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buffers.h"
#include "build_flow.h"
#include "eal.h"
#include "hash_key.h"
#include "trace.h"

#define BUFFERS       4095
#define LARGE_BUFFERS 127
#define LARGE_ROOM    UINT16_MAX
#define JUMBO_ROOM    9280  // larger than the buffers of culvertd for links of 9000 octets
#define JUMBO_LARGE   65472 // the largest possible

struct rte_mempool *harness_pool, *harness_large_pool;
struct neigh_table *harness_neigh;
struct dad *harness_dad;
void (*harness_solicit)(uint16_t port, const struct ip_addr *addr, const struct rte_ether_addr *to);
uint32_t harness_hold_max = HARNESS_HOLD_MAX, harness_reassembly_max = 64;

static struct gateway *running[HARNESS_WORKERS];
static struct rte_rcu_qsbr *qsbr; // no reader while the test writes

static void try_nothing(void *arg, uint16_t port, const struct ip_addr *addr)
{
	(void)arg, (void)port, (void)addr;
}

static void decided(void *arg, uint16_t port, const struct ip_addr *addr, enum dad_state was,
	enum dad_state state)
{
	(void)arg, (void)port, (void)addr, (void)was, (void)state;
}

static void solicit(
	void *arg, uint16_t port, const struct ip_addr *addr, const struct rte_ether_addr *to)
{
	(void)arg;
	if (harness_solicit != NULL)
		harness_solicit(port, addr, to);
}

static int start(uint16_t room, uint16_t large_room)
{
	eal_start();
	qsbr = aligned_alloc(RTE_CACHE_LINE_SIZE,
		RTE_ALIGN_CEIL(rte_rcu_qsbr_get_memsize(HARNESS_WORKERS + 1), RTE_CACHE_LINE_SIZE));
	if (qsbr == NULL || rte_rcu_qsbr_init(qsbr, HARNESS_WORKERS + 1) != 0)
		return -1;
	harness_pool = test_pool_new("packets", BUFFERS, room);
	harness_large_pool = test_pool_new("large", LARGE_BUFFERS, large_room);
	return harness_pool != NULL && harness_large_pool != NULL ? 0 : -1;
}

int harness_start(void **state)
{
	(void)state;
	return start(RTE_MBUF_DEFAULT_BUF_SIZE, LARGE_ROOM);
}

int harness_start_jumbo(void **state)
{
	(void)state;
	return start(JUMBO_ROOM, JUMBO_LARGE);
}

int harness_stop(void **state)
{
	(void)state;
	rte_mempool_free(harness_pool);
	rte_mempool_free(harness_large_pool);
	test_pools_free();
	free(qsbr);
	eal_stop();
	return 0;
}

int harness_test_begin(void **state)
{
	const struct neigh_params p = {
		.max = 64, .reachable_s = 30, .qsbr = qsbr, .solicit = solicit};

	(void)state;
	harness_neigh = neigh_table_new(&p);
	harness_dad =
		dad_new(&(struct dad_params){.max = 8, .solicit = try_nothing, .decided = decided});
	return harness_neigh != NULL && harness_dad != NULL ? 0 : -1;
}

static void discard(struct gateway *g)
{
	running[g->w->id] = NULL;
	worker_free(g->w);
	rte_ring_free(g->from_host);
	rte_ring_free(g->to_host);
	trace_free(g->trace);
	if (g->first == g) {
		flow_table_free(g->flows);
		build_snapshot_free(g->snapshot);
		conf_free(g->conf);
	}
	free(g);
}

int harness_test_end(void **state)
{
	for (unsigned int i = 0; i < HARNESS_WORKERS; i++) // left over from a test that failed
		if (running[i] != NULL)
			discard(running[i]);

	unsigned int lost = rte_mempool_in_use_count(harness_pool);
	unsigned int large_lost = rte_mempool_in_use_count(harness_large_pool);

	(void)state;
	neigh_table_free(harness_neigh);
	dad_free(harness_dad);
	if (lost == 0 && large_lost == 0)
		return 0;
	fprintf(stderr, "%u packet buffers lost, %u large ones\n", lost, large_lost);
	return -1;
}

// The file has no name: conf_load() can open it by its number, and nothing remains of it.
struct conf *harness_conf(const char *text, size_t len, FILE *errors)
{
	int fd = memfd_create("test.conf", MFD_CLOEXEC);
	char path[32];
	struct conf *conf;

	if (fd < 0 || fchmod(fd, 0600) < 0 || write(fd, text, len) != (ssize_t)len)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	conf = conf_load(path, NULL, errors);
	close(fd);
	return conf;
}

static void static_neighbours(const struct conf *conf)
{
	for (unsigned int i = 0; i < conf->n_neighbours; i++) {
		const struct conf_neighbour *n = &conf->neighbours[i];

		if (neigh_set_static(harness_neigh, (uint16_t)n->port, &n->addr, &n->mac) < 0)
			abort();
	}
}

static struct flow_table *flows_new(const struct conf *conf)
{
	struct flow_config config = build_flow_config(conf);
	struct flow_params p = {.capacity = conf->flows_max,
		.workers = conf->n_workers,
		.qsbr = qsbr,
		.reader = HARNESS_WORKERS};
	struct flow_table *t = flow_table_new(&p, &config);

	if (t == NULL)
		abort();
	while (flow_table_fill(t))
		;
	return t;
}

static struct snapshot *snapshot_of(const struct conf *conf, const struct snapshot *before)
{
	struct build_port ports[PORTS_MAX] = {0};
	char why[256] = "";
	struct snapshot *s;

	for (uint16_t p = 0; p < conf->n_ports; p++)
		memcpy(&ports[p].mac, mac_of_port(p), sizeof(ports[p].mac));
	s = build_snapshot(conf, ports, before, why, sizeof(why));
	if (s == NULL) {
		fprintf(stderr, "no gateway: %s\n", why);
		abort();
	}
	return s;
}

void gateway_reload(struct gateway *g, struct conf *conf)
{
	struct snapshot *old = g->snapshot, *s;

	conf->n_workers = RTE_MAX(conf->n_workers, 2u);
	if (conf->n_nat > 0)
		flow_table_translate(g->flows);
	build_commit(s = snapshot_of(conf, old), conf);
	build_link(s, old);
	gateway_publish(g, s);
	if (g->qsbr != NULL)
		rte_rcu_qsbr_synchronize(g->qsbr, RTE_QSBR_THRID_INVALID);
	build_link_end(g->snapshot);
	build_retire(g->snapshot, old);
}

static bool all_traced(void)
{
	return getenv("CULVERT_TEST_TRACED") != NULL;
}

void gateway_trace(struct gateway *g, const struct trace_filter *filter, uint32_t packets)
{
	static const struct trace_filter all = {.proto = PROTO_ANY};

	if (g->trace == NULL)
		g->trace = trace_new(HARNESS_WORKERS, PKTS_MAX);
	if (g->trace == NULL)
		abort();
	trace_begin(g->trace, filter != NULL ? filter : &all, packets);
	g->w->trace = g->w->tracing = g->trace;
}

// A driver that frees in bulk requires buffers of one pool, in one segment and with one owner.
static void take_frame(struct gateway *g, uint16_t port, struct rte_mbuf *m)
{
	struct frame *f = &g->sent[g->n_sent++];

	assert_in_range(g->n_sent, 1, SENT_MAX);
	assert_ptr_equal(m->pool, harness_pool);
	assert_int_equal(m->nb_segs, 1);
	assert_int_equal(rte_mbuf_refcnt_read(m), 1);
	assert_true(RTE_MBUF_DIRECT(m));
	assert_int_equal(m->pkt_len, m->data_len);
	assert_in_range(
		m->data_len, ETH_LEN, ETH_LEN + running_iface(g->first->snapshot, port)->mtu);
	f->port = port;
	f->len = m->data_len;
	memcpy(f->b, rte_pktmbuf_mtod(m, void *), f->len);
	rte_pktmbuf_free(m);
}

static void take_buffer(void *gateway, uint16_t port)
{
	struct gateway *g = gateway;
	struct tx_buffer *tx = &g->w->tx[port];

	if (g->blocked)
		return;
	for (uint16_t i = 0; i < tx->n; i++)
		take_frame(g, port, tx->m[i]);
	g->w->counters.tx += tx->n;
	tx->n = 0;
}

// Makes a worker for a gateway, with the snapshot and the flows of its first gateway.
static struct gateway *with_worker(struct gateway *g, unsigned int id)
{
	const struct conf *conf = g->first->conf;

	g->w = worker_new(&(struct worker_params){
		.id = id,
		.pool = harness_pool,
		.large_pool = harness_large_pool,
		.neigh = harness_neigh,
		.dad = harness_dad,
		.flows = g->first->flows,
		.flow_slice = 64,
		.published = &g->first->published,
		.tsc_hz = TSC_HZ,
		// Two origins share a lane only by chance: here either never or always.
		.hash_key = test_hash_key,
		.errors_per_second = conf->icmp_errors_per_second,
		.echoes_per_second = conf->icmp_echoes_per_second,
		.host_per_second = conf->host_packets_per_second,
		.held_max = conf->neighbour_hold,
		.hold_max = harness_hold_max,
		.released_max = HARNESS_WORKERS * harness_hold_max,
		.reassembly_max = harness_reassembly_max,
		.reassembly_s = 30,
	});
	if (g->w == NULL)
		abort();
	worker_sender_set(g->w, take_buffer, g);
	running[id] = g;
	g->now = 5 * TSC_HZ;
	if (all_traced())
		gateway_trace(g, NULL, TRACE_PACKETS_MAX);
	return g;
}

static struct gateway *gateway_alloc(void)
{
	struct gateway *g = calloc(1, sizeof(*g));

	if (g == NULL)
		abort();
	return g;
}

struct gateway *gateway_new(unsigned int id, const char *text)
{
	struct gateway *g = gateway_alloc();

	g->first = g;
	g->conf = harness_conf(text, strlen(text), stderr);
	if (g->conf == NULL)
		abort();
	// The worker's id distinguishes the gateways of one test: there are mostly two.
	g->conf->n_workers = RTE_MAX(g->conf->n_workers, 2u);
	gateway_publish(g, snapshot_of(g->conf, NULL));
	build_commit(g->snapshot, g->conf);
	build_link(g->snapshot, NULL);
	build_link_end(g->snapshot);
	g->flows = flows_new(g->conf);
	if (g->conf->n_nat > 0)
		flow_table_translate(g->flows);
	static_neighbours(g->conf);
	return with_worker(g, id);
}

struct gateway *gateway_second(struct gateway *first, unsigned int id)
{
	struct gateway *g = gateway_alloc();

	g->first = first;
	return with_worker(g, id);
}

static uint64_t sum_of_drops(const struct counters *c)
{
	uint64_t sum = 0;

	for (int d = 0; d < DROP_COUNT; d++)
		sum += c->drops[d];
	return sum;
}

// Packets that ports have not accepted yet.
static uint64_t untaken(const struct gateway *g)
{
	uint64_t n = 0;

	for (unsigned int p = 0; p < PORTS_MAX; p++)
		n += g->w->tx[p].n;
	return n;
}

static void check_conservation(const struct gateway *g)
{
	const struct counters *c = &g->w->counters;
	uint64_t in = c->rx + c->originated;
	uint64_t held = g->w->n_held + g->w->hold.n +
			g->w->n_handed; // other workers may write to its rings
	for (unsigned int i = 0; i < REASSEMBLY_SIDES; i++)
		held += g->w->fragments[i].n_frags;
	if (g->w->from_host != NULL)
		held += rte_ring_count(g->w->from_host);

	uint64_t out = c->tx + c->local + sum_of_drops(c) + held + untaken(g);

	if (in != out)
		fail_msg("rx %lu + originated %lu != tx %lu + local %lu + drops %lu + held %lu + "
			 "%lu",
			c->rx, c->originated, c->tx, c->local, sum_of_drops(c), held, untaken(g));
	assert_int_equal(c->drops[DROP_NONE], 0);
}

void gateway_free(struct gateway *g)
{
	pipeline_stop(g->w);
	check_conservation(g);
	discard(g);
}

struct rte_mbuf *frame_mbuf(const struct frame *f)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(harness_pool);

	if (m == NULL || rte_pktmbuf_tailroom(m) < f->len)
		abort();
	m->port = f->port;
	memcpy(rte_pktmbuf_append(m, f->len), f->b, f->len);
	return m;
}

struct rte_mbuf *frame_mbuf_at_end(const struct frame *f)
{
	struct rte_mbuf *m = frame_mbuf(f);
	uint16_t room = rte_pktmbuf_tailroom(m) & 0xfffe; // Ethernet headers have even addresses

	memmove(rte_pktmbuf_mtod_offset(m, uint8_t *, room), rte_pktmbuf_mtod(m, void *), f->len);
	m->data_off = (uint16_t)(m->data_off + room);
	return m;
}

static void difference(
	struct counters *d, const struct counters *after, const struct counters *before)
{
	d->rx = after->rx - before->rx;
	d->originated = after->originated - before->originated;
	d->tx = after->tx - before->tx;
	d->local = after->local - before->local;
	d->keepalives_in = after->keepalives_in - before->keepalives_in;
	d->checksums_completed = after->checksums_completed - before->checksums_completed;
	d->passes = after->passes - before->passes;
	d->errors_suppressed = after->errors_suppressed - before->errors_suppressed;
	for (int i = 0; i < DROP_COUNT; i++)
		d->drops[i] = after->drops[i] - before->drops[i];
}

static void pass(struct gateway *g, struct rte_mbuf *m[], unsigned int n)
{
	struct counters before = g->w->counters;

	assert_in_range(n, 0, RX_BURST_MAX);
	if (all_traced() && trace_packets(g->trace) == TRACE_PACKETS_MAX)
		gateway_trace(g, NULL, TRACE_PACKETS_MAX);
	g->n_sent = 0;
	g->n_punted = g->wakes = 0;
	pipeline_pass(g->w, m, (uint16_t)n, g->now);
	gateway_take_punted(g);
	assert_int_equal(g->wakes, g->n_punted > 0);
	assert_int_equal(g->w->n_free_batch, 0);
	difference(&g->last, &g->w->counters, &before);
	assert_int_equal(g->last.rx, n);
	check_conservation(g);
}

void gateway_take(struct gateway *g)
{
	for (uint16_t p = 0; p < PORTS_MAX; p++)
		take_buffer(g, p);
	check_conservation(g);
}

void gateway_pass_mbufs(struct gateway *g, struct rte_mbuf *m[], unsigned int n)
{
	pass(g, m, n);
	gateway_take(g);
}

void gateway_pass_blocked(struct gateway *g, const struct frame in[], unsigned int n)
{
	struct rte_mbuf *m[RX_BURST_MAX];

	frame_mbufs(m, in, n);
	g->blocked = true;
	pass(g, m, n);
	g->blocked = false;
}

void gateway_pass(struct gateway *g, const struct frame in[], unsigned int n)
{
	struct rte_mbuf *m[RX_BURST_MAX];

	frame_mbufs(m, in, n);
	gateway_pass_mbufs(g, m, n);
}

void gateway_wait(struct gateway *g, uint64_t microseconds)
{
	uint64_t end = g->now + microseconds;

	while (g->now < end) {
		g->now = RTE_MIN(g->now + 1000, end);
		gateway_pass(g, NULL, 0);
		if (g->n_sent > 0 || sum_of_drops(&g->last) > 0)
			break;
	}
}
