// SPDX-License-Identifier: BSD-3-Clause
#include "mss.h"

#include "tcp_option.h"

#define MSS_MIN 88 // octets: every link that carries IP has room for them

// The policy's limit of segments in packets of the family.
static uint16_t mss_limit(const struct spd_policy *policy, bool v4)
{
	int headers = (int)((v4 ? sizeof(struct rte_ipv4_hdr) : sizeof(struct rte_ipv6_hdr)) +
			    sizeof(struct rte_tcp_hdr));

	if (policy == NULL || policy->mss_clamp == 0)
		return UINT16_MAX;
	if (policy->mss_clamp != SPD_MSS_AUTO)
		return policy->mss_clamp;

	const struct sa_out *out = policy->out;

	return out != NULL ? (uint16_t)RTE_MAX(sa_out_path(out)->mtu - headers, MSS_MIN)
			   : UINT16_MAX;
}

void mss_clamp(struct worker *w, struct pkt *p)
{
	uint16_t into = UINT16_MAX, out_of = UINT16_MAX;
	bool v4 = p->ip.v4;

	if (!w->snapshot->mss_clamped)
		return;
	if (p->sa_in != NULL)
		out_of = mss_limit(snapshot_policy(w->snapshot, p->in_by), v4);
	if (p->sa_out != NULL)
		into = mss_limit(snapshot_policy(w->snapshot, w->by.out), v4);
	tcp_mss_lower(rte_pktmbuf_mtod_offset(p->m, struct rte_tcp_hdr *, p->ip.l4_off),
		(uint16_t)RTE_MIN(into, out_of));
}
