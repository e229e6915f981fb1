// SPDX-License-Identifier: BSD-3-Clause
#include "flow_describe.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "hop.h"
#include "hop_group.h"
#include "icmp.h"

// Numbers of interfaces in records: 0 is none; ports and hosts have theirs plus 1, tunnels the
// number of the policy above this.
#define TUNNEL_BASE 0x10000u
#define INTERFACES  (TUNNEL_BASE + SPD_NUMBERS)

struct policy_name {
	char text[SPD_NAME_MAX];
	uint32_t since; // generation of decisions from which on the number has this name
};

struct flow_names {
	struct policy_name policy[SPD_NUMBERS];
	uint64_t known[(INTERFACES + 63) / 64]; // by interface: the name was asked for
};

static_assert(SPD_NAME_MAX <= IPFIX_NAME_MAX, "a name of a policy fits");

struct flow_names *flow_names_new(void)
{
	return calloc(1, sizeof(struct flow_names));
}

void flow_names_forget(struct flow_names *names)
{
	memset(names->known, 0, sizeof(names->known));
}

// The policy has the number in this generation.
static void learn(struct flow_names *names, const struct spd_policy *p, uint32_t generation)
{
	struct policy_name *n = &names->policy[p->number];
	const uint32_t interface = TUNNEL_BASE + p->number;

	if (strcmp(n->text, p->name) == 0)
		return;
	strcpy(n->text, p->name);
	n->since = generation;
	names->known[interface / 64] &= ~(UINT64_C(1) << interface % 64);
}

// The name of the policy that decided in a generation; empty: it is not known.
static const char *policy_name(
	struct flow_names *names, const struct control *c, uint16_t number, uint32_t generation)
{
	const struct spd_policy *p = snapshot_policy(c->snapshot, number);
	const struct policy_name *n = &names->policy[number];

	if (p != NULL && generation == c->snapshot->flow_generation)
		learn(names, p, generation);
	return n->text[0] != '\0' && (int32_t)(generation - n->since) >= 0 ? n->text : "";
}

static uint32_t tunnel_number(
	struct flow_names *names, const struct control *c, uint16_t policy, uint32_t generation)
{
	return policy_name(names, c, policy, generation)[0] != '\0' ? TUNNEL_BASE + policy : 0;
}

// The interface that packets between the ends leave by in clear, or the tunnel that their route
// leads into.
static uint32_t routed_to(struct flow_names *names, const struct control *c,
	const struct ip_ends *ends, uint8_t proto)
{
	const struct snapshot *s = c->snapshot;
	const struct ip_view v = {.proto = proto,
		.has_ports = ip_proto_has_ports(proto),
		.src_port = ends->src_port,
		.dst_port = ends->dst_port};
	const struct nexthop *to = hop_find(
		s, route_find(s->routes, &ends->dst), &ends->src, &ends->dst, hop_rest(&v), NULL);

	if (!nexthop_leads_on(to))
		return 0;
	if (to->kind != NEXTHOP_TUNNEL)
		return to->iface + 1u;
	return tunnel_number(names, c, snapshot_tunnel(s, to)->number, s->flow_generation);
}

static bool comes_from_outside(const struct control *c, const struct flow_record_dir *d)
{
	return d->ingress >= INGRESS_SA_MIN || (c->snapshot->iface[d->ingress].unprotected &&
						       !c->snapshot->iface[d->ingress].is_host);
}

static void describe_decision(struct ipfix_flow *f, struct flow_names *names,
	const struct control *c, const struct flow_record *r, const struct flow_record_dir *d,
	const struct ip_ends *sent)
{
	const char *policy;

	f->egress = routed_to(names, c, sent, r->proto);
	if (d->generation == 0)
		return;
	f->direction = comes_from_outside(c, d) ? IPFIX_INGRESS : IPFIX_EGRESS;
	f->ingress = d->ingress >= INGRESS_SA_MIN ? tunnel_number(names, c, d->in, d->generation)
						  : d->ingress + 1;
	if (d->protected)
		f->egress = tunnel_number(names, c, d->out, d->generation);
	policy = policy_name(names, c, d->out != 0 ? d->out : d->in, d->generation);
	memcpy(f->policy, policy, strlen(policy));
}

static uint16_t icmp_of(const struct flow_record *r, bool v4, bool reply)
{
	uint8_t type = r->icmp_type;

	if (reply && r->query)
		type = v4 && type == ICMP_ECHO_REQUEST ? ICMP_ECHO_REPLY : (uint8_t)(type + 1);
	return (uint16_t)(type << 8 | r->icmp_code);
}

static void address_put(uint8_t to[16], const struct ip_addr *a)
{
	const rte_be32_t v4 = ip_addr_v4(a);

	if (ip_addr_is_v4(a))
		memcpy(to, &v4, sizeof(v4));
	else
		memcpy(to, a->b, sizeof(a->b));
}

static uint16_t port_of(const struct flow_record *r, rte_be16_t port)
{
	return r->query ? 0 : rte_be_to_cpu_16(port);
}

static void describe_ends(struct ipfix_flow *f, const struct flow_record *r,
	const struct ip_ends *received, const struct ip_ends *sent)
{
	address_put(f->source, &received->src);
	address_put(f->destination, &received->dst);
	address_put(f->to_source, &sent->src);
	address_put(f->to_destination, &sent->dst);
	f->source_port = port_of(r, received->src_port);
	f->destination_port = port_of(r, received->dst_port);
	f->to_source_port = port_of(r, sent->src_port);
	f->to_destination_port = port_of(r, sent->dst_port);
}

static struct ip_ends reversed(const struct ip_ends *e)
{
	return (struct ip_ends){e->dst, e->src, e->dst_port, e->src_port};
}

// Milliseconds of the wall clock at a time of the workers' clock, which may be slightly ahead.
static uint64_t wall_at(uint32_t then_ms, uint32_t now_ms, uint64_t wall_ms)
{
	return (int32_t)(now_ms - then_ms) > 0 ? wall_ms - (now_ms - then_ms) : wall_ms;
}

unsigned int flow_describe(struct ipfix_flow out[2], const struct control *c,
	struct flow_names *names, const struct flow_record *r, uint32_t now_ms, uint64_t wall_ms)
{
	const struct ip_ends received[] = {r->from, reversed(&r->to)};
	const struct ip_ends sent[] = {r->to, reversed(&r->from)};
	const bool v4 = ip_addr_is_v4(&r->from.src);
	unsigned int n = 0;

	for (unsigned int i = 0; i < 2; i++) {
		const struct flow_record_dir *d = &r->dir[i];
		struct ipfix_flow *f = &out[n];

		if (d->packets + d->dropped == 0)
			continue;
		*f = (struct ipfix_flow){
			.v4 = v4,
			.translated = r->translated,
			.proto = r->proto,
			.end = (uint8_t)r->end,
			.icmp = icmp_of(r, v4, i == 1),
			.packets = d->packets,
			.octets = d->octets,
			.dropped = d->dropped,
			.start_ms = wall_at(r->begun_ms, now_ms, wall_ms),
			.end_ms = wall_at(d->seen_ms, now_ms, wall_ms),
		};
		describe_ends(f, r, &received[i], &sent[i]);
		describe_decision(f, names, c, r, d, &sent[i]);
		n++;
	}
	return n;
}

const char *flow_names_interface(
	struct flow_names *names, const struct control *c, uint32_t interface)
{
	uint64_t *word = &names->known[interface / 64];
	const uint64_t bit = UINT64_C(1) << interface % 64;
	const char *name;

	if (interface == 0 || (*word & bit) != 0)
		return NULL;
	*word |= bit;
	name = interface >= TUNNEL_BASE ? names->policy[interface - TUNNEL_BASE].text
					: c->snapshot->iface[interface - 1].name;
	return name != NULL && name[0] != '\0' ? name : NULL;
}
