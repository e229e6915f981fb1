// SPDX-License-Identifier: BSD-3-Clause
// Inbound ESP (RFC 4303 3.4, RFC 4301 5.2), IPv4 and IPv6: from an ESP packet to the IP packet in
// it or, in transport mode, the one that it was made of, in two steps around the cryptography,
// which the caller does for a whole burst. Workers.
//
// The functions of most packets are inline, so that a run of packets of one SA reads the SA once.
#pragma once

#include <netinet/in.h>

#include <rte_esp.h>
#include <rte_mbuf.h>

#include "esp_padding.h"
#include "ip_layout.h"
#include "sa.h"

// Values that all packets of a run, which are of one SA, share until they are opened.
struct esp_in_checks {
	struct replay replay;
	struct crypto_session *session;
	uint32_t around; // octets of ESP header, IV and ICV
	uint32_t align;  // the length of the text is a multiple of it
	enum drop stop;  // reason not to use the SA
	bool esn;
};

static __rte_always_inline struct esp_in_checks esp_in_checks_of(const struct sa_per_packet *sa)
{
	return (struct esp_in_checks){
		.replay = sa->replay,
		.session = sa->session,
		.around = (uint32_t)sizeof(struct rte_esp_hdr) + sa->iv_len + sa->icv_len,
		.align = sa->align,
		.stop = atomic_load_explicit(&sa->stop, memory_order_relaxed),
		.esn = sa->esn,
	};
}

// Before: m holds a checked, whole IP packet with an ESP header, contiguous, data starting at the
// outer IP header, esp_off octets in front of the ESP header. Fills *op for crypto_open(). Returns
// DROP_NONE, DROP_LIFETIME, DROP_SEQUENCE_END, DROP_ADDR_UNUSABLE or DROP_STANDBY (the SA has been
// stopped), DROP_ESP_SHORT or DROP_REPLAY, that also for numbers above the end of the window.
static __rte_always_inline enum drop esp_in_check(struct crypto_op *op,
	const struct esp_in_checks *run, const struct rte_mbuf *m, uint16_t esp_off)
{
	const uint32_t around = esp_off + run->around, len = rte_pktmbuf_data_len(m);
	struct rte_esp_hdr *esp = rte_pktmbuf_mtod_offset(m, struct rte_esp_hdr *, esp_off);
	const uint32_t lower = rte_be_to_cpu_32(esp->seq);
	const uint64_t seq = unlikely(run->esn) ? replay_seq(&run->replay, lower) : lower;

	if (unlikely(run->stop != DROP_NONE))
		return run->stop;
	if (len < around + sizeof(struct rte_esp_tail) || ((len - around) & (run->align - 1)) != 0)
		return DROP_ESP_SHORT;
	*op = (struct crypto_op){
		.session = run->session,
		.esp = (uint8_t *)esp,
		.seq = seq,
		.text_len = (uint16_t)(len - around),
		.ok = false,
	};
	return replay_check(&run->replay, seq) ? DROP_NONE : DROP_REPLAY;
}

// Values of the run after its packets are opened.
struct esp_in_run {
	const struct sa *sa;
	struct sa_per_worker *own; // of the worker
	uint32_t iv_len;           // octets
	uint8_t tos_copied;
	bool tunnel;
};

// own: the worker's part of the SA.
static __rte_always_inline struct esp_in_run esp_in_run_of(
	const struct sa_in *sa, struct sa_per_worker *own)
{
	return (struct esp_in_run){
		.sa = &sa->sa,
		.own = own,
		.iv_len = own->per_packet.iv_len,
		.tos_copied = own->per_packet.tos_copied,
		.tunnel = own->per_packet.mode == SA_TUNNEL,
	};
}

// The unusual cases of esp_in_finish(), which alone calls it. Returns the same values.
enum drop esp_in_extract_unusual_v4(
	const struct sa *sa, struct rte_mbuf *m, uint8_t *inner, uint16_t len, uint8_t outer_tos);
enum drop esp_in_extract_unusual_v6(
	const struct sa *sa, struct rte_mbuf *m, uint8_t *inner, uint16_t len, uint8_t outer_tos);
enum drop esp_in_rejoin(const struct sa *sa, struct rte_mbuf *m, const struct ip_layout *outer,
	uint8_t *inner, uint16_t len, uint8_t next_header);

// Cuts m down to the inner packet: TFC padding after it goes too (RFC 4303 2.7).
static inline void esp_in_cut_to(struct rte_mbuf *m, const void *inner, uint32_t len)
{
	m->data_off = (uint16_t)((const uint8_t *)inner - (const uint8_t *)m->buf_addr);
	m->data_len = (uint16_t)len;
	m->pkt_len = len;
}

// Extracts the IPv4 packet of an SA in tunnel mode. Most packets are plain, and their header agrees
// with the outer one, so that nothing has to be copied from it.
static __rte_always_inline enum drop esp_in_extract_v4(const struct esp_in_run *run,
	struct rte_mbuf *m, struct ip_layout *at, uint8_t *inner, uint16_t len, uint8_t outer_tos,
	bool *plain)
{
	const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)inner;
	const uint32_t plain_len = ipv4_plain_len(ip, len);

	if (unlikely(plain_len == 0) ||
		unlikely(((outer_tos ^ ip->type_of_service) & run->tos_copied) != 0))
		return esp_in_extract_unusual_v4(run->sa, m, inner, len, outer_tos);
	if (unlikely(!ipv4_checksum_is_good(ipv4_header_words_plain(ip))))
		return DROP_INNER_HEADER;
	esp_in_cut_to(m, ip, plain_len);
	ip_layout_v4_plain(at, ip);
	*plain = true;
	return DROP_NONE;
}

// The same of IPv6.
static __rte_always_inline enum drop esp_in_extract_v6(const struct esp_in_run *run,
	struct rte_mbuf *m, struct ip_layout *at, uint8_t *inner, uint16_t len, uint8_t outer_tos,
	bool *plain)
{
	const struct rte_ipv6_hdr *ip = (const struct rte_ipv6_hdr *)inner;
	const uint32_t plain_len = ipv6_plain_len(ip, len);

	if (unlikely(plain_len == 0) ||
		unlikely(((outer_tos ^ ipv6_tos(ip)) & run->tos_copied) != 0))
		return esp_in_extract_unusual_v6(run->sa, m, inner, len, outer_tos);
	esp_in_cut_to(m, ip, plain_len);
	ip_layout_v6_plain(at, ip);
	*plain = true;
	return DROP_NONE;
}

// After, if op->ok and replay_commit_burst() has accepted op->seq: checks and strips trailer and
// outer headers; m then holds the inner packet alone, its header checked. In transport mode it is
// the IP header that m started with and the payload of ESP; if ESP was in UDP, its checksum has
// been recomputed. *at is the layout of the ESP packet; *plain: it has become that of the inner
// packet, which is plain as ipv4_plain_len() and ipv6_plain_len() define it. Returns DROP_NONE,
// DROP_PADDING, DROP_NEXT_HEADER, DROP_DUMMY, DROP_INNER_HEADER or DROP_ECN.
static __rte_always_inline enum drop esp_in_finish(const struct crypto_op *op,
	const struct esp_in_run *run, struct rte_mbuf *m, struct ip_layout *at, bool *plain)
{
	uint8_t *text = op->esp + sizeof(struct rte_esp_hdr) + run->iv_len;
	const struct rte_esp_tail *tail =
		(const struct rte_esp_tail *)(text + op->text_len - sizeof(*tail));
	const uint16_t inner_len = (uint16_t)(op->text_len - sizeof(*tail) - tail->pad_len);
	const struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod(m, const struct rte_ipv4_hdr *);
	uint8_t tos;

	*plain = false;
	if (unlikely(!padding_ok(text, op->text_len)))
		return DROP_PADDING;
	if (unlikely(!run->tunnel))
		return esp_in_rejoin(run->sa, m, at, text, inner_len, tail->next_proto);
	tos = likely(at->v4) ? ip->type_of_service : ipv6_tos((const struct rte_ipv6_hdr *)ip);
	if (likely(tail->next_proto == IPPROTO_IPIP))
		return esp_in_extract_v4(run, m, at, text, inner_len, tos, plain);
	if (likely(tail->next_proto == IPPROTO_IPV6))
		return esp_in_extract_v6(run, m, at, text, inner_len, tos, plain);
	return tail->next_proto == IPPROTO_NONE ? DROP_DUMMY : DROP_NEXT_HEADER;
}

// At the end of a run: counts the packets for which esp_in_finish() returned DROP_NONE, and their
// octets.
static inline void esp_in_count(const struct esp_in_run *run, uint32_t packets, uint64_t octets)
{
	run->own->packets += packets;
	run->own->bytes += octets;
}
