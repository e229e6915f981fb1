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
#include "iface.h"
#include "ipv6.h"
#include "log.h"
#include "netlink.h"
#include "port_log.h"
#include "sysfs.h"

#define TUN           "/dev/net/tun"
#define NO_LINK_LOCAL 1 // IN6_ADDR_GEN_MODE_NONE of linux/if_link.h

// net/if.h and linux/if.h exclude each other
unsigned int if_nametoindex(const char *name);
char *if_indextoname(unsigned int index, char *name);

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
// message about them either (host_is_link_control()): these settings are a second lock. Of a port
// with addresses = [ "host" ] the kernel's settings, or those of a client, count. An address
// that is removed takes no others of its network with it: programs may have added these.
static void settings_write(const struct host_iface *i)
{
	setting_write(i, "ipv4", "promote_secondaries", "1");
	setting_write(i, "ipv4", "accept_redirects", "0");
	setting_write(i, "ipv4", "accept_source_route", "0");
	if (!i->asks) {
		setting_write(i, "ipv6", "accept_ra", "0");
		setting_write(i, "ipv6", "autoconf", "0");
	}
	setting_write(i, "ipv6", "accept_redirects", "0");
}

static void link_begin(struct netlink_request *r, unsigned int index)
{
	netlink_begin(r, RTM_NEWLINK, 0, sizeof(r->link));
	r->link.ifi_index = (int)index;
}

static int mac_set(unsigned int index, const struct rte_ether_addr *mac)
{
	struct netlink_request r;

	link_begin(&r, index);
	netlink_add(&r, IFLA_ADDRESS, mac, sizeof(*mac));
	return netlink_send(&r);
}

static int mtu_set(unsigned int index, uint32_t mtu)
{
	struct netlink_request r;

	link_begin(&r, index);
	netlink_add_u32(&r, IFLA_MTU, mtu);
	return netlink_send(&r);
}

static int up_set(unsigned int index, bool up)
{
	struct netlink_request r;

	link_begin(&r, index);
	r.link.ifi_flags = up ? IFF_UP | IFF_NOARP : 0;
	r.link.ifi_change = IFF_UP | IFF_NOARP;
	return netlink_send(&r);
}

static int no_link_local(unsigned int index)
{
	const uint8_t mode = NO_LINK_LOCAL;
	struct netlink_request r;
	struct rtattr *all, *v6;

	link_begin(&r, index);
	all = netlink_nest(&r, IFLA_AF_SPEC);
	v6 = netlink_nest(&r, AF_INET6);
	netlink_add(&r, IFLA_INET6_ADDR_GEN_MODE, &mode, sizeof(mode));
	netlink_nest_end(&r, v6);
	netlink_nest_end(&r, all);
	return netlink_send(&r);
}

// Of a new interface, and of one whose MTU was too small for IPv6 for a time: the kernel has
// forgotten all about IPv6 then, and chooses a link-local address when it is up.
static int link_set(unsigned int index, const struct host_iface *i)
{
	int rc = up_set(index, false);

	if (rc == 0 && !i->is_tunnel)
		rc = mac_set(index, &i->mac);
	if (rc == 0)
		rc = mtu_set(index, i->mtu);
	if (rc < 0)
		return rc;
	settings_write(i);
	rc = no_link_local(index);
	return rc < 0 && i->has_ipv6 ? rc : up_set(index, true);
}

// The interfaces that the gateway has made, with the addresses and the MTU that the kernel has
// accepted. With the lock.
static struct {
	pthread_mutex_t lock;
	struct given {
		unsigned int index;       // the kernel's; 0: there is none
		uint32_t since;           // see struct snapshot, host_since
		char name[CONF_NAME_MAX]; // by the configuration
		uint32_t mtu; // 0: it is to be set up, or somebody has given it another one
		struct ip_addr addr[PORT_ADDRS_MAX];
		uint8_t len[PORT_ADDRS_MAX]; // of its prefix, in bits of its family
		unsigned int n;
		unsigned int n_announced; // how often again, see ANNOUNCE
		bool lacks;               // somebody has removed some of them
	} host[HOSTS_MAX];
	bool is_down[HOSTS_MAX]; // somebody has set it down, as seen last; the control thread's
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

static int refused(const struct host_iface *i, const char *part, int rc)
{
	host_error(i, "interface %s does not accept %s: %s", i->name, part, strerror(-rc));
	return -EIO;
}

static int link_give(struct given *g, const struct host_iface *i)
{
	int rc = 0;

	if (g->mtu < IPV6_MIN_MTU && (g->mtu == 0 || i->mtu >= IPV6_MIN_MTU))
		rc = link_set(g->index, i);
	else if (g->mtu != i->mtu)
		rc = mtu_set(g->index, i->mtu);
	if (rc < 0)
		return refused(i, "its MTU, or to be set up", rc);
	g->mtu = i->mtu;
	return 0;
}

static bool is_wanted(const struct host_iface *i, const struct ip_addr *addr, uint8_t len)
{
	for (unsigned int a = 0; a < i->n; a++)
		if (ip_addr_equal(&i->addr[a], addr) && i->len[a] == len)
			return true;
	return false;
}

// Removes addresses that are not wanted any more, or with another prefix.
static void addrs_take(struct given *g, const struct host_iface *i)
{
	unsigned int kept = 0;

	for (unsigned int a = 0; a < g->n; a++) {
		if (!is_wanted(i, &g->addr[a], g->len[a])) {
			addr_request(RTM_DELADDR, 0, g->index, &g->addr[a], g->len[a]);
			continue;
		}
		g->addr[kept] = g->addr[a];
		g->len[kept++] = g->len[a];
	}
	g->n = kept;
}

// Only addresses that the kernel lacks: it announces each to all programs again.
static int addrs_give(struct given *g, const struct host_iface *i)
{
	const struct given had = *g;
	char text[IP_ADDR_STRLEN];
	int failed = 0;

	g->n = 0;
	for (unsigned int a = 0; a < i->n; a++) {
		bool has = !had.lacks && is_among(&i->addr[a], had.addr, had.n);
		int rc = has ? 0
			     : addr_request(RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, g->index,
				       &i->addr[a], i->len[a]);

		if (rc < 0) {
			failed = refused(i, ip_addr_format(text, &i->addr[a]), rc);
			continue;
		}
		g->addr[g->n] = i->addr[a];
		g->len[g->n++] = i->len[a];
	}
	g->lacks = false;
	return failed;
}

int host_iface_set(unsigned int host, const struct host_iface *i)
{
	struct given *g = &given.host[host];
	int rc;

	pthread_mutex_lock(&given.lock);
	rc = link_give(g, i);
	if (i->has_ipv6)
		setting_write(i, "ipv6", "disable_ipv6", "0");
	addrs_take(g, i);
	rc |= addrs_give(g, i);
	pthread_mutex_unlock(&given.lock);
	return rc;
}

static void given_begin(unsigned int host, const struct given *g)
{
	pthread_mutex_lock(&given.lock);
	given.host[host] = *g;
	pthread_mutex_unlock(&given.lock);
}

int host_iface_open(unsigned int host, const struct host_iface *i)
{
	struct given g = {.since = i->since};
	int fd = tun_open(i);

	if (fd < 0)
		return fd;
	host_iface_carrier(fd, false);
	g.index = if_nametoindex(i->name);
	snprintf(g.name, sizeof(g.name), "%s", i->name);
	given_begin(host, &g);
	return fd;
}

unsigned int host_iface_index(const char *name)
{
	unsigned int index = 0;

	pthread_mutex_lock(&given.lock);
	for (unsigned int i = 0; i < HOSTS_MAX; i++)
		if (strcmp(given.host[i].name, name) == 0)
			index = given.host[i].index;
	pthread_mutex_unlock(&given.lock);
	return index;
}

static int find_given(unsigned int index)
{
	for (int i = 0; i < HOSTS_MAX; i++)
		if (given.host[i].index == index && index != 0)
			return i;
	return -1;
}

int host_iface_at(unsigned int index, const struct snapshot *s)
{
	int host;

	pthread_mutex_lock(&given.lock);
	host = find_given(index);
	if (host >= 0 && given.host[host].since != s->host_since[host])
		host = -1;
	pthread_mutex_unlock(&given.lock);
	return host;
}

bool host_iface_exists(unsigned int host)
{
	char name[IFNAMSIZ];

	return if_indextoname(given.host[host].index, name) != NULL;
}

void host_iface_closed(unsigned int host)
{
	given_begin(host, &(struct given){0});
}

// --- whether the kernel still has all of it ---

// Of one dump of each kind.
struct seen {
	bool link[HOSTS_MAX];
	unsigned int n_addrs[HOSTS_MAX];
	bool changed; // an interface has another MTU, or was down and is up again
};

static void link_note(void *arg, const struct nlmsghdr *m)
{
	const struct ifinfomsg *link = NLMSG_DATA(m);
	const uint32_t *mtu = netlink_attribute(m, sizeof(*link), IFLA_MTU, sizeof(*mtu));
	int host = find_given((unsigned int)link->ifi_index);
	bool down = (link->ifi_flags & IFF_UP) == 0;
	struct seen *seen = arg;
	struct given *g;

	if (host < 0)
		return;
	g = &given.host[host];
	seen->link[host] = true;
	seen->changed |= given.is_down[host] && !down;
	if (g->mtu != 0 && mtu != NULL && *mtu != g->mtu) {
		seen->changed = true;
		g->mtu = 0;
	}
	given.is_down[host] = down;
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

// FRR 8 handles messages about links and about addresses in two threads, and forgets addresses of
// an interface that it does not know yet. So those of a new interface are announced again: at once,
// and when a second has passed.
#define ANNOUNCE 2

static bool lacks(struct given *g, const struct seen *seen, unsigned int host)
{
	if (g->index != 0 && seen->link[host] && !given.is_down[host] && seen->n_addrs[host] < g->n)
		g->lacks = true;
	if (g->n > 0 && g->n_announced < ANNOUNCE) {
		g->n_announced++;
		g->lacks = true;
	}
	return g->lacks || (g->index != 0 && !seen->link[host]);
}

bool host_iface_lacks(void)
{
	struct seen seen = {0};
	bool any;

	pthread_mutex_lock(&given.lock);
	any = netlink_dump(RTM_GETLINK, link_note, &seen) < 0 ||
	      netlink_dump(RTM_GETADDR, addr_note, &seen) < 0 || seen.changed;
	for (unsigned int i = 0; i < HOSTS_MAX; i++)
		any |= lacks(&given.host[i], &seen, i);
	pthread_mutex_unlock(&given.lock);
	return any;
}

void host_iface_carrier(int fd, bool up)
{
	int carrier = up;

	ioctl(fd, TUNSETCARRIER, &carrier); // kernels before 5.0 have none: then it is up
}
