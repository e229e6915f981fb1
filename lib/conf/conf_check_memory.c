// SPDX-License-Identifier: BSD-3-Clause
// Memory: the size of packet buffers, their number unless it is set, and whether memory.size has
// room for all that a gateway takes at the start.
#include "conf_check.h"

#include <inttypes.h>
#include <string.h>

#include "dpdk_compat.h"
#include "packet_pool.h"

#define OBJECT_OVERHEAD 256  // octets of a packet buffer in front of its room, and to spread them
#define FRAME_OVERHEAD  274  // of the room: headers, and octets that ESP may add
#define ROOM_MIN        2176 // octets
#define XDP_ROOM        256  // the kernel's XDP_PACKET_HEADROOM, after that of DPDK
#define BUFFERS_MIN     8192
#define LARGE_ROOM      65535 // of a buffer for a reassembled packet
#define LACP_ROOM       320   // the same of one for LACP
#define FLOW_OCTETS     318   // of a flow: its entry and its part of the index
#define NAT_OCTETS      86    // more, where any may be translated
#define OWN_MB          6     // rings, policies, caches of the pools

unsigned int conf_packet_buffers(const struct conf *c)
{
	unsigned int n = c->n_workers * (1024 + c->neighbour_hold);

	for (unsigned int i = 0; i < c->n_ports; i++) {
		unsigned int rx = c->ports[i].rx_queues > 0 ? c->ports[i].rx_queues : c->n_workers;

		n += conf_port_n_devices(&c->ports[i]) * (rx + c->n_workers) * 1024;
		if (c->ports[i].host != NULL)
			n += 1024;
	}
	return n;
}

// Whether AF_XDP receives for the port, also within net_failsafe. Members may not be AF_XDP.
static bool has_xdp(const struct conf_port *p)
{
	return p->device != NULL && strstr(p->device, "net_af_xdp") != NULL;
}

// See packet_max in conf.h.
static unsigned int packet_largest(const struct conf *c)
{
	unsigned int max = 0;

	for (unsigned int i = 0; i < c->n_ports; i++) {
		const struct conf_port *p = &c->ports[i];

		max = RTE_MAX(max, p->mtu + (has_xdp(p) ? XDP_ROOM : 0u));
	}
	return max;
}

static unsigned int buffer_room(const struct conf *c)
{
	return RTE_MAX(c->packet_max + FRAME_OVERHEAD, (unsigned int)ROOM_MIN);
}

// The pool of packet buffers is made once, at the start.
static void buffers_choose(struct conf_reader *r)
{
	const struct conf *running = r->replaced != NULL ? r->replaced : r->running;
	struct conf *c = r->c;

	c->packet_max = running != NULL ? running->packet_max : packet_largest(c);
	c->buffers_first = running != NULL ? running->buffers_first
					   : rte_align32pow2(RTE_MAX(conf_packet_buffers(c),
						     (unsigned int)BUFFERS_MIN));
	if (c->packet_buffers == 0)
		c->packet_buffers = c->buffers_first;
}

// Of n buffers in pages: none goes over the end of one that it fits in.
static uint64_t pool_octets_in(uint64_t page, unsigned int n, unsigned int room)
{
	uint64_t size = RTE_ALIGN_CEIL(room, 64u) + OBJECT_OVERHEAD;

	if (size > page)
		return n * RTE_ALIGN_CEIL(size, page);
	return (n / (page / size) + 1) * page;
}

// Of n buffers of packet_pool_new(): without hugepages they follow each other, aligned to 64
// octets.
static uint64_t pool_octets(const struct conf *c, unsigned int n, unsigned int room)
{
	return pool_octets_in(c->hugepages ? 2 << 20 : 64, n, room + PACKET_POOL_PRIVATE);
}

// With LACP, DPDK has a pool for each member, with as many buffers as its TX queues take.
static uint64_t lacp_octets(const struct conf *c)
{
	uint64_t octets = 0;

	for (unsigned int i = 0; i < c->n_ports; i++)
		if (c->ports[i].bond == CONF_LACP)
			octets += c->ports[i].n_members *
				  pool_octets_in(c->hugepages ? 2 << 20 : 4096,
					  c->n_workers * 1024 + 1, LACP_ROOM);
	return octets;
}

// The setting that a message about too little memory is about.
static config_setting_t *memory_setting(const struct conf_reader *r)
{
	config_setting_t *memory = conf_at(r->root, "memory");
	config_setting_t *size = conf_at(memory, "size");

	return size != memory ? size : conf_at(conf_at(r->root, "flows"), "max");
}

void conf_check_memory(struct conf_reader *r)
{
	struct conf *c = r->c;
	const config_setting_t *memory = conf_at(r->root, "memory");
	const config_setting_t *flows = conf_at(r->root, "flows");

	buffers_choose(r);
	c->flow_memory_mb =
		(unsigned int)((uint64_t)c->flows_max *
				       (FLOW_OCTETS + (c->n_nat > 0 ? NAT_OCTETS : 0)) >>
			       20) +
		1;

	unsigned int large = c->n_workers * CONF_LARGE_BUFFERS;
	uint64_t octets = pool_octets(c, c->packet_buffers, buffer_room(c)) +
			  pool_octets(c, large, LARGE_ROOM) + lacp_octets(c);
	uint64_t mb = (octets >> 20) + 1 + c->flow_memory_mb + OWN_MB;

	if (mb > c->memory_mb && !conf_rejected(memory, "size") &&
		!conf_rejected(memory, "packet_buffers") && !conf_rejected(flows, "max"))
		conf_err(r, memory_setting(r),
			"%u MB is too small for %u packet buffers, %u of 64 kB and %u flows, "
			"memory.size must be at least %" PRIu64
			", or reduce packet_buffers, cpus.workers or flows.max",
			c->memory_mb, c->packet_buffers, large, c->flows_max, mb);
}
