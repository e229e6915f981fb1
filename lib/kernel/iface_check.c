// SPDX-License-Identifier: BSD-3-Clause
#include "iface_check.h"

#include <errno.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "addr.h"
#include "iface.h"
#include "port_log.h"
#include "sysfs.h"
#include "text_list.h"

// --- offloads ---

// Of received packets, and of packets from the other end of a veth pair; as ethtool -k names them,
// and the words for ethtool -K.
struct offload {
	const char *feature, *word;
};

static const struct offload merging[] = {{"rx-gro", "gro"}, {"rx-gro-hw", "rx-gro-hw"},
	{"rx-lro", "lro"}, {"rx-gro-list", "rx-gro-list"}};
static const struct offload sending[] = {{"tx-tcp-segmentation", "tso"},
	{"tx-tcp6-segmentation", "tso"}, {"tx-generic-segmentation", "gso"}};

static uint32_t features_count(const char *name)
{
	struct {
		struct ethtool_sset_info info;
		uint32_t n;
	} ask = {.info = {.cmd = ETHTOOL_GSSET_INFO, .sset_mask = UINT64_C(1) << ETH_SS_FEATURES}};

	return iface_ethtool(name, &ask) && ask.info.sset_mask != 0 ? ask.n : 0;
}

// Whether the feature with this number of n is on.
static bool is_on(const char *name, uint32_t n, uint32_t number)
{
	const uint32_t blocks = (n + 31) / 32;
	struct ethtool_gfeatures *f = calloc(1, sizeof(*f) + blocks * sizeof(f->features[0]));
	bool on = false;

	if (f == NULL)
		return false;
	*f = (struct ethtool_gfeatures){.cmd = ETHTOOL_GFEATURES, .size = blocks};
	if (iface_ethtool(name, f))
		on = (f->features[number / 32].active >> number % 32 & 1) != 0;
	free(f);
	return on;
}

// Adds "WORD off" for each of the offloads that is on.
static void offloads_list(
	char list[TEXT_LIST_SIZE], const char *name, const struct offload wanted[], size_t n_wanted)
{
	const uint32_t n = features_count(name);
	struct ethtool_gstrings *s = calloc(1, sizeof(*s) + (size_t)n * ETH_GSTRING_LEN);

	if (s == NULL)
		return;
	*s = (struct ethtool_gstrings){
		.cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_FEATURES, .len = n};
	if (!iface_ethtool(name, s))
		s->len = 0;
	for (uint32_t i = 0; i < RTE_MIN(n, s->len); i++)
		for (size_t k = 0; k < n_wanted; k++) {
			char off[32];

			if (strncmp((const char *)s->data + (size_t)i * ETH_GSTRING_LEN,
				    wanted[k].feature, ETH_GSTRING_LEN) != 0 ||
				!is_on(name, n, i))
				continue;
			snprintf(off, sizeof(off), "%s off", wanted[k].word);
			if (strstr(list, off) == NULL)
				text_list_add(list, " ", off);
		}
	free(s);
}

static bool iface_number(const char *name, const char *file, unsigned int *number)
{
	char path[96], line[16];

	snprintf(path, sizeof(path), SYSFS "/class/net/%s/%s", name, file);
	return sysfs_line(line, sizeof(line), path) && sscanf(line, "%u", number) == 1;
}

// The other end of a veth pair, if it is in this network namespace.
static bool find_peer(char peer[IFNAMSIZ], const char *name)
{
	unsigned int own, link, back;

	return iface_has_driver(name, "veth") && iface_number(name, "iflink", &link) &&
	       if_indextoname(link, peer) && iface_number(peer, "iflink", &back) &&
	       iface_number(name, "ifindex", &own) && back == own;
}

static void warn_offloads(const struct conf_port *c, const char *name)
{
	char list[TEXT_LIST_SIZE] = "", peer[IFNAMSIZ];

	offloads_list(list, name, merging, sizeof(merging) / sizeof(merging[0]));
	if (list[0] != '\0')
		port_warn(c,
			"interface %s merges received packets to larger ones than the sender's, "
			"which are dropped as too_big: 'ethtool -K %s %s'",
			name, name, list);
	list[0] = '\0';
	if (!find_peer(peer, name))
		return;
	offloads_list(list, peer, sending, sizeof(sending) / sizeof(sending[0]));
	if (list[0] != '\0')
		port_warn(c,
			"interface %s, the other end of %s, leaves TCP segments to be split by a "
			"card, which are dropped as too_big: 'ethtool -K %s %s'",
			peer, name, peer, list);
}

// --- addresses and forwarding ---

static bool addr_read(struct ip_addr *a, const struct sockaddr *s)
{
	if (s == NULL || (s->sa_family != AF_INET && s->sa_family != AF_INET6))
		return false;
	if (s->sa_family == AF_INET)
		*a = ip_addr_from_v4(((const struct sockaddr_in *)s)->sin_addr.s_addr);
	else
		memcpy(a->b, &((const struct sockaddr_in6 *)s)->sin6_addr, sizeof(a->b));
	return true;
}

// A link-local address answers only neighbours that ask for it.
static void warn_addresses(const struct conf_port *c, const char *name, struct ifaddrs *all)
{
	char list[TEXT_LIST_SIZE] = "", text[IP_ADDR_STRLEN];
	struct ip_addr a;

	for (struct ifaddrs *i = all; i != NULL; i = i->ifa_next)
		if (strcmp(i->ifa_name, name) == 0 && addr_read(&a, i->ifa_addr) &&
			!ip_addr_is_link_local(&a))
			text_list_add(list, ", ", ip_addr_format(text, &a));
	if (list[0] != '\0')
		port_warn(c,
			"interface %s has addresses in the kernel, which answers for them past all "
			"policies: %s: 'ip address flush dev %s'",
			name, list, name);
}

// The kernel accepts packets to its addresses from any interface.
static void warn_own(const struct conf_port *c, const char *name, struct ifaddrs *all)
{
	char text[IP_ADDR_STRLEN];
	struct ip_addr a;

	for (struct ifaddrs *i = all; i != NULL; i = i->ifa_next)
		for (unsigned int k = 0; k < c->n_addrs && addr_read(&a, i->ifa_addr); k++)
			if (strcmp(i->ifa_name, name) != 0 && ip_addr_equal(&c->addrs[k].addr, &a))
				port_warn(c,
					"address %s is also one of the kernel's, of interface %s: "
					"it accepts packets to it past all policies: 'ip address "
					"del %s dev %s'",
					ip_addr_format(text, &a), i->ifa_name, text, i->ifa_name);
}

static void warn_forwarding(const struct conf_port *c, const char *name)
{
	static const char *const families[] = {"ipv4", "ipv6"};
	char path[96], line[8];

	for (unsigned int i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		snprintf(path, sizeof(path), "/proc/sys/net/%s/conf/%s/forwarding", families[i],
			name);
		if (sysfs_line(line, sizeof(line), path) && strcmp(line, "0") != 0)
			port_warn(c,
				"the kernel forwards packets that interface %s receives as well, "
				"in "
				"clear and past all policies: 'sysctl "
				"net.%s.conf.%s.forwarding=0', "
				"unless nftables hides them from it",
				name, families[i], name);
	}
}

static void share_warn(const struct conf *conf, const struct conf_port *c, const char *name)
{
	struct ifaddrs *all;

	warn_offloads(c, name);
	// The kernel does not see the frames: a program of AF_XDP takes them, or the gateway hides
	// them because of a host.
	if (conf_device_is_xdp(c->device) || conf_has_host(conf))
		return;
	warn_forwarding(c, name);
	if (getifaddrs(&all) < 0)
		return;
	warn_addresses(c, name, all);
	warn_own(c, name, all);
	freeifaddrs(all);
}

// --- needs of the port ---

static void interfaces_list(char list[TEXT_LIST_SIZE])
{
	struct if_nameindex *all = if_nameindex();

	for (struct if_nameindex *i = all; i != NULL && i->if_name != NULL; i++)
		if (strcmp(i->if_name, "lo") != 0)
			text_list_add(list, ", ", i->if_name);
	if (all != NULL)
		if_freenameindex(all);
}

// False after a message.
static bool interface_check(const struct conf_port *c, const char *name)
{
	char list[TEXT_LIST_SIZE] = "";

	if (if_nametoindex(name) != 0)
		return true;
	interfaces_list(list);
	port_error(c,
		"device \"%s\": there is no network interface \"%s\", existing ones: %s (see 'ip "
		"link')",
		c->device, name, list[0] != '\0' ? list : "none");
	return false;
}

// Packet sockets truncate packets longer than a frame of their ring. Returns 0 or, after a message,
// -EIO.
static int frame_check(const struct conf_port *c)
{
	const unsigned int head = 80; // the kernel's header in front of an IP packet
	char text[16] = "2048";       // the driver's default
	unsigned int frame, needed = (c->mtu + head + 15) & ~15u;

	if (strncmp(c->device, "net_af_packet", 13) != 0)
		return 0;
	conf_device_arg(text, sizeof(text), c->device, "framesz");
	frame = (unsigned int)strtoul(text, NULL, 10);
	if (frame >= needed)
		return 0;
	port_error(c,
		"framesz=%s of the device is too small for mtu %u: write framesz=%u,blocksz=%u",
		text, c->mtu, needed, (needed * 32 + 4095) & ~4095u);
	return -EIO;
}

// AF_XDP counts the queues that receive and send ("combined"); an interface without any has one.
// Returns 0 or, after a message, -EIO.
static int channels_check(const struct conf_port *c, const char *name)
{
	struct ethtool_channels has = {.cmd = ETHTOOL_GCHANNELS};
	char first[8] = "0", count[8] = "1"; // the driver's defaults
	unsigned long wanted;

	if (!conf_device_is_xdp(c->device))
		return 0;
	if (!iface_ethtool(name, &has) || has.combined_count == 0)
		has.combined_count = 1;
	conf_device_arg(first, sizeof(first), c->device, "start_queue");
	conf_device_arg(count, sizeof(count), c->device, "queue_count");
	wanted = strtoul(first, NULL, 10) + strtoul(count, NULL, 10);
	if (wanted <= has.combined_count)
		return 0;
	port_error(c,
		"start_queue and queue_count need %lu queues, but interface %s has %u ('combined' "
		"of 'ethtool -l %s')",
		wanted, name, has.combined_count, name);
	return -EIO;
}

// Checks the mtu of the existing interface that a port attaches to, and warns if it is down: both
// are its owner's to change. Returns 0 or, after a message, -EIO.
static int mtu_check(const struct conf_port *c, const char *name)
{
	unsigned int flags, mtu = iface_mtu(c->device);

	if (!iface_flags(&flags, name) || mtu == 0)
		return 0; // then DPDK finds out
	if ((flags & IFF_UP) == 0)
		port_warn(c, "interface %s is down: 'ip link set %s up'", name, name);
	if (mtu >= c->mtu)
		return 0;
	port_error(c, "interface %s has mtu %u: set mtu = %u, or 'ip link set %s mtu %u'", name,
		mtu, mtu, name, c->mtu);
	return -EIO;
}

int iface_check(const struct conf *conf, const struct conf_port *c)
{
	char name[IFNAMSIZ];

	if (!conf_device_is_attached(c->device) || !iface_name(name, c->device))
		return 0;
	if (!interface_check(c, name))
		return -EIO;
	share_warn(conf, c, name);
	return mtu_check(c, name) | frame_check(c) | channels_check(c, name);
}
