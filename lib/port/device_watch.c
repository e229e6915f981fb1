// SPDX-License-Identifier: BSD-3-Clause
#include "device_watch.h"

#include <net/if.h>
#include <stdatomic.h>

#include <rte_ethdev.h>

#include "device_bus.h"
#include "device_socket.h"
#include "iface.h"

#define PATIENCE  20 // see struct device_watch: 2 s
#define STALL_MIN 3000
#define STALL_MAX 600000

// By ethdev's number: a device may report it before its port is known. Set by DPDK's threads,
// cleared by the thread that closes the device.
static atomic_bool lost[RTE_MAX_ETHPORTS];

void device_watch_start(struct device_watch *w, unsigned int if_index)
{
	char name[IF_NAMESIZE];

	w->if_index = if_index;
	w->tap = if_index != 0 && if_indextoname(if_index, name) != NULL ? tap_find(name) : -1;
	w->patience = PATIENCE;
}

void device_lose(uint16_t id)
{
	if (id < RTE_MAX_ETHPORTS)
		atomic_store_explicit(&lost[id], true, memory_order_release);
}

bool device_says_lost(uint16_t id)
{
	return atomic_load_explicit(&lost[id], memory_order_acquire);
}

void device_find_again(uint16_t id)
{
	atomic_store_explicit(&lost[id], false, memory_order_release);
}

bool device_is_stalled(struct device_stall *s, uint16_t id, uint64_t refused, uint64_t now_ms)
{
	struct rte_eth_stats stats;

	if (refused == s->refused || rte_eth_stats_get(id, &stats) < 0)
		return false;
	s->refused = refused;
	if (s->since_ms == 0 || s->passed != stats.ipackets + stats.opackets) {
		s->passed = stats.ipackets + stats.opackets;
		s->since_ms = now_ms;
		s->patience_ms = STALL_MIN;
		return false;
	}
	if (now_ms - s->since_ms < s->patience_ms)
		return false;
	s->since_ms = now_ms;
	s->patience_ms = RTE_MIN(2 * s->patience_ms, (uint64_t)STALL_MAX);
	return true;
}

bool device_has_link(uint16_t id)
{
	struct rte_eth_link link = {0};

	return rte_eth_link_get_nowait(id, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

static bool interface_is_gone(const struct device_watch *w)
{
	char name[IF_NAMESIZE];

	if (w->tap >= 0)
		return !tap_exists(w->tap);
	return w->if_index != 0 && if_indextoname(w->if_index, name) == NULL;
}

// The link is that to the process at the other end, which drivers do not connect to again. One that
// has just been opened is given time.
static bool peer_is_gone(struct device_watch *w, uint16_t id, const char *device)
{
	char path[DEVICE_SOCKET_SIZE];

	if (!device_socket_connects(path, device))
		return false;
	if (device_has_link(id)) {
		w->patience = 0;
		return false;
	}
	return w->patience == 0 || --w->patience == 0;
}

bool device_is_gone(struct device_watch *w, uint16_t id, const char *device)
{
	return interface_is_gone(w) || peer_is_gone(w, id, device) || !device_is_on_bus(device);
}

bool device_returns(const char *device)
{
	return !conf_device_is_xdp(device) && device_is_confined(device);
}

bool device_is_present(const char *device)
{
	char name[IFNAMSIZ], path[DEVICE_SOCKET_SIZE];

	if (!device_is_on_bus(device))
		return false;
	if (conf_device_is_attached(device) && iface_name(name, device))
		return if_nametoindex(name) != 0;
	return !device_socket_connects(path, device) || device_socket_is_used(path);
}

// --- peers of vhost devices ---

static struct {
	atomic_bool is_vhost;
	atomic_uint changes; // of the link. Written by DPDK's thread, as the next two
	atomic_uint peers;   // that are connected
	atomic_bool second;  // one has connected as a second one; cleared by the control thread
	atomic_bool settled; // the device was started with its peer connected
} links[RTE_MAX_ETHPORTS];

void vhost_link_open(uint16_t id, const char *device)
{
	links[id].changes = 0;
	links[id].peers = 0;
	links[id].second = false;
	links[id].settled = false;
	links[id].is_vhost = device_is_vhost(device);
}

void vhost_link_close(uint16_t id)
{
	links[id].is_vhost = false;
}

// The driver reports one change when it has connected a peer, and one when that has left.
void vhost_link_changed(uint16_t id)
{
	if (!links[id].is_vhost)
		return;
	if (device_has_link(id)) {
		if (++links[id].peers > 1)
			links[id].second = true;
	} else if (links[id].peers > 0 && --links[id].peers > 0) {
		device_lose(id);
	}
	links[id].changes++;
}

bool vhost_link_is_settled(uint16_t id)
{
	return !links[id].is_vhost || links[id].settled;
}

bool vhost_link_is_due(uint16_t id)
{
	return !vhost_link_is_settled(id) && links[id].peers > 0;
}

// The connection of a peer that has been reported is complete. Another connection, which could
// overlap with the start, begins after a further report.
void vhost_link_settle(uint16_t id)
{
	const unsigned int before = links[id].changes;

	if (!vhost_link_is_due(id))
		return;
	rte_eth_dev_stop(id);
	if (rte_eth_dev_start(id) < 0)
		device_lose(id);
	links[id].settled = links[id].changes == before;
}

bool vhost_link_repair(uint16_t id)
{
	links[id].settled = false;
	return links[id].is_vhost;
}

bool vhost_link_is_taken_over(uint16_t id)
{
	return atomic_exchange(&links[id].second, false);
}
