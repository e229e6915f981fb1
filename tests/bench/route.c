// SPDX-License-Identifier: BSD-3-Clause
// The cost of a look-up in the route table, in TSC cycles, beside librte_rib with the same routes:
//
//   bench_route [--routes N]... [--rounds N] [--json]
//
//   cycles  a look-up whose address depends on the result of the one before, of random addresses of
//           random routes
//   rib     the same in librte_rib, in the same run
//   ratio   of both
//   add     a route that is added, of all while the table is filled
//
// Figures are medians of several rounds on one CPU, which measure both tables in turn.
#include <getopt.h>
#include <stdlib.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_memory.h>
#include <rte_rib.h>
#include <rte_rib6.h>

#include "median.h"
#include "route_change.h"
#include "route_set.h"

#define ROUNDS    9
#define LOOK_UPS  (1u << 17) // in a round
#define SIZES_MAX 8

static const char *const names[] = {[IP_V4] = "ipv4", [IP_V6] = "ipv6"};

struct bench {
	enum ip_family family;
	unsigned int n;
	struct route_table *t;
	struct rte_rib *rib;
	struct rte_rib6 *rib6;
	struct ip_addr *addr; // LOOK_UPS of them
	double add;
};

static void fill(struct bench *b)
{
	uint64_t seed = 11, cycles = 0;

	while (route_count(b->t) < b->n) {
		const struct route r = route_of_set(&seed, b->family);
		uint64_t from = rte_rdtsc_precise();

		if (route_put(b->t, &r) != 0)
			exit(EXIT_FAILURE);
		cycles += rte_rdtsc_precise() - from;
	}
	b->add = (double)cycles / b->n;
}

static void fill_rib(struct bench *b)
{
	struct rte_rib_conf conf = {.max_nodes = (int)(2 * b->n + 2)};
	struct rte_rib6_conf conf6 = {.max_nodes = (int)(2 * b->n + 2)};

	if (b->family == IP_V4)
		b->rib = rte_rib_create("bench", SOCKET_ID_ANY, &conf);
	else
		b->rib6 = rte_rib6_create("bench", SOCKET_ID_ANY, &conf6);
	if (b->rib == NULL && b->rib6 == NULL)
		exit(EXIT_FAILURE);
	for (unsigned int i = 0; i < b->n; i++) {
		const struct ip_prefix *to = &route_at(b->t, i)->to;

		if (b->family == IP_V4)
			rte_rib_set_nh(
				rte_rib_insert(b->rib, rte_be_to_cpu_32(ip_addr_v4(&to->addr)),
					(uint8_t)(to->len - IP_V4_BITS)),
				i);
		else
			rte_rib6_set_nh(
				rte_rib6_insert(b->rib6, (const void *)to->addr.b, to->len), i);
	}
}

static void choose(struct bench *b)
{
	uint64_t seed = 5;

	for (unsigned int i = 0; i < LOOK_UPS; i++) {
		uint32_t route = random_below(&seed, b->n);

		b->addr[i] = addr_in(&seed, &route_at(b->t, route)->to);
	}
}

// A number that is 0, which the compiler does not know, from the result of a look-up.
static inline uint32_t nothing_of(uint64_t result)
{
	uint64_t nothing = result;

	asm volatile("and $0, %0" : "+r"(nothing) : : "cc");
	return (uint32_t)nothing;
}

static double measure_v4(const struct bench *b, bool rib)
{
	uint64_t from = rte_rdtsc_precise(), i = 0;
	uint32_t nothing = 0;

	for (unsigned int k = 0; k < LOOK_UPS; k++) {
		rte_be32_t dst = b->addr[k].w[3] ^ nothing;

		if (rib)
			rte_rib_get_nh(rte_rib_lookup(b->rib, rte_be_to_cpu_32(dst)), &i);
		else
			i = (uintptr_t)route_find_v4(b->t, dst);
		nothing = nothing_of(i);
	}
	return (double)(rte_rdtsc_precise() - from) / LOOK_UPS;
}

static double measure_v6(const struct bench *b, bool rib)
{
	uint64_t from = rte_rdtsc_precise(), i = 0;
	uint32_t nothing = 0;

	for (unsigned int k = 0; k < LOOK_UPS; k++) {
		const struct ip_addr *dst = &b->addr[k + nothing];

		if (rib)
			rte_rib6_get_nh(rte_rib6_lookup(b->rib6, (const void *)dst->b), &i);
		else
			i = (uintptr_t)route_find(b->t, dst);
		nothing = nothing_of(i);
	}
	return (double)(rte_rdtsc_precise() - from) / LOOK_UPS;
}

static double measure(const struct bench *b, bool rib)
{
	return b->family == IP_V4 ? measure_v4(b, rib) : measure_v6(b, rib);
}

static void bench_run(enum ip_family family, unsigned int n, unsigned int rounds, bool json)
{
	struct bench b = {.family = family, .n = n, .t = route_table_new()};
	double own[ROUNDS], rib[ROUNDS];

	b.addr = calloc(LOOK_UPS, sizeof(b.addr[0]));
	if (b.t == NULL || b.addr == NULL)
		exit(EXIT_FAILURE);
	fill(&b);
	fill_rib(&b);
	choose(&b);
	for (unsigned int i = 0; i < rounds; i++) {
		own[i] = measure(&b, false);
		rib[i] = measure(&b, true);
	}
	qsort(own, rounds, sizeof(double), compare_doubles);
	qsort(rib, rounds, sizeof(double), compare_doubles);
	printf(json ? "{\"family\": \"%s\", \"routes\": %u, \"cycles\": %.1f, \"rib\": %.1f, "
		      "\"ratio\": %.3f, \"add\": %.0f}\n"
		    : "%6s %9u %8.1f %8.1f %6.3f %8.0f\n",
		names[family], n, own[rounds / 2], rib[rounds / 2],
		own[rounds / 2] / rib[rounds / 2], b.add);
	rte_rib_free(b.rib);
	rte_rib6_free(b.rib6);
	route_table_free(b.t);
	free(b.addr);
}

// librte_rib takes hundreds of megabytes from DPDK.
static void start(void)
{
	char *args[] = {"bench_route", "--no-huge", "-m", "1024", "--no-pci", "--no-telemetry",
		"--no-shconf", "--file-prefix=culvert-bench-route", "--iova-mode=va",
		"--log-level=*:error"};

	if (rte_eal_init(RTE_DIM(args), args) < 0)
		exit(EXIT_FAILURE);
}

static int usage(const char *name)
{
	fprintf(stderr, "usage: %s [--routes N]... [--rounds N] [--json]\n", name);
	return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"routes", required_argument, NULL, 'n'},
		{"rounds", required_argument, NULL, 'r'}, {"json", no_argument, NULL, 'j'}, {0}};
	static const unsigned int usual[][3] = {
		[IP_V4] = {10, 1000, 1000000}, [IP_V6] = {10, 1000, 200000}};
	unsigned int sizes[SIZES_MAX], n = 0, rounds = ROUNDS;
	bool json = false;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		unsigned long value = optarg != NULL ? strtoul(optarg, NULL, 10) : 1;

		if (option == 'j')
			json = true;
		else if (option == 'n' && n < SIZES_MAX && value >= 1 && value <= 1000000)
			sizes[n++] = (unsigned int)value;
		else if (option == 'r' && value >= 1 && value <= ROUNDS)
			rounds = (unsigned int)value;
		else
			return usage(argv[0]);
	}
	if (optind != argc)
		return usage(argv[0]);
	start();
	if (!json)
		printf("%6s %9s %8s %8s %6s %8s\n", "family", "routes", "cycles", "rib", "ratio",
			"add");
	for (enum ip_family family = IP_V4; family <= IP_V6; family++)
		for (unsigned int i = 0; i < (n > 0 ? n : 3); i++)
			bench_run(family, n > 0 ? sizes[i] : usual[family][i], rounds, json);
	rte_eal_cleanup();
	return EXIT_SUCCESS;
}
