// SPDX-License-Identifier: BSD-3-Clause
// Cost of features in a pass, beyond the plain packet:
//
//   bench_features [--feature NAME] [--engine NAME] [--rounds N] [--json]
//
// Two pairs of gateways in one process, one with the feature and one without, pass batches of the
// same packets in turn, so that other load of the machine affects both. AES-128-GCM, one SA, 1000
// flows, bursts of 32; packets of 64 octets, of 1400 where they are fragmented. Ports are not
// included. The instructions of a burst are counted one by one.
//
// In a VXLAN, a packet is an UDP datagram with VXLAN octets more (RFC 7348 5).

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "median.h"
#include "nic.h"
#include "rounds.h"
#include "step.h"
#include "traffic.h"
#include "vlan.h"

#define ROUNDS    301
#define BURST     32
#define FLOWS     1000
#define SMALL     64
#define LARGE     1400
#define LARGE_MTU 1280 // of the ports between the gateways
#define TAG       10   // the VLAN of both ports
#define VXLAN     50   // octets of the headers, with those of Ethernet, IPv4 and UDP

static const struct row {
	const char *name, *text;
	struct feature feature;
	bool vlan;
	unsigned int size, more; // octets of the plain packet, and of the other beyond it
	bool first;              // each packet is the first one of its flow
} rows[] = {
	{"inner_ipv6", "IPv6 in IPv4", {.inner_v6 = true}, false, SMALL, 0, false},
	{"outer_ipv6", "IPv4 in IPv6", {.outer_v6 = true}, false, SMALL, 0, false},
	{"ipv6", "IPv6 in IPv6", {.inner_v6 = true, .outer_v6 = true}, false, SMALL, 0, false},
	{"esn", "extended sequence numbers", {.esn = true}, false, SMALL, 0, false},
	{"window_4096", "replay window of 4096 instead of 64", {.window = 4096}, false, SMALL, 0,
		false},
	{"window_65536", "replay window of 65536", {.window = 65536}, false, SMALL, 0, false},
	{"udp", "ESP in UDP", {.udp = true}, false, SMALL, 0, false},
	{"tunnel", "a route into a tunnel instead of a policy", {.tunnel = true}, false, SMALL, 0,
		false},
	{"pair", "members of a pair, whose addresses are in a group", {.pair = true}, false, SMALL,
		0, false},
	{"vlan", "tags removed and inserted by the worker", {0}, true, SMALL, 0, false},
	{"first", "first packets of flows", {0}, false, SMALL, 0, true},
	{"fragments_before", "fragmented before ESP, reassembled after", {.mtu = LARGE_MTU}, false,
		LARGE, 0, false},
	{"fragments_after", "ESP packets fragmented, and reassembled",
		{.mtu = LARGE_MTU, .after = true}, false, LARGE, 0, false},
	{"vxlan_64", "in a VXLAN", {0}, false, SMALL, VXLAN, false},
	{"vxlan_512", "in a VXLAN", {0}, false, 512, VXLAN, false},
	{"vxlan_1350", "in a VXLAN", {0}, false, 1350, VXLAN, false},
};

enum { OUT, IN, WAYS };

static const char *engine_name = "auto";

// A pair of gateways and a batch of their packets, in clear and as the near gateway seals them.
struct side {
	struct point point;
	const struct vlan_map
		*map[WAYS]; // of the near gateway's LAN, of the far one's WAN; NULL: no tags
	struct rte_mempool *pool;
	struct gateway_pair *pair;
	struct batch *batch[WAYS]; // packets received by the near gateway, and by the far one
	unsigned int n[WAYS];      // frames of it
	bool first;                // each packet is the first one of its flow
};

struct figures {
	double cycles[ROUNDS_MAX], instructions;
	double own; // instructions of the gateway's code, without that of libraries
};

// Cost of a side, by direction.
struct cost {
	struct figures way[WAYS];
};

static const struct vlan_map *map_new(uint16_t port)
{
	struct vlan_map *map = malloc(sizeof(*map));

	if (map == NULL)
		die("no memory");
	memset(map, 0xff, sizeof(*map)); // VLAN_NONE
	map->port[TAG] = port;
	return map;
}

// first: the number of its first worker. rounds: of which it has packets.
static struct side *side_new(const struct row *row, bool plain, struct rte_mempool *pool,
	unsigned int first, unsigned int rounds)
{
	struct side *s = calloc(1, sizeof(*s));

	if (s == NULL)
		die("no memory");
	s->point = (struct point){.cipher = cipher_alg_find("aes-128-gcm"),
		.auth = auth_alg_find("none"),
		.engine = engine_name,
		.size = row->size + (plain ? 0 : row->more),
		.sas = 1,
		.flows = FLOWS,
		.burst = BURST,
		.workers = 1};
	if (!plain)
		s->point.feature = row->feature;
	for (unsigned int way = 0; way < WAYS; way++) {
		s->batch[way] = batch_new(&s->point, 0);
		if (row->vlan && !plain)
			s->map[way] = map_new(way == OUT ? PORT_LAN : PORT_WAN);
	}
	if (row->feature.mtu > 0) // room for two fragments of each packet
		s->batch[OUT]->n = s->batch[OUT]->n / 2 / BURST * BURST;
	s->first = row->first && !plain;
	if (s->first) // those of prepare(), and twice as many for each count or round
		s->point.flows = s->batch[OUT]->n * (2 * rounds + 3);
	s->pool = pool;
	s->pair = gateway_pair_new(&s->point, pool, first);
	return s;
}

static void side_free(struct side *s)
{
	gateway_pair_free(s->pair);
	for (unsigned int way = 0; way < WAYS; way++) {
		batch_free(s->batch[way]);
		free((void *)(uintptr_t)s->map[way]);
	}
	free(s);
}

static void receive(
	const struct side *s, unsigned int way, unsigned int first, struct rte_mbuf *m[])
{
	nic_receive(s->pool, m, s->batch[way], first, BURST, way == OUT ? PORT_LAN : PORT_WAN);
}

// The packets sent are in the returned buffer, which the caller empties.
static struct tx_buffer *pass(struct side *s, unsigned int way, struct rte_mbuf *m[], uint64_t now)
{
	struct gateway *g = way == OUT ? &s->pair->near : &s->pair->far;
	struct worker *w = g->worker[0];
	struct tx_buffer *tx = &w->tx[g->port_out];
	uint16_t n = BURST;

	if (s->map[way] != NULL)
		n = vlan_receive(w, s->map[way], m, n);
	pipeline_pass(w, m, n, now);
	rte_rcu_qsbr_quiescent(g->qsbr, w->id);
	if (s->map[way] != NULL)
		tx->n = vlan_insert(w, g->port_out, TAG, false, tx->m, tx->n);
	return tx;
}

static uint16_t transmit(struct tx_buffer *tx)
{
	uint16_t n = nic_send(tx->m, tx->n);

	tx->n = 0;
	return n;
}

static void tag(struct batch *b, unsigned int i)
{
	const struct rte_vlan_hdr vlan = {RTE_BE16(TAG), RTE_BE16(RTE_ETHER_TYPE_IPV4)};
	uint8_t *at = batch_frame(b, i) + RTE_ETHER_HDR_LEN;

	memmove(at + sizeof(vlan), at, b->len[i] - RTE_ETHER_HDR_LEN);
	memcpy(at, &vlan, sizeof(vlan));
	*(rte_be16_t *)(at - sizeof(rte_be16_t)) = RTE_BE16(RTE_ETHER_TYPE_VLAN);
	b->len[i] = (uint16_t)(b->len[i] + sizeof(vlan));
}

// Makes packets, and lets the near gateway seal them.
static void fill(struct side *s)
{
	struct batch *clear = s->batch[OUT], *sealed = s->batch[IN];
	unsigned int n = 0;

	batch_fill(clear);
	for (unsigned int i = 0; s->map[OUT] != NULL && i < clear->n; i++)
		tag(clear, i);
	for (unsigned int first = 0; first < clear->n; first += BURST) {
		struct rte_mbuf *m[BURST];
		struct tx_buffer *tx;

		receive(s, OUT, first, m);
		tx = pass(s, OUT, m, rte_rdtsc());
		for (uint16_t i = 0; i < tx->n && n < sealed->n; i++)
			batch_replace(sealed, n++, rte_pktmbuf_mtod(tx->m[i], const uint8_t *),
				rte_pktmbuf_data_len(tx->m[i]));
		transmit(tx);
	}
	s->n[OUT] = clear->n;
	s->n[IN] = n;
	if (n != clear->n * (s->point.feature.mtu > 0 ? 2 : 1)) {
		gateway_pair_print_drops(s->pair);
		die("of %u packets became %u", clear->n, n);
	}
}

// How many packets are those of the batch, from the first on.
static uint16_t right(const struct side *s, const struct tx_buffer *tx, unsigned int first)
{
	size_t off = (s->point.feature.inner_v6 ? MARK_OFF_V6 : MARK_OFF) +
		     (s->map[IN] != NULL ? sizeof(struct rte_vlan_hdr) : 0);
	uint16_t n = 0;

	while (n < tx->n && *rte_pktmbuf_mtod_offset(tx->m[n], const uint64_t *, off) ==
				    s->batch[OUT]->mark[first + n])
		n++;
	return n;
}

// Lets the far gateway open the sealed packets. Returns the number of packets sent; if compared, of
// right ones in order.
static unsigned int open_all(struct side *s, bool compared)
{
	unsigned int n = 0;

	for (unsigned int first = 0; first < s->n[IN]; first += BURST) {
		struct rte_mbuf *m[BURST];
		struct tx_buffer *tx;

		receive(s, IN, first, m);
		tx = pass(s, IN, m, rte_rdtsc());
		n += compared ? right(s, tx, n) : tx->n;
		transmit(tx);
	}
	return n;
}

// The near gateway has seen the flows of fill().
static void renew(struct side *s)
{
	if (s->first)
		batch_fill(s->batch[OUT]);
}

// Sends a packet of every flow, which are sent last in a burst, and then compares a whole batch.
static void prepare(struct side *s)
{
	bool all;

	do {
		unsigned int n;

		all = s->first || s->batch[OUT]->seen == FLOWS;
		fill(s);
		n = open_all(s, all);
		if (n == s->n[OUT])
			continue;
		gateway_pair_print_drops(s->pair);
		die("of %u packets, %u are right", s->n[OUT], n);
	} while (!all);
}

// TSC cycles of the gateway for each packet of the batch, of which a part is not measured.
static double timed(struct side *s, unsigned int way)
{
	unsigned int warm = RTE_MAX(s->n[way] / 4 / BURST, 1u) * BURST, sent = 0;
	struct rte_mbuf *m[BURST];
	uint64_t from = 0, ports;

	for (unsigned int first = 0; first < s->n[way]; first += BURST) {
		if (first == warm)
			from = rte_rdtsc_precise();
		receive(s, way, first, m);
		nic_send(m, BURST);
	}
	ports = rte_rdtsc_precise() - from;
	for (unsigned int first = 0; first < s->n[way]; first += BURST) {
		if (first == warm)
			from = rte_rdtsc_precise();
		receive(s, way, first, m);
		sent += transmit(pass(s, way, m, rte_rdtsc()));
	}
	from = rte_rdtsc_precise() - from;
	if (sent != s->n[1 - way] && sent != s->n[OUT])
		die("of %u frames, %u were sent", s->n[way], sent);
	return ((double)from - (double)ports) / (s->n[way] - warm) * s->n[way] / s->n[OUT];
}

// Counts instructions for each packet of the last burst.
static void count_way(struct side *s, unsigned int way, struct figures *f)
{
	double packets = (double)BURST * s->n[OUT] / s->n[way];

	struct worker *w = (way == OUT ? &s->pair->near : &s->pair->far)->worker[0];
	struct rte_mbuf *m[BURST];
	struct tx_buffer *tx;
	unsigned int first;
	uint64_t from, to;

	for (first = 0; first < s->n[way] - BURST; first += BURST) {
		receive(s, way, first, m);
		transmit(pass(s, way, m, rte_rdtsc()));
	}
	receive(s, way, first, m);
	w->stages.every = UINT32_MAX;
	step_begin();
	from = rte_rdtsc();
	tx = pass(s, way, m, w->now); // no work of the next millisecond
	to = rte_rdtsc();
	step_end();
	transmit(tx);
	f->instructions = (double)(to - from) / packets;
	f->own = (double)step_own() / packets;
}

static void count(struct side *s, struct cost *c)
{
	fill(s);
	renew(s);
	for (unsigned int way = 0; way < WAYS; way++)
		count_way(s, way, &c->way[way]);
}

static void round_run(struct side *s, struct cost *c, unsigned int round)
{
	fill(s);
	renew(s);
	for (unsigned int way = 0; way < WAYS; way++)
		c->way[way].cycles[round] = timed(s, way);
}

static void print(const struct row *row, unsigned int way, struct figures *with,
	struct figures *without, unsigned int rounds, struct core core, bool json)
{
	static double more[ROUNDS_MAX], ratio[ROUNDS_MAX];

	for (unsigned int i = 0; i < rounds; i++) {
		more[i] = with->cycles[i] - without->cycles[i];
		ratio[i] = with->cycles[i] / without->cycles[i];
	}
	printf(json ? "{\"feature\":\"%s\",\"dir\":\"%s\",\"size\":%u,\"plain\":%.1f,\"cycles\":%."
		      "1f,"
		      "\"more\":%.1f,\"ratio\":%.3f,\"plain_instructions\":%.1f,\"instructions\":%."
		      "1f,\"own\":%.1f,"
		      "\"core_shared\":%s,\"core_clock\":%.3f,\"text\":\"%s\"}\n"
		    : "%-18s %-4s %5u %7.0f %7.0f %6.0f %6.3f %8.1f %12.1f %7.1f %6s %5.2f  %s\n",
		row->name, dir_names[way == OUT ? DIR_OUT : DIR_IN], row->size,
		median(without->cycles, rounds), median(with->cycles, rounds), median(more, rounds),
		median(ratio, rounds), without->instructions, with->instructions, with->own,
		json                         ? core_is_shared(core.share) ? "true" : "false"
		: core_is_shared(core.share) ? "shared"
					     : "own",
		core.clock, row->text);
	fflush(stdout);
}

static void measure(const struct row *row, struct rte_mempool *pool, unsigned int rounds, bool json)
{
	static struct cost with, without;
	static struct rounds counted;
	static unsigned int plain_size; // whose instructions are in without
	struct side *plain = side_new(row, true, pool, 0, rounds),
		    *side = side_new(row, false, pool, 2, rounds);

	prepare(plain);
	prepare(side);
	if (plain_size != plain->point.size)
		count(plain, &without);
	plain_size = plain->point.size;
	count(side, &with);
	rounds_begin(&counted, rounds);
	do {
		rounds_start(&counted);
		round_run(plain, &without, counted.n);
		round_run(side, &with, counted.n);
	} while (rounds_end(&counted));
	for (unsigned int way = 0; way < WAYS; way++)
		print(row, way, &with.way[way], &without.way[way], rounds, rounds_core(&counted),
			json);
	side_free(side);
	side_free(plain);
}

static unsigned int rounds_read(const char *from)
{
	unsigned long v = strtoul(from, NULL, 10);

	if (v < 1 || v > ROUNDS_MAX)
		die("rounds: not a number from 1 to %u", ROUNDS_MAX);
	return (unsigned int)v;
}

struct options {
	unsigned int rounds;
	const char *only; // NULL: all features
	bool json;
};

static struct options options_read(int argc, char **argv)
{
	static const struct option longs[] = {{"feature", required_argument, NULL, 'f'},
		{"engine", required_argument, NULL, 'e'}, {"rounds", required_argument, NULL, 'r'},
		{"json", no_argument, NULL, 'j'}, {0}};
	struct options o = {.rounds = ROUNDS};
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 'f')
			o.only = optarg;
		else if (c == 'e')
			engine_name = optarg;
		else if (c == 'r')
			o.rounds = rounds_read(optarg);
		else if (c == 'j')
			o.json = true;
		else
			exit(2);
	}
	if (optind != argc)
		die("what is '%s'?", argv[optind]);
	return o;
}

static void head_print(void)
{
	printf("for each packet: TSC cycles without ports, and instructions\n"
	       "  plain   without the feature\n"
	       "  more    median of the differences of neighbouring batches; ratio: of the ratios\n"
	       "  own     instructions of the gateway's code, without that of libraries\n"
	       "  core    own, or shared with something that runs beside us: measure again\n"
	       "  clock   core cycles in a TSC cycle\n"
	       "%-18s %-4s %5s %7s %7s %6s %6s %8s %12s %7s %6s %5s\n",
		"feature", "dir", "size", "plain", "cycles", "more", "ratio", "plain",
		"instructions", "own", "core", "clock");
}

int main(int argc, char **argv)
{
	struct options o = options_read(argc, argv);
	struct rte_mempool *pool = nic_start(1);
	unsigned int measured = 0;

	if (!o.json)
		head_print();
	for (unsigned int i = 0; i < RTE_DIM(rows); i++)
		if (o.only == NULL || strcmp(o.only, rows[i].name) == 0) {
			measure(&rows[i], pool, o.rounds, o.json);
			measured++;
		}
	nic_stop();
	if (measured == 0)
		die("there is no feature '%s'", o.only);
	return EXIT_SUCCESS;
}
