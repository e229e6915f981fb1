// SPDX-License-Identifier: BSD-3-Clause
#include "measure.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_pause.h>

#include "daemon.h"
#include "die.h"
#include "floor.h"
#include "median.h"
#include "traffic.h"

#define STAGES_EVERY 16
// Of its share alone, a lane keeps about half if another one is a hyperthread of the same core.
#define SAME_CORE 0.75

enum phase { PHASE_PORTS, PHASE_FLOOR, PHASE_ALL, PHASE_DAEMON, PHASES };

// The barrier of all lanes.
struct meeting {
	_Atomic unsigned int here, turn;
	double share[POINT_WORKERS_MAX]; // of the cores in this round
};

struct lane {
	struct traffic traffic;
	const struct measure_params *params;
	struct floor *floor;
	struct daemon *daemon; // NULL: not with both directions at once
	struct meeting *meeting;
	uint64_t sent, received;
	struct rounds rounds;
	double together[ROUNDS_MAX];       // share while all lanes measure it, to that alone
	double cycles[PHASES][ROUNDS_MAX]; // per packet
};

// One phase: processes n packets from first on. Returns how many results are right.
typedef uint16_t (*burst_fn)(struct lane *l, unsigned int first, uint16_t n);

static uint16_t ports_out(struct lane *l, unsigned int first, uint16_t n)
{
	struct rte_mbuf *m[POINT_BURST_MAX];

	traffic_receive(&l->traffic, m, first, n, PORT_LAN);
	return nic_send(m, n);
}

static uint16_t ports_in(struct lane *l, unsigned int first, uint16_t n)
{
	struct rte_mbuf *m[POINT_BURST_MAX];

	traffic_receive(&l->traffic, m, first, n, PORT_WAN);
	return nic_send_checked(m, n, l->traffic.batch, first);
}

static uint16_t floor_out(struct lane *l, unsigned int first, uint16_t n)
{
	struct rte_mbuf *m[POINT_BURST_MAX];

	traffic_receive(&l->traffic, m, first, n, PORT_LAN);
	floor_seal(l->floor, m, first, n);
	return nic_send(m, n);
}

static uint16_t floor_in(struct lane *l, unsigned int first, uint16_t n)
{
	struct rte_mbuf *m[POINT_BURST_MAX];

	traffic_receive(&l->traffic, m, first, n, PORT_WAN);
	floor_open(l->floor, m, first, n);
	return nic_send_checked(m, n, l->traffic.batch, first);
}

static uint16_t floor_loop(struct lane *l, unsigned int first, uint16_t n)
{
	struct rte_mbuf *m[POINT_BURST_MAX];

	traffic_receive(&l->traffic, m, first, n, PORT_LAN);
	floor_seal(l->floor, m, first, n);
	floor_open(l->floor, m, first, n);
	return nic_send_checked(m, n, l->traffic.batch, first);
}

static uint16_t all_out(struct lane *l, unsigned int first, uint16_t n)
{
	struct rte_mbuf *m[POINT_BURST_MAX];

	traffic_receive(&l->traffic, m, first, n, PORT_LAN);

	struct tx_buffer *tx = gateway_pass(&l->traffic.pair->near, l->traffic.lane, m, n);
	uint16_t sent = nic_send(tx->m, tx->n);

	tx->n = 0;
	return sent;
}

static uint16_t all_in(struct lane *l, unsigned int first, uint16_t n)
{
	struct rte_mbuf *m[POINT_BURST_MAX];

	traffic_receive(&l->traffic, m, first, n, PORT_WAN);

	struct tx_buffer *tx = gateway_pass(&l->traffic.pair->far, l->traffic.lane, m, n);
	uint16_t right = nic_send_checked(tx->m, tx->n, l->traffic.batch, first);

	tx->n = 0;
	return right;
}

static uint16_t all_loop(struct lane *l, unsigned int first, uint16_t n)
{
	struct tx_buffer *tx = traffic_pass_both(&l->traffic, first, n);
	uint16_t right = nic_send_checked(tx->m, tx->n, l->traffic.batch, first);

	tx->n = 0;
	return right;
}

static const burst_fn phases[DIRS][PHASE_DAEMON] = {
	[DIR_OUT] = {ports_out, floor_out, all_out},
	[DIR_IN] = {ports_in, floor_in, all_in},
	[DIR_LOOP] = {ports_in, floor_loop, all_loop},
};

// Returns how many packets are right.
static uint32_t run(struct lane *l, burst_fn fn, unsigned int first, unsigned int end)
{
	uint32_t right = 0;

	for (; first < end; first += l->traffic.point->burst)
		right += fn(l, first, (uint16_t)RTE_MIN(l->traffic.point->burst, end - first));
	return right;
}

static void stages_restart(struct lane *l)
{
	struct stages s = {.every = l->params->stages ? STAGES_EVERY : WORKER_STAGES_EVERY};

	l->traffic.pair->near.worker[l->traffic.lane]->stages = s;
	l->traffic.pair->far.worker[l->traffic.lane]->stages = s;
}

// All lanes are on their CPUs and wait for each other in a busy loop.
static void meet(struct lane *l)
{
	unsigned int others = l->traffic.point->workers - 1;
	unsigned int turn = atomic_load(&l->meeting->turn);

	if (atomic_fetch_add(&l->meeting->here, 1) == others) {
		atomic_store(&l->meeting->here, 0);
		atomic_store(&l->meeting->turn, turn + 1);
	}
	while (atomic_load(&l->meeting->turn) == turn)
		rte_pause();
}

// Returns the cycles of the batch.
static uint64_t time_phase(struct lane *l, enum phase phase)
{
	burst_fn fn = phases[l->traffic.point->dir][phase];
	uint32_t right;
	uint64_t from;

	meet(l);
	right = run(l, fn, 0, l->traffic.batch->warm);
	from = rte_rdtsc_precise();
	right += run(l, fn, l->traffic.batch->warm, l->traffic.batch->n);

	uint64_t cycles = rte_rdtsc_precise() - from;

	if (phase == PHASE_ALL)
		l->received += right;
	return cycles;
}

// The same as PHASE_ALL by the daemon's loop, with a batch of its own, because a packet passes only
// once. Its frames are first received as often as those of the other batch, so that they are as
// near to the core.
static uint64_t time_daemon(struct lane *l)
{
	uint32_t right;
	uint64_t cycles;

	traffic_fill(&l->traffic);
	for (enum phase phase = PHASE_PORTS; phase < PHASE_ALL; phase++)
		run(l, phases[l->traffic.point->dir][PHASE_PORTS], 0, l->traffic.batch->n);
	meet(l);
	cycles = daemon_run(l->daemon, &right);
	l->sent += l->traffic.batch->n;
	l->received += right;
	return cycles;
}

static double per_packet(const struct lane *l, uint64_t cycles)
{
	return (double)cycles / (l->traffic.batch->n - l->traffic.batch->warm);
}

// Lanes measure their cores in turn.
static struct core core_in_turn(struct lane *l)
{
	struct core core = {0};

	for (unsigned int i = 0; i < l->traffic.point->workers; i++) {
		meet(l);
		if (i == l->traffic.lane)
			core = core_measure();
	}
	meet(l);
	return core;
}

// The least share of all lanes, so that a round counts for all of them, or for none.
static double least_share(struct lane *l, double share)
{
	double least = share;

	l->meeting->share[l->traffic.lane] = share;
	meet(l);
	for (unsigned int i = 0; i < l->traffic.point->workers; i++)
		least = RTE_MIN(least, l->meeting->share[i]);
	return least;
}

// The stages of the gateways' workers in the rounds that count.
static void stages_copy(const struct lane *l, struct stages own[2], bool back)
{
	struct gateway *g[] = {&l->traffic.pair->near, &l->traffic.pair->far};

	for (unsigned int i = 0; i < RTE_DIM(g); i++) {
		struct stages *s = &g[i]->worker[l->traffic.lane]->stages;

		if (back)
			*s = own[i];
		else
			own[i] = *s;
	}
}

// One batch each: an interruption disturbs one round only. Returns whether more are to be run.
static bool round_run(struct lane *l)
{
	const unsigned int round = l->rounds.n;
	struct core before, after;
	struct stages stages[2];
	bool more;

	traffic_fill(&l->traffic);
	if (l->traffic.point->dir == DIR_IN)
		floor_prepare_sealed(l->floor, l->traffic.batch);
	else
		floor_prepare_clear(l->floor, l->traffic.batch);
	stages_copy(l, stages, false);
	before = core_in_turn(l);
	l->together[round] = core_measure().share / before.share;
	for (enum phase phase = 0; phase < PHASE_DAEMON; phase++)
		l->cycles[phase][round] = per_packet(l, time_phase(l, phase));
	if (!floor_ok(l->floor, l->traffic.batch))
		die("the bare cryptography failed");
	l->sent += l->traffic.batch->n;
	if (l->daemon != NULL)
		l->cycles[PHASE_DAEMON][round] = per_packet(l, time_daemon(l));
	after = core_in_turn(l);
	more = rounds_add(
		&l->rounds, least_share(l, RTE_MIN(before.share, after.share)), after.clock);
	if (l->rounds.n == round)
		stages_copy(l, stages, true);
	return more;
}

static int lane_run(void *arg)
{
	struct lane *l = arg;

	traffic_prepare(&l->traffic);
	stages_restart(l);
	rounds_begin(&l->rounds, l->params->rounds);
	while (round_run(l))
		;
	return 0;
}

static struct figure figure_of(double v[], unsigned int n)
{
	qsort(v, n, sizeof(v[0]), compare_doubles);
	return (struct figure){v[n / 4], v[n / 2], v[3 * n / 4]};
}

static void figure_add(struct figure *sum, struct figure f, unsigned int of)
{
	sum->q1 += f.q1 / of;
	sum->median += f.median / of;
	sum->q3 += f.q3 / of;
}

static void stages_add(struct stages *sum, const struct stages *s)
{
	for (unsigned int i = 0; i < STAGE_COUNT; i++) {
		sum->stage[i].calls += s->stage[i].calls;
		sum->stage[i].packets += s->stage[i].packets;
		sum->stage[i].cycles += s->stage[i].cycles;
	}
}

// Adds the figures of a lane to the mean of all.
static void result_add(struct result *r, struct lane *l)
{
	unsigned int n = l->rounds.n, lanes = l->traffic.point->workers;
	double *ports = l->cycles[PHASE_PORTS], *all = l->cycles[PHASE_ALL];
	double floor[ROUNDS_MAX], overhead[ROUNDS_MAX], daemon[ROUNDS_MAX];

	for (unsigned int i = 0; i < n; i++) {
		floor[i] = l->cycles[PHASE_FLOOR][i] - ports[i];
		overhead[i] = all[i] - l->cycles[PHASE_FLOOR][i];
		daemon[i] = l->cycles[PHASE_DAEMON][i] - all[i];
	}

	struct figure cycles = figure_of(all, n);

	figure_add(&r->cycles, cycles, lanes);
	figure_add(&r->ports, figure_of(ports, n), lanes);
	figure_add(&r->floor, figure_of(floor, n), lanes);
	figure_add(&r->overhead, figure_of(overhead, n), lanes);
	if (l->daemon != NULL)
		figure_add(&r->daemon, figure_of(daemon, n), lanes);
	r->mpps += (double)rte_get_tsc_hz() / cycles.median / 1e6;
	r->sent += l->sent;
	r->core.share += rounds_core(&l->rounds).share / lanes;
	r->core.clock += rounds_core(&l->rounds).clock / lanes;
	r->same_core |= figure_of(l->together, n).median < SAME_CORE;
	r->received += l->received;
	if (l->traffic.point->dir != DIR_IN)
		stages_add(&r->stages, &l->traffic.pair->near.worker[l->traffic.lane]->stages);
	if (l->traffic.point->dir != DIR_OUT)
		stages_add(&r->stages, &l->traffic.pair->far.worker[l->traffic.lane]->stages);
}

static struct lane *lane_new(const struct lane *like, unsigned int id)
{
	struct lane *l = malloc(sizeof(*l));

	if (l == NULL)
		die("no memory");
	*l = *like;
	l->traffic.lane = id;
	l->traffic.batch = batch_new(l->traffic.point, id);
	l->floor = floor_new(l->traffic.point, l->traffic.lane);
	if (l->traffic.point->dir != DIR_LOOP)
		l->daemon = daemon_new(&l->traffic);
	return l;
}

static void lane_free(struct lane *l)
{
	batch_free(l->traffic.batch);
	floor_free(l->floor);
	if (l->daemon != NULL)
		daemon_free(l->daemon);
	free(l);
}

struct result measure(const struct point *p, const struct measure_params *params)
{
	struct gateway_pair *pair = gateway_pair_new(p, params->pool, 0);
	struct result r = {.engine = gateway_pair_engine(pair)};
	struct lane *lane[POINT_WORKERS_MAX];
	struct meeting meeting = {0};
	struct lane like = {.traffic = {.point = p, .pool = params->pool, .pair = pair},
		.params = params,
		.meeting = &meeting};

	for (unsigned int i = 0; i < p->workers; i++)
		lane[i] = lane_new(&like, i);
	for (unsigned int i = 1; i < p->workers; i++)
		rte_eal_remote_launch(lane_run, lane[i], i);
	lane_run(lane[0]);
	rte_eal_mp_wait_lcore();
	for (unsigned int i = 0; i < p->workers; i++) {
		result_add(&r, lane[i]);
		lane_free(lane[i]);
	}
	if (r.received != r.sent)
		gateway_pair_print_drops(pair);
	gateway_pair_free(pair);
	return r;
}
