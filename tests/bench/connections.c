// SPDX-License-Identifier: BSD-3-Clause
// The cost of whole TCP connections through the firewall, in TSC cycles: handshake and end, six
// packets, beside the kernel's nf_conntrack and nftables on the same core:
//
//   bench_connections [--hosts LAN,WAN,NOWHERE] [--flows N] [--rounds N] [--json]
//
//   room   the table has room for the connection
//   full   it is full of connections that have ended; each new one replaces one of these
//
// Where the kernel loses packets its figures are those of dropping them.
//
// The kernel's gateway is in another namespace (tests/bench/connections): it receives frames from
// the interfaces LAN and WAN, and sends to the other one. Frames from NOWHERE arrive as well, and
// are dropped there at once; their cost is that of sending and of a pair of interfaces, and is
// subtracted. Both pass batches of the same packets in turn, in bursts of 32.

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_tcp.h>

#include "conf_text.h"
#include "core.h"
#include "die.h"
#include "kernel_hosts.h"
#include "median.h"
#include "nic.h"
#include "options.h"
#include "packet.h"
#include "single_gateway.h"

#define BURST      KERNEL_HOSTS_BURST
#define BURSTS     5 // of connections, in a batch
#define N          (BURST * BURSTS)
#define STEPS      6
#define ROUNDS     301
#define ROUNDS_MAX 9999
#define FLOWS      262144
#define CLIENTS    60000
#define SERVER     RTE_IPV4(203, 0, 113, 7)

#define FULL(n) ((n) / 4 * 5) // connections that fill a table

struct options {
	const char *hosts;
	unsigned int rounds, flows;
	bool json;
};

// The packets of a connection: numbers are those after the first of each side.
static const struct step {
	bool reply;
	uint8_t flags;
	uint32_t seq, ack;
} steps[STEPS] = {
	{false, RTE_TCP_SYN_FLAG, 0, 0},
	{true, RTE_TCP_SYN_FLAG | RTE_TCP_ACK_FLAG, 0, 1},
	{false, RTE_TCP_ACK_FLAG, 1, 1},
	{false, RTE_TCP_FIN_FLAG | RTE_TCP_ACK_FLAG, 1, 1},
	{true, RTE_TCP_FIN_FLAG | RTE_TCP_ACK_FLAG, 1, 2},
	{false, RTE_TCP_ACK_FLAG, 2, 2},
};

struct connection_frame {
	struct rte_ether_hdr eth;
	struct rte_ipv4_hdr ip;
	struct rte_tcp_hdr tcp;
	uint8_t padding[6];
} __rte_packed __rte_aligned(2);

static_assert(sizeof(struct connection_frame) == FRAME_MIN, "the shortest frame");

// Of each burst of connections the first packets, then the second ones, and so on.
struct side {
	struct single_gateway *gateway;
	struct kernel_hosts *hosts; // NULL: the kernel is not measured
	uint32_t begun;             // connections
	uint64_t lost;              // packets that the gateway did not send
	struct batch batch;
};

static void conf_write(FILE *f, const void *flows)
{
	fprintf(f,
		"flows = { max = %u; };\n"
		"ports = (\n"
		"  { name = \"lan\"; device = \"net_null0\"; side = \"protected\"; addresses = [ "
		"\"10.0.0.1/24\" ]; },\n"
		"  { name = \"wan\"; device = \"net_null1\"; side = \"protected\"; addresses = [ "
		"\"198.18.0.1/16\" ]; } );\n"
		"routes = ( { to = \"0.0.0.0/0\"; via = \"198.18.0.2\"; },\n"
		"  { to = \"10.1.0.0/16\"; via = \"10.0.0.2\"; } );\n"
		"neighbours = ( { address = \"198.18.0.2\"; mac = \"02:00:00:00:02:01\"; },\n"
		"  { address = \"10.0.0.2\"; mac = \"02:00:00:00:02:00\"; } );\n"
		"policies = ( { name = \"all\"; action = \"bypass\"; } );\n"
		"default_action = \"drop\";\n"
		"rules = ( { name = \"web\"; action = \"accept\"; proto = \"tcp\"; "
		"destination_port = \"80\"; } );\n",
		*(const unsigned int *)flows);
}

static void frame_write(struct connection_frame *f, uint32_t i, const struct step *s)
{
	const uint16_t from = s->reply ? WAN : LAN;
	const rte_be32_t client = rte_cpu_to_be_32(RTE_IPV4(10, 1, 1, 1) + i % CLIENTS);
	const rte_be16_t port = rte_cpu_to_be_16((uint16_t)(1024 + i / CLIENTS % CLIENTS));

	*f = (struct connection_frame){
		.eth.ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4),
		.ip = {.version_ihl = RTE_IPV4_VHL_DEF,
			.total_length = RTE_BE16(sizeof(f->ip) + sizeof(f->tcp)),
			.time_to_live = 64,
			.next_proto_id = IPPROTO_TCP,
			.src_addr = s->reply ? RTE_BE32(SERVER) : client,
			.dst_addr = s->reply ? client : RTE_BE32(SERVER)},
		.tcp = {.src_port = s->reply ? RTE_BE16(80) : port,
			.dst_port = s->reply ? port : RTE_BE16(80),
			.sent_seq = rte_cpu_to_be_32((s->reply ? ~i : i) + s->seq),
			.recv_ack = rte_cpu_to_be_32((s->reply ? i : ~i) + s->ack),
			.data_off = sizeof(f->tcp) / 4 << 4,
			.tcp_flags = s->flags,
			.rx_win = RTE_BE16(UINT16_MAX)},
	};
	memcpy(&f->eth.dst_addr, mac_of_port(from), sizeof(f->eth.dst_addr));
	memcpy(&f->eth.src_addr, mac_of_neighbour(from), sizeof(f->eth.src_addr));
	f->ip.hdr_checksum = rte_ipv4_cksum(&f->ip);
	f->tcp.cksum = rte_ipv4_udptcp_cksum(&f->ip, &f->tcp);
}

static struct side *side_new(const struct options *o)
{
	struct side *s = calloc(1, sizeof(*s));

	if (s == NULL)
		die("no memory");
	s->gateway = single_gateway_new(0, conf_written(conf_write, &o->flows));
	s->hosts = o->hosts != NULL ? kernel_hosts_new(o->hosts) : NULL;
	s->batch.n = N * STEPS;
	s->batch.stride =
		(uint32_t)RTE_ALIGN_CEIL(sizeof(struct connection_frame), RTE_CACHE_LINE_SIZE);
	s->batch.frame = aligned_alloc(RTE_CACHE_LINE_SIZE, (size_t)s->batch.stride * s->batch.n);
	if (s->batch.frame == NULL)
		die("no memory");
	return s;
}

static void side_free(struct side *s)
{
	single_gateway_free(s->gateway);
	kernel_hosts_free(s->hosts);
	free(s->batch.frame);
	free(s);
}

static void batch_make(struct side *s)
{
	for (unsigned int i = 0; i < s->batch.n; i++) {
		const unsigned int burst = i / BURST;

		frame_write((struct connection_frame *)batch_frame(&s->batch, i),
			s->begun + burst / STEPS * BURST + i % BURST, &steps[burst % STEPS]);
		s->batch.len[i] = FRAME_MIN;
	}
	s->begun += N;
}

static void burst_pass(struct side *s, unsigned int burst)
{
	const bool reply = steps[burst % STEPS].reply;
	struct single_gateway *g = s->gateway;
	struct tx_buffer *tx = &g->worker->tx[reply ? LAN : WAN];
	struct rte_mbuf *m[BURST];

	nic_receive(g->pool, m, &s->batch, burst * BURST, BURST, reply ? WAN : LAN);
	single_gateway_pass(g, m, BURST, g->now);
	s->lost += BURST - tx->n;
	nic_send(tx->m, tx->n);
	tx->n = 0;
}

// Cycles of a connection by the gateway. Each burst takes its time, which lets flows time out.
static double gateway_run(struct side *s)
{
	const uint64_t began = s->gateway->now;

	for (unsigned int burst = 0; burst < BURSTS * STEPS; burst++) {
		const uint64_t from = rte_rdtsc_precise();

		burst_pass(s, burst);
		s->gateway->now += rte_rdtsc_precise() - from;
	}
	single_gateway_control(s->gateway);
	return (double)(s->gateway->now - began) / N;
}

// The same by the kernel; to nowhere: of sending them.
static double kernel_run(struct side *s, bool nowhere)
{
	const uint64_t from = rte_rdtsc_precise();

	for (unsigned int burst = 0; burst < BURSTS * STEPS; burst++) {
		const enum kernel_host host = nowhere                      ? HOST_NOWHERE
					      : steps[burst % STEPS].reply ? HOST_WAN
									   : HOST_LAN;

		kernel_hosts_send(s->hosts, host, &s->batch, burst * BURST);
	}
	kernel_hosts_wait(s->hosts);
	return (double)(rte_rdtsc_precise() - from) / N;
}

// Connections of both, until there have been n.
static void warm_up(struct side *s, uint32_t n)
{
	while (s->begun < n) {
		batch_make(s);
		gateway_run(s);
		if (s->hosts != NULL)
			kernel_run(s, false);
	}
}

struct row {
	double cycles, kernel, sending, ratio;
	double lost, kernel_lost; // per cent of the packets
};

static struct row row_run(struct side *s, unsigned int rounds)
{
	static double cycles[ROUNDS_MAX], kernel[ROUNDS_MAX], sending[ROUNDS_MAX],
		ratio[ROUNDS_MAX];
	const double packets = (double)rounds * N * STEPS;
	const uint64_t kernel_lost = s->hosts != NULL ? kernel_hosts_lost(s->hosts) : 0;
	struct row row = {0};

	s->lost = 0;
	for (unsigned int i = 0; i < rounds; i++) {
		batch_make(s);
		cycles[i] = gateway_run(s);
		if (s->hosts == NULL)
			continue;
		sending[i] = kernel_run(s, true);
		kernel[i] = kernel_run(s, false) - sending[i];
		ratio[i] = kernel[i] / cycles[i];
	}
	row.cycles = median(cycles, rounds);
	row.lost = 100 * (double)s->lost / packets;
	if (s->hosts == NULL)
		return row;
	row.kernel = median(kernel, rounds);
	row.sending = median(sending, rounds);
	row.ratio = median(ratio, rounds);
	row.kernel_lost = 100 * (double)(kernel_hosts_lost(s->hosts) - kernel_lost) / packets;
	return row;
}

static void row_print(const char *name, const struct row *row, const struct options *o)
{
	const double hz = (double)rte_get_tsc_hz(), per_s = hz / row->cycles,
		     kernel_per_s = row->kernel > 0 ? hz / row->kernel : 0;

	printf(o->json ? "{\"row\":\"%s\",\"cycles\":%.0f,\"per_s\":%.0f,\"lost\":%.4f,"
			 "\"kernel\":%.0f,\"kernel_per_s\":%.0f,\"kernel_lost\":%.4f,"
			 "\"sending\":%.0f,\"ratio\":%.2f,\"flows\":%u,\"core_clock\":%.3f}\n"
		       : "%-5s %7.0f %9.0f %8.4f %8.0f %9.0f %8.4f %8.0f %6.1f %8u %6.2f\n",
		name, row->cycles, per_s, row->lost, row->kernel, kernel_per_s, row->kernel_lost,
		row->sending, row->ratio, o->flows, core_measure().clock);
	fflush(stdout);
}

static void head_print(void)
{
	printf("for each connection: TSC cycles, and connections of one core in a second\n"
	       "  kernel   nf_conntrack and nftables, without sending and one pair of interfaces\n"
	       "  sending  these alone\n"
	       "  ratio    kernel / cycles; lost: per cent of the packets\n"
	       "  clock    core cycles in a TSC cycle\n"
	       "%-5s %7s %9s %8s %8s %9s %8s %8s %6s %8s %6s\n",
		"row", "cycles", "a second", "lost", "kernel", "a second", "lost", "sending",
		"ratio", "flows", "clock");
}

static void options_read(struct options *o, int argc, char **argv)
{
	const struct option_row all[] = {
		{.name = "hosts", .text = &o->hosts},
		{.name = "flows", .number = &o->flows, .max = FLOW_CAPACITY_MAX},
		{.name = "rounds", .number = &o->rounds, .max = ROUNDS_MAX},
		{.name = "json", .flag = &o->json},
	};

	option_rows_read(all, RTE_DIM(all), argc, argv);
}

int main(int argc, char **argv)
{
	struct options o = {.rounds = ROUNDS, .flows = FLOWS};
	struct side *s;
	struct row row;

	options_read(&o, argc, argv);
	nic_start(1);
	if (!o.json)
		head_print();
	s = side_new(&o);
	warm_up(s, 4 * N);
	row = row_run(s, o.rounds);
	row_print("room", &row, &o);
	warm_up(s, FULL(o.flows));
	row = row_run(s, o.rounds);
	row_print("full", &row, &o);
	side_free(s);
	nic_stop();
	return EXIT_SUCCESS;
}
