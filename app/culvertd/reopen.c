// SPDX-License-Identifier: BSD-3-Clause
#include "reopen.h"

#include <signal.h>
#include <string.h>

#include <rte_dev.h>

#include "crash.h"
#include "device_thread.h"
#include "device_watch.h"
#include "event_log.h"
#include "links.h"
#include "log.h"
#include "port_groups.h"
#include "port_link.h"
#include "vhost_link.h"

enum port_stage {
	SERVING,
	LEAVING, // workers may still use the device
	AWAY,    // the device thread has the port
};

static struct {
	enum port_stage stage;
	enum device_task task; // of the device thread, while the port is not serving
	uint64_t token;        // of RCU, when the port was closed
} state[PORTS_MAX];

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

// The same. A bus says so of a device that is to be removed, before its driver notices.
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

// The registers of a card that was unplugged are not there any more: a thread that accesses them
// receives SIGBUS. DPDK's handler puts memory in their place. It calls the handler before it for
// all other signals, but without the arguments of SA_SIGINFO, so that has to be a plain one.
static void unplugging_survive(void)
{
	struct sigaction others = {.sa_handler = crash_again};

	sigaction(SIGBUS, &others, NULL);
	if (rte_dev_hotplug_handle_enable() != 0)
		log_warn(
			"a card that is unplugged may end the daemon: %s", rte_strerror(rte_errno));
}

void reopen_start(struct gateway *g)
{
	unplugging_survive();
	for (unsigned int i = 0; i < g->control.conf->n_ports; i++) {
		const struct port *p = &g->ports[i];

		if (p->parent != NULL || port_is_open(p))
			continue;
		state[i].stage = AWAY;
		device_thread_give(i, DEVICE_OPEN);
	}
}

// From now on workers find the port closed; but they may be in the middle of something.
static void leave(struct gateway *g, unsigned int i, enum device_task task)
{
	struct port *p = &g->ports[i];

	atomic_store_explicit(&p->open, false, memory_order_release);
	for (unsigned int w = 0; w < g->control.conf->n_workers; w++)
		loop_queues_remove(g->loops[w], (uint16_t)i);
	state[i].token = rte_rcu_qsbr_start(g->control.qsbr);
	state[i].stage = LEAVING;
	state[i].task = task;
	links_check_now(&g->control);
	if (task == DEVICE_RESTART)
		return;
	if (p->bond == NULL) // else those of the members
		event_post(DEVICE_LOST, EVENT_TEXT(p->conf->name), EVENT_TEXT(p->conf->device));
	if (!p->returns)
		log_warn("port \"%s\": opening it again needs CAP_SYS_ADMIN, which is not kept: "
			 "restart culvertd when its device is back",
			p->conf->name);
}

static void come_back(struct gateway *g, unsigned int i, const struct port *opened)
{
	struct port *p = &g->ports[i];

	port_adopt(p, opened);
	for (unsigned int w = 0; w < g->control.conf->n_workers; w++)
		loop_queues_add(g->loops[w], (uint16_t)i);
	state[i].stage = SERVING;
	atomic_store_explicit(&p->open, true, memory_order_release);
	port_groups_set(p); // these as well
	if (state[i].task != DEVICE_RESTART)
		event_post(DEVICE_OPENED, EVENT_TEXT(p->conf->name), EVENT_TEXT(p->conf->device));
	links_check_now(&g->control);
}

// The driver serves the peer that came last.
static void takeover_report(const struct port *p)
{
	if (vhost_link_is_taken_over(p->id))
		event_post(PEER_SECOND, EVENT_TEXT(p->conf->name), EVENT_TEXT(p->conf->device));
}

// A port that has a link and passes nothing. Returns whether starting its device again may help.
static bool is_to_be_repaired(struct gateway *g, unsigned int port)
{
	struct port *p = &g->ports[port];
	uint64_t refused = 0;

	for (unsigned int w = 0; w < g->control.conf->n_workers; w++)
		refused += g->loops[w]->refused[port];
	if (!g->control.links[port].up ||
		!device_is_stalled(&p->stall, p->id, refused, gateway_now_ms()))
		return false;
	event_post(PORT_STALLED, EVENT_TEXT(p->conf->name), EVENT_NUMBER(refused));
	if (!vhost_link_repair(p->id))
		return false;
	log_info("port \"%s\": its device is stopped and started", p->conf->name);
	return true;
}

static void port_tick(struct gateway *g, unsigned int i)
{
	struct port *p = &g->ports[i], opened;

	switch (state[i].stage) {
	case SERVING:
		takeover_report(p);
		port_check(p);
		if (port_is_lost(p))
			leave(g, i, DEVICE_REPLACE);
		else if (is_to_be_repaired(g, i) || vhost_link_is_due(p->id))
			leave(g, i, DEVICE_RESTART);
		break;
	case LEAVING:
		if (rte_rcu_qsbr_check(g->control.qsbr, state[i].token, false) == 0)
			break;
		state[i].stage = AWAY;
		device_thread_give(i, state[i].task);
		break;
	case AWAY:
		if (device_thread_take(i, &opened))
			come_back(g, i, &opened);
		break;
	}
}

void reopen_tick(struct gateway *g)
{
	for (unsigned int i = 0; i < g->control.conf->n_ports; i++)
		if (g->ports[i].parent == NULL)
			port_tick(g, i);
}

void reopen_stop(struct gateway *g)
{
	for (unsigned int i = 0; i < g->control.conf->n_ports; i++)
		if (state[i].stage == LEAVING)
			device_thread_give(i, DEVICE_REPLACE);
}
