// SPDX-License-Identifier: BSD-3-Clause
#include "esp_out.h"

#include <netinet/in.h>

#include <rte_esp.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include "esp_transport.h"
#include "ip_view.h"
#include "ipv4.h"
#include "ipv6.h"

#define ESP_LEN  (uint32_t)sizeof(struct rte_esp_hdr)
#define TAIL_LEN (uint32_t)sizeof(struct rte_esp_tail)

// Monotonically increasing octets, the default content of padding (RFC 4303 2.4). Always copied
// whole: as many as a cipher with the largest block may need.
static const uint8_t padding[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

// What the outer header takes over from the inner (RFC 4301 5.1.2): DSCP and ECN as the SA says,
// the latter in normal mode or compatibility mode (RFC 6040 4.1), and DF (RFC 4301 8.1). IPv6
// counts as having DF.
struct inherited {
	uint8_t tos;
	rte_be16_t offset;
};

static struct inherited inherit(const struct sa *sa, const void *inner)
{
	const struct rte_ipv4_hdr *ip = inner;
	rte_be16_t offset = sa->df_copied;
	uint8_t tos = 0;

	if (ip_is_v4(ip)) {
		offset &= ip->fragment_offset;
		tos = ip->type_of_service;
	} else if (likely(ip->version_ihl != ESP_DUMMY)) {
		tos = ipv6_tos(inner);
	}
	return (struct inherited){
		(uint8_t)((tos & sa->tos_copied) | sa->tos_fixed), offset | sa->df_set};
}

static unsigned int next_header_of(const struct rte_mbuf *m)
{
	const uint8_t *ip = rte_pktmbuf_mtod(m, const uint8_t *);

	if (ip_is_v4(ip))
		return IPPROTO_IPIP;
	return likely(*ip != ESP_DUMMY) ? IPPROTO_IPV6 : IPPROTO_NONE;
}

// Where a router on the path may fragment, different for long enough; other SAs between the same
// gateways are elsewhere in their sequence and start at another number (RFC 6864).
static rte_be16_t outer_v4_id(const struct sa *sa, uint64_t seq)
{
	return rte_cpu_to_be_16((uint16_t)(seq + rte_be_to_cpu_32(sa->spi) * 40503u));
}

// RFC 4301 5.1.2.1
static void outer_v4_write(uint8_t *to, const struct sa_path *path, const struct inherited *inner,
	uint16_t len, rte_be16_t id)
{
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)to;
	rte_be16_t total_length = rte_cpu_to_be_16(len);

	memcpy(ip, path->outer, sizeof(*ip));
	ip->type_of_service = inner->tos;
	ip->total_length = total_length;
	ip->packet_id = id;
	ip->fragment_offset = inner->offset;
	ip->hdr_checksum = (uint16_t)~ipv4_sum_fold(
		path->outer_sum + rte_cpu_to_be_16(inner->tos) + total_length + id + inner->offset);
}

// What the inner packet at ip brings to the flow label.
static rte_be32_t flow_label(const struct sa *sa, const void *ip)
{
	if (likely(sa->opt.flow_label == SA_FLOW_LABEL_ZERO) || ip_is_v4(ip))
		return 0;
	return ((const struct rte_ipv6_hdr *)ip)->vtc_flow & RTE_BE32(RTE_IPV6_HDR_FL_MASK);
}

// RFC 4301 5.1.2.2.
static void outer_v6_write(uint8_t *to, const struct sa_path *path, const struct inherited *inner,
	uint16_t len, rte_be32_t label)
{
	struct rte_ipv6_hdr *ip = (struct rte_ipv6_hdr *)to;

	memcpy(ip, path->outer, sizeof(*ip));
	ip->vtc_flow |= rte_cpu_to_be_32((uint32_t)inner->tos << RTE_IPV6_HDR_TC_SHIFT) | label;
	ip->payload_len = rte_cpu_to_be_16((uint16_t)(len - sizeof(*ip)));
}

// RFC 3948 2.1. The checksum stays 0; over IPv6 it follows when the packet is sealed.
static void outer_udp_write(uint8_t *to, const uint8_t *template, uint16_t len)
{
	struct rte_udp_hdr *udp = (struct rte_udp_hdr *)to;

	memcpy(udp, template, sizeof(*udp));
	udp->dgram_len = rte_cpu_to_be_16(len);
}

static uint16_t ip_len_of(const struct sa_path *path)
{
	return ip_is_v4(path->outer) ? sizeof(struct rte_ipv4_hdr) : sizeof(struct rte_ipv6_hdr);
}

// What is in front of the ESP header, in a packet of len octets with it.
typedef void outer_write_fn(uint8_t *to, const struct sa_path *path, const struct inherited *inner,
	uint16_t len, rte_be16_t id, rte_be32_t label);

static void outer_ip_write(uint8_t *to, const struct sa_path *path, const struct inherited *inner,
	uint16_t len, rte_be16_t id, rte_be32_t label)
{
	if (likely(ip_is_v4(path->outer)))
		outer_v4_write(to, path, inner, len, id);
	else
		outer_v6_write(to, path, inner, len, label);
}

static void outer_ip_udp_write(uint8_t *to, const struct sa_path *path,
	const struct inherited *inner, uint16_t len, rte_be16_t id, rte_be32_t label)
{
	uint16_t ip_len = ip_len_of(path);

	outer_ip_write(to, path, inner, len, id, label);
	outer_udp_write(to + ip_len, path->outer + ip_len, (uint16_t)(len - ip_len));
}

static void udp_checksum_write(struct rte_mbuf *m)
{
	struct rte_ipv6_hdr *ip = rte_pktmbuf_mtod(m, struct rte_ipv6_hdr *);
	struct ip_layout at;
	struct rte_udp_hdr *udp;
	uint16_t sum;

	if (ip_is_v4(ip))
		return;
	ip_layout_read(&at, ip); // the header is new
	udp = rte_pktmbuf_mtod_offset(m, struct rte_udp_hdr *, at.l4_off);
	sum = ipv6_checksum(ip, IPPROTO_UDP, udp, rte_be_to_cpu_16(udp->dgram_len));
	udp->dgram_cksum = sum != 0 ? sum : UINT16_MAX;
}

void esp_out_udp_sum(const struct sa *sa, struct rte_mbuf *m)
{
	if (sa->udp_port != 0 && sa->opt.udp_checksum)
		udp_checksum_write(m);
}

void esp_out_keepalive(struct rte_mbuf *m, const struct sa_path *path)
{
	const struct inherited inner = {.offset = IPV4_OFFSET_DF};
	uint16_t len = (uint16_t)(ip_len_of(path) + sizeof(struct rte_udp_hdr) + 1);
	uint8_t *to = (uint8_t *)rte_pktmbuf_append(m, len);

	outer_ip_udp_write(to, path, &inner, len, 0, 0);
	to[len - 1] = ESP_UDP_KEEPALIVE;
	udp_checksum_write(m);
}

// Why a number that was allocated must not be used.
static enum drop seq_drop_reason(struct sa_out *sa, uint64_t seq)
{
	enum drop stop;

	if (seq > sa->seq_max) {
		sa_out_hold_seq(sa);
		return sa_end_reason(&sa->sa, LIFETIME_PACKETS);
	}
	atomic_thread_fence(memory_order_acquire); // the reason was written before the limit
	stop = atomic_load_explicit(&sa->sa.stop, memory_order_relaxed);
	if (stop != DROP_NONE)
		return stop;
	return seq > sa_out_life_end(sa) ? sa_end_reason(&sa->sa, LIFETIME_PACKETS)
					 : DROP_SEQUENCE_UNSAVED;
}

// Puts what m has from octet kept on between ESP header and trailer, outer_len octets behind the
// new start of the data, where the IP header is to be written.
static __rte_always_inline enum drop frame(struct crypto_op *op, struct sa_out *sa,
	struct rte_mbuf *m, uint32_t kept, uint32_t outer_len, unsigned int next_header,
	uint64_t seq, unsigned int worker)
{
	if (unlikely(seq > atomic_load_explicit(&sa->sa.seq_limit, memory_order_relaxed)))
		return seq_drop_reason(sa, seq);

	uint32_t inner_len = rte_pktmbuf_data_len(m);
	uint32_t pad_len = -(inner_len - kept + TAIL_LEN) & (sa->sa.align - 1u);
	uint32_t text_len = inner_len - kept + pad_len + TAIL_LEN;
	uint32_t head_len = outer_len + ESP_LEN + sa->sa.iv_len;
	uint32_t tail_len = pad_len + TAIL_LEN + sa->sa.icv_len;
	uint32_t tail_room = rte_pktmbuf_tailroom(m);

	if (unlikely(rte_pktmbuf_headroom(m) + kept < head_len || tail_room < tail_len ||
		     tail_room < sizeof(padding)))
		return DROP_NO_ROOM;

	uint8_t *pad = rte_pktmbuf_mtod_offset(m, uint8_t *, inner_len);
	struct rte_esp_tail *tail = (struct rte_esp_tail *)(pad + pad_len);

	memcpy(pad, padding, sizeof(padding));
	tail->pad_len = (uint8_t)pad_len;
	tail->next_proto = (uint8_t)next_header;
	m->data_off = (uint16_t)(m->data_off + kept - head_len);
	m->data_len = (uint16_t)(head_len + text_len + sa->sa.icv_len);
	m->pkt_len = m->data_len;

	uint8_t *esp = rte_pktmbuf_mtod_offset(m, uint8_t *, outer_len);
	const struct rte_esp_hdr header = {sa->sa.spi, rte_cpu_to_be_32((uint32_t)seq)};

	memcpy(esp, &header, sizeof(header));
	*op = (struct crypto_op){
		.session = sa->sa.session,
		.esp = esp,
		.seq = seq,
		.text_len = (uint16_t)text_len,
		.ok = false,
	};
	sa->sa.counters[worker].packets++;
	sa->sa.counters[worker].bytes += inner_len;
	return DROP_NONE;
}

static __rte_always_inline enum drop tunnel(struct crypto_op *op, struct sa_out *sa,
	const struct sa_path *path, struct rte_mbuf *m, uint64_t seq, unsigned int worker,
	outer_write_fn *outer_write)
{
	enum drop d = frame(op, sa, m, 0, path->outer_len, next_header_of(m), seq, worker);

	if (unlikely(d != DROP_NONE))
		return d;

	uint8_t *outer = rte_pktmbuf_mtod(m, uint8_t *);
	const uint8_t *ip = outer + path->outer_len + ESP_LEN + sa->sa.iv_len; // as it was
	const struct inherited inner = inherit(&sa->sa, ip);

	outer_write(outer, path, &inner, m->data_len, outer_v4_id(&sa->sa, seq),
		flow_label(&sa->sa, ip));
	return DROP_NONE;
}

enum drop esp_out_tunnel(struct crypto_op *op, struct sa_out *sa, const struct sa_path *path,
	struct rte_mbuf *m, uint64_t seq, unsigned int worker)
{
	return tunnel(op, sa, path, m, seq, worker, outer_ip_write);
}

enum drop esp_out_tunnel_udp(struct crypto_op *op, struct sa_out *sa, const struct sa_path *path,
	struct rte_mbuf *m, uint64_t seq, unsigned int worker)
{
	return tunnel(op, sa, path, m, seq, worker, outer_ip_udp_write);
}

enum drop esp_out_transport(struct crypto_op *op, struct sa_out *sa, const struct sa_path *path,
	struct rte_mbuf *m, uint64_t seq, unsigned int worker)
{
	const struct esp_place place = esp_place_to_put(m);
	const uint8_t next_header = esp_place_next(m, place);
	uint8_t header[ESP_HEADER_MAX];

	memcpy(header, rte_pktmbuf_mtod(m, void *), place.off);

	enum drop d = frame(op, sa, m, place.off, (uint32_t)place.off + path->outer_len,
		next_header, seq, worker);

	if (unlikely(d != DROP_NONE))
		return d;
	memcpy(rte_pktmbuf_mtod(m, void *), header, place.off);
	if (path->outer_len > 0)
		outer_udp_write(rte_pktmbuf_mtod_offset(m, uint8_t *, place.off),
			path->outer + ip_len_of(path), (uint16_t)(m->data_len - place.off));
	ip_header_update(m, place.next_off, path->outer_len > 0 ? IPPROTO_UDP : IPPROTO_ESP);
	return DROP_NONE;
}

enum drop esp_out_none(struct crypto_op *op __rte_unused, struct sa_out *sa __rte_unused,
	const struct sa_path *path __rte_unused, struct rte_mbuf *m __rte_unused,
	uint64_t seq __rte_unused, unsigned int worker __rte_unused)
{
	return DROP_PEER_UNKNOWN;
}

const esp_out_fn esp_out_fns[SA_FRAMINGS] = {
	[SA_FRAME_TUNNEL] = esp_out_tunnel,
	[SA_FRAME_TUNNEL_TFC] = esp_out_tunnel_tfc,
	[SA_FRAME_TUNNEL_UDP] = esp_out_tunnel_udp,
	[SA_FRAME_TRANSPORT] = esp_out_transport,
	[SA_FRAME_NONE] = esp_out_none,
};

uint16_t esp_out_mtu(const struct sa *sa, const struct sa_path *path, const struct rte_mbuf *m)
{
	if (sa->opt.mode == SA_TUNNEL)
		return path->mtu;

	uint16_t off = esp_place_to_put(m).off;

	return (uint16_t)(off +
			  sa_inner_mtu(sa, (uint16_t)(off + path->outer_len), path->link_mtu));
}
