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
#define LINK_LOCAL    64    // bits of prefix
#define NO_LINK_LOCAL 1     // IN6_ADDR_GEN_MODE_NONE of linux/if_link.h

unsigned int if_nametoindex(const char *name); // net/if.h and linux/if.h exclude each other

static void exists_error(const struct conf_port *c)
{
	port_error(c,
		"host: there is an interface %s already: choose another name, or remove it ('ip "
		"link del %s')",
		c->host, c->host);
}

int host_iface_check(const struct conf *conf, bool is_running)
{
	// Without privileges this is unknown.
	const bool may_be_own = is_running || capabilities_lack_network();
	int rc = 0;

	for (unsigned int i = 0; i < conf->n_ports; i++) {
		const char *host = conf->ports[i].host;

		if (host == NULL || if_nametoindex(host) == 0 ||
			(may_be_own && iface_has_driver(host, "tun")))
			continue;
		exists_error(&conf->ports[i]);
		rc = -EIO;
	}
	return rc;
}

static int tap_error(const struct conf_port *c, int fd)
{
	const int error = errno;

	if (fd < 0 && error == ENOENT)
		port_error(c, "host: there is no " TUN ": 'modprobe tun'; in a container "
			      "'--device " TUN "'");
	else if (error == EBUSY || error == EINVAL)
		exists_error(c);
	else if (error == EPERM || error == EACCES)
		port_error(c,
			"host: cannot make interface %s: run culvertd as root, or with the "
			"capability CAP_NET_ADMIN",
			c->host);
	else
		port_error(c, "host: cannot make interface %s: %s", c->host, strerror(error));
	if (fd >= 0)
		close(fd);
	return -EIO;
}

static int tap_open(const struct conf_port *c)
{
	struct ifreq r = {.ifr_flags = (short)(IFF_TAP | IFF_NO_PI | IFF_TUN_EXCL)};
	int fd = open(TUN, O_RDWR | O_NONBLOCK | O_CLOEXEC);

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", c->host);
	if (fd < 0 || ioctl(fd, TUNSETIFF, &r) < 0)
		return tap_error(c, fd);
	return fd;
}

static bool has_ipv6(const struct snapshot_port *p)
{
	for (unsigned int i = 0; i < p->n_addrs; i++)
		if (!ip_addr_is_v4(&p->addrs[i]))
			return true;
	return false;
}

// A setting of an interface that the kernel has unless it lacks the family. New interfaces have the
// values of "default", which a container may have to set for them.
static void setting_write(
	const struct conf_port *c, const char *family, const char *setting, const char *value)
{
	char path[64 + IFNAMSIZ], now[16];
	int rc;

	snprintf(path, sizeof(path), "/proc/sys/net/%s/conf/%s/%s", family, c->host, setting);
	if (!sysfs_line(now, sizeof(now), path) || strcmp(now, value) == 0)
		return;
	rc = sysfs_write(path, value);
	if (rc < 0)
		log_warn("%s:%u: port \"%s\": host: cannot write %s to %s: %s: 'sysctl "
			 "net.%s.conf.default.%s=%s' before the start",
			c->where.file, c->where.line, c->name, value, path, strerror(-rc), family,
			setting, value);
}

// The kernel learns no routers, routes and addresses from the link. The gateway gives the host no
// message about them either (host_is_link_control()): these settings are a second lock. An address
// that is removed takes no others of its network with it: programs may have added these.
static void settings_write(const struct conf_port *c)
{
	setting_write(c, "ipv4", "promote_secondaries", "1");
	setting_write(c, "ipv4", "accept_redirects", "0");
	setting_write(c, "ipv4", "accept_source_route", "0");
	setting_write(c, "ipv6", "accept_ra", "0");
	setting_write(c, "ipv6", "autoconf", "0");
	setting_write(c, "ipv6", "accept_redirects", "0");
}

static void link_begin(struct netlink_request *r, unsigned int index)
{
	netlink_begin(r, RTM_NEWLINK, 0, sizeof(r->link));
	r->link.ifi_index = (int)index;
}

static int link_set(unsigned int index, const struct conf_port *c, const struct snapshot_port *p)
{
	const uint8_t mode = NO_LINK_LOCAL;
	struct netlink_request r;
	struct rtattr *all, *v6;
	int rc;

	link_begin(&r, index);
	netlink_add(&r, IFLA_ADDRESS, &p->mac, sizeof(p->mac));
	netlink_add_u32(&r, IFLA_MTU, c->mtu);
	rc = netlink_send(&r);
	if (rc < 0)
		return rc;
	link_begin(&r, index);
	all = netlink_nest(&r, IFLA_AF_SPEC);
	v6 = netlink_nest(&r, AF_INET6);
	netlink_add(&r, IFLA_INET6_ADDR_GEN_MODE, &mode, sizeof(mode));
	netlink_nest_end(&r, v6);
	netlink_nest_end(&r, all);
	rc = netlink_send(&r);
	if (rc < 0 && has_ipv6(p))
		return rc;
	link_begin(&r, index);
	r.link.ifi_flags = r.link.ifi_change = IFF_UP | IFF_NOARP;
	return netlink_send(&r);
}

static uint8_t prefix_len(const struct conf_port *c, const struct ip_addr *addr)
{
	for (unsigned int i = 0; i < c->n_addrs; i++)
		if (ip_addr_equal(&c->addrs[i].addr, addr))
			return (uint8_t)(c->addrs[i].net.len -
					 (ip_addr_is_v4(addr) ? IP_V4_BITS : 0));
	return LINK_LOCAL; // the one that the gateway has chosen
}

// Addresses that the gateway has given the interfaces, by port. With the lock.
static struct {
	pthread_mutex_t lock;
	struct given {
		struct ip_addr addr[PORT_ADDRS_MAX];
		uint8_t len[PORT_ADDRS_MAX]; // of its prefix, in bits of its family
		unsigned int n;
	} port[PORTS_MAX];
} given = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_given(const struct given *to, const struct ip_addr *addr)
{
	for (unsigned int i = 0; i < to->n; i++)
		if (ip_addr_equal(&to->addr[i], addr))
			return true;
	return false;
}

bool host_iface_gave(unsigned int port, const struct ip_addr *addr)
{
	bool gave;

	pthread_mutex_lock(&given.lock);
	gave = is_given(&given.port[port], addr);
	pthread_mutex_unlock(&given.lock);
	return gave;
}

static void given_set(unsigned int port, const struct given *to)
{
	pthread_mutex_lock(&given.lock);
	given.port[port] = *to;
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

// The addresses of the port but its guests, which the kernel has already.
static struct given addrs_wanted(const struct conf_port *c, const struct snapshot_port *p)
{
	struct given wanted = {.n = p->n_addrs - c->guests.n};

	for (unsigned int i = 0; i < wanted.n; i++) {
		wanted.addr[i] = p->addrs[i];
		wanted.len[i] = prefix_len(c, &p->addrs[i]);
	}
	return wanted;
}

int host_iface_addrs(unsigned int port, const struct conf_port *c, const struct snapshot_port *p)
{
	const struct given wanted = addrs_wanted(c, p), had = given.port[port];
	const unsigned int index = if_nametoindex(c->host);
	char text[IP_ADDR_STRLEN];
	int failed = 0;

	if (has_ipv6(p))
		setting_write(c, "ipv6", "disable_ipv6", "0");
	for (unsigned int i = 0; i < had.n; i++)
		if (!is_given(&wanted, &had.addr[i]))
			addr_request(RTM_DELADDR, 0, index, &had.addr[i], had.len[i]);
	given_set(port, &wanted);
	// All of them: somebody may have removed some.
	for (unsigned int i = 0; i < wanted.n; i++) {
		int rc = addr_request(RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, index,
			&wanted.addr[i], wanted.len[i]);

		if (rc == 0)
			continue;
		port_error(c, "host: interface %s does not accept address %s: %s", c->host,
			ip_addr_format(text, &wanted.addr[i]), strerror(-rc));
		failed = -EIO;
	}
	return failed;
}

int host_iface_open(unsigned int port, const struct conf_port *c, const struct snapshot_port *p)
{
	int fd = tap_open(c), rc;
	unsigned int index;

	if (fd < 0)
		return fd;
	host_iface_carrier(fd, false);
	index = if_nametoindex(c->host);
	settings_write(c);
	rc = link_set(index, c, p);
	if (rc < 0)
		port_error(c, "host: cannot set up interface %s: %s", c->host, strerror(-rc));
	else
		rc = host_iface_addrs(port, c, p);
	if (rc == 0)
		return fd;
	close(fd);
	return -EIO;
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

	return found != NULL && ip_addr_equal(&found->via, &r->via) && found->port == r->port &&
	       ip_addr_equal(&found->source, &r->source);
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

static int route_request(
	uint16_t type, uint16_t flags, const struct conf *conf, const struct host_route *route)
{
	bool v4 = ip_addr_is_v4(&route->to.addr), on_link = ip_addr_is_none(&route->via);
	struct netlink_request r;

	netlink_begin(&r, type, flags, sizeof(r.route));
	r.route.rtm_family = v4 ? AF_INET : AF_INET6;
	r.route.rtm_dst_len = (uint8_t)(route->to.len - (v4 ? IP_V4_BITS : 0));
	r.route.rtm_table = RT_TABLE_MAIN;
	r.route.rtm_protocol = RTPROT_STATIC;
	r.route.rtm_scope = on_link ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE;
	r.route.rtm_type = RTN_UNICAST;
	r.route.rtm_flags = on_link ? 0 : RTNH_F_ONLINK; // the gateway has checked that
	netlink_add_addr(&r, RTA_DST, &route->to.addr);
	if (!on_link)
		next_hop_add(&r, v4, &route->via);
	netlink_add_u32(&r, RTA_OIF, if_nametoindex(conf->ports[route->port].host));
	netlink_add_u32(&r, RTA_PRIORITY, ROUTE_METRIC);
	if (!ip_addr_is_none(&route->source))
		netlink_add_addr(&r, RTA_PREFSRC, &route->source);
	return netlink_send(&r);
}

static bool route_add(const struct conf *conf, const struct host_route *route)
{
	char text[IP_PREFIX_STRLEN];
	int rc = route_request(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, conf, route);

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
			route_request(RTM_DELROUTE, 0, conf, &kernel.of[i]);
	for (unsigned int i = 0; i < wanted.n; i++)
		if (has(&kernel, &wanted.of[i]) || route_add(conf, &wanted.of[i]))
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
