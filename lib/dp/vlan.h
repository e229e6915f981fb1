// SPDX-License-Identifier: BSD-3-Clause
// VLANs (IEEE 802.1Q) of a device: each is a port of its own. The loop removes the tag of a
// received frame before the pipeline, and inserts it after: the packet path sees no tags but
// priority tags of ports without VLANs. Workers.
#pragma once

#include <stdatomic.h>

#include "worker.h"

#define VLAN_IDS  4096
#define VLAN_NONE UINT16_MAX

// The gateway's number of the port of each VLAN of a device; VLAN_NONE: its frames are dropped.
// 0 stands for frames without a tag, and for priority tags, which name no VLAN (802.1Q 6.9). The
// control thread adds a VLAN when the snapshot with its port is published.
struct vlan_map {
	_Atomic uint16_t port[VLAN_IDS];
};

// Removes the tags of n frames of a device, unless the device has done so, and sets m->port. Frames
// that no port takes are dropped. Returns how many are left, at the start of m, in order.
uint16_t vlan_receive(
	struct worker *w, const struct vlan_map *map, struct rte_mbuf *m[], uint16_t n);

// Removes a priority tag from a frame in one buffer of this gateway: it names no VLAN, also on a
// port without any.
void vlan_remove_priority(struct rte_mbuf *m);

// Tags n frames that are to be sent by a port with the VLAN, which it counts as sent; by_device:
// lets the device do so. Frames for which there is no buffer are dropped. Returns how many are
// left, at the start of m, in order.
uint16_t vlan_insert(struct worker *w, uint16_t port, uint16_t vlan, bool by_device,
	struct rte_mbuf *m[], uint16_t n);

// Counts n of those frames as not sent: the device has not accepted them.
void vlan_unsent(struct worker *w, uint16_t port, struct rte_mbuf *const m[], uint16_t n);
