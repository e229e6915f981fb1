// SPDX-License-Identifier: BSD-3-Clause
#include "host_guests.h"

#include <errno.h>
#include <string.h>

#include "host_iface.h"
#include "ipv4.h"
#include "ipv6.h"
#include "log.h"
#include "nd.h"
#include "netlink.h"
#include "requests.h"

#define KERNEL_IFACES_MAX (4 * PORTS_MAX) // behind ports, and on top of these

// Another program may take away at once whatever the gateway gives.
#define CHECK_MS 1000

// The kernel's interfaces whose addresses are those of ports.
struct ifaces {
	const struct control *c;
	bool deprecated; // those alone are read
	struct kernel_iface {
		unsigned int index, port;
		bool on_top;
		struct rte_ether_addr mac; // of one on top
	} of[KERNEL_IFACES_MAX];
	unsigned int n;
	struct conf_guests guests[PORTS_MAX]; // by port
	struct conf_followed followed[PORTS_MAX];
};

static int watch = -1;        // receives a message when the kernel's addresses change
static bool unread = true;    // they have changed
static bool unchecked = true; // they may not be as the gateway has given them
static uint64_t check_ms;     // when that is checked next

int host_guests_start(const struct control *c)
{
	if (!conf_has_host(c->conf))
		return 0;
	watch = netlink_watch();
	if (watch >= 0)
		return 0;
	log_error("cannot follow the addresses of hosts: %s", strerror(-watch));
	return -EIO;
}

// Whether an interface is a macvlan.
static bool is_macvlan(const struct nlmsghdr *m)
{
	const struct rtattr *info =
		netlink_attribute(m, sizeof(struct ifinfomsg), IFLA_LINKINFO, sizeof(*info));

	// IFLA_INFO_KIND is the first of them, a text.
	return info != NULL && info->rta_type == IFLA_INFO_KIND &&
	       strcmp(RTA_DATA(info), "macvlan") == 0;
}

// The index of the interface that another one is on top of, in the same namespace. 0: of none.
static unsigned int below(const struct nlmsghdr *m)
{
	const size_t head = sizeof(struct ifinfomsg);
	const uint32_t *link = netlink_attribute(m, head, IFLA_LINK, sizeof(*link));

	if (link == NULL || netlink_attribute(m, head, IFLA_LINK_NETNSID, 0) != NULL)
		return 0;
	return is_macvlan(m) ? *link : 0;
}

static void iface_note(void *arg, const struct nlmsghdr *m)
{
	struct ifaces *all = arg;
	const struct conf *conf = all->c->conf;
	const struct ifinfomsg *link = NLMSG_DATA(m);
	const struct rte_ether_addr *mac =
		netlink_attribute(m, sizeof(*link), IFLA_ADDRESS, sizeof(*mac));
	struct kernel_iface iface = {.index = (unsigned int)link->ifi_index};
	unsigned int on = below(m);

	for (unsigned int i = 0; i < conf->n_ports && all->n < KERNEL_IFACES_MAX; i++) {
		unsigned int host =
			conf->ports[i].host != NULL ? host_iface_index(conf->ports[i].host) : 0;

		if (host == 0 || mac == NULL || (iface.index != host && on != host))
			continue;
		iface.port = i;
		iface.on_top = iface.index != host;
		iface.mac = *mac;
		all->of[all->n++] = iface;
	}
}

static bool has_family(const struct conf_port *port, const struct ip_addr *addr)
{
	if (port->follows_host)
		return true;
	for (unsigned int i = 0; i < port->n_addrs; i++)
		if (ip_addr_family(&port->addrs[i].addr) == ip_addr_family(addr))
			return true;
	return false;
}

// Whether a port or tunnel has the address by the configuration.
static bool is_configured(const struct conf *conf, const struct ip_addr *addr)
{
	unsigned int n;

	for (unsigned int i = 0; i < conf->n_ports + conf->n_tunnels; i++)
		for (const struct conf_iface_addr *a = conf_addrs(conf, i, &n); n-- > 0; a++)
			if (ip_addr_equal(&a->addr, addr))
				return true;
	return false;
}

// Whether a host may have the address. The kernel makes a link-local one of its own for each
// interface.
static bool is_usable(
	const struct conf *conf, const struct kernel_iface *iface, const struct ip_addr *addr)
{
	const struct ip_addr own = nd_link_local(&iface->mac);

	if (ip_addr_equal(addr, &own) || is_configured(conf, addr) ||
		!has_family(&conf->ports[iface->port], addr))
		return false;
	return ip_addr_is_v4(addr) ? ipv4_is_host_address(ip_addr_v4(addr))
				   : ipv6_is_host_address(addr);
}

static void guest_add(
	struct ifaces *all, const struct kernel_iface *iface, const struct ip_addr *addr)
{
	struct conf_guests *guests = &all->guests[iface->port];

	if (guests->n == CONF_GUESTS_MAX || host_iface_gave(iface->port, addr) ||
		!is_usable(all->c->conf, iface, addr))
		return;
	for (unsigned int p = 0; p < PORTS_MAX; p++)
		for (unsigned int i = 0; i < all->guests[p].n; i++)
			if (ip_addr_equal(&all->guests[p].addr[i], addr))
				return;
	guests->addr[guests->n] = *addr;
	if (iface->on_top)
		guests->mac[guests->n] = iface->mac;
	guests->n++;
}

// An address of the interface of a port with addresses = [ "host" ]. Deprecated ones come last:
// they are not for new connections (RFC 4862 5.5.4).
static void follow_add(struct ifaces *all, const struct kernel_iface *iface,
	const struct ip_addr *addr, const struct ifaddrmsg *message)
{
	struct conf_followed *followed = &all->followed[iface->port];
	struct conf_iface_addr a = {.addr = *addr, .net.addr = *addr};
	const struct ip_addr own = nd_link_local(&iface->mac);

	if (followed->n == CONF_ADDRS_MAX || ip_addr_equal(addr, &own) ||
		host_iface_gave(iface->port, addr) ||
		((message->ifa_flags & IFA_F_DEPRECATED) != 0) != all->deprecated)
		return;
	a.net.len = (uint8_t)(message->ifa_prefixlen + (ip_addr_is_v4(addr) ? IP_V4_BITS : 0));
	for (unsigned int bit = a.net.len; bit < 128; bit++)
		a.net.addr.b[bit / 8] &= (uint8_t) ~(0x80u >> bit % 8);
	followed->addr[followed->n++] = a;
}

static void address_note(void *arg, const struct nlmsghdr *m)
{
	struct ifaces *all = arg;
	const struct ifaddrmsg *message = NLMSG_DATA(m);
	struct ip_addr addr;

	if (!netlink_address(&addr, m))
		return;
	for (unsigned int i = 0; i < all->n; i++) {
		const struct kernel_iface *iface = &all->of[i];

		if (iface->index != message->ifa_index)
			continue;
		if (!iface->on_top && all->c->conf->ports[iface->port].follows_host)
			follow_add(all, iface, &addr, message);
		else if (!all->deprecated)
			guest_add(all, iface, &addr);
	}
}

static bool guests_read(struct control *c)
{
	static struct ifaces all;

	memset(&all, 0, sizeof(all));
	all.c = c;
	if (netlink_dump(RTM_GETLINK, iface_note, &all) < 0 ||
		netlink_dump(RTM_GETADDR, address_note, &all) < 0)
		return false;
	all.deprecated = true;
	if (netlink_dump(RTM_GETADDR, address_note, &all) < 0)
		return false;
	memcpy(c->guests, all.guests, sizeof(c->guests));
	memcpy(c->followed, all.followed, sizeof(c->followed));
	return true;
}

static bool has_changed(const struct control *c, unsigned int port)
{
	const struct conf_port *p = &c->conf->ports[port];

	return memcmp(&c->guests[port], &p->guests, sizeof(p->guests)) != 0 ||
	       (p->follows_host &&
		       memcmp(&c->followed[port], &p->followed, sizeof(p->followed)) != 0);
}

bool host_guests_tick(struct control *c)
{
	const uint64_t now_ms = c->io->now_ms();
	bool lacks = false;

	if (watch < 0)
		return false;
	if (netlink_changed(watch))
		unread = unchecked = true;
	if (c->loading)
		return false;
	if (unread)
		unread = !guests_read(c);
	if (unchecked && now_ms >= check_ms) {
		unchecked = false;
		check_ms = now_ms + CHECK_MS;
		lacks = host_iface_lacks();
	}
	for (unsigned int i = 0; i < c->conf->n_ports; i++)
		if (has_changed(c, i))
			requests_guests();
	return lacks;
}
