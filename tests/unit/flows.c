// SPDX-License-Identifier: BSD-3-Clause
#include "flows.h"

#include "flow_lookup.h"
#include "flow_track.h"

#include <rte_icmp.h>
#include <rte_ip.h>
#include <rte_udp.h>

void flows_init(
	struct flows *s, uint32_t capacity, unsigned int workers, const struct flow_config *config)
{
	size_t len = rte_rcu_qsbr_get_memsize(workers + 1);

	*s = (struct flows){.workers = workers, .capacity = capacity};
	if (config != NULL)
		s->config = *config;
	else
		flow_config_init(&s->config);
	s->qsbr = aligned_alloc(RTE_CACHE_LINE_SIZE, len);
	assert_non_null(s->qsbr);
	assert_int_equal(rte_rcu_qsbr_init(s->qsbr, workers + 1), 0);
	for (unsigned int i = 0; i <= workers; i++)
		assert_int_equal(rte_rcu_qsbr_thread_register(s->qsbr, i), 0);
	for (unsigned int i = 0; i < workers; i++)
		rte_rcu_qsbr_thread_online(s->qsbr, i);
	s->t = flow_table_new(&(struct flow_params){.capacity = capacity,
				      .capacity_max = 16 * capacity,
				      .workers = workers,
				      .qsbr = s->qsbr,
				      .reader = workers},
		&s->config);
	assert_non_null(s->t);
}

void flows_fini(struct flows *s)
{
	flow_table_free(s->t);
	free(s->qsbr);
}

void flows_tick(struct flows *s, uint32_t now, unsigned int n)
{
	for (unsigned int i = 0; i < s->workers; i++) {
		rte_rcu_qsbr_quiescent(s->qsbr, i);
		flow_tick(s->t, i, now, n);
	}
}

void flows_round(struct flows *s, uint32_t now)
{
	// More than the table has, also with the entries kept beyond its capacity.
	flows_tick(s, now, s->capacity + 1024 * s->workers + 1024);
	for (unsigned int i = 0; i < 4; i++)
		flows_tick(s, now, 0);
}

static struct rte_ipv4_hdr *ip_init(
	uint8_t buf[PACKET_MAX], uint32_t src, uint32_t dst, uint8_t proto, size_t len)
{
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)buf;

	memset(buf, 0, PACKET_MAX);
	*ip = (struct rte_ipv4_hdr){
		.version_ihl = RTE_IPV4_VHL_DEF,
		.total_length = rte_cpu_to_be_16((uint16_t)(sizeof(*ip) + len)),
		.time_to_live = 64,
		.next_proto_id = proto,
		.src_addr = rte_cpu_to_be_32(src),
		.dst_addr = rte_cpu_to_be_32(dst),
	};
	return ip;
}

struct rte_ipv4_hdr *packet_tcp(uint8_t buf[PACKET_MAX], const struct segment *s)
{
	uint8_t options = s->scale >= 0 ? 4 : 0;
	struct rte_ipv4_hdr *ip = ip_init(
		buf, s->src, s->dst, IPPROTO_TCP, sizeof(struct rte_tcp_hdr) + options + s->len);
	struct rte_tcp_hdr *tcp = (struct rte_tcp_hdr *)(ip + 1);
	uint8_t *option = (uint8_t *)(tcp + 1);

	*tcp = (struct rte_tcp_hdr){
		.src_port = rte_cpu_to_be_16(s->sport),
		.dst_port = rte_cpu_to_be_16(s->dport),
		.sent_seq = rte_cpu_to_be_32(s->seq),
		.recv_ack = rte_cpu_to_be_32(s->ack),
		.data_off = (uint8_t)((sizeof(*tcp) + options) / 4 << 4),
		.tcp_flags = s->flags,
		.rx_win = rte_cpu_to_be_16(s->window),
	};
	if (options != 0)
		memcpy(option, (uint8_t[]){1, 3, 3, (uint8_t)s->scale}, 4);
	return ip;
}

struct rte_ipv4_hdr *packet_udp(
	uint8_t buf[PACKET_MAX], uint32_t src, uint32_t dst, uint16_t sport, uint16_t dport)
{
	struct rte_ipv4_hdr *ip = ip_init(buf, src, dst, IPPROTO_UDP, sizeof(struct rte_udp_hdr));

	*(struct rte_udp_hdr *)(ip + 1) = (struct rte_udp_hdr){
		.src_port = rte_cpu_to_be_16(sport),
		.dst_port = rte_cpu_to_be_16(dport),
		.dgram_len = RTE_BE16(sizeof(struct rte_udp_hdr)),
	};
	return ip;
}

struct rte_ipv4_hdr *packet_icmp(
	uint8_t buf[PACKET_MAX], uint32_t src, uint32_t dst, uint8_t type, uint16_t id)
{
	struct rte_ipv4_hdr *ip = ip_init(buf, src, dst, IPPROTO_ICMP, sizeof(struct rte_icmp_hdr));

	*(struct rte_icmp_hdr *)(ip + 1) = (struct rte_icmp_hdr){
		.icmp_type = type,
		.icmp_ident = rte_cpu_to_be_16(id),
	};
	return ip;
}

struct rte_ipv4_hdr *packet_other(
	uint8_t buf[PACKET_MAX], uint32_t src, uint32_t dst, uint8_t proto)
{
	return ip_init(buf, src, dst, proto, 40);
}

struct rte_ipv4_hdr *packet_error(uint8_t buf[PACKET_MAX], uint32_t src, uint32_t dst,
	const struct rte_ipv4_hdr *about, uint16_t len)
{
	struct rte_ipv4_hdr *ip =
		ip_init(buf, src, dst, IPPROTO_ICMP, sizeof(struct rte_icmp_hdr) + len);
	struct rte_icmp_hdr *icmp = (struct rte_icmp_hdr *)(ip + 1);

	*icmp = (struct rte_icmp_hdr){.icmp_type = 3, .icmp_code = 1};
	memcpy(icmp + 1, about, len);
	return ip;
}

struct flow_pkt flow_pkt_of(const struct rte_ipv4_hdr *ip)
{
	struct flow_pkt p;

	assert_int_equal(flow_pkt_of_ip(&p, ip), DROP_NONE);
	return p;
}

void flows_find(
	const struct flow_table *t, struct flow_pkt p[], struct flow *flows[], unsigned int n)
{
	union flow_place place[FLOW_BURST_MAX];
	struct flow_index *x = flow_index(t);

	for (unsigned int i = 0; i < n; i++)
		place[i] = flow_lookup_start(t, &p[i]);
	flow_find_burst(t, x, p, place, n);
	for (unsigned int i = 0; i < n; i++)
		flows[i] = place[i].own != NULL && flow_is_of_packet(place[i].own, &p[i], p[i].v4)
				   ? flow_of_packet(place[i].own, &p[i])
				   : flow_find(t, &p[i]);
}

struct flow *flows_find_one(const struct flow_table *t, const struct flow_pkt *p)
{
	struct flow_pkt hashed = *p;

	flow_lookup_start(t, &hashed);
	return flow_find(t, &hashed);
}

enum drop flows_pass(struct flows *s, unsigned int worker, const struct flow_pkt *p, uint32_t now,
	struct flow **flow)
{
	struct flow_pkt hashed = *p;

	flow_lookup_start(s->t, &hashed);
	*flow = flow_find(s->t, &hashed);
	if (*flow == NULL) {
		enum drop reason =
			flow_insert(s->t, worker, &hashed, NULL, s->holder, now, NULL, flow);

		if (reason != DROP_NONE && reason != FLOW_EXISTS)
			return reason;
	}
	return flow_track(s->t, worker, *flow, &hashed, now);
}

struct flow_counters flows_count(const struct flows *s)
{
	struct flow_counters sum;

	flow_counters_sum(s->t, &sum);
	return sum;
}

struct flow_pkt pkt_tcp(uint32_t src, uint16_t sport, uint32_t dst, uint16_t dport, uint8_t flags,
	uint32_t seq, uint32_t ack)
{
	uint8_t buf[PACKET_MAX];

	return flow_pkt_of(packet_tcp(buf, &(struct segment){.src = src,
						   .dst = dst,
						   .sport = sport,
						   .dport = dport,
						   .flags = flags,
						   .seq = seq,
						   .ack = ack,
						   .window = 1000,
						   .scale = -1}));
}

struct flow_pkt pkt_udp(uint32_t src, uint16_t sport, uint32_t dst, uint16_t dport)
{
	uint8_t buf[PACKET_MAX];

	return flow_pkt_of(packet_udp(buf, src, dst, sport, dport));
}

struct flow_pkt pkt_icmp(uint32_t src, uint32_t dst, uint8_t type, uint16_t id)
{
	uint8_t buf[PACKET_MAX];

	return flow_pkt_of(packet_icmp(buf, src, dst, type, id));
}

struct flow_pkt pkt_other(uint32_t src, uint32_t dst, uint8_t proto)
{
	uint8_t buf[PACKET_MAX];

	return flow_pkt_of(packet_other(buf, src, dst, proto));
}

void flows_pass_ptr_to(struct flows *s, const struct flow_pkt *p, uint32_t now,
	enum flow_state state, enum flow_ct ct)
{
	struct flow *f;

	assert_int_equal(flows_pass(s, 0, p, now, &f), DROP_NONE);
	assert_int_equal(flow_word_state(flow_word(f)), state);
	assert_int_equal(flow_ct(f, p), ct);
}

void flows_establish(struct flows *s, uint32_t i, uint32_t now)
{
	struct flow_pkt p[] = {
		pkt_udp(HOST_A + i, 1000, HOST_B, 53), pkt_udp(HOST_B, 53, HOST_A + i, 1000)};
	struct flow *f;

	for (unsigned int j = 0; j < 2; j++)
		assert_int_equal(flows_pass(s, 0, &p[j], now, &f), DROP_NONE);
}

bool flows_has(struct flows *s, uint32_t i)
{
	struct flow_pkt p = pkt_udp(HOST_A + i, 1000, HOST_B, 53);

	return flows_find_one(s->t, &p) != NULL;
}
