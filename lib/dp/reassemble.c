// SPDX-License-Identifier: BSD-3-Clause
#include "reassemble.h"

#include <errno.h>

#include "ipv4.h"
#include "worker.h"

#define BUCKET_ENTRIES 4

int reassembly_init(struct reassembly *r, uint32_t max, uint64_t ttl)
{
	max = rte_align32pow2(max);
	*r = (struct reassembly){0};
	r->table = rte_ip_frag_table_create(
		max / BUCKET_ENTRIES, BUCKET_ENTRIES, max, ttl, SOCKET_ID_ANY);
	return r->table != NULL ? 0 : -ENOMEM;
}

void reassembly_fini(struct reassembly *r)
{
	if (r->table != NULL)
		rte_ip_frag_table_destroy(r->table);
}

// Frees what the library has given up, and counts it.
static void give_up(
	struct worker *w, struct reassembly *r, struct rte_ip_frag_death_row *row, enum drop reason)
{
	r->held -= row->cnt;
	w->counters.drops[reason] += row->cnt;
	for (uint32_t i = 0; i < row->cnt; i++)
		worker_release(w, row->row[i]);
	row->cnt = 0;
}

static bool same_origin(const struct rte_mbuf *m, uint32_t origin)
{
	for (; m != NULL; m = m->next)
		if (m->hash.usr != origin)
			return false;
	return true;
}

// Copies a chain into one buffer. Small packets go into ordinary buffers, because only those may
// leave by a port.
static struct rte_mbuf *flatten(struct worker *w, struct rte_mbuf *chain)
{
	uint32_t len = rte_pktmbuf_pkt_len(chain);
	uint32_t room = rte_pktmbuf_data_room_size(w->pool) - RTE_PKTMBUF_HEADROOM;
	bool small = len + WORKER_TAILROOM <= room;
	struct rte_mbuf *m = rte_pktmbuf_alloc(small ? w->pool : w->large_pool);
	uint8_t *to;

	if (m == NULL || rte_pktmbuf_tailroom(m) < len) {
		rte_pktmbuf_free(m);
		return NULL;
	}
	to = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)len);
	for (const struct rte_mbuf *s = chain; s != NULL; s = s->next) {
		rte_memcpy(to, rte_pktmbuf_mtod(s, const uint8_t *), s->data_len);
		to += s->data_len;
	}
	return m;
}

bool reassemble(struct worker *w, struct reassembly *r, struct pkt *p, uint32_t origin)
{
	struct rte_ip_frag_death_row row = {.cnt = 0};
	struct rte_ipv4_hdr *ip = pkt_ip(p);

	p->m->l2_len = 0;
	p->m->l3_len = rte_ipv4_hdr_len(ip);
	p->m->hash.usr = origin;
	r->held++;

	struct rte_mbuf *chain = rte_ipv4_frag_reassemble_packet(r->table, &row, p->m, w->now, ip);

	give_up(w, r, &row, DROP_FRAGMENT_INVALID);
	if (chain == NULL)
		return false;
	r->held -= chain->nb_segs;

	bool ours = same_origin(chain, origin);
	struct rte_mbuf *m = ours ? flatten(w, chain) : NULL;

	if (m == NULL) {
		w->counters.drops[ours ? DROP_NO_BUFFER : DROP_FRAGMENT_INVALID] += chain->nb_segs;
		rte_pktmbuf_free(chain);
		return false;
	}
	w->counters.local += chain->nb_segs - 1u;
	rte_pktmbuf_free(chain);
	p->m = m;
	// It was fragmented on its way, whatever "don't fragment" said, and may be again.
	pkt_ip(p)->fragment_offset = 0;
	ipv4_checksum_set(pkt_ip(p));
	return true;
}

void reassembly_expire(struct worker *w, struct reassembly *r)
{
	struct rte_ip_frag_death_row row = {.cnt = 0};

	if (r->held == 0)
		return;
	rte_ip_frag_table_del_expired_entries(r->table, &row, w->now);
	give_up(w, r, &row, DROP_FRAGMENT_TIMEOUT);
}
