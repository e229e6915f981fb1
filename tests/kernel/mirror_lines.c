// SPDX-License-Identifier: BSD-3-Clause
// Follows the routes of the kernel, for tests/kernel/mirror: for each line on standard input it
// prints the routes that it knows by the changes that it was called for, one in a line of JSON, and
// one with counters. Arguments: the table, the receive buffer, the limit, and protocols.
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "mirror_known.h"
#include "route_mirror.h"
#include "test.h"

#define TICK_MS 5 // as the control thread

static struct route_mirror *mirror;
static struct mirror_known known;
static uint64_t longest_us; // of a tick

static const char *const kinds[] = {[MIRROR_HOPS] = "unicast",
	[MIRROR_BLACKHOLE] = "blackhole",
	[MIRROR_UNREACHABLE] = "unreachable",
	[MIRROR_PROHIBIT] = "prohibit",
	[MIRROR_THROW] = "throw",
	[MIRROR_UNUSED] = "unused"};

static void hops_print(const struct mirror_path *path)
{
	char addr[IP_ADDR_STRLEN];

	for (uint32_t i = 0; i < path->head.n_hops; i++) {
		const struct mirror_hop *hop = &path->hop[i];
		const char *name = route_mirror_link_name(mirror, hop->link);

		printf("%s{\"dev\":\"%s\",\"via\":\"%s\",\"weight\":%u,\"onlink\":%s}",
			i > 0 ? "," : "", name != NULL ? name : "",
			ip_addr_is_none(&hop->gateway) ? "" : ip_addr_format(addr, &hop->gateway),
			hop->weight, hop->onlink ? "true" : "false");
	}
}

// The mirror has the same path as the changes.
static void route_print(void *arg, const struct ip_prefix *to, const struct mirror_path *path)
{
	char prefix[IP_PREFIX_STRLEN];

	(*(unsigned int *)arg)++;
	assert_ptr_equal(mirror_known_path(&known, to), path);
	printf("{\"dst\":\"%s\",\"type\":\"%s\",\"hops\":[", ip_prefix_format(prefix, to),
		kinds[path->head.kind]);
	hops_print(path);
	printf("]}\n");
}

static void print_all(void)
{
	struct route_mirror_stats s = route_mirror_stats(mirror);
	unsigned int n = 0, unused = 0;

	route_mirror_each(mirror, route_print, &n);
	assert_int_equal(n, known.n);
	for (unsigned int i = 1; i < MIRROR_UNUSED_REASONS; i++)
		unused += s.unused[i];
	printf("{\"routes\":%u,\"over\":%u,\"unused\":%u,\"losses\":%lu,\"dumps\":%lu,"
	       "\"messages\":%lu,\"changes\":%lu,\"longest_us\":%lu,\"complete\":%s}\n",
		s.routes, s.over, unused, s.losses, s.dumps, s.messages, known.changes, longest_us,
		s.dumps > 0 ? "true" : "false");
	fflush(stdout);
	longest_us = 0;
}

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static bool tick(void)
{
	uint64_t begun = now_us();
	bool busy = route_mirror_tick(mirror, begun / 1000);

	longest_us = RTE_MAX(longest_us, now_us() - begun);
	return busy;
}

int main(int argc, char **argv)
{
	struct route_mirror_settings settings = {0};
	char line[64];
	bool busy = true;

	assert_in_range(argc, 4, 259);
	settings.table = (uint32_t)atoi(argv[1]);
	settings.receive_buffer = atoi(argv[2]);
	settings.routes_max = (unsigned int)atoi(argv[3]);
	for (int i = 0; i < 256; i++)
		settings.protocol[i] = argc == 4;
	for (int i = 4; i < argc; i++)
		settings.protocol[atoi(argv[i])] = true;
	assert_int_equal(route_mirror_open(&mirror, &settings, mirror_known_changed, &known), 0);
	for (;;) {
		struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

		poll(&input, 1, busy ? 0 : TICK_MS);
		busy = tick();
		if (input.revents == 0)
			continue;
		if (read(STDIN_FILENO, line, sizeof(line)) <= 0)
			break;
		if (line[0] == 'p') // a pause, in which messages are lost
			sleep(1);
		else
			print_all();
	}
	route_mirror_close(mirror);
	mirror_known_free(&known);
	return 0;
}
