// SPDX-License-Identifier: BSD-3-Clause
#include "host_iface.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/if_tun.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "capability.h"
#include "host_route.h"
#include "iface.h"
#include "log.h"
#include "netlink.h"
#include "port_log.h"
#include "sysfs.h"

#define TUN           "/dev/net/tun"
#define ROUTE_METRIC  10000 // the kernel's own are below
#define NO_LINK_LOCAL 1     // IN6_ADDR_GEN_MODE_NONE of linux/if_link.h

unsigned int if_nametoindex(const char *name); // net/if.h and linux/if.h exclude each other

#define host_error(i, fmt, ...)                                                                    \
	log_error("%s:%u: %s \"%s\": host: " fmt, (i)->where.file, (i)->where.line, (i)->kind,     \
		(i)->owner, ##__VA_ARGS__)

static void exists_error(const struct host_iface *i)
{
	host_error(i,
		"there is an interface %s already: choose another name, or remove it ('ip link del "
		"%s')",
		i->name, i->name);
}

int host_iface_check(const struct conf *conf, bool is_running)
{
	// Without privileges this is unknown.
	const bool may_be_own = is_running || capabilities_lack_network();
	int rc = 0;

	for (unsigned int k = 0; k < conf->n_ports + conf->n_tunnels; k++) {
		const struct host_iface i = host_iface_of(conf, k);

		if (i.name == NULL || if_nametoindex(i.name) == 0 ||
			(may_be_own && iface_has_driver(i.name, "tun")))
			continue;
		exists_error(&i);
		rc = -EIO;
	}
	return rc;
}

static int open_error(const struct host_iface *i, int fd)
{
	const int error = errno;

	if (fd < 0 && error == ENOENT)
		host_error(i,
			"there is no " TUN ": 'modprobe tun'; in a container '--device " TUN "'");
	else if (error == EBUSY || error == EINVAL)
		exists_error(i);
	else if (error == EPERM || error == EACCES)
		host_error(i,
			"cannot make interface %s: run culvertd as root, or with the capability "
			"CAP_NET_ADMIN",
			i->name);
	else
		host_error(i, "cannot make interface %s: %s", i->name, strerror(error));
	if (fd >= 0)
		close(fd);
	return -EIO;
}

static int tun_open(const struct host_iface *i)
{
	const int kind = i->is_tunnel ? IFF_TUN : IFF_TAP;
	struct ifreq r = {.ifr_flags = (short)(kind | IFF_NO_PI | IFF_TUN_EXCL)};
	int fd = open(TUN, O_RDWR | O_NONBLOCK | O_CLOEXEC);

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", i->name);
	if (fd < 0 || ioctl(fd, TUNSETIFF, &r) < 0)
		return open_error(i, fd);
	return fd;
}

// A setting of an interface that the kernel has unless it lacks the family. New interfaces have the
// values of "default", which a container may have to set for them.
static void setting_write(
	const struct host_iface *i, const char *family, const char *setting, const char *value)
{
	char path[64 + IFNAMSIZ], now[16];
	int rc;

	snprintf(path, sizeof(path), "/proc/sys/net/%s/conf/%s/%s", family, i->name, setting);
	if (!sysfs_line(now, sizeof(now), path) || strcmp(now, value) == 0)
		return;
	rc = sysfs_write(path, value);
	if (rc < 0)
		log_warn("%s:%u: %s \"%s\": host: cannot write %s to %s: %s: 'sysctl "
			 "net.%s.conf.default.%s=%s' before the start",
			i->where.file, i->where.line, i->kind, i->owner, value, path, strerror(-rc),
			family, setting, value);
}

// The kernel learns no routers, routes and addresses from the link. The gateway gives the host no
// message about them either (host_is_link_control()): these settings are a second lock. An address
// that is removed takes no others of its network with it: programs may have added these.
static void settings_write(const struct host_iface *i)
{
	setting_write(i, "ipv4", "promote_secondaries", "1");
	setting_write(i, "ipv4", "accept_redirects", "0");
	setting_write(i, "ipv4", "accept_source_route", "0");
	setting_write(i, "ipv6", "accept_ra", "0");
	setting_write(i, "ipv6", "autoconf", "0");
	setting_write(i, "ipv6", "accept_redirects", "0");
}

static void link_begin(struct netlink_request *r, unsigned int index)
{
	netlink_begin(r, RTM_NEWLINK, 0, sizeof(r->link));
	r->link.ifi_index = (int)index;
}

static int mtu_set(unsigned int index, const struct host_iface *i)
{
	struct netlink_request r;

	link_begin(&r, index);
	if (!i->is_tunnel)
		netlink_add(&r, IFLA_ADDRESS, &i->mac, sizeof(i->mac));
	netlink_add_u32(&r, IFLA_MTU, i->mtu);
	return netlink_send(&r);
}

static int link_set(unsigned int index, const struct host_iface *i)
{
	const uint8_t mode = NO_LINK_LOCAL;
	struct netlink_request r;
	struct rtattr *all, *v6;
	int rc = mtu_set(index, i);

	if (rc < 0)
		return rc;
	link_begin(&r, index);
	all = netlink_nest(&r, IFLA_AF_SPEC);
	v6 = netlink_nest(&r, AF_INET6);
	netlink_add(&r, IFLA_INET6_ADDR_GEN_MODE, &mode, sizeof(mode));
	netlink_nest_end(&r, v6);
	netlink_nest_end(&r, all);
	rc = netlink_send(&r);
	if (rc < 0 && i->has_ipv6)
		return rc;
	link_begin(&r, index);
	r.link.ifi_flags = r.link.ifi_change = IFF_UP | IFF_NOARP;
	return netlink_send(&r);
}

// The interfaces that the gateway has made, and the addresses that it has given them. With the
// lock.
static struct {
	pthread_mutex_t lock;
	struct given {
		unsigned int index; // the kernel's; 0: there is none
		bool was_down;      // somebody had set it down when it was seen last
		struct ip_addr addr[PORT_ADDRS_MAX];
		uint8_t len[PORT_ADDRS_MAX]; // of its prefix, in bits of its family
		unsigned int n;
	} host[HOSTS_MAX];
} given = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_among(const struct ip_addr *addr, const struct ip_addr all[], unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (ip_addr_equal(&all[i], addr))
			return true;
	return false;
}

bool host_iface_gave(unsigned int host, const struct ip_addr *addr)
{
	bool gave;

	pthread_mutex_lock(&given.lock);
	gave = is_among(addr, given.host[host].addr, given.host[host].n);
	pthread_mutex_unlock(&given.lock);
	return gave;
}

static void given_set(unsigned int host, unsigned int index, const struct host_iface *i)
{
	struct given *g = &given.host[host];

	pthread_mutex_lock(&given.lock);
	g->index = index;
	g->n = i->n;
	memcpy(g->addr, i->addr, sizeof(g->addr));
	memcpy(g->len, i->len, sizeof(g->len));
	pthread_mutex_unlock(&given.lock);
}

// The gateway detects duplicates.
static int addr_request(
	uint16_t type, uint16_t flags, unsigned int index, const struct ip_addr *addr, uint8_t len)
{
	struct netlink_request r;

	netlink_begin(&r, type, flags, sizeof(r.addr));
	r.addr.ifa_family = ip_addr_is_v4(addr) ? AF_INET : AF_INET6;
	r.addr.ifa_prefixlen = len;
	r.addr.ifa_flags = ip_addr_is_v4(addr) ? 0 : IFA_F_NODAD;
	r.addr.ifa_index = index;
	r.addr.ifa_scope = ip_addr_is_link_local(addr) ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE;
	netlink_add_addr(&r, IFA_LOCAL, addr);
	netlink_add_addr(&r, IFA_ADDRESS, addr);
	return netlink_send(&r);
}

int host_iface_set(unsigned int host, const struct host_iface *i)
{
	const struct given had = given.host[host];
	// By its number: somebody may have renamed it.
	const unsigned int index = had.index != 0 ? had.index : if_nametoindex(i->name);
	char text[IP_ADDR_STRLEN];
	int failed = 0;

	if (i->has_ipv6)
		setting_write(i, "ipv6", "disable_ipv6", "0");
	for (unsigned int a = 0; a < had.n; a++)
		if (!is_among(&had.addr[a], i->addr, i->n))
			addr_request(RTM_DELADDR, 0, index, &had.addr[a], had.len[a]);
	given_set(host, index, i);
	// All of them: somebody may have removed some.
	for (unsigned int a = 0; a < i->n; a++) {
		int rc = addr_request(
			RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, index, &i->addr[a], i->len[a]);

		if (rc == 0)
			continue;
		host_error(i, "interface %s does not accept address %s: %s", i->name,
			ip_addr_format(text, &i->addr[a]), strerror(-rc));
		failed = -EIO;
	}
	return failed;
}

int host_iface_open(unsigned int host, const struct host_iface *i)
{
	int fd = tun_open(i), rc;

	if (fd < 0)
		return fd;
	host_iface_carrier(fd, false);
	settings_write(i);
	rc = link_set(if_nametoindex(i->name), i);
	if (rc < 0)
		host_error(i, "cannot set up interface %s: %s", i->name, strerror(-rc));
	else
		rc = host_iface_set(host, i);
	if (rc == 0)
		return fd;
	host_iface_closed(host);
	close(fd);
	return -EIO;
}

void host_iface_mtu(unsigned int host, const struct host_iface *i)
{
	int rc = mtu_set(given.host[host].index, i);

	if (rc < 0)
		host_error(i, "cannot set the MTU of interface %s: %s", i->name, strerror(-rc));
}

void host_iface_closed(unsigned int host)
{
	pthread_mutex_lock(&given.lock);
	memset(&given.host[host], 0, sizeof(given.host[host]));
	pthread_mutex_unlock(&given.lock);
}

// --- whether the kernel still has all of it ---

// Of one dump of each kind.
struct seen {
	unsigned int n_addrs[HOSTS_MAX];
	bool came_up;
};

static int find_given(unsigned int index)
{
	for (int i = 0; i < HOSTS_MAX; i++)
		if (given.host[i].index == index)
			return i;
	return -1;
}

static void link_note(void *arg, const struct nlmsghdr *m)
{
	const struct ifinfomsg *link = NLMSG_DATA(m);
	struct seen *seen = arg;
	int host = find_given((unsigned int)link->ifi_index);
	bool down = (link->ifi_flags & IFF_UP) == 0;

	if (host < 0)
		return;
	seen->came_up |= given.host[host].was_down && !down;
	given.host[host].was_down = down;
}

static void addr_note(void *arg, const struct nlmsghdr *m)
{
	const struct ifaddrmsg *message = NLMSG_DATA(m);
	struct seen *seen = arg;
	int host = find_given(message->ifa_index);
	struct ip_addr addr;

	if (host >= 0 && netlink_address(&addr, m) &&
		is_among(&addr, given.host[host].addr, given.host[host].n))
		seen->n_addrs[host]++;
}

bool host_iface_lacks(void)
{
	struct seen seen = {0};
	bool lacks;

	pthread_mutex_lock(&given.lock);
	lacks = netlink_dump(RTM_GETLINK, link_note, &seen) < 0 ||
		netlink_dump(RTM_GETADDR, addr_note, &seen) < 0 || seen.came_up;
	for (unsigned int i = 0; i < HOSTS_MAX; i++)
		lacks |= given.host[i].index != 0 && !given.host[i].was_down &&
			 seen.n_addrs[i] < given.host[i].n;
	pthread_mutex_unlock(&given.lock);
	return lacks;
}

// --- routes ---

// Sorted by destination.
struct routes {
	struct host_route *of;
	unsigned int n;
};

static struct routes kernel; // addresses of the gateway that the kernel has

static int compare(const void *a, const void *b)
{
	const struct host_route *x = a, *y = b;
	int by_addr = memcmp(&x->to.addr, &y->to.addr, sizeof(x->to.addr));

	return by_addr != 0 ? by_addr : x->to.len - y->to.len;
}

static bool has(const struct routes *routes, const struct host_route *r)
{
	const struct host_route *found =
		routes->n > 0 ? bsearch(r, routes->of, routes->n, sizeof(*r), compare) : NULL;

	return found != NULL && ip_addr_equal(&found->via, &r->via) &&
	       strcmp(found->dev, r->dev) == 0 && ip_addr_equal(&found->source, &r->source);
}

static void next_hop_add(struct netlink_request *r, bool v4, const struct ip_addr *via)
{
	struct {
		uint16_t family;
		uint8_t addr[sizeof(via->b)];
	} other = {.family = AF_INET6}; // as struct rtvia

	if (v4 == ip_addr_is_v4(via)) {
		netlink_add_addr(r, RTA_GATEWAY, via);
		return;
	}
	memcpy(other.addr, via->b, sizeof(other.addr));
	netlink_add(r, RTA_VIA, &other, sizeof(other));
}

static int route_request(uint16_t type, uint16_t flags, const struct host_route *route)
{
	bool v4 = ip_addr_is_v4(&route->to.addr), on_link = ip_addr_is_none(&route->via);
	struct netlink_request r;

	netlink_begin(&r, type, flags, sizeof(r.route));
	r.route.rtm_family = v4 ? AF_INET : AF_INET6;
	r.route.rtm_dst_len = (uint8_t)(route->to.len - (v4 ? IP_V4_BITS : 0));
	r.route.rtm_table = RT_TABLE_MAIN;
	r.route.rtm_protocol = HOST_ROUTE_PROTOCOL;
	r.route.rtm_scope = on_link ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE;
	r.route.rtm_type = RTN_UNICAST;
	r.route.rtm_flags = on_link ? 0 : RTNH_F_ONLINK; // the gateway has checked that
	netlink_add_addr(&r, RTA_DST, &route->to.addr);
	if (!on_link)
		next_hop_add(&r, v4, &route->via);
	netlink_add_u32(&r, RTA_OIF, if_nametoindex(route->dev));
	netlink_add_u32(&r, RTA_PRIORITY, ROUTE_METRIC);
	if (!ip_addr_is_none(&route->source))
		netlink_add_addr(&r, RTA_PREFSRC, &route->source);
	return netlink_send(&r);
}

// Also one that the kernel had: somebody may have removed it, or set the interface down.
static bool route_add(const struct host_route *route)
{
	char text[IP_PREFIX_STRLEN];
	int rc = route_request(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, route);

	if (rc == -EEXIST && has(&kernel, route))
		return true;
	if (rc < 0)
		log_warn("%s:%u: the kernel does not accept the route to %s: %s", route->where.file,
			route->where.line, ip_prefix_format(text, &route->to), strerror(-rc));
	return rc == 0;
}

static void note(void *arg, const struct host_route *route)
{
	struct routes *routes = arg;

	routes->of[routes->n++] = *route;
}

void host_iface_routes(const struct conf *conf)
{
	struct routes wanted = {
		.of = calloc(conf->n_routes + conf->n_policies + 1, sizeof(wanted.of[0]))};
	unsigned int accepted = 0;

	if (wanted.of == NULL) {
		log_warn("out of memory for the kernel's routes");
		return;
	}
	host_routes_each(conf, note, &wanted);
	qsort(wanted.of, wanted.n, sizeof(wanted.of[0]), compare);
	// One that somebody has removed is not missed.
	for (unsigned int i = 0; i < kernel.n; i++)
		if (!has(&wanted, &kernel.of[i]))
			route_request(RTM_DELROUTE, 0, &kernel.of[i]);
	for (unsigned int i = 0; i < wanted.n; i++)
		if (route_add(&wanted.of[i]))
			wanted.of[accepted++] = wanted.of[i];
	wanted.n = accepted;
	free(kernel.of);
	kernel = wanted;
}

void host_iface_carrier(int fd, bool up)
{
	int carrier = up;

	ioctl(fd, TUNSETCARRIER, &carrier); // kernels before 5.0 have none: then it is up
}
