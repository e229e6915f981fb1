// SPDX-License-Identifier: BSD-3-Clause
#include "reassemble.h"

#include <errno.h>

#include "buffer.h"
#include "ipv4.h"
#include "trace.h"
#include "worker.h"

#define BUCKET_ENTRIES 8
// When a table is full, what has waited for longer than one part in so many of the usual time makes
// room: fragments of one packet come one behind the other.
#define PRESSURE 64

int reassembly_init(struct reassembly *r, uint32_t held_max, uint64_t ttl)
{
	uint32_t entries = RTE_MAX(rte_align32pow2(held_max), (uint32_t)BUCKET_ENTRIES);

	*r = (struct reassembly){.held_max = held_max, .ttl = ttl};
	r->table = rte_ip_frag_table_create(
		entries / BUCKET_ENTRIES, BUCKET_ENTRIES, entries, ttl, SOCKET_ID_ANY);
	return r->table != NULL ? 0 : -ENOMEM;
}

void reassembly_fini(struct reassembly *r)
{
	if (r->table != NULL)
		rte_ip_frag_table_destroy(r->table);
}

// Frees what the library has given up, and counts it. It may have joined some already.
static void give_up(
	struct worker *w, struct reassembly *r, struct rte_ip_frag_death_row *row, enum drop reason)
{
	for (uint32_t i = 0; i < row->cnt; i++) {
		r->held -= row->row[i]->nb_segs;
		w->counters.drops[reason] += row->row[i]->nb_segs;
		worker_release(w, row->row[i]);
	}
	row->cnt = 0;
}

// Gives up what began before a time.
static void expire(struct worker *w, struct reassembly *r, uint64_t before)
{
	struct rte_ip_frag_death_row row = {.cnt = 0};

	rte_ip_frag_table_del_expired_entries(r->table, &row, before + r->ttl);
	give_up(w, r, &row, DROP_FRAGMENT_TIMEOUT);
}

static bool same_origin(const struct rte_mbuf *m, uint32_t origin)
{
	for (; m != NULL; m = m->next)
		if (m->hash.usr != origin)
			return false;
	return true;
}

static struct reassembly *table_for(struct worker *w, const struct pkt *p)
{
	if (p->sa_in != NULL)
		return &w->fragments[REASSEMBLY_TUNNEL];
	return &w->fragments[w->snapshot->port[p->port].unprotected ? REASSEMBLY_UNPROTECTED
								    : REASSEMBLY_PROTECTED];
}

// What fragments must have in common to be put together: SPIs begin where ports end.
static uint32_t origin_of(const struct pkt *p)
{
	return p->sa_in != NULL ? rte_be_to_cpu_32(p->sa_in->sa.spi) : p->port;
}

// Readies the fragment in p for the table of its side, whose memory is bounded. hdr_len is what
// stands in front of what was cut. NULL: it is counted as dropped.
static struct reassembly *admit(struct worker *w, struct pkt *p, uint8_t hdr_len)
{
	struct reassembly *r = table_for(w, p);
	enum drop d;

	if (r->held >= r->held_max)
		expire(w, r, w->now - r->ttl / PRESSURE);
	if (r->held >= r->held_max) {
		pkt_drop(w, p, DROP_FRAGMENTS_FULL);
		return NULL;
	}
	d = buffer_leave_large(w, &p->m);
	if (d != DROP_NONE) {
		pkt_drop(w, p, d);
		return NULL;
	}
	p->m->l2_len = 0;
	p->m->l3_len = hdr_len;
	p->m->hash.usr = origin_of(p);
	r->held++;
	return r;
}

// Takes the chain that the table has given, if any, as the packet.
static bool complete(struct worker *w, struct pkt *p, struct reassembly *r,
	struct rte_ip_frag_death_row *row, struct rte_mbuf *chain)
{
	bool given_up = row->cnt > 0;

	give_up(w, r, row, DROP_FRAGMENT_INVALID);
	if (chain == NULL) {
		trace_note(w, p, given_up ? TRACE_DROPPED : TRACE_FRAGMENT_WAITS,
			(struct trace_fact){
				.reason = given_up ? DROP_FRAGMENT_INVALID : DROP_NONE});
		return false;
	}
	r->held -= chain->nb_segs;

	bool ours = same_origin(chain, origin_of(p));
	enum drop d = ours ? buffer_flatten(w, &p->m, chain) : DROP_FRAGMENT_INVALID;

	if (d != DROP_NONE) {
		w->counters.drops[d] += chain->nb_segs;
		trace_note(w, p, TRACE_DROPPED, (struct trace_fact){.reason = d});
	} else {
		w->counters.local += chain->nb_segs - 1u;
	}
	rte_pktmbuf_free(chain);
	return d == DROP_NONE;
}

bool reassemble(struct worker *w, struct pkt *p)
{
	struct rte_ip_frag_death_row row = {.cnt = 0};
	struct reassembly *r = admit(w, p, rte_ipv4_hdr_len(pkt_ip(p)));

	if (r == NULL)
		return false;

	struct rte_mbuf *chain =
		rte_ipv4_frag_reassemble_packet(r->table, &row, p->m, w->now, pkt_ip(p));

	if (!complete(w, p, r, &row, chain))
		return false;
	// It was fragmented on its way, whatever "don't fragment" said, and may be again.
	pkt_ip(p)->fragment_offset = 0;
	ipv4_checksum_set(pkt_ip(p));
	trace_note(w, p, TRACE_REASSEMBLED, (struct trace_fact){0});
	return true;
}

// Octets of the largest of the fragments that the library has put together: it has left headers to
// the first only, without the fragment header.
static uint16_t largest_fragment(const struct rte_mbuf *chain)
{
	const uint16_t ext_len = sizeof(struct rte_ipv6_fragment_ext);
	uint16_t max = (uint16_t)(chain->data_len + ext_len);

	for (const struct rte_mbuf *s = chain->next; s != NULL; s = s->next)
		max = (uint16_t)RTE_MAX(
			max, s->data_len + ext_len + (uint16_t)sizeof(struct rte_ipv6_hdr));
	return max;
}

bool reassemble_v6(struct worker *w, struct pkt *p, uint16_t frag_off)
{
	struct rte_ip_frag_death_row row = {.cnt = 0};
	struct rte_ipv6_fragment_ext *ext;
	struct reassembly *r;

	if (frag_off != sizeof(struct rte_ipv6_hdr)) {
		pkt_drop(w, p, DROP_FRAGMENT_INVALID);
		return false;
	}
	r = admit(w, p, (uint8_t)(sizeof(struct rte_ipv6_hdr) + sizeof(*ext)));
	if (r == NULL)
		return false;
	ext = (struct rte_ipv6_fragment_ext *)(pkt_ip6(p) + 1);
	p->frag_id = ext->id;

	struct rte_mbuf *chain =
		rte_ipv6_frag_reassemble_packet(r->table, &row, p->m, w->now, pkt_ip6(p), ext);

	if (chain != NULL)
		p->frag_max = largest_fragment(chain);
	if (!complete(w, p, r, &row, chain))
		return false;
	pkt_ip6(p)->payload_len = rte_cpu_to_be_16(
		(uint16_t)(rte_pktmbuf_data_len(p->m) - sizeof(struct rte_ipv6_hdr)));
	trace_note(w, p, TRACE_REASSEMBLED, (struct trace_fact){0});
	return true;
}

void reassembly_expire(struct worker *w)
{
	for (unsigned int i = 0; i < REASSEMBLY_SIDES; i++)
		if (w->fragments[i].held > 0)
			expire(w, &w->fragments[i], w->now - w->fragments[i].ttl);
}
