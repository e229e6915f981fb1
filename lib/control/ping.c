// SPDX-License-Identifier: BSD-3-Clause
#include "ping.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <sys/random.h>

#include <rte_cycles.h>

#include "esp_probe.h"
#include "icmp.h"
#include "ike_tables.h"
#include "ip_view.h"
#include "originate.h"
#include "policy_find.h"
#include "tunnel_state.h"

const char *const ping_state_names[PING_STATES] = {
	[PING_RESOLVING] = "resolving",
	[PING_WAITING] = "waiting",
	[PING_ANSWERED] = "answered",
	[PING_TOO_BIG] = "too_big",
	[PING_UNREACHABLE] = "unreachable",
};

// Where the reason of a refusal goes.
struct reason {
	char *text;
	size_t size;
};

static bool refuse(const struct reason *why, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static bool refuse(const struct reason *why, const char *format, ...)
{
	va_list values;

	va_start(values, format);
	vsnprintf(why->text, why->size, format, values);
	va_end(values);
	return false;
}

// --- the tunnel and its ends ---

// The policy of the tunnel with that name, of the configuration or of IKE; *t is the tunnel.
static const struct spd_policy *tunnel_find(
	const struct control *c, const char *name, const struct tunnel **t)
{
	const struct spd_policy *p;

	for (unsigned int i = 0; i < c->tunnels.n; i++) {
		p = spd_at(c->snapshot->spd, c->tunnels.item[i].policy);
		*t = &c->tunnels.item[i];
		if (strcmp(p->name, name) == 0)
			return p;
	}
	for (unsigned int i = 0; (*t = ike_tunnel(c, i, &p)) != NULL; i++)
		if (strcmp(p->name, name) == 0)
			return p;
	return NULL;
}

// Whether packets can be sent by its SA. Probes that fail and the order of an operator keep other
// packets out of a tunnel, but not pings, which show why.
static bool check_usable(
	const struct control *c, const struct spd_policy *p, const struct reason *why)
{
	const struct sa_out *out = p->out;
	const struct nexthop *nh = out != NULL ? sa_out_path(out)->nexthop : NULL;
	enum drop stop = out != NULL ? sa_stop_reason(&out->sa) : DROP_NONE;

	if (out == NULL && objects_are_standby(c->snapshot->objects))
		return refuse(why, "tunnel \"%s\" is standby: another gateway has it", p->name);
	if (out == NULL)
		return refuse(why, "tunnel \"%s\" is down: no_sa: IKE has no SA for it", p->name);
	if (stop == DROP_STANDBY)
		return refuse(why, "tunnel \"%s\" is standby: another gateway has it", p->name);
	if (stop != DROP_NONE)
		return refuse(why, "tunnel \"%s\" is stopped: %s: culvertctl explain %s", p->name,
			drop_info[stop].name, drop_info[stop].name);
	if (nh == NULL)
		return refuse(why, "tunnel \"%s\" is down: peer_unknown: its peer has not sent yet",
			p->name);
	if (!c->links[nh->iface].up)
		return refuse(why, "tunnel \"%s\" is down: link: port \"%s\" has no link", p->name,
			c->conf->ports[nh->iface].name);
	return true;
}

// The other address of a network with two hosts (RFC 3021, RFC 6164); none: it has more.
static struct ip_addr other_host(const struct conf_iface_addr *a)
{
	struct ip_addr other = a->addr;

	if (a->net.len == 127) {
		other.b[15] ^= 1;
		return other;
	}
	if (a->net.len == 126 && ip_addr_is_v4(&a->addr)) {
		other.b[15] ^= 3;
		return other;
	}
	return (struct ip_addr){0};
}

// The address at the other end that the configuration shows: that of the probe, the peer's in
// transport mode, or the other one of a tunnel's network. None: it shows no single one.
static struct ip_addr other_end(
	const struct control *c, const struct tunnel *t, const struct spd_policy *p)
{
	const struct conf_tunnel *routed = NULL;
	struct ip_addr other = {0};

	if (p->out->sa.opt.mode == SA_TRANSPORT)
		return p->out->peer.addr;
	if (t != tunnel_of_policy(&c->tunnels, t->policy)) // of IKE
		return other;
	other = tunnel_probe(c, t)->addr;
	if (spd_policy_is_routed(p))
		routed = &c->conf->tunnels[t->policy - c->conf->n_policies];
	for (unsigned int i = 0; routed != NULL && i < routed->n_addrs; i++)
		if (ip_addr_is_none(&other))
			other = other_host(&routed->addrs[i]);
	return other;
}

static uint16_t header_len(const struct ip_addr *to)
{
	return (uint16_t)((ip_addr_is_v4(to) ? sizeof(struct rte_ipv4_hdr)
					     : sizeof(struct rte_ipv6_hdr)) +
			  sizeof(struct icmp_head));
}

// Whether the policy, and none before it, decides about requests between these ends.
static bool check_policy(const struct control *c, const struct spd_policy *p,
	const struct ping *ping, const struct reason *why)
{
	_Alignas(8) uint8_t packet[ICMP_ECHO_MAX];
	char from[IP_ADDR_STRLEN], to[IP_ADDR_STRLEN];
	const struct spd_policy *found;
	struct ip_layout at;
	struct ip_view v;

	if (spd_policy_is_routed(p))
		return true;
	icmp_echo_build(packet, &ping->from, &ping->to, 0, 0);
	ip_layout_read(&at, packet);
	v = ip_view_of(packet, &at);
	found = policy_find_outbound(c->snapshot, &v);
	return found == p ||
	       refuse(why, "tunnel \"%s\" has no pings from %s to %s: %s%s decides about them",
		       p->name, ip_addr_format(from, &ping->from), ip_addr_format(to, &ping->to),
		       found != NULL ? "policy " : "no policy", found != NULL ? found->name : "");
}

static bool find_ends(const struct control *c, const struct tunnel *t, const struct spd_policy *p,
	struct ping *ping, const struct reason *why)
{
	char text[IP_ADDR_STRLEN];

	if (ip_addr_is_none(&ping->to))
		ping->to = other_end(c, t, p);
	if (ip_addr_is_none(&ping->to))
		return refuse(why,
			"tunnel \"%s\": the configuration shows no address at its other end: name "
			"one, or set the address of its probe",
			p->name);
	ping->from = policy_source(c->snapshot, p, ip_addr_family(&ping->to));
	if (ip_addr_is_none(&ping->from))
		return refuse(why, "tunnel \"%s\": the gateway has no own address to reach %s from",
			p->name, ip_addr_format(text, &ping->to));
	if (!dad_may_use(c->dad, &ping->from))
		return refuse(why, "own address %s is still checked for duplicates",
			ip_addr_format(text, &ping->from));
	return check_policy(c, p, ping, why);
}

// --- sizes ---

// Octets of the largest packet whose ESP packet fits a link, and the buffers.
static uint16_t size_max(const struct control *c, const struct sa_out *sa, uint16_t mtu)
{
	uint16_t buffer = (uint16_t)(rte_pktmbuf_data_room_size(c->pool) - RTE_PKTMBUF_HEADROOM -
				     WORKER_TAILROOM);

	return (uint16_t)RTE_MIN(esp_own_room(sa, mtu), buffer);
}

static bool check_size(const struct control *c, const struct sa_out *sa, struct ping *ping,
	uint16_t size, const struct reason *why)
{
	const struct nexthop *nh = sa_out_path(sa)->nexthop;
	const uint16_t mtu = c->snapshot->iface[nh->iface].mtu;

	ping->port = nh->iface;
	ping->size_max = size_max(c, sa, mtu);
	if (size >= header_len(&ping->to) && size <= ping->size_max)
		return true;
	return refuse(why,
		"size must be from %u to %u octets: port \"%s\" has an MTU of %u, and pings are "
		"not fragmented",
		header_len(&ping->to), ping->size_max, c->conf->ports[nh->iface].name, mtu);
}

// --- sending ---

// Notes the fields of the ESP packet that errors quote.
static void note_esp(struct ping *ping, const struct sa_out *sa, const struct rte_mbuf *m)
{
	const struct rte_ipv4_hdr *four = rte_pktmbuf_mtod(m, const struct rte_ipv4_hdr *);
	const uint8_t *esp = (const uint8_t *)four +
			     (ip_is_v4(four) ? sizeof(*four) : sizeof(struct rte_ipv6_hdr)) +
			     (sa->sa.udp_port != 0 ? sizeof(struct rte_udp_hdr) : 0);

	ping->peer = sa->peer.addr;
	ping->esp_len = rte_pktmbuf_data_len(m);
	ping->esp_id = ip_is_v4(four) ? four->packet_id : 0;
	memcpy(&ping->spi, esp, sizeof(ping->spi));
	memcpy(&ping->seq, esp + sizeof(ping->spi), sizeof(ping->seq));
}

static bool request_make(struct sa_out *sa, struct rte_mbuf *m, void *arg)
{
	struct ping *ping = arg;
	const uint16_t size = (uint16_t)(ping->request >> 16);
	uint8_t *packet = (uint8_t *)rte_pktmbuf_append(m, size);
	uint16_t id;

	if (packet == NULL || getrandom(&id, sizeof(id), 0) < 0)
		return false;
	icmp_echo_build(packet, &ping->from, &ping->to, (uint32_t)(ping->request >> 32),
		(uint16_t)(size - header_len(&ping->to)));
	ping->sent_tsc = rte_rdtsc();
	if (!esp_own_seal(sa, m))
		return false;
	esp_own_keep_whole(m, id);
	note_esp(ping, sa, m);
	return true;
}

// Replies may arrive before this returns.
static void try_send(struct control *c, struct ping *ping, uint64_t now_ms)
{
	const struct spd_policy *p = snapshot_policy(c->snapshot, (uint16_t)ping->request);
	_Atomic uint64_t *awaited = &c->snapshot->objects->pings.at[ping_place(ping->request)];

	if (p == NULL || p->out == NULL)
		return;
	atomic_store_explicit(awaited, ping->request, memory_order_relaxed);
	if (originate_by_sa(c, p->out, request_make, ping, now_ms))
		ping->state = PING_WAITING;
	else
		atomic_store_explicit(awaited, 0, memory_order_relaxed);
}

// A place, with an identifier and a sequence number that nobody outside the tunnel can predict.
static struct ping *place_find(struct pings *pings, uint32_t *echo)
{
	for (uint32_t i = 0; i < PINGS_MAX; i++)
		if (pings->item[i].number == 0) {
			if (getrandom(echo, sizeof(*echo), 0) < 0)
				return NULL;
			*echo = (*echo & ~((PINGS_MAX - 1u) << 16)) | i << 16;
			return &pings->item[i];
		}
	return NULL;
}

uint32_t ping_send(
	struct control *c, const struct ping_order *order, char *text, size_t size, uint64_t now_ms)
{
	const struct reason why = {text, size};
	const struct tunnel *t;
	const struct spd_policy *p = tunnel_find(c, order->tunnel, &t);
	struct ping new = {.to = order->to, .begun_ms = now_ms}, *ping;
	uint16_t octets;
	uint32_t echo;

	if (p == NULL) {
		refuse(&why, "no tunnel has the name \"%s\"", order->tunnel);
		return 0;
	}
	if (!check_usable(c, p, &why) || !find_ends(c, t, p, &new, &why))
		return 0;
	octets = order->size != 0 ? order->size : (uint16_t)(header_len(&new.to) + PING_SIZE);
	if (!check_size(c, p->out, &new, octets, &why))
		return 0;
	ping = place_find(&c->pings, &echo);
	if (ping == NULL) {
		refuse(&why, "%u pings have been sent in the last %u seconds, try again later",
			PINGS_MAX, PING_KEPT_MS / 1000);
		return 0;
	}
	new.request = ping_request(echo, octets, p->number);
	new.number = ++c->pings.number;
	*ping = new;
	try_send(c, ping, now_ms);
	return ping->number;
}

const struct ping *ping_find(const struct control *c, uint32_t number)
{
	for (unsigned int i = 0; i < PINGS_MAX && number != 0; i++)
		if (c->pings.item[i].number == number)
			return &c->pings.item[i];
	return NULL;
}

// --- results ---

void ping_answered(struct control *c, const struct event *e)
{
	struct ping *ping = &c->pings.item[ping_place(e->ping)];
	bool v4 = ip_addr_is_v4(&e->addr);

	if (ping->number == 0 || ping->request != e->ping || ping->state != PING_WAITING)
		return;
	ping->by = e->addr;
	ping->state = e->has_icmp_type ? PING_UNREACHABLE : PING_ANSWERED;
	if (!e->has_icmp_type) {
		ping->round_trip = e->tsc > ping->sent_tsc ? e->tsc - ping->sent_tsc : 0;
		return;
	}
	ping->icmp_type = e->icmp_type;
	ping->icmp_code = e->icmp_code;
	if (icmp_kind(v4, e->icmp_type, e->icmp_code) == ICMP_KIND_TOO_BIG)
		ping->mtu = ping->fits = e->mtu;
}

// Of ESP in UDP an error may not quote the SPI: then length and identification.
static bool is_quoted(const struct ping *ping, const struct event *e)
{
	if (ping->number == 0 || ping->state != PING_WAITING ||
		!ip_addr_equal(&ping->peer, &e->addr))
		return false;
	if (e->spi != 0)
		return e->spi == ping->spi && e->seq == ping->seq;
	return e->quoted_len == ping->esp_len && e->quoted_id == ping->esp_id;
}

void ping_refused(struct control *c, const struct event *e)
{
	for (unsigned int i = 0; i < PINGS_MAX; i++) {
		struct ping *ping = &c->pings.item[i];
		const struct spd_policy *p;

		if (!is_quoted(ping, e))
			continue;
		p = snapshot_policy(c->snapshot, (uint16_t)ping->request);
		ping->state = PING_TOO_BIG;
		ping->by = e->peer;
		ping->mtu = e->mtu;
		ping->fits = p != NULL && p->out != NULL ? size_max(c, p->out, e->mtu) : 0;
	}
}

static void forget(struct control *c, struct ping *ping)
{
	atomic_store_explicit(&c->snapshot->objects->pings.at[ping_place(ping->request)], 0,
		memory_order_relaxed);
	*ping = (struct ping){0};
}

void pings_tick(struct control *c, uint64_t now_ms)
{
	for (unsigned int i = 0; i < PINGS_MAX; i++) {
		struct ping *ping = &c->pings.item[i];

		if (ping->number == 0)
			continue;
		if (now_ms - ping->begun_ms >= PING_KEPT_MS)
			forget(c, ping);
		else if (ping->state == PING_RESOLVING)
			try_send(c, ping, now_ms);
	}
}
