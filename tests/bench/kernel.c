// SPDX-License-Identifier: BSD-3-Clause
// The cost of a packet in clear that the kernel forwards by nf_conntrack and nftables, in TSC
// cycles: the frames of bench_pass before ESP, of 1000 flows with state.
//
//   bench_kernel --hosts LAN,WAN,NOWHERE [--size OCTETS|imix,...] [--rounds N] [--json]
//
// The gateway is in another namespace (kernel_gateway.sh): it receives frames from the interface
// LAN, and sends to WAN. Frames from NOWHERE are dropped where they arrive; their cost, which is
// that of sending and of a pair of interfaces, is subtracted.

#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "core.h"
#include "kernel_hosts.h"
#include "median.h"
#include "options.h"
#include "point.h"

#define ROUNDS     301
#define ROUNDS_MAX 9999
#define FLOWS      1000

struct options {
	const char *hosts, *size;
	unsigned int rounds;
	bool json;
};

static double run(struct kernel_hosts *h, const struct batch *b, enum kernel_host from)
{
	const uint64_t began = rte_rdtsc_precise();

	for (unsigned int i = 0; i < b->n; i += KERNEL_HOSTS_BURST)
		kernel_hosts_send(h, from, b, i);
	kernel_hosts_wait(h);
	return (double)(rte_rdtsc_precise() - began) / b->n;
}

static void row(const struct options *o, const char *size)
{
	static double kernel[ROUNDS_MAX], sending[ROUNDS_MAX];
	const struct point p = {
		.size = strcmp(size, "imix") == 0 ? POINT_IMIX
						  : option_number("size", size, POINT_SIZE_MAX),
		.sas = 1,
		.flows = FLOWS,
		.burst = KERNEL_HOSTS_BURST,
		.workers = 1,
	};
	struct kernel_hosts *h = kernel_hosts_new(o->hosts);
	struct batch *b = batch_new(&p, 0);
	double lost;

	while (b->seen < FLOWS) {
		batch_fill(b);
		run(h, b, HOST_LAN);
	}
	for (unsigned int i = 0; i < o->rounds; i++) {
		batch_fill(b);
		sending[i] = run(h, b, HOST_NOWHERE);
		kernel[i] = run(h, b, HOST_LAN) - sending[i];
	}
	lost = 100 * (double)kernel_hosts_lost(h) / o->rounds / b->n;
	printf(!o->json ? "%5s" : p.size == POINT_IMIX ? "{\"size\":\"%s\"" : "{\"size\":%s", size);
	printf(o->json ? ",\"kernel\":%.0f,\"sending\":%.0f,\"lost\":%.4f,\"core_clock\":%.3f}\n"
		       : " %7.0f %8.0f %8.4f %6.2f\n",
		median(kernel, o->rounds), median(sending, o->rounds), lost, core_measure().clock);
	fflush(stdout);
	batch_free(b);
	kernel_hosts_free(h);
}

int main(int argc, char **argv)
{
	struct options o = {.size = "64,imix,1400", .rounds = ROUNDS};
	const struct option_row all[] = {
		{.name = "hosts", .text = &o.hosts},
		{.name = "size", .text = &o.size},
		{.name = "rounds", .number = &o.rounds, .max = ROUNDS_MAX},
		{.name = "json", .flag = &o.json},
	};
	char *sizes;

	option_rows_read(all, RTE_DIM(all), argc, argv);
	sizes = strdup(o.size);
	if (o.hosts == NULL || sizes == NULL)
		die("see tests/bench/kernel");
	if (!o.json)
		printf("TSC cycles of a packet\n"
		       "  kernel   forwarded in clear by nf_conntrack and nftables, without "
		       "sending "
		       "and one pair of interfaces\n"
		       "  sending  these alone; lost: per cent of the packets\n"
		       "  clock    core cycles in a TSC cycle\n"
		       "%5s %7s %8s %8s %6s\n",
			"size", "kernel", "sending", "lost", "clock");
	for (char *rest = sizes, *size; (size = strsep(&rest, ",")) != NULL;)
		row(&o, size);
	free(sizes);
	return EXIT_SUCCESS;
}
