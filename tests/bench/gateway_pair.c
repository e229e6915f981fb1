// SPDX-License-Identifier: BSD-3-Clause
#include "gateway_pair.h"

#include <stdlib.h>
#include <string.h>

#include "build.h"
#include "build_flow.h"
#include "conf_text.h"
#include "die.h"

#define SPI_FIRST    4096
#define WAN_MTU      1700 // the largest inner packet fits without fragmentation
#define HOSTS_IN_NET 250  // of each 10.2.x.0/24

// The workers of the far gateway receive packets of one SA in batches; with several lanes, the
// numbers of one lane may differ by a batch for each other lane.
#define WINDOW_ONE_LANE 64
#define WINDOW_LANES    65536

uint32_t host_far(unsigned int sa)
{
	return RTE_IPV4(10, 2, 1 + sa / HOSTS_IN_NET, 1 + sa % HOSTS_IN_NET);
}

// SAs are numbered: first those from near to far, then those of the opposite direction.
void gateway_pair_key(uint8_t key[CRYPTO_CIPHER_KEY_MAX], unsigned int sa)
{
	for (unsigned int i = 0; i < CRYPTO_CIPHER_KEY_MAX; i++)
		key[i] = (uint8_t)((sa + 1) * 2654435761u >> (i % 4 * 8)) ^ (uint8_t)(i * 37);
}

static void hex_write(FILE *f, const char *option, const uint8_t *key, unsigned int len)
{
	if (len == 0)
		return;
	fprintf(f, " %s = \"", option);
	for (unsigned int i = 0; i < len; i++)
		fprintf(f, "%02x", key[i]);
	fprintf(f, "\";");
}

static void sa_write(FILE *f, const struct point *p, unsigned int sa, bool near)
{
	const char *net = p->feature.outer_v6 ? "2001:db8:f::" : "192.0.2.";
	unsigned int window = p->workers == 1 ? WINDOW_ONE_LANE : WINDOW_LANES;
	bool out = (sa < p->sas) == near;
	uint8_t key[CRYPTO_CIPHER_KEY_MAX];

	gateway_pair_key(key, sa);
	fprintf(f,
		"%s{ name = \"s%u\"; direction = \"%s\"; spi = \"%u\"; local = \"%s%u\";"
		" remote = \"%s%u\"; cipher = \"%s\"; auth = \"%s\"; esn = %s;",
		sa > 0 ? "," : "", sa, out ? "out" : "in", SPI_FIRST + sa, net, near ? 1 : 2, net,
		near ? 2 : 1, p->cipher->name, p->auth->name, point_esn(p) ? "true" : "false");
	hex_write(f, "cipher_key", key, p->cipher->key_len + p->cipher->salt_len);
	hex_write(f, "auth_key", key, p->auth->key_len);
	if (!out)
		fprintf(f, " replay_window = %u;",
			p->feature.window > 0 ? p->feature.window : window);
	else if (p->feature.after)
		fprintf(f, " fragment = \"after\";");
	if (p->feature.udp)
		fprintf(f, " udp = { };");
	fprintf(f, " }\n");
}

static void policy_write(FILE *f, const struct point *p, unsigned int sa, bool near)
{
	fprintf(f,
		"%s{ name = \"p%u\"; %s = \"10.1.0.0/16\"; %s = \"10.2.%u.%u/32\";"
		" action = \"protect\"; out = \"s%u\"; in = \"s%u\"; }\n",
		sa > 0 ? "," : "", sa, near ? "local" : "remote", near ? "remote" : "local",
		1 + sa / HOSTS_IN_NET, 1 + sa % HOSTS_IN_NET, near ? sa : p->sas + sa,
		near ? p->sas + sa : sa);
}

// The same by a tunnel, whose route the next function writes.
static void tunnel_write(FILE *f, const struct point *p, unsigned int sa, bool near)
{
	fprintf(f, "%s{ name = \"t%u\"; out = \"s%u\"; in = \"s%u\"; }\n", sa > 0 ? "," : "", sa,
		near ? sa : p->sas + sa, near ? p->sas + sa : sa);
}

static void route_write(FILE *f, unsigned int sa, bool near)
{
	if (near)
		fprintf(f, "%s{ to = \"10.2.%u.%u/32\"; tunnel = \"t%u\"; }\n", sa > 0 ? "," : "",
			1 + sa / HOSTS_IN_NET, 1 + sa % HOSTS_IN_NET, sa);
	else if (sa == 0)
		fprintf(f, "{ to = \"10.1.0.0/16\"; tunnel = \"t0\"; }\n");
}

static void policy_v6_write(FILE *f, const struct point *p, bool near)
{
	fprintf(f,
		"{ name = \"v6\"; %s = \"2001:db8:1::/64\"; %s = \"2001:db8:2::/64\";"
		" action = \"protect\"; out = \"s%u\"; in = \"s%u\"; }\n",
		near ? "local" : "remote", near ? "remote" : "local", near ? 0 : p->sas,
		near ? p->sas : 0);
}

static void conf_write(FILE *f, const struct point *p, bool near)
{
	unsigned int me = near ? 1 : 2;

	fprintf(f,
		"ports = ({ name = \"lan\"; device = \"net_null0\"; addresses = [ "
		"\"10.%u.255.1/16\", \"2001:db8:%u::ffff/64\" ]; },"
		"{ name = \"wan\"; device = \"net_null1\"; mtu = %u; addresses = [ "
		"\"192.0.2.%u/24\", \"2001:db8:f::%u/64\" ]; "
		"});\n"
		"engine = \"%s\";\nmemory = { size = 65536; };\n"
		"flows = { max = %u; timeouts = { udp = 100000; udp_stream = 100000; }; };\n",
		me, me, p->feature.mtu > 0 ? p->feature.mtu : WAN_MTU, me, me, p->engine,
		RTE_MAX(p->flows + p->flows / 4, 1024u));
	if (p->feature.pair)
		fprintf(f,
			"pair = { member = 1; };\n"
			"groups = ({ name = \"main\"; addresses = [ \"192.0.2.%u\" ]; });\n",
			me);
	fprintf(f, "sas = (");
	for (unsigned int i = 0; i < 2 * p->sas; i++)
		sa_write(f, p, i, near);
	fprintf(f, ");\n%s = (", p->feature.tunnel ? "tunnels" : "policies");
	for (unsigned int i = 0; i < p->sas; i++)
		(p->feature.tunnel ? tunnel_write : policy_write)(f, p, i, near);
	if (p->feature.tunnel) {
		fprintf(f, ");\nroutes = (");
		for (unsigned int i = 0; i < p->sas; i++)
			route_write(f, i, near);
	}
	if (p->feature.inner_v6) {
		fprintf(f, ",");
		policy_v6_write(f, p, near);
	}
	fprintf(f, ");\n");
}

static void near_write(FILE *f, const void *p)
{
	conf_write(f, p, true);
}

static void far_write(FILE *f, const void *p)
{
	conf_write(f, p, false);
}

static void solicit_nothing(
	void *arg, uint16_t port, const struct ip_addr *addr, const struct rte_ether_addr *to)
{
	(void)arg;
	(void)port;
	(void)addr;
	(void)to;
}

static void neighbour_add(struct gateway_pair *pair, uint16_t port, struct ip_addr a)
{
	struct rte_ether_addr mac =
		GATEWAY_MAC; // address of near's peer, which far's hosts use too

	if (neigh_set_static(pair->neigh, port, &a, &mac) < 0)
		die("no room for neighbours");
}

static void gateway_init(struct gateway *g, const struct gateway_pair *pair, const struct point *p,
	struct rte_mempool *pool, bool near)
{
	struct conf *conf = conf_written(near ? near_write : far_write, p);
	struct build_port ports[2] = {{GATEWAY_MAC}, {GATEWAY_MAC}};
	struct flow_config config = build_flow_config(conf);
	unsigned int workers = pair->first + 2 * pair->lanes;
	char why[256];

	conf->n_workers = workers; // arrays indexed by worker have room for these
	g->published = build_snapshot(conf, ports, NULL, why, sizeof(why));
	if (g->published == NULL)
		die("%s", why);
	if (build_commit(g->published, conf) < 0)
		die("out of memory for SAs");
	build_link(g->published, NULL);
	build_link_end(g->published);
	g->flows = flow_table_new(&(struct flow_params){.capacity = conf->flows_max,
					  .workers = workers,
					  .qsbr = pair->qsbr,
					  .reader = workers},
		&config);
	if (g->flows == NULL)
		die("no memory for a gateway");
	while (flow_table_fill(g->flows))
		;
	for (unsigned int i = 0; i < pair->lanes; i++) {
		g->worker[i] = worker_new(&(struct worker_params){
			.id = pair->first + (near ? i : pair->lanes + i),
			.pool = pool,
			.large_pool = pool,
			.neigh = pair->neigh,
			.dad = pair->dad,
			.flows = g->flows,
			.flow_slice = conf->flows_max / pair->lanes / FLOW_ROUND_MS + 1,
			.published = &g->published,
			.tsc_hz = rte_get_tsc_hz(),
			.errors_per_second = 1,
			.held_max = 16,
			.reassembly_max = 16,
			.reassembly_s = 1,
		});
		if (g->worker[i] == NULL)
			die("no memory for a worker");
	}
	g->qsbr = pair->qsbr;
	g->port_out = near ? PORT_WAN : PORT_LAN;
	conf_free(conf);
}

struct gateway_pair *gateway_pair_new(
	const struct point *p, struct rte_mempool *pool, unsigned int first)
{
	struct gateway_pair *pair = calloc(1, sizeof(*pair));
	unsigned int readers = first + 2 * p->workers + 1;

	if (pair == NULL)
		die("no memory");
	pair->lanes = p->workers;
	pair->first = first;
	pair->qsbr = aligned_alloc(RTE_CACHE_LINE_SIZE,
		RTE_ALIGN_CEIL(rte_rcu_qsbr_get_memsize(readers), RTE_CACHE_LINE_SIZE));
	if (pair->qsbr == NULL || rte_rcu_qsbr_init(pair->qsbr, readers) != 0)
		die("no memory");
	for (unsigned int i = 0; i < readers; i++)
		rte_rcu_qsbr_thread_register(pair->qsbr, i);
	pair->neigh = neigh_table_new(&(struct neigh_params){.max = 2 * POINT_SAS_MAX,
		.reachable_s = 30,
		.qsbr = pair->qsbr,
		.solicit = solicit_nothing});
	pair->dad = dad_new(&(struct dad_params){.max = 0});
	if (pair->neigh == NULL || pair->dad == NULL)
		die("no memory for neighbours");
	gateway_init(&pair->near, pair, p, pool, true);
	gateway_init(&pair->far, pair, p, pool, false);
	neighbour_add(pair, PORT_WAN, ip_addr_from_v4(RTE_BE32(RTE_IPV4(192, 0, 2, 2))));
	neighbour_add(pair, PORT_WAN, addr_v6(0xf, 2));
	for (unsigned int i = 0; i < p->sas; i++)
		neighbour_add(pair, PORT_LAN, ip_addr_from_v4(rte_cpu_to_be_32(host_far(i))));
	neighbour_add(pair, PORT_LAN, addr_v6(2, 1));
	return pair;
}

static void gateway_fini(struct gateway *g, unsigned int lanes)
{
	for (unsigned int i = 0; i < lanes; i++)
		worker_free(g->worker[i]);
	flow_table_free(g->flows);
	build_snapshot_free(g->published);
}

void gateway_pair_free(struct gateway_pair *pair)
{
	gateway_fini(&pair->near, pair->lanes);
	gateway_fini(&pair->far, pair->lanes);
	neigh_table_free(pair->neigh);
	dad_free(pair->dad);
	free(pair->qsbr);
	free(pair);
}

const char *gateway_pair_engine(const struct gateway_pair *pair)
{
	const struct sa_list *sas = &pair->near.published->objects->sas;

	return crypto_session_engine(sas->out[0]->sa.per_packet.session);
}

static void print_drops(const struct gateway *g, unsigned int lanes, const char *name)
{
	for (unsigned int i = 0; i < lanes; i++)
		for (unsigned int d = 0; d < DROP_COUNT; d++)
			if (g->worker[i]->counters.drops[d] > 0)
				fprintf(stderr, "  %s gateway, worker %u: %s %lu\n", name, i,
					drop_info[d].name, g->worker[i]->counters.drops[d]);
}

void gateway_pair_print_drops(const struct gateway_pair *pair)
{
	print_drops(&pair->near, pair->lanes, "near");
	print_drops(&pair->far, pair->lanes, "far");
}
