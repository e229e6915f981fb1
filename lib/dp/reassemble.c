// SPDX-License-Identifier: BSD-3-Clause
#include "reassemble.h"

#include <rte_tcp.h>
#include <rte_udp.h>

#include "buffer.h"
#include "ecn.h"
#include "error.h"
#include "forward.h"
#include "frag_origin.h"
#include "handover.h"
#include "hold.h"
#include "ipv4.h"
#include "pkt_drop.h"
#include "policy.h"
#include "spread.h"
#include "tracepoint.h"

#define EXPIRE_MAX 32 // in a millisecond

// A fragment as its headers describe it.
struct piece {
	struct frag_key key;
	uint32_t len;          // octets of its payload
	uint16_t off, hdr_len; // as in struct frag
	bool more, df;
	uint8_t ecn;
};

// Drops the fragments of a datagram.
static void datagram_empty(
	struct worker *w, struct frag_table *r, struct frag_datagram *d, enum drop reason)
{
	const struct frag *f;

	w->counters.drops[reason] += d->n_frags;
	SLIST_FOREACH(f, &d->frags, next)
	worker_release(w, f->m);
	frag_table_empty(r, d);
}

static void datagram_drop(
	struct worker *w, struct frag_table *r, struct frag_datagram *d, enum drop reason)
{
	datagram_empty(w, r, d, reason);
	frag_table_remove(r, d);
}

// Whether policy may admit the datagram of the fragment.
static bool is_admitted(struct worker *w, struct pkt *p)
{
	struct policies found;

	if (forward_has_standby_end(w, p))
		return false;
	if (p->sa_in != NULL)
		return policy_check_fragment(w, p) == DROP_NONE;
	if (!policy_is_inbound(w, p))
		return true;
	if (forward_lookup(w, p) != DROP_NONE)
		return false;
	policy_find(w, &p, 1, &found);
	return policy_check_inbound(w, p, &found) == DROP_NONE;
}

static void fault_report(struct worker *w, struct pkt *p, enum error_fault fault, uint32_t off)
{
	if (is_admitted(w, p))
		error_send(w, p, fault, (uint16_t)off);
}

void reassemble_report_first(struct worker *w, struct pkt *p)
{
	fault_report(w, p, ERROR_FIRST_FRAGMENT, 0);
}

static struct frag_table *table_for(struct worker *w, const struct pkt *p)
{
	if (p->sa_in != NULL)
		return &w->fragments[REASSEMBLY_TUNNEL];
	return &w->fragments[policy_is_inbound(w, p) ? REASSEMBLY_UNPROTECTED
						     : REASSEMBLY_PROTECTED];
}

// Finds or adds the datagram of a fragment, and makes room. NULL: the fragment exceeds the table.
static struct frag_datagram *datagram_of(
	struct worker *w, struct frag_table *r, const struct frag_key *key, uint32_t n_buffers)
{
	struct frag_bucket *bucket = frag_table_bucket(r, key);
	struct frag_datagram *d;

	while (unlikely(!frag_table_has_room(r, n_buffers))) {
		d = frag_table_evictee(r);
		if (d == NULL)
			return NULL;
		datagram_drop(w, r, d, DROP_FRAGMENTS_FULL);
	}
	d = frag_table_find(bucket, key);
	return d != NULL ? d : frag_table_add(r, bucket, key, w->now);
}

static void fragment_keep(struct worker *w, struct frag_table *r, struct frag_datagram *d,
	const struct pkt *p, const struct piece *piece)
{
	struct frag *kept = frag_table_keep(r, d, p->m->nb_segs);

	kept->m = p->m;
	kept->off = piece->off;
	kept->hdr_len = piece->hdr_len;
	if (piece->off == 0)
		d->first = kept;
	d->ecn |= (uint8_t)(1 << piece->ecn);
	d->df |= piece->df;
	d->largest = (uint16_t)RTE_MAX(d->largest, rte_pktmbuf_pkt_len(p->m));
	d->port = pkt_port(w, p);
	d->generation = w->snapshot->generation;
	d->sa_in = p->sa_in;
}

// Adds the fragment in p, which is valid by itself, to its datagram. *complete: that is, if it is
// complete now, else NULL.
static enum drop fragment_place(struct worker *w, struct pkt *p, struct frag_table *r,
	const struct piece *piece, struct frag_datagram **complete)
{
	struct frag_datagram *d = datagram_of(w, r, &piece->key, p->m->nb_segs);

	*complete = NULL;
	if (d == NULL)
		return DROP_FRAGMENTS_FULL;
	if (d->dropped)
		return DROP_FRAGMENT_OVERLAP;
	switch (frag_map_add(&d->map, piece->off, piece->len, piece->more)) {
	case FRAG_DUPLICATE:
		return DROP_FRAGMENT_DUPLICATE;
	case FRAG_OVERLAP: // later fragments are dropped as well (RFC 5722 4)
		d->dropped = true;
		datagram_empty(w, r, d, DROP_FRAGMENT_OVERLAP);
		return DROP_FRAGMENT_OVERLAP;
	default:
		fragment_keep(w, r, d, p, piece);
		if (frag_map_is_complete(&d->map))
			*complete = d;
		else
			frag_table_settle(r, d);
		return DROP_NONE;
	}
}

// The worker that reassembles a datagram out of a tunnel. Where workers share the work of tunnels,
// it is the one that all packets between these hosts were handed to.
static unsigned int owner_of(const struct worker *w, const struct piece *piece)
{
	return spread_hash(keyed_hash(&w->hash_key, piece->key.word, FRAG_KEY_WORDS), w->n_workers);
}

// Takes the fragment in p. Returns its datagram if that is complete now. NULL: the fragment is
// held, handed over or dropped.
static struct frag_datagram *fragment_input(struct worker *w, struct pkt *p, struct piece *piece)
{
	struct frag_datagram *d = NULL;
	enum drop reason = DROP_NONE;

	if (unlikely(buffer_is_large(w, p->m))) { // only ordinary ones may be held
		p->framed = false;
		reason = buffer_chain(w, &p->m);
	}
	if (reason == DROP_NONE && w->n_workers > 1 && p->sa_in != NULL && w->fanout == NULL &&
		handover_enqueue(w, p, owner_of(w, piece)))
		return NULL;
	if (reason == DROP_NONE)
		reason = frag_origin_find(
			w, p, &piece->key.src, &piece->key.dst, &piece->key.origin);
	if (unlikely(reason == DROP_STANDBY) && hold_instead(w, p, reason) == DROP_NONE)
		return NULL;
	if (reason == DROP_NONE)
		reason = fragment_place(w, p, table_for(w, p), piece, &d);
	if (reason != DROP_NONE)
		pkt_drop(w, p, reason);
	else if (d == NULL)
		trace_note(w, p, TRACE_FRAGMENT_WAITS, (struct trace_fact){0});
	return d;
}

static void octets_copy(uint8_t *to, const struct rte_mbuf *m, uint32_t from, uint32_t len)
{
	const uint8_t *octets = rte_pktmbuf_read(m, from, len, to);

	if (octets != to)
		rte_memcpy(to, octets, len);
}

// Copies octets of a fragment to octet at of the datagram. The last ones of IPv6 may be in a second
// buffer.
static void payload_copy(struct rte_mbuf *m, uint32_t at, const struct frag *f)
{
	uint32_t len = rte_pktmbuf_pkt_len(f->m) - f->hdr_len, room = m->data_len, here;

	here = at < room ? RTE_MIN(len, room - at) : 0;
	if (here > 0)
		octets_copy(rte_pktmbuf_mtod_offset(m, uint8_t *, at), f->m, f->hdr_len, here);
	if (here < len)
		octets_copy(rte_pktmbuf_mtod_offset(m->next, uint8_t *, at + here - room), f->m,
			f->hdr_len + here, len - here);
}

// Buffers for len octets. Lengths of mbufs have 16 bits, so a larger datagram of IPv6 needs a
// second mbuf.
static enum drop buffers_take(struct worker *w, struct rte_mbuf **m, uint32_t len)
{
	uint32_t first = RTE_MIN(len, (uint32_t)UINT16_MAX);
	enum drop reason = buffer_take(w, m, first);
	struct rte_mbuf *rest;

	if (reason != DROP_NONE || first == len)
		return reason;
	rest = rte_pktmbuf_alloc(w->pool);
	if (rest == NULL) {
		rte_pktmbuf_free(*m);
		return DROP_NO_BUFFER;
	}
	rte_pktmbuf_append(rest, (uint16_t)(len - first));
	rte_pktmbuf_chain(*m, rest);
	return DROP_NONE;
}

// Whether the buffer of the first fragment has room for the datagram, of len octets with its
// headers, and the tail that ESP needs. cut: octets of headers that are left out.
static bool may_stay(const struct frag_datagram *d, uint32_t cut, uint32_t len)
{
	const struct rte_mbuf *m = d->first->m;

	return buffer_is_ours(m) && m->data_off + cut + len + WORKER_TAILROOM <= m->buf_len;
}

// Makes the first fragment a packet of len octets, whose headers end cut octets earlier.
static struct rte_mbuf *first_extend(const struct frag_datagram *d, uint32_t cut, uint32_t len)
{
	struct rte_mbuf *m = d->first->m;
	uint8_t *at = rte_pktmbuf_mtod(m, uint8_t *);

	if (cut > 0)
		memmove(at + cut, at, d->first->hdr_len - cut);
	m->data_off = (uint16_t)(m->data_off + cut);
	m->data_len = (uint16_t)len;
	m->pkt_len = len;
	m->ol_flags = 0; // they were about the fragment
	return m;
}

// Joins the fragments: head_len octets of headers of the first, and the payload of all. If there is
// room after the first one, it becomes the packet, and its payload is not copied.
static enum drop datagram_join(
	struct worker *w, struct rte_mbuf **m, const struct frag_datagram *d, uint32_t head_len)
{
	uint32_t ip_len = ip_is_v4(rte_pktmbuf_mtod(d->first->m, const void *))
				  ? 0
				  : (uint32_t)sizeof(struct rte_ipv6_hdr); // does not count
	const uint32_t cut = d->first->hdr_len - head_len, len = head_len + d->map.len;
	const struct frag *f;
	enum drop reason;

	if (!ecn_may_join(d->ecn))
		return DROP_FRAGMENT_ECN;
	if (len - ip_len > UINT16_MAX)
		return DROP_FRAGMENT_INVALID;
	if (likely(may_stay(d, cut, len))) {
		*m = first_extend(d, cut, len);
	} else {
		reason = buffers_take(w, m, len);
		if (reason != DROP_NONE)
			return reason;
		octets_copy(rte_pktmbuf_mtod(*m, uint8_t *), d->first->m, 0, head_len);
	}
	SLIST_FOREACH(f, &d->frags, next)
	if (f->m != *m)
		payload_copy(*m, head_len + f->off, f);
	return DROP_NONE;
}

// Size to fragment the datagram again: the largest fragment received, but at least the MTU that
// every link has (RFC 791 3.2), and no more fragments than fit a burst.
static uint16_t largest_piece(const struct frag_datagram *d)
{
	uint32_t least = d->first->hdr_len + RTE_ALIGN_CEIL(d->map.len / BURST_MAX + 1, FRAG_UNIT);

	return (uint16_t)RTE_MAX(d->largest, RTE_MAX(least, (uint32_t)IPV4_MIN_MTU));
}

// Makes the packet of a complete datagram; the caller updates its header. False: it is counted as
// dropped.
static bool datagram_to_packet(
	struct worker *w, struct pkt *p, struct frag_datagram *d, uint32_t head_len)
{
	enum drop reason = datagram_join(w, &p->m, d, head_len);

	if (reason != DROP_NONE) {
		trace_note(w, p, TRACE_DROPPED, (struct trace_fact){.reason = reason});
		datagram_drop(w, table_for(w, p), d, reason);
		return false;
	}
	p->refrag_size = largest_piece(d);
	p->framed = false;
	return true;
}

// Accounts for the fragments, which have become one packet.
static void datagram_finish(struct worker *w, struct pkt *p, struct frag_datagram *d)
{
	const struct frag *f;

	w->counters.local += d->n_frags - 1;
	SLIST_FOREACH(f, &d->frags, next)
	if (f->m != p->m)
		worker_release(w, f->m);
	frag_table_remove(table_for(w, p), d);
	trace_note(w, p, TRACE_REASSEMBLED, (struct trace_fact){0});
}

// A fragment has a payload; unless it is the last, a multiple of 8 octets.
static bool is_valid(const struct piece *piece)
{
	return piece->len > 0 && (!piece->more || piece->len % FRAG_UNIT == 0);
}

static struct piece piece_read_v4(const struct rte_ipv4_hdr *ip)
{
	uint16_t field = rte_be_to_cpu_16(ip->fragment_offset);
	uint8_t hdr_len = rte_ipv4_hdr_len(ip);

	return (struct piece){
		.key = {.src = ip_addr_from_v4(ip->src_addr),
			.dst = ip_addr_from_v4(ip->dst_addr),
			.datagram = (uint64_t)ip->next_proto_id << 32 | ip->packet_id},
		.off = (uint16_t)((field & RTE_IPV4_HDR_OFFSET_MASK) * FRAG_UNIT),
		.hdr_len = hdr_len,
		.len = rte_be_to_cpu_16(ip->total_length) - (uint32_t)hdr_len,
		.more = (field & RTE_IPV4_HDR_MF_FLAG) != 0,
		.df = (field & RTE_IPV4_HDR_DF_FLAG) != 0,
		.ecn = ip->type_of_service & ECN_MASK,
	};
}

bool reassemble_v4(struct worker *w, struct pkt *p)
{
	struct piece piece = piece_read_v4(pkt_ip(p));
	struct frag_datagram *d;
	struct rte_ipv4_hdr *ip;
	uint64_t front;

	if (!is_valid(&piece) || piece.hdr_len + piece.off + piece.len > UINT16_MAX) {
		pkt_drop(w, p, DROP_FRAGMENT_INVALID);
		return false;
	}
	d = fragment_input(w, p, &piece);
	if (d == NULL || !datagram_to_packet(w, p, d, d->first->hdr_len))
		return false;
	ip = pkt_ip(p);
	front = ipv4_front(ip, rte_pktmbuf_data_len(p->m), d->df ? IPV4_OFFSET_DF : 0);
	ipv4_header_write(ip, front | ecn_joined(d->ecn) << 8, ip); // type of service
	if (!d->df)
		p->refrag_size = 0; // any router may fragment it
	datagram_finish(w, p, d);
	return true;
}

static struct piece piece_read_v6(const struct rte_ipv6_hdr *ip, uint16_t frag_off)
{
	const struct rte_ipv6_fragment_ext *ext = (const void *)((const uint8_t *)ip + frag_off);
	uint16_t field = rte_be_to_cpu_16(ext->frag_data);
	uint16_t hdr_len = (uint16_t)(frag_off + sizeof(*ext));

	return (struct piece){
		.key = {.src = ipv6_src(ip), .dst = ipv6_dst(ip), .datagram = ext->id},
		.off = field & IPV6_FRAGMENT_OFFSET,
		.hdr_len = hdr_len,
		.len = ipv6_len(ip) - hdr_len,
		.more = (field & IPV6_FRAGMENT_MORE) != 0,
		.ecn = ipv6_tos(ip) & ECN_MASK,
	};
}

// Whether a first fragment has all headers, that of the upper layer included (RFC 7112 4).
static bool shows_headers(const struct piece *piece, const struct ipv6_upper *upper)
{
	uint32_t end = piece->hdr_len + piece->len, need = 1;

	if (upper->proto == IPPROTO_TCP)
		need = sizeof(struct rte_tcp_hdr);
	else if (ip_proto_has_ports(upper->proto) || upper->proto == IPPROTO_ICMPV6)
		need = sizeof(struct rte_udp_hdr);
	return upper->later || upper->proto == IPPROTO_NONE || end >= upper->off + need;
}

// RFC 8200 4.5: whether the fragment is valid by itself. If not, its source is sent an ICMP error.
static bool piece_check_v6(
	struct worker *w, struct pkt *p, const struct piece *piece, const struct ipv6_upper *upper)
{
	uint32_t payload_len =
		upper->frag_off - (uint32_t)sizeof(struct rte_ipv6_hdr) + piece->off + piece->len;

	if (piece->len == 0)
		return false;
	if (!is_valid(piece))
		fault_report(w, p, ERROR_HEADER, offsetof(struct rte_ipv6_hdr, payload_len));
	else if (payload_len > UINT16_MAX)
		fault_report(w, p, ERROR_HEADER,
			upper->frag_off + offsetof(struct rte_ipv6_fragment_ext, frag_data));
	else if (!shows_headers(piece, upper))
		reassemble_report_first(w, p);
	else
		return true;
	return false;
}

bool reassemble_v6(struct worker *w, struct pkt *p, const struct ipv6_upper *upper)
{
	struct piece piece = piece_read_v6(pkt_ip6(p), upper->frag_off);
	struct frag_datagram *d;
	struct rte_ipv6_hdr *ip;
	uint16_t head_len;
	uint8_t next;

	if (!piece_check_v6(w, p, &piece, upper)) {
		pkt_drop(w, p, DROP_FRAGMENT_INVALID);
		return false;
	}
	d = fragment_input(w, p, &piece);
	if (d == NULL)
		return false;
	head_len = (uint16_t)(d->first->hdr_len - sizeof(struct rte_ipv6_fragment_ext));
	next = *rte_pktmbuf_mtod_offset(d->first->m, const uint8_t *, head_len);
	if (!datagram_to_packet(w, p, d, head_len))
		return false;
	// The header in front of the fragment header, which is left out, names the header after it.
	ip = pkt_ip6(p);
	ip->payload_len = rte_cpu_to_be_16((uint16_t)(rte_pktmbuf_pkt_len(p->m) - sizeof(*ip)));
	ipv6_tos_set(ip, ipv6_tos(ip) | ecn_joined(d->ecn));
	*rte_pktmbuf_mtod_offset(p->m, uint8_t *, ipv6_next_field(ip, head_len)) = next;
	p->frag_id = d->key.id;
	datagram_finish(w, p, d);
	return true;
}

// RFC 792, RFC 8200 4.5: only if the first fragment was received.
static void report_timeout(struct worker *w, const struct frag_datagram *d)
{
	struct pkt p;

	if (d->first == NULL || d->generation != w->snapshot->generation)
		return;
	p = (struct pkt){.m = d->first->m, .iface = d->port, .sa_in = d->sa_in};
	ip_layout_read(&p.ip, pkt_ip(&p));
	fault_report(w, &p, ERROR_REASSEMBLY, 0);
}

static void datagrams_expire(struct worker *w, struct frag_table *r)
{
	for (unsigned int i = 0; i < EXPIRE_MAX; i++) {
		struct frag_datagram *d = frag_table_oldest(r);

		if (d == NULL || w->now - d->begun <= w->reassembly_ttl)
			break;
		report_timeout(w, d);
		datagram_drop(w, r, d, DROP_FRAGMENT_TIMEOUT);
	}
}

void reassembly_expire(struct worker *w)
{
	for (unsigned int i = 0; i < REASSEMBLY_SIDES; i++)
		datagrams_expire(w, &w->fragments[i]);
}

void reassembly_stop(struct worker *w)
{
	for (unsigned int i = 0; i < REASSEMBLY_SIDES; i++) {
		struct frag_table *r = &w->fragments[i];
		struct frag_datagram *d;

		while ((d = frag_table_oldest(r)) != NULL)
			datagram_drop(w, r, d, DROP_SHUTDOWN);
	}
}
