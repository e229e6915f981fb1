// SPDX-License-Identifier: BSD-3-Clause
#include "rx_checksum.h"

#include "buffer.h"
#include "l4_checksum.h"
#include "segment.h"

static bool complete(struct rte_mbuf *m)
{
	struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);

	if (rte_pktmbuf_data_len(m) < sizeof(*eth) ||
		(eth->ether_type != RTE_BE16(RTE_ETHER_TYPE_IPV4) &&
			eth->ether_type != RTE_BE16(RTE_ETHER_TYPE_IPV6)))
		return false;
	return l4_checksum_complete(eth + 1, rte_pktmbuf_data_len(m) - (uint32_t)sizeof(*eth));
}

void rx_checksum_complete(struct worker *w, struct rte_mbuf *m[], uint16_t n)
{
	for (uint16_t i = 0; i < n; i++) {
		if (segment_is_marked(m[i]) ||
			(!buffer_is_ours(m[i]) && buffer_flatten(w, &m[i]) != DROP_NONE) ||
			!complete(m[i]))
			continue;
		w->counters.checksums_completed++;
		m[i]->ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_NONE;
	}
}
