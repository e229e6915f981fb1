// SPDX-License-Identifier: BSD-3-Clause
// The cost of hostile packets, and the share of its rate that legitimate traffic keeps during an
// attack:
//
//   bench_hostile [--kind NAME] [--rounds N] [--flows N] [--json]
//
// Two gateways are measured in turn: one receives only legitimate packets; of the bursts of the
// other every second packet is hostile. Both are fully loaded, so legitimate traffic keeps
//
//   kept = cycles of a legitimate packet alone / mean cycles of a packet in the mix
//
// of its rate: 100 % if a hostile packet costs as much as a legitimate one, more if it costs less.
// The clocks run only while packets are processed, not while they are made, so that rate limits
// apply as in a gateway without other work. docs/performance.md describes the kinds.
//
// attack: the packets; attack_gateway, single_gateway: the gateways; nic: replaces their ports.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "attack.h"
#include "conf.h"
#include "core.h"
#include "die.h"
#include "median.h"
#include "nic.h"
#include "options.h"
#include "rounds.h"

#define BURST     32
#define ROUNDS    301  // of a batch each: other work of the machine affects few such short rounds
#define WARM      8192 // packets before the measurement: twelve times the fragments held
#define DPORT_OFF (ETH_LEN + IP_LEN + 2)

struct options {
	const char *kind; // NULL: all kinds
	unsigned int rounds, flows;
	bool json;
};

// A gateway and the packets it receives.
struct side {
	struct single_gateway *gateway;
	struct sealer legit, mallory;
	const struct attack *attack; // NULL: all packets are legitimate
	struct batch batch;
	uint32_t n_legit, n_hostile; // packets made in total
	// Since the start of the measurement:
	uint64_t sent, received; // legitimate packets, and the forwarded ones of them
	uint64_t others;         // other packets sent by the gateway
	struct counters before;  // counters of the worker at the start
	uint64_t cycles;         // cycles of the round
};

// Like batch_new(), for the largest packet of the attack.
static void batch_init(struct batch *b, const struct frame *largest)
{
	b->stride = (uint32_t)RTE_ALIGN_CEIL(largest->len, RTE_CACHE_LINE_SIZE);
	b->n = RTE_MIN(BATCH_OCTETS / b->stride, BATCH_MAX) / BURST * BURST;
	b->warm = b->n / 4 / BURST * BURST;
	b->frame = aligned_alloc(RTE_CACHE_LINE_SIZE, (size_t)b->stride * b->n);
	if (b->frame == NULL)
		die("no memory");
}

static struct frame next_packet(struct side *s, bool hostile)
{
	if (hostile)
		return attack_packet(s->attack, s->n_hostile++, &s->legit, &s->mallory);
	s->sent++;
	return legit_packet(&s->legit, s->n_legit++);
}

static void batch_make(struct side *s)
{
	for (unsigned int i = 0; i < s->batch.n; i++) {
		struct frame f = next_packet(s, s->attack != NULL && i % 2 != 0);

		memcpy(batch_frame(&s->batch, i), f.b, f.len);
		s->batch.len[i] = f.len;
	}
}

static struct side *side_new(const struct attack *a, const struct attack *other, unsigned int flows)
{
	struct side *s = calloc(1, sizeof(*s));

	if (s == NULL)
		die("no memory");
	s->gateway = single_gateway_new(a != NULL, attack_conf(flows));
	s->legit = sealer_new(PEER_B);
	s->mallory = sealer_new(PEER_M);

	struct frame legit = legit_packet(&s->legit, s->n_legit++);
	struct frame hostile = attack_packet(other, s->n_hostile++, &s->legit, &s->mallory);

	s->attack = a;
	batch_init(&s->batch, hostile.len > legit.len ? &hostile : &legit);
	return s;
}

static void side_free(struct side *s)
{
	single_gateway_free(s->gateway);
	sealer_free(&s->legit);
	sealer_free(&s->mallory);
	free(s->batch.frame);
	free(s);
}

// Empties the buffer of a port.
static void transmit(struct side *s, struct tx_buffer *tx)
{
	uint32_t legit = 0;

	for (uint16_t i = 0; i < tx->n; i++)
		legit += *rte_pktmbuf_mtod_offset(tx->m[i], rte_be16_t *, DPORT_OFF) ==
			 RTE_BE16(LEGIT_PORT);
	s->received += legit;
	s->others += tx->n - legit;
	nic_send(tx->m, tx->n);
	tx->n = 0;
}

static void run(struct side *s, unsigned int first, unsigned int end, uint64_t clock)
{
	struct single_gateway *g = s->gateway;
	struct rte_mbuf *m[BURST];

	for (; first < end; first += BURST) {
		nic_receive(g->pool, m, &s->batch, first, BURST, WAN);
		single_gateway_pass(g, m, BURST, rte_rdtsc() - clock);
		transmit(s, &g->worker->tx[LAN]);
		transmit(s, &g->worker->tx[WAN]);
	}
}

// Returns the cycles of the batch, without its first packets, which fill the caches.
static uint64_t batch_run(struct side *s)
{
	uint64_t clock, from, to;

	batch_make(s);
	clock = rte_rdtsc() - s->gateway->now;
	run(s, 0, s->batch.warm, clock);
	from = rte_rdtsc_precise();
	run(s, s->batch.warm, s->batch.n, clock);
	to = rte_rdtsc_precise();
	s->gateway->now = to - clock;
	single_gateway_control(s->gateway);
	return to - from;
}

// Brings the gateway into the state in which the attack keeps it.
static void warm_up(struct side *s, const struct attack *a)
{
	uint32_t packets =
		WARM +
		(s->attack != NULL && a->makes_flows ? s->gateway->conf->flows_max / 4 * 5 * 2 : 0);

	for (uint32_t n = 0; n < packets; n += s->batch.n)
		batch_run(s);
	s->sent = s->received = s->others = 0;
	s->before = s->gateway->worker->counters;
}

// Runs a batch and returns the mean cycles of a packet.
static double cycles_of(struct side *s)
{
	return (double)batch_run(s) / (s->batch.n - s->batch.warm);
}

// The fate of most of the hostile packets: a drop reason, or "forwarded", or "local".
static const char *fate(const struct side *s)
{
	const struct counters *is = &s->gateway->worker->counters, *was = &s->before;
	uint64_t most = s->others;
	const char *name = "forwarded";

	if (is->local - was->local > most) {
		most = is->local - was->local;
		name = "local";
	}
	for (enum drop d = 1; d < DROP_COUNT; d++)
		if (is->drops[d] - was->drops[d] > most) {
			most = is->drops[d] - was->drops[d];
			name = drop_info[d].name;
		}
	return name;
}

struct row {
	double legit, hostile, kept; // cycles, cycles, per cent
	const char *fate;
	uint64_t sent, received;
	struct core core;
};

// The two gateways are measured in turn, so that disturbances affect both.
static void rounds_run(struct row *row, struct side *alone, struct side *mixed, unsigned int rounds)
{
	static double legit[ROUNDS_MAX], hostile[ROUNDS_MAX], kept[ROUNDS_MAX];
	static struct rounds counted;

	rounds_begin(&counted, rounds);
	do {
		const unsigned int i = counted.n;
		double mean;

		rounds_start(&counted);
		legit[i] = cycles_of(alone);
		mean = cycles_of(mixed);
		hostile[i] = 2 * mean - legit[i];
		kept[i] = legit[i] / mean * 100;
	} while (rounds_end(&counted));
	row->core = rounds_core(&counted);
	row->legit = median(legit, rounds);
	row->hostile = median(hostile, rounds);
	row->kept = median(kept, rounds);
}

static struct row measure(const struct attack *a, const struct options *o)
{
	struct side *alone = side_new(NULL, a, o->flows), *mixed = side_new(a, a, o->flows);
	struct row row;

	warm_up(alone, a);
	warm_up(mixed, a);
	rounds_run(&row, alone, mixed, o->rounds);
	row.fate = fate(mixed);
	row.sent = alone->sent + mixed->sent;
	row.received = alone->received + mixed->received;
	side_free(alone);
	side_free(mixed);
	return row;
}

static const char *origin_name(const struct attack *a)
{
	return a->origin == OUTSIDE ? "outside" : "peer";
}

static void head_print(void)
{
	printf("TSC cycles per packet, ports included, medians\n"
	       "  legit   of a legitimate packet, alone\n"
	       "  cycles  of a hostile packet among as many legitimate ones\n"
	       "  kept    rate that legitimate traffic keeps beside it, per cent\n"
	       "  goal    of kept; !: it is missed\n"
	       "  fate    drop reason of most of the hostile packets, or \"forwarded\", \"local\"\n"
	       "core clock %.2f: core cycles in a TSC cycle\n"
	       "%-22s %-8s %6s %7s %5s %5s  %s\n",
		core_measure().clock, "kind", "origin", "legit", "cycles", "kept", "goal", "fate");
}

static void row_print(const struct attack *a, const struct row *row, bool json)
{
	if (json)
		printf("{\"kind\":\"%s\",\"origin\":\"%s\",\"cycles\":%.1f,\"kept\":%.1f,\"goal\":%"
		       "u,"
		       "\"legit\":%.1f,\"fate\":\"%s\",\"sent\":%lu,\"received\":%lu,"
		       "\"core_shared\":%s,\"core_clock\":%.3f}\n",
			a->kind, origin_name(a), row->hostile, row->kept, attack_goal(a),
			row->legit, row->fate, row->sent, row->received,
			core_is_shared(row->core.share) ? "true" : "false", row->core.clock);
	else
		printf("%-22s %-8s %6.0f %7.0f %5.0f %4u%c  %s\n", a->kind, origin_name(a),
			row->legit, row->hostile, row->kept, attack_goal(a),
			row->kept < attack_goal(a) ? '!' : ' ', row->fate);
	fflush(stdout);
}

static void options_read(struct options *o, int argc, char **argv)
{
	const struct option_row all[] = {
		{.name = "kind", .text = &o->kind},
		{.name = "rounds", .number = &o->rounds, .max = ROUNDS_MAX},
		{.name = "flows", .number = &o->flows, .max = FLOW_CAPACITY_MAX},
		{.name = "json", .flag = &o->json},
	};

	option_rows_read(all, RTE_DIM(all), argc, argv);
}

int main(int argc, char **argv)
{
	struct options o = {.rounds = ROUNDS};
	unsigned int measured = 0;

	options_read(&o, argc, argv);
	nic_start(1);
	if (!o.json)
		head_print();
	for (unsigned int i = 0; i < n_attacks; i++) {
		if (o.kind != NULL && strcmp(o.kind, attacks[i].kind) != 0)
			continue;

		struct row row = measure(&attacks[i], &o);

		row_print(&attacks[i], &row, o.json);
		measured++;
	}
	nic_stop();
	if (measured == 0)
		die("there is no kind '%s'", o.kind);
	return EXIT_SUCCESS;
}
