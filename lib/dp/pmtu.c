// SPDX-License-Identifier: BSD-3-Clause
#include "pmtu.h"

#include "icmp.h"
#include "ipv4.h"
#include "pkt_drop.h"

#define UDP_LEN 8

// Headers of the packet that an error quotes, as far as they are compared.
struct quoted {
	struct ip_addr src, dst;
	uint16_t len;  // of its header
	rte_be16_t id; // of IPv4
	uint8_t proto;
	rte_be16_t port[2]; // of UDP, else 0
	rte_be32_t spi;     // 0: the quote ends after the UDP header
	rte_be32_t seq;
	uint32_t mtu; // of the link that it exceeds; 0: unknown
};

// Reads ESP, or ESP in UDP, of which len octets are there: RFC 792 wants 8, which in UDP are its
// header; RFC 4443 2.4 wants more.
static bool quoted_read_esp(struct quoted *q, const uint8_t *l4, uint32_t len)
{
	rte_be32_t head[2];

	if (q->proto == IPPROTO_UDP && len >= UDP_LEN) {
		memcpy(q->port, l4, sizeof(q->port));
		l4 += UDP_LEN;
		len -= UDP_LEN;
		if (len < sizeof(head))
			return ip_addr_is_v4(&q->dst);
	} else if (q->proto != IPPROTO_ESP) {
		return false;
	}
	if (len < sizeof(head))
		return false;
	memcpy(head, l4, sizeof(head));
	q->spi = head[0];
	q->seq = head[1];
	return q->spi != 0; // RFC 4303 2.1
}

// Reads the packet that p quotes, which is such an error.
static bool quoted_read(struct quoted *q, const struct pkt *p)
{
	const struct icmp_head *icmp =
		rte_pktmbuf_mtod_offset(p->m, const struct icmp_head *, p->ip.l4_off);
	const void *about = icmp + 1;
	uint32_t len = ip_len(pkt_ip(p), p->ip.v4) - p->ip.l4_off;
	uint32_t about_len = len - (uint32_t)sizeof(*icmp);
	struct ip_layout at;

	if (icmp_checksum(pkt_ip(p), icmp, len) != 0 ||
		!ip_layout_quoted(&at, about, &about_len, p->ip.v4) || at.fragment)
		return false;
	*q = (struct quoted){
		.src = ip_src(about, at.v4),
		.dst = ip_dst(about, at.v4),
		.len = (uint16_t)RTE_MIN(ip_len(about, at.v4), (uint32_t)UINT16_MAX),
		.id = at.v4 ? ((const struct rte_ipv4_hdr *)about)->packet_id : 0,
		.proto = at.proto,
		.mtu = rte_be_to_cpu_32(icmp->param),
	};
	if (at.v4) // RFC 1191 4
		q->mtu &= UINT16_MAX;
	return quoted_read_esp(q, (const uint8_t *)about + at.l4_off, about_len);
}

static bool quotes_sa(const void *quoted, const struct sa_out *sa)
{
	const struct quoted *q = quoted;
	const uint8_t *outer = sa_out_path(sa)->outer;
	const struct rte_ipv4_hdr *four = (const void *)outer;
	const struct rte_ipv6_hdr *six = (const void *)outer;
	bool v4 = ip_is_v4(outer);
	const struct ip_addr src = ip_src(outer, v4), dst = ip_dst(outer, v4);
	const void *ports = v4 ? (const void *)(four + 1) : (const void *)(six + 1);

	return (v4 ? four->next_proto_id : six->proto) == q->proto &&
	       ip_addr_equal(&src, &q->src) && ip_addr_equal(&dst, &q->dst) &&
	       (q->proto != IPPROTO_UDP || memcmp(ports, q->port, sizeof(q->port)) == 0);
}

// The SA that sent the packet quoted; if the quote lacks the SPI, one that may have sent it. NULL:
// none.
static struct sa_out *find_sa(const struct snapshot *s, const struct quoted *q)
{
	const struct sa_udp_ends ends = {
		ip_addr_v4(&q->src), ip_addr_v4(&q->dst), q->port[0], q->port[1]};

	if (q->spi != 0)
		return sad_find_out(s->objects->sad_out, q->spi, quotes_sa, q);
	return sa_udp_find(
		atomic_load_explicit(&s->objects->sa_out_by_udp, memory_order_acquire), &ends);
}

// The next usual MTU below len (RFC 1191 7.1). 0: there is none.
static uint16_t plateau_below(uint16_t len)
{
	static const uint16_t plateaus[] = {
		32000, 17914, 8166, 4352, 2002, 1492, 1006, 508, 296, 68, 0};
	unsigned int i = 0;

	while (plateaus[i] >= len && plateaus[i] > 0)
		i++;
	return plateaus[i];
}

bool pmtu_is_error(const struct pkt *p)
{
	const struct ip_layout *at = &p->ip;

	if (at->v4)
		return at->icmp_type == ICMP_UNREACHABLE &&
		       at->icmp_code == ICMP_UNREACH_NEEDFRAG &&
		       ip_layout_has(at, pkt_ip(p), IPPROTO_ICMP, sizeof(struct icmp_head));
	return at->icmp_type == ICMP6_PACKET_TOO_BIG &&
	       ip_layout_has(at, pkt_ip(p), IPPROTO_ICMPV6, sizeof(struct icmp_head));
}

static void post_event(
	struct worker *w, const struct pkt *p, const struct quoted *q, const struct sa_out *sa)
{
	worker_event_post_share(w,
		&(struct event){
			.kind = EVENT_PMTU,
			.port = pkt_port(w, p),
			.addr = q->dst,
			.peer = pkt_src(p),
			.mtu = (uint16_t)q->mtu,
			.quoted_len = q->len,
			.quoted_id = q->id,
			.spi = q->spi,
			.seq = q->seq,
			.sa = &sa->sa,
			.generation = w->snapshot->generation,
		},
		SHARE_PMTU);
}

// Only routers outside know the path of our ESP packets.
static bool comes_from_outside(const struct worker *w, const struct pkt *p)
{
	return p->sa_in == NULL && pkt_iface(w, p)->unprotected;
}

// The SA that sent the packet quoted, in the last seconds as far as the quote shows. An attacker
// off the path has to guess SPI and number together; without them the control thread accepts only
// errors about its own probes.
static const struct sa_out *find_sender(const struct worker *w, const struct quoted *q)
{
	const struct sa_out *sa = find_sa(w->snapshot, q);

	if (sa == NULL || q->spi == 0 || sa_out_is_recent(sa, rte_be_to_cpu_32(q->seq)))
		return sa;
	return NULL;
}

bool pmtu_quotes_sa(const struct worker *w, const struct pkt *p)
{
	struct quoted q;

	if (w->snapshot->pmtu_min == 0 || !comes_from_outside(w, p) || !pmtu_is_error(p) ||
		!quoted_read(&q, p))
		return false;
	return find_sa(w->snapshot, &q) != NULL;
}

enum drop pmtu_learn(struct worker *w, const struct pkt *p)
{
	uint16_t least = p->ip.v4 ? w->snapshot->pmtu_min : IPV6_MIN_MTU;
	const struct sa_out *sa;
	struct quoted q;

	if (w->snapshot->pmtu_min == 0 || !comes_from_outside(w, p))
		return DROP_LOCAL_UNSERVED;
	if (!quoted_read(&q, p))
		return DROP_PMTU_IMPLAUSIBLE;
	if (q.mtu == 0) // RFC 1191 5
		q.mtu = plateau_below(q.len);
	sa = find_sender(w, &q);
	if (q.mtu < least || q.mtu >= q.len || sa == NULL)
		return DROP_PMTU_IMPLAUSIBLE;
	post_event(w, p, &q, sa);
	return DROP_NONE;
}

enum drop pmtu_input(struct worker *w, struct pkt *p)
{
	enum drop d = pmtu_learn(w, p);

	return d == DROP_NONE ? pkt_consume(w, p) : d;
}
