// SPDX-License-Identifier: BSD-3-Clause
#include "address.h"

#include <assert.h>
#include <errno.h>

#include "group.h"
#include "log.h"
#include "nd.h"
#include "originate.h"

static_assert(2 * PORT_ADDRS_MAX + 2 <= LISTENER_GROUPS_MAX,
	"room for those of unicast and anycast addresses, and two of all");

// The link-local address that reports are sent from, or none (RFC 3810 5.2.13).
static struct ip_addr report_source(const struct control *c, uint16_t port)
{
	const struct snapshot_port *s = &c->snapshot->port[port];

	for (unsigned int i = 0; i < s->n_addrs; i++)
		if (ip_addr_is_link_local(&s->addrs[i]) &&
			dad_state(c->dad, port, &s->addrs[i]) == DAD_ASSIGNED)
			return s->addrs[i];
	return (struct ip_addr){0};
}

// Sends the len octets of a packet that are in m.
static void report_send(struct control *c, uint16_t port, struct rte_mbuf *m, uint16_t len)
{
	const struct rte_ipv6_hdr *ip = (const struct rte_ipv6_hdr *)rte_pktmbuf_append(m, len);
	struct ip_addr to = ipv6_dst(ip);
	struct rte_ether_addr mac = nd_group_mac(&to);

	originate_packet(c, m, port, &mac);
}

// A lost report is repeated, or asked for again.
static void report(void *arg, uint16_t port, bool v1, enum mld_record record,
	const struct ip_addr group[], unsigned int n)
{
	struct control *c = arg;
	struct ip_addr source = report_source(c, port);

	for (unsigned int i = 0; i < (v1 ? n : 1); i++) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(c->pool);
		uint8_t *to = m != NULL ? rte_pktmbuf_mtod(m, uint8_t *) : NULL;

		if (to != NULL)
			report_send(c, port, m,
				v1 ? mld_v1_build(to, &source, record, &group[i])
				   : mld_report_build(to, &source, record, group, n));
	}
}

static void dad_decided(void *arg, uint16_t port, const struct ip_addr *addr, enum dad_state was,
	enum dad_state state)
{
	struct control *c = arg;
	const char *name = c->conf->ports[port].name;
	char text[IP_ADDR_STRLEN];
	struct ip_addr source;

	address_apply(c, c->snapshot);
	if (was == DAD_DUPLICATE)
		log_info("port \"%s\": address %s is used again: no other station claims it", name,
			ip_addr_format(text, addr));
	if (state != DAD_ASSIGNED) {
		log_error("port \"%s\": address %s is another station's and is not used: "
			  "checked again every minute",
			name, ip_addr_format(text, addr));
		return;
	}
	source = report_source(c, port);
	if (ip_addr_equal(&source, addr)) // the first that reports can be sent from
		listener_report_all(c->listener, port);
	originate_announcement(c, port, addr);
}

int address_init(struct control *c)
{
	// While addresses change there are those before and those after.
	c->dad = dad_new(&(struct dad_params){.max = 2 * PORTS_MAX * PORT_ADDRS_MAX,
		.solicit = originate_dad_solicitation,
		.decided = dad_decided,
		.arg = c});
	c->listener = listener_new(
		&(struct listener_params){.n_ports = PORTS_MAX, .report = report, .arg = c});
	return c->dad != NULL && c->listener != NULL ? 0 : -ENOMEM;
}

// The groups that a router's addresses are solicited in, and all routers. Returns how many.
static unsigned int groups_of(
	struct ip_addr group[LISTENER_GROUPS_MAX], const struct snapshot_port *s)
{
	static const struct ip_addr all_routers = {.b = {0xff, 2, [15] = 2}};
	unsigned int n = 0;

	for (unsigned int i = 0; i < s->n_addrs; i++)
		if (!ip_addr_is_v4(&s->addrs[i]))
			group[n++] = nd_solicited_node(&s->addrs[i]);
	for (unsigned int i = 0; i < s->n_anycast; i++)
		group[n++] = nd_solicited_node(&s->anycast[i]);
	if (n > 0)
		group[n++] = all_routers;
	return n;
}

static void groups_join(struct control *c, uint16_t port, const struct snapshot_port *s)
{
	static const struct ip_addr all_nodes = {.b = {0xff, 2, [15] = 1}};
	struct ip_addr group[LISTENER_GROUPS_MAX];
	unsigned int n = groups_of(group, s);

	listener_keep(c->listener, port, group, n);
	if (n == 0)
		return;
	for (unsigned int i = 0; i < n; i++)
		listener_add(c->listener, port, &group[i]);
	listener_report_all(c->listener, port);
	group[n++] = all_nodes;
	c->io->listen(c->io_arg, port, group, n);
}

void address_start(struct control *c)
{
	address_add(c, c->conf, c->snapshot, NULL);
	c->ike.redecide = false; // there are no flows
	for (unsigned int p = 0; p < c->snapshot->n_ports; p++)
		groups_join(c, (uint16_t)p, &c->snapshot->port[p]);
	address_apply(c, c->snapshot);
}

// Whether another program gave the port the address: it alone decides which station has that.
static bool is_guest(const struct conf_port *port, const struct ip_addr *addr)
{
	for (unsigned int i = 0; i < port->guests.n; i++)
		if (ip_addr_equal(&port->guests.addr[i], addr))
			return true;
	return false;
}

// Gives an address the role of its group. False: it is of none.
static bool role_follow(
	struct control *c, const struct conf *conf, uint16_t port, const struct ip_addr *addr)
{
	const bool was = dad_is_standby_on(c->dad, port, addr);

	if (!group_address_set(c, conf, port, addr))
		return false;
	// Flows may have been decided by SAs that a standby group stops.
	if (!was && dad_is_standby_on(c->dad, port, addr))
		c->ike.redecide = true;
	return true;
}

void address_add(struct control *c, const struct conf *conf, const struct snapshot *s,
	const struct snapshot *old)
{
	groups_follow(c, conf);
	for (unsigned int p = 0; p < s->n_ports; p++)
		for (unsigned int i = 0; i < s->port[p].n_addrs; i++) {
			const struct ip_addr *own = &s->port[p].addrs[i];

			if (role_follow(c, conf, (uint16_t)p, own))
				continue;
			dad_group_unset(c->dad, (uint16_t)p, own);
			if (ip_addr_is_v4(own) || is_guest(&conf->ports[p], own) ||
				(old != NULL && snapshot_port_has(&old->port[p], own)))
				continue;
			dad_add(c->dad, (uint16_t)p, own); // there is room: see address_init()
		}
}

static void change_log(const char *port, const struct ip_addr *addr, const char *change)
{
	char text[IP_ADDR_STRLEN];

	log_info("port \"%s\": address %s was %s", port, ip_addr_format(text, addr), change);
}

static void port_follow(struct control *c, uint16_t port, const struct snapshot_port *old)
{
	const struct snapshot_port *s = &c->snapshot->port[port];
	bool changed = false;

	for (unsigned int i = 0; i < old->n_addrs; i++)
		if (!snapshot_port_has(s, &old->addrs[i])) {
			dad_remove(c->dad, port, &old->addrs[i]);
			change_log(old->name, &old->addrs[i], "removed");
			changed = true;
		}
	for (unsigned int i = 0; i < s->n_addrs; i++)
		if (!snapshot_port_has(old, &s->addrs[i])) {
			change_log(s->name, &s->addrs[i], "added");
			if (dad_state(c->dad, port, &s->addrs[i]) == DAD_ASSIGNED)
				originate_announcement(c, port, &s->addrs[i]);
			changed = true;
		}
	if (changed)
		groups_join(c, port, s);
}

void address_follow(struct control *c, const struct snapshot *old)
{
	for (unsigned int p = 0; p < c->snapshot->n_ports; p++) // never fewer than before
		port_follow(c, (uint16_t)p, &old->port[p]);
}

enum drop address_check(const struct control *c, const struct snapshot *s, const struct sa *sa)
{
	if (dad_is_standby(c->dad, &sa->opt.local))
		return DROP_STANDBY;
	return dad_may_use(c->dad, &sa->opt.local) &&
			       (sa->opt.mode == SA_TRANSPORT || snapshot_has(s, &sa->opt.local))
		       ? DROP_NONE
		       : DROP_ADDR_UNUSABLE;
}

void address_restart(struct control *c, uint16_t port)
{
	listener_restart(c->listener, port);
	dad_restart(c->dad, port);
	address_apply(c, c->snapshot);
}

void address_apply(const struct control *c, const struct snapshot *s)
{
	struct sa *sa;

	for (unsigned int i = 0; (sa = sa_list_at(&s->objects->sas, i)) != NULL; i++)
		sa_local_set(sa, address_check(c, s, sa));
}

void address_query(struct control *c, const struct event *e, uint64_t now_ms)
{
	const struct mld_query q = {.group = e->addr,
		.delay_ms = e->delay_ms,
		.interval_s = e->interval_s,
		.v1 = e->v1};

	listener_query(c->listener, e->port, &q, now_ms);
}
