// SPDX-License-Identifier: BSD-3-Clause
#include "member_flows.h"

#include <string.h>

#include "binding.h"
#include "flow_adopt.h"
#include "group.h"
#include "hop_group.h"
#include "icmp.h"
#include "policy_find.h"

#define SCAN_MS 1000 // from the begin of a scan to that of the next, at least

struct sending {
	struct control *c;
	size_t room;
	member_line_fn *send;
	void *arg;
};

typedef bool group_is_fn(const struct owned_group *g);

static bool is_active_here(const struct owned_group *g)
{
	return g->role == CONF_ACTIVE;
}

static bool is_active_there(const struct owned_group *g)
{
	return g->role == CONF_STANDBY && g->other_known && g->other == CONF_ACTIVE;
}

// --- the groups of a flow, by the own configuration ---

// The policy with action protect, or the tunnel, that sends packets with these ends; NULL: they are
// sent in clear.
static const struct spd_policy *protecting(
	const struct snapshot *s, const struct flow_copy *c, const struct ip_ends *e)
{
	const struct nexthop *nh = route_find(s->routes, &e->dst);
	const bool ports = ip_proto_has_ports(c->proto);
	const struct ip_view v = {
		.src = e->src,
		.dst = e->dst,
		.proto = c->proto,
		.has_ports = ports,
		.has_icmp_type = acl_is_icmp(c->proto),
		.icmp_type = c->icmp_type,
		.icmp_code = c->icmp_code,
		.src_port = ports ? e->src_port : 0,
		.dst_port = ports ? e->dst_port : 0,
	};
	const struct spd_policy *p;

	if (nh != NULL && nexthop_first_kind(nh) == NEXTHOP_TUNNEL)
		return s->iface[nexthop_hop(nh, nexthop_first_place(nh))->iface].tunnel;
	p = policy_find_outbound(s, &v);
	return p != NULL && p->action == SPD_PROTECT ? p : NULL;
}

// The own address of the SA; none: there is no SA.
static struct ip_addr own_of(const struct spd_policy *p)
{
	const struct sa_out *out = p != NULL ? p->out : NULL;

	return out != NULL ? out->sa.opt.local : (struct ip_addr){0};
}

static struct ip_ends reversed(const struct ip_ends *e)
{
	return (struct ip_ends){e->dst, e->src, e->dst_port, e->src_port};
}

// Whether the groups are so that the flow has to do with, or all groups if it has to do with none.
// False as well if it belongs to this gateway alone: to its host, or an own address of no group.
static bool groups_are(struct control *c, const struct flow_copy *f, group_is_fn *is)
{
	const struct snapshot *s = c->snapshot;
	const struct ip_ends back = reversed(&f->from);
	const struct ip_addr addr[] = {f->to.src, f->from.dst, own_of(protecting(s, f, &f->to)),
		own_of(protecting(s, f, &back))};
	bool any = false;

	if (!f->translated && (snapshot_has(s, &f->from.src) || snapshot_has(s, &f->from.dst)))
		return false;
	for (unsigned int i = 0; i < RTE_DIM(addr); i++) {
		const struct owned_group *g = group_of(c, &addr[i]);

		if (g != NULL ? !is(g) : snapshot_has(s, &addr[i]))
			return false;
		any |= g != NULL;
	}
	for (unsigned int i = 0; !any && i < c->groups.n; i++)
		if (!is(&c->groups.item[i]))
			return false;
	return c->groups.n > 0;
}

// The holder that the flow gets if its first packets come here: as worker_holder().
static uint32_t holder_of(const struct snapshot *s, const struct flow_copy *f)
{
	const struct ip_ends back = reversed(&f->from);
	const struct spd_policy *p = protecting(s, f, &back);
	const struct nexthop *nh = route_find(s->routes, &f->from.src);

	if (p != NULL)
		return p->peer_hash;
	return nexthop_leads_on(nh) ? nexthop_hop(nh, nexthop_first_place(nh))->iface : 0;
}

// --- reports to the other gateway ---

void member_flows_begin(struct control *c)
{
	struct flow_scan *s = &c->member.scan;

	s->receiver = s->receiver < UINT8_MAX ? (uint8_t)(s->receiver + 1) : 1;
	s->position = 0;
	c->member.scan_ms = 0;
}

static bool line_send(struct sending *s, const char *line, size_t len)
{
	if (len + 1 > s->room || !s->send(s->arg, line, len))
		return false;
	s->room -= len + 1;
	return true;
}

static bool flow_send(void *arg, const struct flow_copy *copy)
{
	struct sending *s = arg;
	struct control *c = s->c;
	struct flow_line f = {.copy = *copy};
	char line[FLOW_LINE_MAX];

	// One whose rule was deleted could not be checked.
	if (!groups_are(c, copy, is_active_here) || !binding_name(&f, c->snapshot->nat))
		return true;
	if (!line_send(s, line, flow_line_write(line, &f)))
		return false;
	c->member.flows_sent++;
	return true;
}

static bool has_active_group(const struct control *c)
{
	for (unsigned int i = 0; i < c->groups.n; i++)
		if (is_active_here(&c->groups.item[i]))
			return true;
	return false;
}

void member_flows_send(
	struct control *c, uint64_t now_ms, size_t room, member_line_fn *send, void *arg)
{
	struct sending s = {c, room, send, arg};
	struct control_member *m = &c->member;

	if (!has_active_group(c) || now_ms < m->scan_ms)
		return;
	if (m->scan.position == 0)
		m->scan_begun_ms = now_ms;
	if (!flow_scan(c->flows, &m->scan, (uint32_t)now_ms, flow_send, &s))
		return;
	m->scan_ms = m->scan_begun_ms + SCAN_MS;
	line_send(&s, "flows", strlen("flows")); // without it the other one only waits longer
}

// --- reports of the other gateway ---

static bool flow_learn(struct control *c, const char *line)
{
	struct flow_line f;

	if (!flow_line_read(&f, line) || (f.copy.translated && !binding_learn(&f, c->snapshot)) ||
		!groups_are(c, &f.copy, is_active_there))
		return false;
	f.copy.holder = holder_of(c->snapshot, &f.copy);
	return flow_adopt(c->flows, &f.copy);
}

bool member_flows_learn(struct control *c, const char *line)
{
	if (strcmp(line, "flows") == 0) {
		flow_adopt_scanned(c->flows);
		return true;
	}
	if (strncmp(line, "flow ", strlen("flow ")) != 0)
		return false;
	if (!flow_learn(c, line))
		c->member.flows_ignored++;
	return true;
}
