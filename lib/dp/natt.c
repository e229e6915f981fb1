// SPDX-License-Identifier: BSD-3-Clause
#include "natt.h"

#include "error.h"
#include "esp_out.h"
#include "esp_transport.h"
#include "icmp.h"

#define IKE_PORT     RTE_BE16(500)
#define IKE_NAT_PORT RTE_BE16(4500)
#define IKE_LEN      28 // octets of IKE's header (RFC 7296 3.1)

// A marker without an IKE header after it counts as ESP with the reserved SPI 0.
static bool is_ike(const struct rte_udp_hdr *udp, uint32_t len)
{
	uint32_t marker;

	if (len < sizeof(*udp) + NATT_MARKER_LEN + IKE_LEN)
		return false;
	memcpy(&marker, udp + 1, sizeof(marker));
	return marker == 0;
}

// Removes the octets between the end of a datagram and that of its IP packet, which belong to
// neither (RFC 768). False: there are fewer octets than the UDP header announces, or the packet is
// not for an own end of ESP in UDP; it is unchanged.
static bool trim_datagram(const struct worker *w, struct pkt *p, uint32_t dgram_len, uint32_t len)
{
	const struct ip_addr dst = pkt_dst(p);

	if (dgram_len < sizeof(struct rte_udp_hdr) || dgram_len > len ||
		!snapshot_has_udp_end(w->snapshot, &dst))
		return false;
	rte_pktmbuf_trim(p->m, (uint16_t)(len - dgram_len));
	ip_header_update(p->m, ip_layout_next_off(pkt_ip(p), &p->ip), IPPROTO_UDP);
	return true;
}

bool natt_classify(struct worker *w, struct pkt *p)
{
	uint32_t len = rte_pktmbuf_data_len(p->m) - (uint32_t)p->ip.l4_off;
	const struct rte_udp_hdr *udp =
		rte_pktmbuf_mtod_offset(p->m, const struct rte_udp_hdr *, p->ip.l4_off);
	uint32_t dgram_len;

	if (len < sizeof(*udp))
		return false;
	dgram_len = rte_be_to_cpu_16(udp->dgram_len);
	if ((unlikely(dgram_len != len) && !trim_datagram(w, p, dgram_len, len)) ||
		is_ike(udp, dgram_len))
		return false;
	natt_note(w, p);
	return true;
}

static bool is_ike_port(rte_be16_t port)
{
	return port == IKE_PORT || port == IKE_NAT_PORT;
}

// The next hop to the IKE host, for a packet received in clear whose own port, of an error that of
// the packet quoted, may be one of IKE. NULL: it is not.
static const struct nexthop *find_ike_host(
	const struct worker *w, const struct pkt *p, const struct flow_pkt *fp)
{
	const struct nexthop *via = &w->snapshot->ike_via[p->ip.v4 ? SOURCE_V4 : SOURCE_V6];
	rte_be16_t port = fp->key.port[!(fp->dir ^ fp->reversed)];

	if (ip_addr_is_none(&via->gateway) || fp->key.proto != IPPROTO_UDP || p->sa_in != NULL)
		return NULL;
	if (!is_ike_port(port) &&
		(w->snapshot->udp_ports == NULL || !snapshot_has_udp_port(w->snapshot, port)))
		return NULL;
	return via;
}

bool natt_is_ike(const struct worker *w, struct pkt *p, const struct flow_pkt *fp)
{
	const struct nexthop *via = fp->icmp_error ? NULL : find_ike_host(w, p, fp);

	if (via == NULL)
		return false;
	p->nexthop = via;
	return true;
}

// Whether the datagram that an error quotes may be IKE: it is from port 500, or has the marker, or
// the quote ends before that.
static bool quotes_ike(const struct pkt *p, rte_be16_t port)
{
	const struct icmp_head *icmp =
		rte_pktmbuf_mtod_offset(p->m, const struct icmp_head *, p->ip.l4_off);
	uint32_t len = ip_len(pkt_ip(p), p->ip.v4) - p->ip.l4_off - (uint32_t)sizeof(*icmp);
	const uint8_t *about = (const uint8_t *)(icmp + 1);
	uint32_t marker = 0;
	struct ip_layout at;

	if (port != IKE_PORT && ip_layout_quoted(&at, about, &len, p->ip.v4) &&
		len >= sizeof(struct rte_udp_hdr) + NATT_MARKER_LEN)
		memcpy(&marker, about + at.l4_off + sizeof(struct rte_udp_hdr), sizeof(marker));
	return marker == 0;
}

bool natt_is_ike_error(struct worker *w, struct pkt *p)
{
	const struct nexthop *via;
	struct flow_pkt fp;

	if (!pkt_iface(w, p)->unprotected || flow_pkt_read(&fp, pkt_ip(p), &p->ip) != DROP_NONE ||
		!fp.icmp_error ||
		icmp_kind(p->ip.v4, p->ip.icmp_type, p->ip.icmp_code) == ICMP_KIND_OTHER)
		return false;
	via = find_ike_host(w, p, &fp);
	if (via == NULL || !quotes_ike(p, fp.key.port[!fp.dir]))
		return false;
	flow_lookup_start(w->flows, &fp);
	if (flow_find(w->flows, &fp) == NULL || !error_take(w, p))
		return false;
	p->nexthop = via;
	return true;
}

static bool is_ike_or_esp(const struct pkt *p)
{
	return p->ip.proto == IPPROTO_ESP ||
	       (p->ip.proto == IPPROTO_UDP &&
		       (is_ike_port(p->ip.src_port) || is_ike_port(p->ip.dst_port)));
}

bool natt_is_outer(const struct worker *w, const struct pkt *p, const struct sa_out *sa)
{
	const struct sa_path *path = sa != NULL ? sa_out_path(sa) : NULL;
	const struct ip_addr src = pkt_src(p), dst = pkt_dst(p);
	struct ip_addr peer;

	if (!is_ike_or_esp(p) || (!pkt_iface(w, p)->is_host && !snapshot_has(w->snapshot, &src)))
		return false;
	if (path == NULL || path->nexthop == NULL)
		return true;
	peer = ip_dst(path->outer, ip_is_v4(path->outer));
	return ip_addr_equal(&dst, &peer);
}

bool natt_is_keepalive(const struct worker *w, const struct pkt *p)
{
	const struct ip_addr dst = pkt_dst(p);

	return p->udp_port != 0 && rte_pktmbuf_data_len(p->m) == p->esp_off + 1 &&
	       *rte_pktmbuf_mtod_offset(p->m, const uint8_t *, p->esp_off) == ESP_UDP_KEEPALIVE &&
	       snapshot_has_udp_end(w->snapshot, &dst);
}

bool natt_peer_moved(const struct pkt *p, struct event *e)
{
	const struct sa_peer *endpoint = sa_in_endpoint(p->sa_in);

	*e = (struct event){.kind = EVENT_PEER_ENDPOINT,
		.addr = pkt_src(p),
		.addr_port = p->ip.src_port,
		.spi = p->sa_in->sa.spi};
	return p->ip.src_port != 0 && (endpoint == NULL || endpoint->port != p->ip.src_port ||
					      !ip_addr_equal(&endpoint->addr, &e->addr));
}

// An authenticated packet may move its peer (RFC 3947 6, RFC 7296 2.23), but not one that was
// repeated or overtaken: only the newest counts, which takes a replay window to know.
void natt_peer_post(struct worker *w, const struct sa_in *sa, uint64_t seq, struct event *e)
{
	if (seq == replay_top(&sa->sa.per_packet.replay))
		worker_event_post(w, e);
}

void natt_peers_check(struct worker *w, struct pkt *const p[], const uint64_t seq[],
	const bool accepted[], uint16_t n)
{
	const uint64_t top = replay_top(&p[0]->sa_in->sa.per_packet.replay);
	struct event e;

	for (uint16_t i = 0; i < n; i++) {
		if (likely(seq[i] != top) || p[i]->udp_port == 0 || !accepted[i])
			continue; // only the newest counts: see natt_peer_post()
		if (natt_peer_moved(p[i], &e))
			worker_event_post(w, &e);
	}
}

void natt_udp_checksum(const struct burst *b)
{
	for (uint16_t i = 0; i < b->n; i++)
		esp_out_udp_sum(&b->p[i]->sa_out->sa, b->p[i]->m);
}
