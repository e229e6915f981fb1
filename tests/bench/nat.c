// SPDX-License-Identifier: BSD-3-Clause
// The cost of network address translation, in TSC cycles for each packet:
//
//   bench_nat [--row NAME] [--rounds N] [--json]
//
//   hit_out, hit_in  a packet of an established flow, as its client sends it, and of the replies
//   new       the first packet of a flow, whose source port is kept
//   new_half  while half of the ports towards its destination are in use
//   new_ten   while all but ten are
//   new_none  while all are: it is dropped
//   fill      a table full of translated flows: how many were refused, and its memory, in MB
//             and beside that of a table without translation
//
// Two gateways in one process, one that translates sources and one that does not, pass batches of
// the same packets in turn, so that other load of the machine affects both. UDP with checksums,
// packets of 64 octets, in clear, bursts of 8. found: packets that were sent, per cent.

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "conf_text.h"
#include "die.h"
#include "flow_port.h"
#include "flow_table.h"
#include "median.h"
#include "nic.h"
#include "options.h"
#include "packet.h"
#include "route_set.h"
#include "routing_packet.h"
#include "single_gateway.h"

#define BURST      8 // fewer than ten
#define ROUNDS     301
#define ROUNDS_MAX 9999
#define FLOWS      1000    // of hits
#define ROOM       1000000 // flows in the tables
#define PORT_MIN   1024
#define PORTS      (65536 - PORT_MIN)
#define HOLDER     99 // of the flows that have the ports
#define DPORT      53

#define PUBLIC RTE_IPV4(198, 18, 0, 1)
#define SERVER RTE_IPV4(203, 0, 113, 7)

enum way { OUT, IN };

struct options {
	const char *row;
	unsigned int rounds;
	bool json;
};

static const struct row {
	const char *name;
	enum way way;
	bool first;        // each packet begins a flow
	unsigned int used; // ports
} rows[] = {
	{"hit_out", OUT, false, 0},
	{"hit_in", IN, false, 0},
	{"new", OUT, true, 0},
	{"new_half", OUT, true, PORTS / 2},
	{"new_ten", OUT, true, PORTS - 10},
	{"new_none", OUT, true, PORTS},
};

struct side {
	const struct row *row;
	struct single_gateway *gateway;
	bool translates;
	uint32_t begun; // flows
	uint64_t seed, sent, received;
	struct batch batch;
};

static void conf_write(FILE *f, const void *translates)
{
	fprintf(f,
		"flows = { max = %u; timeouts = { udp = 100000; udp_stream = 100000; }; };\n"
		"ports = (\n"
		"  { name = \"lan\"; device = \"net_null0\"; side = \"protected\"; addresses = [ "
		"\"10.0.0.1/24\" ]; },\n"
		"  { name = \"wan\"; device = \"net_null1\"; side = \"protected\"; addresses = [ "
		"\"198.18.0.1/16\" ]; } );\n"
		"routes = ( { to = \"0.0.0.0/0\"; via = \"198.18.0.2\"; },\n"
		"  { to = \"10.1.0.0/16\"; via = \"10.0.0.2\"; } );\n"
		"neighbours = ( { address = \"198.18.0.2\"; mac = \"02:00:00:00:02:01\"; },\n"
		"  { address = \"10.0.0.2\"; mac = \"02:00:00:00:02:02\"; } );\n"
		"policies = ( { name = \"all\"; action = \"bypass\"; } );\n%s",
		ROOM,
		*(const bool *)translates
			? "nat = ( { name = \"out\"; action = \"source\"; out = \"wan\"; to = "
			  "\"port\"; } );\n"
			: "");
}

static void ends_set(
	struct routing_packet *p, uint32_t src, uint16_t sport, uint32_t dst, uint16_t dport)
{
	p->ip.src_addr = rte_cpu_to_be_32(src);
	p->ip.dst_addr = rte_cpu_to_be_32(dst);
	p->udp.src_port = rte_cpu_to_be_16(sport);
	p->udp.dst_port = rte_cpu_to_be_16(dport);
	p->ip.hdr_checksum = 0;
	p->ip.hdr_checksum = rte_ipv4_cksum(&p->ip);
	p->udp.dgram_cksum = 0;
	p->udp.dgram_cksum = rte_ipv4_udptcp_cksum(&p->ip, &p->udp);
}

// A packet of the i-th flow. Of hits each flow has its port, which is kept.
static void packet_make(struct side *s, struct routing_packet *p, uint32_t i, enum way way)
{
	const uint32_t client = RTE_IPV4(10, 1, 1, 1) + i % 60000;
	const uint16_t port =
		(uint16_t)(PORT_MIN +
			   (s->row->first ? (uint32_t)random_below(&s->seed, PORTS) : i));

	routing_packet_write(p, i, 0);
	if (way == OUT)
		ends_set(p, client, port, SERVER, DPORT);
	else
		ends_set(p, SERVER, DPORT, s->translates ? PUBLIC : client, port);
	if (way == IN)
		memcpy(&p->eth.dst_addr, mac_of_port(WAN), sizeof(p->eth.dst_addr));
}

static struct flow_pkt flow_pkt_of_frame(const struct side *s, const struct routing_packet *p)
{
	const struct ip_layout at = ip_layout_v4(&p->ip);
	struct flow_pkt fp;

	if (flow_pkt_read(&fp, &p->ip, &at) != DROP_NONE)
		die("a packet was not read");
	flow_lookup_start(s->gateway->flows, &fp);
	return fp;
}

// Makes a flow that has a port towards the server.
static void port_use(struct side *s, uint16_t port)
{
	struct flow_translation translation = {
		.to = {ip_addr_from_v4(RTE_BE32(PUBLIC)), ip_addr_from_v4(RTE_BE32(SERVER)),
			rte_cpu_to_be_16(port), RTE_BE16(DPORT)},
		.rule = {0, 1}};
	struct routing_packet p;
	struct flow_pkt fp;
	struct flow *f;

	routing_packet_write(&p, 0, 0);
	ends_set(&p, RTE_IPV4(10, 2, 0, 1) + port / 1000, port, SERVER, DPORT);
	fp = flow_pkt_of_frame(s, &p);
	translation.towards = flow_towards(s->gateway->flows, &fp, &translation.to);
	if (flow_insert(s->gateway->flows, s->gateway->worker->id, &fp,
		    s->translates ? &translation : NULL, HOLDER, 0, NULL, &f) != DROP_NONE)
		die("a port was not used");
}

static void ports_use(struct side *s, unsigned int n)
{
	static uint16_t port[PORTS];

	for (unsigned int i = 0; i < PORTS; i++) { // Fisher-Yates shuffle.
		const uint32_t j = random_below(&s->seed, i + 1);

		port[i] = port[j];
		port[j] = (uint16_t)(PORT_MIN + i);
	}
	for (unsigned int i = 0; i < n; i++)
		port_use(s, port[i]);
}

static struct side *side_new(unsigned int id, const struct row *row, bool translates)
{
	struct side *s = calloc(1, sizeof(*s));

	if (s == NULL)
		die("no memory");
	s->gateway = single_gateway_new(id, conf_written(conf_write, &translates));
	s->row = row;
	s->translates = translates;
	s->seed = 7;
	s->batch.stride =
		(uint32_t)RTE_ALIGN_CEIL(sizeof(struct routing_packet), RTE_CACHE_LINE_SIZE);
	s->batch.n = BATCH_MAX;
	s->batch.warm = s->batch.n / 4;
	s->batch.frame = aligned_alloc(RTE_CACHE_LINE_SIZE, (size_t)s->batch.stride * s->batch.n);
	if (s->batch.frame == NULL)
		die("no memory");
	ports_use(s, row->used);
	return s;
}

static void side_free(struct side *s)
{
	single_gateway_free(s->gateway);
	free(s->batch.frame);
	free(s);
}

static void batch_make(struct side *s, enum way way)
{
	for (unsigned int i = 0; i < s->batch.n; i++) {
		packet_make(s, (struct routing_packet *)batch_frame(&s->batch, i),
			s->row->first ? s->begun++ : (s->begun + i) % FLOWS, way);
		s->batch.len[i] = sizeof(struct routing_packet);
	}
	if (!s->row->first)
		s->begun = (s->begun + s->batch.n) % FLOWS;
}

// Ends the flows that packets from the first one on have begun.
static void flows_end(struct side *s, unsigned int first)
{
	struct single_gateway *g = s->gateway;

	for (unsigned int i = first; i < first + BURST; i++) {
		struct flow_pkt fp =
			flow_pkt_of_frame(s, (struct routing_packet *)batch_frame(&s->batch, i));
		struct flow *f = flow_find(g->flows, &fp);

		if (f != NULL)
			flow_remove(g->flows, g->worker->id, f, g->worker->now_ms);
	}
	rte_rcu_qsbr_quiescent(g->qsbr, g->worker->id);
	flow_tick(g->flows, g->worker->id, g->worker->now_ms, 0);
}

// Returns the cycles of the packets from the first one on.
static uint64_t run(struct side *s, enum way way, unsigned int first, unsigned int end)
{
	struct single_gateway *g = s->gateway;
	struct tx_buffer *tx = &g->worker->tx[way == OUT ? WAN : LAN];
	const uint64_t began = g->now;
	struct rte_mbuf *m[BURST];

	for (; first < end; first += BURST) {
		const uint64_t from = rte_rdtsc_precise();

		nic_receive(g->pool, m, &s->batch, first, BURST, way == OUT ? LAN : WAN);
		single_gateway_pass(g, m, BURST, g->now);
		s->received += BURST;
		s->sent += tx->n;
		nic_send(tx->m, tx->n);
		tx->n = 0;
		g->now += rte_rdtsc_precise() - from;
		if (s->row->first)
			flows_end(s, first);
	}
	return g->now - began;
}

// Returns the mean cycles of a packet, without the first ones, which fill the caches.
static double batch_run(struct side *s, enum way way)
{
	uint64_t cycles;

	batch_make(s, way);
	run(s, way, 0, s->batch.warm);
	cycles = run(s, way, s->batch.warm, s->batch.n);
	single_gateway_control(s->gateway);
	return (double)cycles / (s->batch.n - s->batch.warm);
}

static void warm_up(struct side *s)
{
	for (unsigned int i = 0; i < 4; i++)
		batch_run(s, OUT);
	if (!s->row->first)
		batch_run(s, IN);
	s->sent = s->received = 0;
}

static void row_run(const struct row *row, const struct options *o)
{
	static double plain[ROUNDS_MAX], translated[ROUNDS_MAX], more[ROUNDS_MAX],
		ratio[ROUNDS_MAX];
	struct side *without = side_new(0, row, false), *with = side_new(1, row, true);

	warm_up(without);
	warm_up(with);
	for (unsigned int i = 0; i < o->rounds; i++) {
		plain[i] = batch_run(without, row->way);
		translated[i] = batch_run(with, row->way);
		more[i] = translated[i] - plain[i];
		ratio[i] = translated[i] / plain[i];
	}
	if (without->sent != without->received)
		routing_lost(without->gateway, (unsigned int)(without->received - without->sent));
	printf(o->json ? "{\"row\":\"%s\",\"plain\":%.1f,\"cycles\":%.1f,\"more\":%.1f,\"ratio\":%."
			 "3f,"
			 "\"found\":%.1f}\n"
		       : "%-9s %7.0f %7.0f %6.0f %6.3f %6.1f\n",
		row->name, median(plain, o->rounds), median(translated, o->rounds),
		median(more, o->rounds), median(ratio, o->rounds),
		100 * (double)with->sent / (double)with->received);
	fflush(stdout);
	side_free(without);
	side_free(with);
}

static double resident_mb(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long pages = 0;

	if (f == NULL || fscanf(f, "%*u %lu", &pages) != 1)
		die("/proc/self/statm is not readable");
	fclose(f);
	return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

// Inserts the i-th translated flow. Returns whether it has got an entry.
static bool fill_one(struct flow_table *t, uint32_t i)
{
	const uint32_t server = SERVER + i / PORTS;
	const rte_be16_t port = rte_cpu_to_be_16((uint16_t)(PORT_MIN + i % PORTS));
	struct flow_translation to = {
		.to = {ip_addr_from_v4(RTE_BE32(PUBLIC)), ip_addr_from_v4(rte_cpu_to_be_32(server)),
			port, RTE_BE16(DPORT)},
		.rule = {0, 1}};
	struct flow_pkt fp = {.key.proto = IPPROTO_UDP, .v4 = true};
	struct flow *f;

	flow_pkt_set_ends(&fp, ip_addr_from_v4(rte_cpu_to_be_32(RTE_IPV4(10, 1, 1, 1) + i % 60000)),
		port, to.to.dst, to.to.dst_port);
	flow_lookup_start(t, &fp);
	to.towards = flow_towards(t, &fp, &to.to);
	return flow_insert(t, 0, &fp, &to, HOLDER, 0, NULL, &f) == DROP_NONE;
}

static struct rte_rcu_qsbr *qsbr_new(void)
{
	struct rte_rcu_qsbr *q = aligned_alloc(RTE_CACHE_LINE_SIZE,
		RTE_ALIGN_CEIL(rte_rcu_qsbr_get_memsize(2), RTE_CACHE_LINE_SIZE));

	if (q == NULL || rte_rcu_qsbr_init(q, 2) != 0)
		die("no memory");
	for (unsigned int i = 0; i < 2; i++) {
		rte_rcu_qsbr_thread_register(q, i);
		rte_rcu_qsbr_thread_online(q, i);
	}
	return q;
}

static void fill_run(const struct options *o)
{
	struct rte_rcu_qsbr *qsbr = qsbr_new();
	const double before = resident_mb();
	struct flow_config config;
	struct flow_table *t;
	unsigned int refused = 0;
	double plain, all;

	flow_config_init(&config);
	t = flow_table_new(
		&(struct flow_params){.capacity = ROOM, .workers = 1, .qsbr = qsbr, .reader = 1},
		&config);
	if (t == NULL)
		die("no memory for flows");
	while (flow_table_fill(t))
		;
	plain = resident_mb() - before;
	if (flow_table_translate(t) < 0)
		die("no memory for translation");
	while (flow_table_fill(t))
		;
	all = resident_mb() - before;
	for (uint32_t i = 0; i < ROOM; i++)
		refused += !fill_one(t, i);
	printf(o->json ? "{\"row\":\"fill\",\"flows\":%u,\"refused\":%u,\"plain_mb\":%.0f,\"mb\":%."
			 "0f,"
			 "\"ratio\":%.3f}\n"
		       : "fill      %u flows, %u refused, %.0f MB, %.0f translated, %.3f\n",
		(unsigned int)flow_count(t), refused, plain, all, all / plain);
	flow_table_free(t);
	free(qsbr);
}

static void options_read(struct options *o, int argc, char **argv)
{
	const struct option_row all[] = {
		{.name = "row", .text = &o->row},
		{.name = "rounds", .number = &o->rounds, .max = ROUNDS_MAX},
		{.name = "json", .flag = &o->json},
	};

	option_rows_read(all, RTE_DIM(all), argc, argv);
}

int main(int argc, char **argv)
{
	struct options o = {.rounds = ROUNDS};

	options_read(&o, argc, argv);
	nic_start(1);
	if (!o.json)
		printf("%-9s %7s %7s %6s %6s %6s\n", "row", "plain", "cycles", "more", "ratio",
			"found");
	for (unsigned int i = 0; i < RTE_DIM(rows); i++)
		if (o.row == NULL || strcmp(o.row, rows[i].name) == 0)
			row_run(&rows[i], &o);
	if (o.row == NULL || strcmp(o.row, "fill") == 0)
		fill_run(&o);
	nic_stop();
	return EXIT_SUCCESS;
}
