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

// Monotonically increasing octets, the default content of padding (RFC 4303 2.4). Always copied as
// a whole: enough for the cipher with the largest block.
static const uint8_t padding[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

// Values that all packets of a run share: they are of one SA, and are framed at once.
struct run {
	struct crypto_session *session;
	rte_be32_t spi;
	uint32_t esp_len;  // octets in front of the text: ESP header and IV
	uint32_t icv_len;  // octets
	uint32_t pad_max;  // octets: the length of the text is a multiple of pad_max + 1
	uint32_t tail_max; // octets that may be written after the packet
};

// Prefetches the session, which is needed once the burst is framed.
static __rte_always_inline struct run run_of(const struct sa_per_packet *sa)
{
	rte_prefetch0(sa->session);
	return (struct run){
		.session = sa->session,
		.spi = sa->spi,
		.esp_len = ESP_LEN + sa->iv_len,
		.icv_len = sa->icv_len,
		.pad_max = sa->align - 1u,
		.tail_max =
			RTE_MAX((uint32_t)sizeof(padding), sa->align - 1u + TAIL_LEN + sa->icv_len),
	};
}

// Number of usable ones of n sequence numbers from seq on: those up to the limit, which is in the
// own block that is in use, that are in this block. So a number of the other member of a pair is
// never used, whoever has allocated it.
static __rte_always_inline uint16_t usable(const struct sa_per_packet *sa, uint64_t seq, uint16_t n)
{
	const uint64_t limit = atomic_load_explicit(&sa->seq_limit, memory_order_relaxed);
	const uint64_t more = limit - seq; // wraps if it is above the limit
	const uint64_t left = more <= limit << sa->block_zeros >> sa->block_zeros ? more + 1 : 0;

	return (uint16_t)RTE_MIN(left, (uint64_t)n);
}

// The first eight octets of an IPv4 header, its head, as a number in host byte order: version and
// TOS, total length, identification, flags and offset. They are copied and written as one word,
// which is far cheaper than one by one.
#define HEAD_TOS_SHIFT 48
#define HEAD_LEN_SHIFT 32
#define HEAD_ID_SHIFT  16

static inline uint64_t head_of(uint8_t tos, rte_be16_t offset)
{
	return (uint64_t)tos << HEAD_TOS_SHIFT | rte_be_to_cpu_16(offset);
}

static inline uint64_t eight_read(const void *from)
{
	rte_be64_t eight;

	memcpy(&eight, from, sizeof(eight));
	return rte_be_to_cpu_64(eight);
}

static inline void eight_write(uint8_t *to, uint64_t value)
{
	const rte_be64_t eight = rte_cpu_to_be_64(value);

	memcpy(to, &eight, sizeof(eight));
}

// Bits that the outer header copies from the inner one (RFC 4301 5.1.2): DSCP and ECN if the SA
// asks for them, the latter in normal mode or compatibility mode (RFC 6040 4.1), and DF (RFC 4301
// 8.1). IPv6 counts as having DF. *next_header is the value for the trailer.
static __rte_always_inline uint64_t inherit(
	uint64_t copied, const void *inner, uint32_t *next_header)
{
	const struct rte_ipv4_hdr *ip = inner;

	if (likely(ip_is_v4(ip))) {
		*next_header = IPPROTO_IPIP;
		return eight_read(ip) & copied;
	}
	if (unlikely(ip->version_ihl == ESP_DUMMY)) {
		*next_header = IPPROTO_NONE;
		return head_of(0, UINT16_MAX) & copied;
	}
	*next_header = IPPROTO_IPV6;
	return head_of(ipv6_tos(inner), UINT16_MAX) & copied;
}

// The identification is the sequence number plus this offset. Where a router on the path may
// fragment, the sum repeats late enough; other SAs between the same gateways are elsewhere in their
// sequence and start at another number (RFC 6864).
static uint32_t outer_v4_id(rte_be32_t spi)
{
	return rte_be_to_cpu_32(spi) * 40503u;
}

// RFC 4301 5.1.2.1. head has version, TOS and DF.
static __rte_always_inline void outer_v4_write(
	uint8_t *to, const struct sa_path *path, uint64_t head, uint16_t len, uint16_t id)
{
	const uint16_t sum = (uint16_t)~ipv4_sum_fold(
		path->outer_sum + (uint32_t)(head >> HEAD_TOS_SHIFT) + len + id + (uint16_t)head);

	eight_write(to, head | (uint64_t)len << HEAD_LEN_SHIFT | (uint32_t)id << HEAD_ID_SHIFT);
	eight_write(to + 8, eight_read(path->outer + 8) | (uint64_t)sum << 32);
	memcpy(to + 16, path->outer + 16, sizeof(rte_be32_t));
}

// Input of the flow label from the inner packet at ip.
static rte_be32_t flow_label(const struct sa_per_packet *sa, const void *ip)
{
	if (likely(sa->flow_label == SA_FLOW_LABEL_ZERO) || ip_is_v4(ip))
		return 0;
	return ((const struct rte_ipv6_hdr *)ip)->vtc_flow & RTE_BE32(RTE_IPV6_HDR_FL_MASK);
}

// RFC 4301 5.1.2.2. head has TOS.
static __rte_always_inline void outer_v6_write(
	uint8_t *to, const struct sa_path *path, uint64_t head, uint16_t len, rte_be32_t label)
{
	struct rte_ipv6_hdr *ip = (struct rte_ipv6_hdr *)to;
	const uint8_t tos = (uint8_t)(head >> HEAD_TOS_SHIFT);

	memcpy(ip, path->outer, sizeof(*ip));
	ip->vtc_flow |= rte_cpu_to_be_32((uint32_t)tos << RTE_IPV6_HDR_TC_SHIFT) | label;
	ip->payload_len = rte_cpu_to_be_16((uint16_t)(len - sizeof(*ip)));
}

// RFC 3948 2.1. The checksum stays 0; over IPv6 it follows when the packet is sealed.
static void outer_udp_write(uint8_t *to, const uint8_t *template, uint16_t len)
{
	struct rte_udp_hdr *udp = (struct rte_udp_hdr *)to;

	memcpy(udp, template, sizeof(*udp));
	udp->dgram_len = rte_cpu_to_be_16(len);
}

static inline uint16_t ip_len_of(bool v4)
{
	return v4 ? sizeof(struct rte_ipv4_hdr) : sizeof(struct rte_ipv6_hdr);
}

// Writes the headers before ESP of a packet of len octets. For all packets of a run, v4 is the
// family, and udp whether there is a UDP header.
static __rte_always_inline void outer_write(uint8_t *to, const struct sa_path *path, uint64_t head,
	uint16_t len, uint16_t id, rte_be32_t label, const bool v4, const bool udp)
{
	const uint16_t ip_len = ip_len_of(v4);

	if (v4)
		outer_v4_write(to, path, head, len, id);
	else
		outer_v6_write(to, path, head, len, label);
	if (udp)
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
	uint16_t len =
		(uint16_t)(ip_len_of(ip_is_v4(path->outer)) + sizeof(struct rte_udp_hdr) + 1);
	uint8_t *to = (uint8_t *)rte_pktmbuf_append(m, len);

	outer_write(to, path, eight_read(path->outer) | head_of(0, IPV4_OFFSET_DF), len, 0, 0,
		ip_is_v4(path->outer), true);
	to[len - 1] = ESP_UDP_KEEPALIVE;
	udp_checksum_write(m);
}

enum drop esp_out_drop_reason(
	struct sa_out *sa, const struct sa_path *path, uint64_t seq, unsigned int worker)
{
	enum drop stop = atomic_load_explicit(&sa->sa.per_packet.stop, memory_order_relaxed);

	if (path->framing == SA_FRAME_NONE) // also without a route, as without an own address
		return stop != DROP_NONE ? stop : DROP_PEER_UNKNOWN;
	if (usable(&sa->per_worker[worker].per_packet, seq, 1) == 1)
		return DROP_NO_ROOM;

	// The reason was written before the worker's copy of the limit.
	atomic_thread_fence(memory_order_acquire);

	if (seq > sa->seq_max) {
		sa_out_hold_seq(sa);
		return sa_end_reason(&sa->sa, LIFETIME_PACKETS);
	}
	stop = atomic_load_explicit(&sa->sa.per_packet.stop, memory_order_relaxed);
	if (stop != DROP_NONE)
		return stop;
	return seq > sa_out_life_end(sa) ? sa_end_reason(&sa->sa, LIFETIME_PACKETS)
					 : DROP_SEQUENCE_UNSAVED;
}

// Puts the octets of m from kept on between ESP header and trailer. The data of m then starts with
// outer_len octets for the IP header. Returns false and leaves m unchanged if there is no room.
static __rte_always_inline bool frame(struct crypto_op *op, const struct run *r, struct rte_mbuf *m,
	uint32_t kept, uint32_t outer_len, uint32_t next_header, uint64_t seq)
{
	const uint32_t kept_len = rte_pktmbuf_data_len(m) - kept;
	const uint32_t pad_len = -(kept_len + TAIL_LEN) & r->pad_max;
	const uint32_t text_len = kept_len + pad_len + TAIL_LEN;
	const uint32_t head_len = outer_len + r->esp_len;
	const uint32_t start = rte_pktmbuf_headroom(m) + kept;

	if (unlikely(start < head_len || m->buf_len < start + kept_len + r->tail_max))
		return false;

	uint8_t *text = rte_pktmbuf_mtod_offset(m, uint8_t *, kept), *tail = text + kept_len;
	uint8_t *esp = text - head_len + outer_len;
	const rte_be32_t low = rte_cpu_to_be_32((uint32_t)seq);

	memcpy(tail, padding, sizeof(padding));
	tail[pad_len] = (uint8_t)pad_len;
	tail[pad_len + 1] = (uint8_t)next_header;
	memcpy(esp, &r->spi, sizeof(r->spi));
	memcpy(esp + sizeof(r->spi), &low, sizeof(low));
	op->session = r->session;
	op->esp = esp;
	op->seq = seq;
	op->text_len = (uint16_t)text_len;
	m->data_off = (uint16_t)(start - head_len);
	m->pkt_len = head_len + text_len + r->icv_len;
	m->data_len = (uint16_t)m->pkt_len;
	return true;
}

static void count(struct sa_per_worker *own, uint16_t packets, uint64_t octets)
{
	own->packets += packets;
	own->bytes += octets;
}

// Values that all packets of a run in a tunnel share.
struct tunnel_run {
	struct run esp;
	const struct sa_per_packet *sa;
	const struct sa_path *path;
	uint64_t copied, fixed; // bits of the outer header, as of head_of()
	uint32_t id;            // see outer_v4_id()
};

static __rte_always_inline struct tunnel_run tunnel_of(
	const struct sa_per_packet *sa, const struct sa_path *path)
{
	const struct run r = run_of(sa);

	return (struct tunnel_run){
		.esp = r,
		.sa = sa,
		.path = path,
		.copied = head_of(sa->tos_copied, sa->df_copied),
		.fixed = eight_read(path->outer) | head_of(sa->tos_fixed, sa->df_set),
		.id = outer_v4_id(r.spi),
	};
}

// For all packets of a run, v4 is the family of the outer header, and udp whether there is a UDP
// header. False as of frame().
static __rte_always_inline bool tunnel_frame(struct crypto_op *op, const struct tunnel_run *t,
	struct rte_mbuf *m, uint64_t seq, const bool v4, const bool udp)
{
	const uint16_t outer_len =
		(uint16_t)(ip_len_of(v4) + (udp ? sizeof(struct rte_udp_hdr) : 0));
	const uint8_t *ip = rte_pktmbuf_mtod(m, const uint8_t *);
	uint32_t next_header;
	const uint64_t head = inherit(t->copied, ip, &next_header) | t->fixed;

	if (unlikely(!frame(op, &t->esp, m, 0, outer_len, next_header, seq)))
		return false;
	outer_write(rte_pktmbuf_mtod(m, uint8_t *), t->path, head, rte_pktmbuf_data_len(m),
		(uint16_t)(t->id + seq), flow_label(t->sa, ip), v4, udp);
	return true;
}

static __rte_always_inline uint16_t tunnel(struct crypto_op op[], struct sa_per_worker *own,
	const struct sa_path *path, struct rte_mbuf *const m[], uint16_t n, uint64_t seq,
	const bool v4, const bool udp)
{
	const struct tunnel_run t = tunnel_of(&own->per_packet, path);
	struct rte_mbuf *const *at = m, *const *end = m + usable(&own->per_packet, seq, n);
	uint64_t octets = 0;

	for (; at < end; at++, op++, seq++) {
		const uint16_t inner_len = rte_pktmbuf_data_len(*at);

		if (unlikely(!tunnel_frame(op, &t, *at, seq, v4, udp)))
			break;
		octets += inner_len;
	}
	n = (uint16_t)(at - m);
	count(own, n, octets);
	return n;
}

// A run of one packet, over IPv4: with many SAs, nearly all are.
static __rte_noinline uint16_t tunnel_one(struct crypto_op *op, struct sa_per_worker *own,
	const struct sa_path *path, struct rte_mbuf *const m[], uint64_t seq)
{
	const struct tunnel_run t = tunnel_of(&own->per_packet, path);
	const uint16_t inner_len = rte_pktmbuf_data_len(m[0]);

	if (unlikely(usable(&own->per_packet, seq, 1) == 0) ||
		unlikely(!tunnel_frame(op, &t, m[0], seq, true, false)))
		return 0;
	count(own, 1, inner_len);
	return 1;
}

uint16_t esp_out_tunnel(struct crypto_op op[], struct sa_per_worker *own,
	const struct sa_path *path, struct rte_mbuf *const m[], uint16_t n, uint64_t seq)
{
	if (unlikely(!ip_is_v4(path->outer)))
		return tunnel(op, own, path, m, n, seq, false, false);
	if (n == 1)
		return tunnel_one(op, own, path, m, seq);
	return tunnel(op, own, path, m, n, seq, true, false);
}

uint16_t esp_out_tunnel_udp(struct crypto_op op[], struct sa_per_worker *own,
	const struct sa_path *path, struct rte_mbuf *const m[], uint16_t n, uint64_t seq)
{
	return ip_is_v4(path->outer) ? tunnel(op, own, path, m, n, seq, true, true)
				     : tunnel(op, own, path, m, n, seq, false, true);
}

static bool transport(struct crypto_op *op, const struct run *r, const struct sa_path *path,
	struct rte_mbuf *m, uint64_t seq)
{
	const struct esp_place place = esp_place_to_put(m);
	const uint8_t next_header = esp_place_next(m, place);
	const uint16_t outer_len = (uint16_t)(place.off + path->outer_len);
	uint8_t header[ESP_HEADER_MAX];

	memcpy(header, rte_pktmbuf_mtod(m, void *), place.off);
	if (unlikely(!frame(op, r, m, place.off, outer_len, next_header, seq)))
		return false;
	memcpy(rte_pktmbuf_mtod(m, void *), header, place.off);
	if (path->outer_len > 0)
		outer_udp_write(rte_pktmbuf_mtod_offset(m, uint8_t *, place.off),
			path->outer + ip_len_of(ip_is_v4(path->outer)),
			(uint16_t)(m->data_len - place.off));
	ip_header_update(m, place.next_off, path->outer_len > 0 ? IPPROTO_UDP : IPPROTO_ESP);
	return true;
}

uint16_t esp_out_transport(struct crypto_op op[], struct sa_per_worker *own,
	const struct sa_path *path, struct rte_mbuf *const m[], uint16_t n, uint64_t seq)
{
	const struct run r = run_of(&own->per_packet);
	uint64_t octets = 0;
	uint16_t i;

	n = usable(&own->per_packet, seq, n);
	for (i = 0; i < n; i++, seq++) {
		const uint16_t inner_len = rte_pktmbuf_data_len(m[i]);

		if (unlikely(!transport(&op[i], &r, path, m[i], seq)))
			break;
		octets += inner_len;
	}
	count(own, i, octets);
	return i;
}

uint16_t esp_out_none(struct crypto_op op[] __rte_unused, struct sa_per_worker *own __rte_unused,
	const struct sa_path *path __rte_unused, struct rte_mbuf *const m[] __rte_unused,
	uint16_t n __rte_unused, uint64_t seq __rte_unused)
{
	return 0;
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
	if (sa->per_packet.mode == SA_TUNNEL)
		return path->mtu;

	uint16_t off = esp_place_to_put(m).off;

	return (uint16_t)(off +
			  sa_inner_mtu(sa, (uint16_t)(off + path->outer_len), path->link_mtu));
}
