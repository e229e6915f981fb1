// SPDX-License-Identifier: BSD-3-Clause
#include "routing_down.h"

#include <stdlib.h>

#include <rte_cycles.h>

#include "conf_text.h"
#include "flow_table.h"
#include "median.h"
#include "nic.h"
#include "routing_packet.h"
#include "spd.h"

#define BURST  32
#define ROUNDS 5

// One flow in three goes in clear, the others share the tunnels.
struct traffic {
	struct single_gateway *gateway;
	unsigned int flows;
	struct batch batch;
};

// A change of all flows: cycles of a packet of each before, while and after the tunnel goes down.
struct failover {
	double before, during, after;
	uint64_t moved, moved_after; // flows that were decided again
};

static void sa_write(FILE *f, const char *name, const char *direction, unsigned int spi)
{
	fprintf(f,
		"{ name = \"%s\"; direction = \"%s\"; spi = \"0x%x\"; local = \"198.18.0.1\"; "
		"remote = \"198.18.0.%u\"; cipher = \"aes-128-gcm\"; "
		"cipher_key = \"%08x4050607000008090a0b0c0d0e0fa0a1a\"; }",
		name, direction, spi, spi >> 12, spi);
}

static void conf_write(FILE *f, const void *flows)
{
	fprintf(f,
		"flows = { max = %u; timeouts = { udp = 100000; }; };\n"
		"ports = (\n"
		"  { name = \"lan\"; device = \"net_null0\"; addresses = [ \"10.1.0.1/16\" ]; },\n"
		"  { name = \"wan\"; device = \"net_null1\"; addresses = [ \"198.18.0.1/16\" ]; } "
		");\n"
		"neighbours = ( { address = \"198.18.0.2\"; mac = \"02:00:00:00:02:02\"; },\n"
		"  { address = \"198.18.0.3\"; mac = \"02:00:00:00:02:03\"; },\n"
		"  { address = \"198.18.0.4\"; mac = \"02:00:00:00:02:04\"; } );\n"
		"routes = ( { to = \"0.0.0.0/0\"; via = \"198.18.0.2\"; },\n"
		"  { to = \"10.2.0.0/16\"; hops = ( { tunnel = \"b\"; }, { tunnel = \"c\"; } ); } "
		");\n"
		"tunnels = ( { name = \"b\"; out = \"to-b\"; in = \"from-b\"; },\n"
		"  { name = \"c\"; out = \"to-c\"; in = \"from-c\"; } );\n"
		"policies = ( { name = \"clear\"; action = \"bypass\"; } );\nsas = (",
		2 * *(const unsigned int *)flows);
	sa_write(f, "to-b", "out", 0x3001);
	fprintf(f, ",");
	sa_write(f, "from-b", "in", 0x3002);
	fprintf(f, ",");
	sa_write(f, "to-c", "out", 0x4001);
	fprintf(f, ",");
	sa_write(f, "from-c", "in", 0x4002);
	fprintf(f, ");\n");
}

static void traffic_init(struct traffic *t, unsigned int flows)
{
	*t = (struct traffic){.flows = RTE_ALIGN_CEIL(flows, BATCH_MAX)};
	t->gateway = single_gateway_new(0, conf_written(conf_write, &t->flows));
	t->batch.stride =
		(uint32_t)RTE_ALIGN_CEIL(sizeof(struct routing_packet), RTE_CACHE_LINE_SIZE);
	t->batch.n = BATCH_MAX;
	t->batch.frame = aligned_alloc(RTE_CACHE_LINE_SIZE, (size_t)t->batch.stride * BATCH_MAX);
	if (t->batch.frame == NULL)
		die("no memory");
	for (unsigned int i = 0; i < BATCH_MAX; i++)
		t->batch.len[i] = sizeof(struct routing_packet);
}

static void batch_send(struct traffic *t, uint64_t clock)
{
	struct single_gateway *g = t->gateway;
	struct tx_buffer *tx = &g->worker->tx[WAN];
	struct rte_mbuf *m[BURST];

	for (unsigned int first = 0; first < BATCH_MAX; first += BURST) {
		nic_receive(g->pool, m, &t->batch, first, BURST, LAN);
		single_gateway_pass(g, m, BURST, rte_rdtsc() - clock);
		if (tx->n != BURST)
			routing_lost(g, BURST - tx->n);
		nic_send(tx->m, tx->n);
		tx->n = 0;
	}
}

// Sends a packet of each flow. Returns the mean cycles of one.
static double send_all(struct traffic *t)
{
	struct single_gateway *g = t->gateway;
	uint64_t cycles = 0;

	for (unsigned int at = 0; at < t->flows; at += BATCH_MAX) {
		uint64_t from;

		for (unsigned int i = 0; i < BATCH_MAX; i++)
			routing_packet_write((struct routing_packet *)batch_frame(&t->batch, i),
				at + i,
				(at + i) % 3 == 0 ? RTE_BE32(RTE_IPV4(203, 0, 113, 5))
						  : RTE_BE32(RTE_IPV4(10, 2, 7, 7)));
		from = rte_rdtsc_precise();
		batch_send(t, from - g->now);
		g->now += rte_rdtsc_precise() - from;
		cycles += rte_rdtsc_precise() - from;
		single_gateway_control(g);
	}
	return (double)cycles / t->flows;
}

static struct failover failover(unsigned int flows)
{
	struct failover f;
	struct traffic t;
	const struct snapshot *s;
	uint64_t decided;

	traffic_init(&t, flows);
	s = t.gateway->snapshot;
	for (unsigned int i = 0; i < 3; i++)
		f.before = send_all(&t);
	decided = routing_decisions(t.gateway);
	objects_out_set(s->objects, spd_at(s->spd, spd_count_policies(s->spd))->number, NULL);
	f.during = send_all(&t);
	f.moved = (routing_decisions(t.gateway) - decided) / 2;
	decided = routing_decisions(t.gateway);
	f.after = send_all(&t);
	f.moved_after = (routing_decisions(t.gateway) - decided) / 2;
	single_gateway_free(t.gateway);
	free(t.batch.frame);
	return f;
}

void routing_down(unsigned int n, bool json)
{
	double ms[ROUNDS], passing[ROUNDS], second[ROUNDS];
	struct failover f = {.before = 0};

	for (unsigned int i = 0; i < ROUNDS; i++) {
		double hz = (double)rte_get_tsc_hz(), flows;

		f = failover(3 * n);
		flows = RTE_ALIGN_CEIL(3 * n, BATCH_MAX);
		ms[i] = f.during * flows / hz * 1000;
		passing[i] = f.before / f.during;
		second[i] = 1 - (f.during - f.before) * flows / hz;
		if (f.moved_after != 0)
			die("%lu flows moved again", f.moved_after);
	}
	printf(json ? "{\"row\":\"down\",\"moved\":%lu,\"ms\":%.1f,\"passing\":%.3f,\"second\":"
		      "%.3f}\n"
		    : "down     %lu flows moved in %.1f ms, others pass at %.3f meanwhile, at %.3f "
		      "in that second\n",
		f.moved, median(ms, ROUNDS), median(passing, ROUNDS), median(second, ROUNDS));
}
