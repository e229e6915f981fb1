// SPDX-License-Identifier: BSD-3-Clause
#include "esp_in.h"

#include <netinet/in.h>

#include <rte_esp.h>
#include <rte_ip.h>

#include "ecn.h"
#include "esp_padding.h"
#include "esp_transport.h"
#include "ipv4.h"
#include "ipv6.h"
#include "l4_checksum.h"

enum drop esp_in_check(struct crypto_op *op, struct sa_in *sa, struct rte_mbuf *m, uint16_t esp_off)
{
	uint16_t around =
		(uint16_t)(esp_off + sizeof(struct rte_esp_hdr) + sa->sa.iv_len + sa->sa.icv_len);
	uint16_t len = rte_pktmbuf_data_len(m);
	enum drop stop = atomic_load_explicit(&sa->sa.stop, memory_order_relaxed);

	if (unlikely(stop != DROP_NONE))
		return stop;
	if (len < around + sizeof(struct rte_esp_tail) ||
		((len - around) & (sa->sa.align - 1)) != 0)
		return DROP_ESP_SHORT;

	struct rte_esp_hdr *esp = rte_pktmbuf_mtod_offset(m, struct rte_esp_hdr *, esp_off);
	uint32_t lower = rte_be_to_cpu_32(esp->seq);

	*op = (struct crypto_op){
		.session = sa->sa.session,
		.esp = (uint8_t *)esp,
		.seq = lower,
		.text_len = (uint16_t)(len - around),
	};
	if (unlikely(sa->sa.opt.esn))
		op->seq = replay_guess_seq(&sa->replay, lower);
	return replay_check(&sa->replay, op->seq) ? DROP_NONE : DROP_REPLAY;
}

// Cuts m down to the inner packet: TFC padding behind it goes too (RFC 4303 2.7).
static void cut_to(struct rte_mbuf *m, const void *inner, uint32_t len)
{
	m->data_off = (uint16_t)((const uint8_t *)inner - (const uint8_t *)m->buf_addr);
	m->data_len = (uint16_t)len;
	m->pkt_len = len;
}

// What the inner header shall carry: DSCP of its own, or of the outer header if the SA wants that
// (RFC 2983); ECN of both (RFC 6040 4.2). Where the SA does not look at ECN, the outer one counts
// as not-ECT, which changes nothing. False if the packet has to be dropped.
static bool decapsulate(uint8_t *tos, const struct sa *sa, uint8_t outer)
{
	uint8_t dscp_copied = sa->tos_copied & ~ECN_MASK, inner = *tos, ecn;

	if (!ecn_decapsulate(&ecn, inner & ECN_MASK, outer & sa->tos_copied & ECN_MASK))
		return false;
	*tos = (uint8_t)((outer & dscp_copied) | (inner & ~dscp_copied & ~ECN_MASK) | ecn);
	return true;
}

// Both move what there is to be moved from the outer header to the inner.
static enum drop extract_v4(
	const struct sa *sa, struct rte_mbuf *m, uint8_t *inner, uint16_t len, uint8_t outer_tos)
{
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)inner;
	uint8_t tos;

	if (ipv4_check(ip, len, false) != IPV4_GOOD ||
		(unlikely(rte_ipv4_hdr_len(ip) > sizeof(*ip)) &&
			ipv4_options_check(ip) == IPV4_OPTIONS_MALFORMED))
		return DROP_INNER_HEADER;
	tos = ip->type_of_service;
	if (!decapsulate(&tos, sa, outer_tos))
		return DROP_ECN;
	if (tos != ip->type_of_service) {
		ip->type_of_service = tos;
		ipv4_checksum_set(ip);
	}
	cut_to(m, ip, rte_be_to_cpu_16(ip->total_length));
	return DROP_NONE;
}

static __rte_noinline enum drop extract_v6(
	const struct sa *sa, struct rte_mbuf *m, uint8_t *inner, uint16_t len, uint8_t outer_tos)
{
	struct rte_ipv6_hdr *ip = (struct rte_ipv6_hdr *)inner;
	uint8_t tos;

	if (ipv6_check(ip, len) != IPV6_GOOD)
		return DROP_INNER_HEADER;
	tos = ipv6_tos(ip);
	if (!decapsulate(&tos, sa, outer_tos))
		return DROP_ECN;
	ipv6_tos_set(ip, tos);
	cut_to(m, ip, ipv6_len(ip));
	return DROP_NONE;
}

static uint8_t outer_tos_of(const struct rte_mbuf *m, const struct ip_layout *outer)
{
	const struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod(m, const struct rte_ipv4_hdr *);

	return likely(outer->v4) ? ip->type_of_service : ipv6_tos((const struct rte_ipv6_hdr *)ip);
}

// What the next header of the trailer says is in the SA: either family.
static enum drop extract(const struct sa *sa, struct rte_mbuf *m, uint8_t *inner, uint16_t len,
	uint8_t outer_tos, uint8_t next_header)
{
	if (likely(next_header == IPPROTO_IPIP))
		return extract_v4(sa, m, inner, len, outer_tos);
	switch (next_header) {
	case IPPROTO_IPV6:
		return extract_v6(sa, m, inner, len, outer_tos);
	case IPPROTO_NONE:
		return DROP_DUMMY;
	default:
		return DROP_NEXT_HEADER;
	}
}

// Transport mode: the IP header moves up to the content of ESP, which may be anything, IP included.
static __rte_noinline enum drop rejoin(const struct sa *sa, struct rte_mbuf *m,
	const struct ip_layout *outer, uint8_t *inner, uint16_t len, uint8_t next_header)
{
	uint16_t off = outer->l4_off;
	uint16_t next_off = ip_layout_next_off(rte_pktmbuf_mtod(m, void *), outer);

	if (next_header == IPPROTO_NONE)
		return DROP_DUMMY;
	memmove(inner - off, rte_pktmbuf_mtod(m, void *), off);
	cut_to(m, inner - off, (uint32_t)off + len);
	ip_header_update(m, next_off, next_header);
	// A NAT has changed an address that sums inside cover (RFC 3948 3.1.2).
	if (sa->udp_port != 0)
		l4_checksum_recompute(rte_pktmbuf_mtod(m, void *));
	return DROP_NONE;
}

enum drop esp_in_finish(const struct crypto_op *op, struct sa_in *sa, struct rte_mbuf *m,
	const struct ip_layout *outer, unsigned int worker)
{
	uint8_t *text = op->esp + sizeof(struct rte_esp_hdr) + sa->sa.iv_len;
	const struct rte_esp_tail *tail =
		(const struct rte_esp_tail *)(text + op->text_len - sizeof(*tail));
	uint16_t inner_len = (uint16_t)(op->text_len - sizeof(*tail) - tail->pad_len);

	if (unlikely(!padding_ok(text, op->text_len)))
		return DROP_PADDING;

	enum drop d = likely(sa->sa.opt.mode == SA_TUNNEL)
			      ? extract(&sa->sa, m, text, inner_len, outer_tos_of(m, outer),
					tail->next_proto)
			      : rejoin(&sa->sa, m, outer, text, inner_len, tail->next_proto);

	if (likely(d == DROP_NONE)) {
		sa->sa.counters[worker].packets++;
		sa->sa.counters[worker].bytes += rte_pktmbuf_data_len(m);
	}
	return d;
}
