// SPDX-License-Identifier: BSD-3-Clause
#include "fuzz_gateway.h"

#include <netinet/in.h>
#include <unistd.h>

#include "packet_v6.h"

#define GATEWAYS_MAX 2

static struct gateway *gateway[GATEWAYS_MAX];
static unsigned int n_gateways;

static void stop(void)
{
	while (n_gateways > 0)
		gateway_free(gateway[--n_gateways]);
	if (harness_test_end(NULL) < 0)
		_exit(1);
	harness_stop(NULL);
}

void fuzz_gateway_start(void)
{
	if (harness_start(NULL) < 0 || harness_test_begin(NULL) < 0)
		exit(2);
}

struct gateway *fuzz_gateway_add(struct gateway *g)
{
	assert_in_range(n_gateways, 0, GATEWAYS_MAX - 1);
	if (n_gateways == 0)
		atexit(stop); // before libcrypto's own exit handler, which the gateway has
			      // registered
	gateway[n_gateways++] = g;
	return g;
}

// Reads the events, and does nothing with them.
static void discard_events(struct gateway *g)
{
	struct event e;

	while (worker_event_dequeue(g->w, &e))
		;
}

static uint64_t held(void)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < n_gateways; i++)
		n += worker_held(gateway[i]->w);
	return n;
}

void fuzz_gateway_pass(struct gateway *g, struct rte_mbuf *m[], unsigned int n)
{
	gateway_pass_mbufs(g, m, n);
	g->now += TSC_HZ / 1000;
	gateway_pass(g, NULL, 0);
	discard_events(g);
	if (rte_mempool_in_use_count(harness_pool) != held())
		abort();
}

static struct frame fragment_v4(
	const struct frame *whole, uint16_t head_len, uint16_t off, uint16_t len, bool more)
{
	struct frame f = *whole;
	uint8_t *ip = f.b + ETH_LEN;

	memmove(ip + head_len, ip + head_len + off, len);
	f.len = (uint16_t)(ETH_LEN + head_len + len);
	put16(ip + 2, head_len + len);
	put16(ip + 6, (be16(ip + 6) & DF) | off / 8 | (more ? MF : 0));
	ip_checksum_update(ip);
	return f;
}

static struct frame fragment_v6(
	const struct frame *whole, uint16_t head_len, uint16_t off, uint16_t len, bool more)
{
	struct frame f = *whole;
	uint8_t *ip = f.b + ETH_LEN, *ext = ip + head_len;

	memmove(ext + 8, ext + off, len);
	f.len = (uint16_t)(ETH_LEN + head_len + 8 + len);
	put16(ip + 4, 8 + len);
	ext[0] = ip[6];
	ext[1] = 0;
	put16(ext + 2, off | more);
	put32(ext + 4, be32(ip)); // by the flow label
	ip[6] = IPPROTO_FRAGMENT;
	return f;
}

unsigned int fuzz_fragment(struct frame piece[FUZZ_FRAGMENTS_MAX], uint16_t step)
{
	const struct frame whole = piece[0];
	bool v6 = frame_packet(&whole)[0] >> 4 == 6;
	uint16_t head_len = v6 ? IP6_LEN : (uint16_t)((frame_packet(&whole)[0] & 15) * 4);
	int len = frame_packet_len(&whole) - head_len;
	unsigned int n;

	if (head_len < IP_LEN || len <= 0)
		return 1;
	step = (uint16_t)RTE_ALIGN_CEIL(
		RTE_MAX((int)step, (len + FUZZ_FRAGMENTS_MAX - 1) / FUZZ_FRAGMENTS_MAX), 8);
	n = (unsigned int)((len + step - 1) / step);
	for (unsigned int i = 0; i < n; i++) {
		uint16_t off = (uint16_t)(i * step), part = (uint16_t)RTE_MIN(step, len - off);

		piece[n - 1 - i] =
			(v6 ? fragment_v6 : fragment_v4)(&whole, head_len, off, part, i + 1 < n);
	}
	return n;
}
