// SPDX-License-Identifier: BSD-3-Clause
#include "reopen.h"

#include <rte_dev.h>

#include "bond.h"
#include "device_socket.h"
#include "device_thread.h"
#include "device_watch.h"
#include "event_log.h"
#include "iface.h"
#include "links.h"
#include "log.h"

enum port_stage {
	UNUSED, // no port with a device has the number
	SERVING,
	LEAVING, // workers may still use the device
	AWAY,    // the device thread has the port
	REMOVED, // the same, and closes it; workers may still look at its queues
};

static struct {
	enum port_stage stage;
	enum device_task task; // of the device thread, while the port is not serving
	uint64_t token;        // of RCU, when the port was closed or its queues were taken
} state[PORTS_MAX];

static struct {
	struct control *control;
	struct port *ports; // by number
	const struct reopen_io *io;
	void *io_arg;
} gateway;

// Both are called by a thread of DPDK's, which must not wait.
static int ethdev_event(uint16_t id, enum rte_eth_event_type type, void *arg, void *ret)
{
	(void)type;
	(void)arg;
	(void)ret;
	device_lose(id);
	return 0;
}

static int link_event(uint16_t id, enum rte_eth_event_type type, void *arg, void *ret)
{
	(void)type;
	(void)arg;
	(void)ret;
	vhost_link_changed(id);
	return 0;
}

// The same. A bus reports a device that is to be removed before its driver notices.
static void device_event(const char *name, enum rte_dev_event_type type, void *arg)
{
	uint16_t id;

	(void)arg;
	if (type == RTE_DEV_EVENT_REMOVE && rte_eth_dev_get_port_by_name(name, &id) == 0)
		device_lose(id);
}

void reopen_listen(void)
{
	rte_eth_dev_callback_register(RTE_ETH_ALL, RTE_ETH_EVENT_INTR_RMV, ethdev_event, NULL);
	rte_eth_dev_callback_register(RTE_ETH_ALL, RTE_ETH_EVENT_INTR_RESET, ethdev_event, NULL);
	rte_eth_dev_callback_register(RTE_ETH_ALL, RTE_ETH_EVENT_INTR_LSC, link_event, NULL);
	rte_dev_event_callback_register(NULL, device_event, NULL);
}

void reopen_start(struct control *c, struct port ports[], const struct reopen_io *io, void *io_arg)
{
	gateway.control = c;
	gateway.ports = ports;
	gateway.io = io;
	gateway.io_arg = io_arg;
	for (unsigned int i = 0; i < c->conf->n_ports; i++) {
		if (conf_port_n_devices(&c->conf->ports[i]) == 0)
			continue;
		state[i].stage = port_is_open(&ports[i]) ? SERVING : AWAY;
		if (state[i].stage == AWAY)
			device_thread_give(i, DEVICE_OPEN);
	}
}

// From now on workers find the port closed; but they may be in the middle of something.
static void leave(unsigned int i, enum device_task task)
{
	struct port *p = &gateway.ports[i];

	atomic_store_explicit(&p->open, false, memory_order_release);
	gateway.io->queues_remove(gateway.io_arg, (uint16_t)i);
	state[i].token = rte_rcu_qsbr_start(gateway.control->qsbr);
	state[i].stage = LEAVING;
	state[i].task = task;
	links_check_now(gateway.control);
	if (task != DEVICE_REPLACE)
		return;
	if (p->bond == NULL) // else those of the members
		event_post(DEVICE_LOST, EVENT_TEXT(p->conf->name), EVENT_TEXT(p->conf->device));
	if (!p->returns)
		log_warn("port \"%s\": opening it again needs CAP_SYS_ADMIN, which is not kept: "
			 "restart culvertd when its device is back",
			p->conf->name);
}

static void come_back(unsigned int i, const struct port *opened)
{
	struct port *p = &gateway.ports[i];

	port_adopt(p, opened);
	gateway.io->queues_add(gateway.io_arg, (uint16_t)i);
	state[i].stage = SERVING;
	atomic_store_explicit(&p->open, true, memory_order_release);
	port_groups_set(p);     // these as well
	device_thread_listen(); // the VLANs may have changed
	if (state[i].task != DEVICE_RESTART)
		event_post(DEVICE_OPENED, EVENT_TEXT(p->conf->name), EVENT_TEXT(p->conf->device));
	links_check_now(gateway.control);
}

void reopen_add(unsigned int port)
{
	struct port opened;

	gateway.io->queues_assign(gateway.io_arg, (uint16_t)port);
	if (device_thread_take(port, &opened)) {
		state[port].task = DEVICE_RESTART; // it was not lost
		come_back(port, &opened);
		return;
	}
	state[port].stage = AWAY;
	state[port].task = DEVICE_OPEN;
	device_thread_give(port, DEVICE_OPEN);
}

static void queues_forget(unsigned int i)
{
	gateway.io->queues_forget(gateway.io_arg, (uint16_t)i);
	state[i].token = rte_rcu_qsbr_start(gateway.control->qsbr);
	state[i].stage = REMOVED;
}

void reopen_remove(unsigned int port)
{
	switch (state[port].stage) {
	case SERVING:
		leave(port, DEVICE_DROP);
		break;
	case AWAY:
		device_thread_drop(port);
		queues_forget(port);
		break;
	default:
		state[port].task = DEVICE_DROP;
	}
}

// The driver serves the peer that came last.
static void takeover_report(const struct port *p)
{
	if (vhost_link_is_taken_over(p->id))
		event_post(PEER_SECOND, EVENT_TEXT(p->conf->name), EVENT_TEXT(p->conf->device));
}

// A port that has a link and passes nothing. Returns whether starting its device again may help.
static bool is_to_be_repaired(unsigned int port)
{
	struct port *p = &gateway.ports[port];
	const struct control *c = gateway.control;
	uint64_t refused = gateway.io->refused(gateway.io_arg, (uint16_t)port);

	if (!c->links[port].up || !device_is_stalled(&p->stall, p->id, refused, c->io->now_ms()))
		return false;
	event_post(PORT_STALLED, EVENT_TEXT(p->conf->name), EVENT_NUMBER(refused));
	if (!vhost_link_repair(p->id))
		return false;
	log_info("port \"%s\": its device is stopped and started", p->conf->name);
	return true;
}

static void mtu_check(struct port *p)
{
	unsigned int mtu =
		conf_device_is_attached(p->conf->device) ? iface_mtu(p->conf->device) : 0;
	bool lacks = mtu != 0 && mtu < p->conf->mtu;

	if (lacks && !p->lacks_mtu)
		event_post(MTU_SHRUNK, EVENT_TEXT(p->conf->name), EVENT_NUMBER(mtu),
			EVENT_NUMBER(p->conf->mtu));
	p->lacks_mtu = lacks;
}

// The driver of vhost tries again and again, in silence.
static void access_check(struct port *p)
{
	bool denied = device_is_vhost(p->conf->device) && !device_has_link(p->id) &&
		      device_socket_is_denied(p->conf->device);

	if (denied && !p->is_denied)
		device_socket_explain(p->conf);
	p->is_denied = denied;
}

// Reports changes of an open port: its interface has a smaller mtu than the port, or its driver may
// not connect to the socket of its peer again.
static void port_check(struct port *p)
{
	if (p->bond != NULL)
		return;
	mtu_check(p);
	access_check(p);
}

// Whether the device of an open port is to be closed: it has been removed, or the process that it
// connected to has ended.
static bool is_lost(struct port *p)
{
	if (p->bond != NULL)
		return bond_is_lost(p->bond, p->conf, p->returns);
	return device_says_lost(p->id) || device_is_gone(&p->watch, p->id, p->conf->device);
}

// Nothing of the device is left, and no worker looks at its queues.
static void removed_check(unsigned int i)
{
	if (device_thread_has(i) ||
		rte_rcu_qsbr_check(gateway.control->qsbr, state[i].token, false) == 0)
		return;
	port_free(&gateway.ports[i]);
	gateway.control->leaving[i].has_device = false;
	state[i].stage = UNUSED;
}

static void left(unsigned int i)
{
	if (rte_rcu_qsbr_check(gateway.control->qsbr, state[i].token, false) == 0)
		return;
	state[i].stage = AWAY;
	device_thread_give(i, state[i].task);
	if (state[i].task == DEVICE_DROP)
		queues_forget(i);
}

static void port_tick(unsigned int i)
{
	struct port *p = &gateway.ports[i], opened;

	switch (state[i].stage) {
	case UNUSED:
		break;
	case SERVING:
		takeover_report(p);
		port_check(p);
		if (is_lost(p))
			leave(i, DEVICE_REPLACE);
		else if (is_to_be_repaired(i) || vhost_link_is_due(p->id))
			leave(i, DEVICE_RESTART);
		break;
	case LEAVING:
		left(i);
		break;
	case AWAY:
		if (device_thread_take(i, &opened))
			come_back(i, &opened);
		break;
	case REMOVED:
		removed_check(i);
		break;
	}
}

void reopen_tick(void)
{
	for (unsigned int i = 0; i < PORTS_MAX; i++)
		port_tick(i);
}

void reopen_stop(void)
{
	for (unsigned int i = 0; i < PORTS_MAX; i++)
		if (state[i].stage == LEAVING)
			device_thread_give(i, DEVICE_REPLACE);
}
