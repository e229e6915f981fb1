// SPDX-License-Identifier: BSD-3-Clause
#include "iface_hide.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "iface.h"
#include "netlink.h"
#include "port_log.h"

#define CHAIN      "ingress"
#define TABLE_SIZE (2 * CONF_NAME_MAX + 16)

// By port: the socket of its table, and the number of tables that it has had.
static struct {
	int fd;
	unsigned int n;
} hidden[CONF_PORTS_MAX];

static void add_text(struct netlink_request *r, uint16_t type, const char *text)
{
	netlink_add(r, type, text, strlen(text) + 1);
}

static void table_begin(struct netlink_request *r, const char *table)
{
	netlink_begin(r, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWTABLE, NLM_F_CREATE | NLM_F_EXCL,
		sizeof(r->filter));
	r->filter.nfgen_family = NFPROTO_NETDEV;
	add_text(r, NFTA_TABLE_NAME, table);
	netlink_add_u32(r, NFTA_TABLE_FLAGS, htonl(NFT_TABLE_F_OWNER));
}

static void chain_begin(struct netlink_request *r, const char *table, const char *iface)
{
	struct rtattr *hook;

	netlink_begin(r, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWCHAIN, NLM_F_CREATE | NLM_F_EXCL,
		sizeof(r->filter));
	r->filter.nfgen_family = NFPROTO_NETDEV;
	add_text(r, NFTA_CHAIN_TABLE, table);
	add_text(r, NFTA_CHAIN_NAME, CHAIN);
	add_text(r, NFTA_CHAIN_TYPE, "filter");
	netlink_add_u32(r, NFTA_CHAIN_POLICY, htonl(NF_DROP));
	hook = netlink_nest(r, NFTA_CHAIN_HOOK);
	netlink_add_u32(r, NFTA_HOOK_HOOKNUM, htonl(NF_NETDEV_INGRESS));
	netlink_add_u32(r, NFTA_HOOK_PRIORITY, 0);
	add_text(r, NFTA_HOOK_DEV, iface);
	netlink_nest_end(r, hook);
}

// Both or none. Returns the socket that the table belongs to, or -errno.
static int table_make(const char *table, const char *iface)
{
	struct netlink_request r[2];

	table_begin(&r[0], table);
	chain_begin(&r[1], table, iface);
	return netlink_filter(r, 2);
}

static bool is_shared(const struct conf *conf, const struct conf_port *c, char name[IFNAMSIZ])
{
	return conf_has_host(conf) && conf_device_is_attached(c->device) &&
	       iface_name(name, c->device);
}

int iface_hide(const struct conf *conf, const struct conf_port *c)
{
	const unsigned int port = (unsigned int)(c - conf->ports);
	char name[IFNAMSIZ], table[TABLE_SIZE];
	int fd;

	if (!is_shared(conf, c, name))
		return 0;
	snprintf(table, sizeof(table), "culvert-%s-%s-%u", conf->instance, c->name,
		hidden[port].n % 2); // the one before stays until the next one is there
	fd = table_make(table, name);
	if (fd < 0) {
		port_error(c,
			"host: cannot hide the frames of interface %s from the kernel, which would "
			"accept them past all policies: no table %s of nftables: %s. It needs "
			"CAP_NET_ADMIN, and Linux 5.12 or later with nf_tables and its ingress "
			"hook",
			name, table, strerror(-fd));
		return -EIO;
	}
	if (hidden[port].n++ > 0)
		close(hidden[port].fd);
	hidden[port].fd = fd;
	return 0;
}

void iface_show(unsigned int port)
{
	if (hidden[port].n > 0)
		close(hidden[port].fd);
	hidden[port].n = 0;
}
