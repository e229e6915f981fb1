// SPDX-License-Identifier: BSD-3-Clause
#include "ping_input.h"

#include "icmp.h"

// The request with the identifier and number of a message of echo; its packet is at ip.
static uint64_t request_of(const struct pkt *p, const void *ip, const struct ip_layout *at)
{
	const struct icmp_head *icmp = RTE_PTR_ADD(ip, at->l4_off);

	return ping_request(rte_be_to_cpu_32(icmp->param), (uint16_t)ip_len(ip, at->v4), p->in_by);
}

// The request that an error quotes; 0: none.
static uint64_t request_quoted(const struct pkt *p)
{
	const void *about = RTE_PTR_ADD(pkt_ip(p), p->ip.l4_off + sizeof(struct icmp_head));
	uint32_t len = ip_len(pkt_ip(p), p->ip.v4) - p->ip.l4_off;
	uint32_t about_len = len - (uint32_t)sizeof(struct icmp_head);
	struct ip_layout at;
	uint8_t type;

	if (!ip_layout_quoted(&at, about, &about_len, p->ip.v4) || at.fragment ||
		about_len < sizeof(struct icmp_head) || at.proto != p->ip.proto)
		return 0;
	type = ((const struct icmp_head *)RTE_PTR_ADD(about, at.l4_off))->type;
	return type == (at.v4 ? ICMP_ECHO_REQUEST : ICMP6_ECHO_REQUEST) ? request_of(p, about, &at)
									: 0;
}

static bool is_awaited(const struct worker *w, uint64_t request)
{
	const struct ping_requests *r = &w->snapshot->objects->pings;

	return request != 0 &&
	       atomic_load_explicit(&r->at[ping_place(request)], memory_order_relaxed) == request;
}

// False: another worker has taken it.
static bool take(const struct worker *w, uint64_t request)
{
	struct ping_requests *r = &w->snapshot->objects->pings;

	return atomic_compare_exchange_strong(&r->at[ping_place(request)], &request, 0);
}

static bool is_whole(const struct pkt *p)
{
	const void *icmp = RTE_PTR_ADD(pkt_ip(p), p->ip.l4_off);

	return icmp_checksum(pkt_ip(p), icmp, ip_len(pkt_ip(p), p->ip.v4) - p->ip.l4_off) == 0;
}

static void post(struct worker *w, const struct pkt *p, uint64_t request, bool error)
{
	const struct icmp_head *icmp = RTE_PTR_ADD(pkt_ip(p), p->ip.l4_off);
	struct event e = {
		.kind = EVENT_PING,
		.addr = pkt_src(p),
		.ping = request,
		.tsc = w->now,
		.has_icmp_type = error,
		.icmp_type = icmp->type,
		.icmp_code = icmp->code,
		.mtu = (uint16_t)RTE_MIN(
			rte_be_to_cpu_32(icmp->param) & (p->ip.v4 ? UINT16_MAX : UINT32_MAX),
			(uint32_t)UINT16_MAX),
	};

	worker_event_post_answer(w, &e);
}

bool ping_input(struct worker *w, const struct pkt *p)
{
	const uint8_t proto = p->ip.v4 ? IPPROTO_ICMP : IPPROTO_ICMPV6;
	bool error = icmp_is_error(p->ip.icmp_type, p->ip.v4);
	uint64_t request;

	if (p->sa_in == NULL || p->in_by == 0 ||
		!ip_layout_has(&p->ip, pkt_ip(p), proto, sizeof(struct icmp_head)))
		return false;
	if (error)
		request = request_quoted(p);
	else
		request = icmp_echo_is_reply(pkt_ip(p), &p->ip) ? request_of(p, pkt_ip(p), &p->ip)
								: 0;
	if (!is_awaited(w, request) || !is_whole(p) || !take(w, request))
		return false;
	post(w, p, request, error);
	return true;
}
