// SPDX-License-Identifier: BSD-3-Clause
#include "fan_site.h"

#include "fanout.h"

struct workers workers_new(struct site site, uint64_t seed)
{
	struct workers s = {.g = {site_a(site)}, .seed = seed};

	for (unsigned int i = 1; i < WORKERS; i++)
		s.g[i] = gateway_second(s.g[0], i);
	s.b = peer_new(s.g[0], "from-b");
	s.to_b = peer_new(s.g[0], "to-b");
	return s;
}

void workers_free(struct workers *s)
{
	for (unsigned int i = WORKERS; i > 0; i--)
		gateway_free(s->g[i - 1]);
	peer_free(&s->b);
	peer_free(&s->to_b);
}

struct ipv4 packet_of(struct workers *s, uint32_t flow, bool out)
{
	struct ipv4 ip = FROM_TO("10.1.0.5", "10.2.0.5", .sport = (uint16_t)(3000 + flow),
		.dport = 9, .id = (uint16_t)++s->number[flow], .len = 100);

	if (!out) {
		ip.src = "10.2.0.5";
		ip.dst = "10.1.0.5";
	}
	return ip;
}

struct gateway *any(struct workers *s)
{
	return s->g[random_below(&s->seed, WORKERS)];
}

static void check_inner(struct workers *s, const uint8_t *ip)
{
	uint32_t flow = be16(ip + IP_LEN) - 3000u, number = be16(ip + 4);

	assert_in_range(flow, 0, FLOWS - 1);
	assert_int_equal(number, s->last[flow] + 1);
	s->last[flow] = number;
	s->n_sent++;
}

void check_sent(struct workers *s, const struct gateway *g)
{
	uint8_t inner[FRAME_MAX];

	for (unsigned int i = 0; i < g->n_sent; i++) {
		const struct frame *f = &g->sent[i];

		if (f->port == LAN) {
			check_inner(s, frame_packet(f));
			continue;
		}
		assert_int_equal(esp_seq(f), ++s->sent_seq);
		peer_open(&s->to_b, f, inner);
		check_inner(s, inner);
	}
}

void step(struct workers *s)
{
	struct gateway *g = any(s);

	g->now += 10;
	switch (random_below(&s->seed, 4)) {
	case 0:
		gateway_help(g);
		break;
	case 1:
		gateway_keep(g);
		break;
	case 2: {
		struct rte_mbuf *m[RX_BURST_MAX];
		unsigned int n = rte_ring_dequeue_burst(g->w->frames, (void **)m, 8, NULL);

		gateway_pass_mbufs(g, m, n);
		break;
	}
	default:
		gateway_pass(g, NULL, 0);
	}
	check_sent(s, g);
}

uint64_t dropped(const struct workers *s, enum drop reason)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < WORKERS; i++)
		n += s->g[i]->w->counters.drops[reason];
	return n;
}

uint64_t dropped_all(const struct workers *s)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < DROP_COUNT; i++)
		n += dropped(s, (enum drop)i);
	return n;
}

bool pending(const struct workers *s)
{
	for (unsigned int i = 0; i < WORKERS; i++)
		if (fanout_pending(s->w[i]) || !rte_ring_empty(s->w[i]->handed) ||
			!rte_ring_empty(s->w[i]->frames))
			return true;
	return false;
}

void settle(struct workers *s)
{
	for (unsigned int i = 0; pending(s); i++) {
		assert_in_range(i, 0, 1000000);
		step(s);
	}
}

unsigned int burst(struct workers *s, struct frame f[], bool out)
{
	unsigned int n = 1 + random_below(&s->seed, 12);

	for (unsigned int i = 0; i < n; i++) {
		struct ipv4 ip = packet_of(s, random_below(&s->seed, FLOWS), out);

		f[i] = out ? frame_ip(LAN, ip) : peer_seal_ip(&s->b, ++s->seq, ip);
	}
	return n;
}
