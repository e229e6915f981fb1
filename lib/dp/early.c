// SPDX-License-Identifier: BSD-3-Clause
#include "early.h"

#include "buffer.h"
#include "pkt_drop.h"
#include "sort.h"
#include "tracepoint.h"

#define EARLY_MS       100
#define EARLY_PEER_MAX 32 // of an SPI, and of an address; in total half of the held ones

// Whether there is room for another packet with the SPI and from the address, which is not
// authenticated: only the peer that was given the SPI knows it.
static bool has_room(const struct worker *w, rte_be32_t spi, const struct ip_addr *src)
{
	uint32_t usual = 0, early = 0, same_spi = 0, same_src = 0;

	for (uint32_t i = 0; i < w->n_held; i++) {
		const struct held *h = &w->held[i];

		usual += !h->p.released;
		if (h->spi == 0)
			continue;
		early++;
		same_spi += h->spi == spi;
		same_src += ip_addr_equal(&h->next, src);
	}
	return usual < w->held_max && early < w->held_max / 2 && same_spi < EARLY_PEER_MAX &&
	       same_src < EARLY_PEER_MAX;
}

enum drop early_hold(struct worker *w, struct pkt *p)
{
	const rte_be32_t spi = pkt_esp(p)->spi;
	const struct ip_addr src = pkt_src(p);

	// The SA may have been added, and its SPI removed, since the packet's look-up.
	if (!spi_set_has(&w->snapshot->objects->awaited, spi) &&
		snapshot_find_in(w->snapshot, spi) == NULL)
		return DROP_NO_SA;
	if (!has_room(w, spi, &src) || buffer_leave_large(w, &p->m) != DROP_NONE)
		return DROP_NO_SA;
	p->framed = false;
	p->nexthop = NULL;
	p->released = false;
	trace_note(w, p, TRACE_EARLY, (struct trace_fact){0});
	w->held[w->n_held++] = (struct held){.p = *p,
		.next = src,
		.until = w->now + EARLY_MS * w->tsc_hz / 1000,
		.generation = w->snapshot->generation,
		.spi = spi,
		.port = pkt_port(w, p),
		.holder = worker_holder_cell(w, worker_holder(w, p))};
	return DROP_NONE;
}

bool early_still_held(struct worker *w, const struct held *h, uint16_t room)
{
	const bool found = snapshot_find_in(w->snapshot, h->spi) != NULL;

	if (found && w->esp.n < room) {
		struct pkt *p = pkt_new(w);

		*p = h->p;
		sort_esp(w, p, pkt_ip(p), rte_pktmbuf_data_len(p->m), p->esp_off);
		w->n_udp = (uint16_t)(w->n_udp + (p->udp_port != 0));
		return false;
	}
	if (w->now < h->until)
		return true;
	pkt_drop(w, &h->p, DROP_NO_SA);
	return false;
}
