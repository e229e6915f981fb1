// SPDX-License-Identifier: BSD-3-Clause
#include "bond.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eth_bond.h>
#include <rte_eth_bond_8023ad.h>
#include <rte_lcore.h>
#include <rte_log.h>

#include "device_bus.h"
#include "device_probe.h"
#include "device_watch.h"
#include "dpdk_compat.h"
#include "eal_log.h"
#include "event_log.h"
#include "port_log.h"

// Calls of bond_is_lost():
#define SETTLE 10  // 1 s, in which a device that is back gets its owner and its driver
#define RETRY  300 // 30 s

enum member_state {
	MEMBER_ABSENT,  // closed: opened as soon as it is there
	MEMBER_REFUSED, // closed: not tried again before it has been absent, or no other one works
	MEMBER_OPEN,
	MEMBER_GONE,   // open, but not there any more: replaced as soon as it is there again
	MEMBER_LEAVING // open, and to be closed: its bus waits for that
};

struct member {
	enum member_state state;
	uint16_t id;         // ethdev's number
	uint16_t n_rx, n_tx; // queues that it has
	struct device_watch watch;
	unsigned int waits; // calls of bond_is_lost() for which it has been there, but not open
};

struct bond {
	enum conf_bond kind;
	uint16_t id; // ethdev's number of the device made of them
	unsigned int n;
	struct member member[CONF_MEMBERS_MAX];
};

struct bond *bond_new(const struct conf_port *c)
{
	struct bond *b = calloc(1, sizeof(*b));

	if (b == NULL)
		return NULL;
	b->kind = c->bond;
	b->n = c->n_members;
	return b;
}

static bool is_open(const struct member *m)
{
	return m->state >= MEMBER_OPEN;
}

static void member_close(struct member *m)
{
	if (!is_open(m))
		return;
	eal_log_begin(); // errors of a device that is gone
	device_close(m->id);
	device_find_again(m->id);
	eal_log_end(false);
	m->state = m->state == MEMBER_LEAVING ? MEMBER_REFUSED : MEMBER_ABSENT;
}

// Closes one that does not work.
static void member_refuse(struct member *m)
{
	m->state = MEMBER_LEAVING;
	member_close(m);
}

void bond_close(struct bond *b)
{
	for (unsigned int i = 0; i < b->n; i++)
		member_close(&b->member[i]);
}

// net_bonding configures it later, with the settings of the port, but keeps this one.
static int removal_request(uint16_t id, const struct rte_eth_dev_info *info)
{
	const struct rte_eth_conf conf = {.intr_conf.rmv = 1};

	if ((*info->dev_flags & RTE_ETH_DEV_INTR_RMV) == 0)
		return 0;
	return rte_eth_dev_configure(id, 1, 1, &conf);
}

// Drivers that announce events about their link do not all raise them (net_tap, e1000e in QEMU): if
// they announce none, net_bonding looks at the link itself, every 10 ms. The driver of virtio_user
// raises them on request: see port.c.
static void link_poll(const struct rte_eth_dev_info *info)
{
	uint32_t *flags = (uint32_t *)(uintptr_t)info->dev_flags; // no function sets them

	if (strcmp(info->driver_name, "net_virtio_user") != 0)
		*flags &= ~RTE_ETH_DEV_INTR_LSC;
}

static int mac_set(const struct member *m, struct rte_ether_addr *mac)
{
	struct rte_ether_addr own;
	int rc = rte_eth_macaddr_get(m->id, &own);

	if (rc == 0 && rte_is_zero_ether_addr(mac)) // the port has that of its first member
		*mac = own;
	return rc == 0 && !rte_is_same_ether_addr(mac, &own)
		       ? rte_eth_dev_default_mac_addr_set(m->id, mac)
		       : rc;
}

// Members of LACP receive its frames, which are multicast, before they are asked to.
static int member_prepare(const struct member *m, const struct conf_port *c,
	const struct rte_eth_dev_info *info, struct rte_ether_addr *mac)
{
	const char *failed = "it cannot report its removal";
	int rc = removal_request(m->id, info);

	link_poll(info);
	if (rc == 0) {
		failed = "its link address cannot be set to that of the port";
		rc = mac_set(m, mac);
	}
	if (rc == 0 && c->bond == CONF_LACP) {
		failed = "it cannot receive all multicast frames, as LACP needs";
		rc = device_listen_to_all(m->id);
	}
	if (rc < 0)
		port_error(c, "member \"%s\": %s (%s)", c->device, failed, strerror(-rc));
	return rc;
}

// mac: that of the port, all zero if it has none yet.
static void member_open(struct member *m, const struct conf_port *c, const struct bond_params *p,
	struct rte_ether_addr *mac)
{
	struct rte_eth_dev_info info;

	m->state = MEMBER_REFUSED;
	if (device_find(&m->id, c) < 0)
		return;
	m->state = MEMBER_OPEN;
	if (device_identify(&info, m->id, c) == 0 &&
		device_queues_check(&info, c, "member", p->n_rx, p->n_tx) == 0 &&
		member_prepare(m, c, &info, mac) == 0) {
		device_watch_start(&m->watch, info.if_index);
		m->n_rx = info.max_rx_queues;
		m->n_tx = info.max_tx_queues;
		m->waits = 0;
	} else {
		member_refuse(m);
	}
}

// Whether opening it makes sense.
static bool is_present(const char *device)
{
	return device_is_present(device) && device_is_bound(device);
}

// For the first time all that are there are tried: DPDK opens some cards without a driver of the
// kernel's.
static void members_open(struct bond *b, const struct bond_params *p, struct rte_ether_addr *mac)
{
	const struct conf_port *devices = &p->conf->devices[p->c->devices];
	bool (*may_open)(const char *device) = p->n_rx == 0 ? device_is_present : is_present;

	for (unsigned int i = 0; i < b->n; i++) {
		struct member *m = &b->member[i];

		if (!may_open(devices[i].device)) {
			m->state = MEMBER_ABSENT;
			m->waits = 0;
		} else if (m->state == MEMBER_ABSENT) {
			member_open(m, &devices[i], p, mac);
		}
	}
}

unsigned int bond_ids(uint16_t id[CONF_MEMBERS_MAX], const struct bond *b)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < b->n; i++)
		if (is_open(&b->member[i]))
			id[n++] = b->member[i].id;
	return n;
}

static void member_add(const struct bond *b, struct member *m, const struct conf_port *c)
{
	int rc;

	eal_log_begin();
	rc = rte_eth_bond_member_add(b->id, m->id);
	eal_log_end(rc < 0);
	if (rc == 0)
		return;
	port_error(
		c, "member \"%s\" does not go with the others, see DPDK's lines above", c->device);
	member_refuse(m);
}

// Returns 0, or -EIO if none could be added.
static int members_add(struct bond *b, const struct conf_port devices[])
{
	uint16_t ids[CONF_MEMBERS_MAX];

	for (unsigned int i = 0; i < b->n; i++)
		if (is_open(&b->member[i]))
			member_add(b, &b->member[i], &devices[i]);
	return bond_ids(ids, b) > 0 ? 0 : -EIO;
}

// Makes an ethdev of the open members.
static int ethdev_make(struct bond *b, const struct bond_params *p, struct rte_ether_addr *mac)
{
	int mode = b->kind == CONF_LACP ? BONDING_MODE_8023AD : BONDING_MODE_ACTIVE_BACKUP;
	int id = rte_eth_bond_create(p->c->device, (uint8_t)mode, (uint8_t)rte_socket_id());

	if (id < 0) {
		port_error(p->c, "cannot make device \"%s\": %s", p->c->device, strerror(-id));
		return -EIO;
	}
	b->id = (uint16_t)id;
	if (rte_eth_bond_mac_address_set(b->id, mac) == 0 &&
		rte_eth_bond_xmit_policy_set(b->id, BALANCE_XMIT_POLICY_LAYER34) == 0 &&
		members_add(b, &p->conf->devices[p->c->devices]) == 0)
		return 0;
	device_close(b->id);
	return -EIO;
}

// When none is open, the port is tried again as a whole.
static void refused_allow(struct bond *b)
{
	for (unsigned int i = 0; i < b->n; i++)
		b->member[i].state = MEMBER_ABSENT;
}

static void failures_log(const struct bond *b, const struct conf_port *c)
{
	for (unsigned int i = 0; i < b->n; i++)
		if (!is_open(&b->member[i]))
			log_warn("port \"%s\": opened without member \"%s\": %s", c->name,
				c->members[i], bond_failure(b, i));
}

int bond_open(uint16_t *id, struct bond *b, const struct bond_params *p)
{
	struct rte_ether_addr mac = p->mac;
	uint16_t ids[CONF_MEMBERS_MAX];
	int rc = -EIO;

	members_open(b, p, &mac);
	if (bond_ids(ids, b) > 0) {
		eal_log_begin();
		rte_log_set_level_pattern("pmd.net.bonding", RTE_LOG_NOTICE);
		rc = ethdev_make(b, p, &mac);
		eal_log_end(rc < 0);
	}
	if (rc == 0) {
		failures_log(b, p->c);
	} else {
		port_error(p->c, "none of its members can be opened");
		bond_close(b);
		refused_allow(b);
	}
	*id = b->id;
	return rc;
}

void bond_limit(struct rte_eth_dev_info *info, const struct bond *b)
{
	for (unsigned int i = 0; i < b->n; i++) {
		const struct member *m = &b->member[i];

		if (!is_open(m))
			continue;
		info->max_rx_queues = (uint16_t)RTE_MIN(info->max_rx_queues, m->n_rx);
		info->max_tx_queues = (uint16_t)RTE_MIN(info->max_tx_queues, m->n_tx);
	}
}

void bond_ready(void)
{
	rte_log_set_level_pattern("pmd.net.bonding", RTE_LOG_CRIT);
}

int bond_listen_to_all(const struct bond *b)
{
	int rc = 0;

	for (unsigned int i = 0; i < b->n && rc == 0; i++)
		if (is_open(&b->member[i]))
			rc = device_listen_to_all(b->member[i].id);
	return rc;
}

// Records whether an open member is still there.
static void open_check(struct member *m, const struct conf_port *c, const char *device)
{
	bool was_there = m->state == MEMBER_OPEN;

	if (device_says_lost(m->id))
		m->state = MEMBER_LEAVING;
	else if (was_there && device_is_gone(&m->watch, m->id, device))
		m->state = MEMBER_GONE;
	if (was_there && m->state != MEMBER_OPEN)
		event_post(MEMBER_LOST, EVENT_TEXT(c->name), EVENT_TEXT(device));
}

// Whether the port can be opened again with a member that is there, which is logged in either case.
static bool can_join(const struct conf_port *c, const char *device, bool returns)
{
	if (returns && device_returns(device)) {
		event_post(MEMBER_RETURNED, EVENT_TEXT(c->name), EVENT_TEXT(device));
		return true;
	}
	log_warn("port \"%s\": member \"%s\" is there, but opening the port again needs "
		 "CAP_SYS_ADMIN, which is not kept: restart culvertd",
		c->name, device);
	return false;
}

// Work to be done for a member.
struct member_use {
	const struct conf_port *c; // of the port
	const char *device;        // of the member
	bool works;                // there is an active one
	bool returns;              // the port can be opened again
};

// Whether the member has to be closed or opened. Opening one interrupts the others: after a failure
// it is tried again only if it has been away, or none works. Where the port could not be opened
// again, one that is gone stays as long as another works.
static bool member_is_due(struct member *m, const struct member_use *u)
{
	bool again = m->state == MEMBER_REFUSED && m->waits >= RETRY && !u->works && u->returns;

	if (is_open(m))
		open_check(m, u->c, u->device);
	if (m->state == MEMBER_OPEN || m->state == MEMBER_LEAVING)
		return m->state == MEMBER_LEAVING && (u->returns || !u->works);
	if (!is_present(u->device) || again) {
		m->state = m->state == MEMBER_REFUSED ? MEMBER_ABSENT : m->state;
		m->waits = 0;
		return false;
	}
	return ++m->waits == SETTLE && m->state != MEMBER_REFUSED &&
	       can_join(u->c, u->device, u->returns);
}

bool bond_is_lost(struct bond *b, const struct conf_port *c, bool returns)
{
	bool lost = false, works = bond_active(b) != 0;

	for (unsigned int i = 0; i < b->n; i++)
		lost |= member_is_due(
			&b->member[i], &(struct member_use){c, c->members[i], works, returns});
	return lost;
}

const char *bond_failure(const struct bond *b, unsigned int member)
{
	switch (b->member[member].state) {
	case MEMBER_ABSENT:
	case MEMBER_GONE:
		return "absent";
	case MEMBER_REFUSED:
		return "failed";
	default:
		return NULL;
	}
}

bool bond_member(uint16_t *id, struct rte_eth_link *link, const struct bond *b, unsigned int member)
{
	const struct member *m = &b->member[member];

	if (!is_open(m))
		return false;
	*id = m->id;
	if (rte_eth_link_get_nowait(*id, link) < 0)
		*link = (struct rte_eth_link){.link_speed = RTE_ETH_SPEED_NUM_UNKNOWN};
	return true;
}

// The state of LACP on a member; false: there is none.
static bool lacp_get(
	struct rte_eth_bond_8023ad_member_info *info, const struct bond *b, const struct member *m)
{
	return is_open(m) && b->kind == CONF_LACP &&
	       rte_eth_bond_8023ad_member_info(b->id, m->id, info) == 0;
}

static uint32_t bit_of(const struct bond *b, uint16_t id)
{
	for (unsigned int i = 0; i < b->n; i++)
		if (is_open(&b->member[i]) && b->member[i].id == id)
			return 1u << i;
	return 0;
}

uint32_t bond_active(const struct bond *b)
{
	struct rte_eth_bond_8023ad_member_info info;
	uint16_t ids[CONF_MEMBERS_MAX];
	uint32_t active = 0;

	if (b->kind == CONF_ACTIVE_BACKUP)
		return rte_eth_bond_active_members_get(b->id, ids, CONF_MEMBERS_MAX) > 0
			       ? bit_of(b, (uint16_t)rte_eth_bond_primary_get(b->id))
			       : 0;
	for (unsigned int i = 0; i < b->n; i++)
		if (lacp_get(&info, b, &b->member[i]) &&
			(info.actor_state & STATE_DISTRIBUTING) != 0)
			active |= 1u << i;
	return active;
}

bool bond_partner(struct rte_ether_addr *system, const struct bond *b, unsigned int member)
{
	struct rte_eth_bond_8023ad_member_info info;

	if (!lacp_get(&info, b, &b->member[member]))
		return false;
	*system = info.partner.system;
	return !rte_is_zero_ether_addr(system);
}
