// SPDX-License-Identifier: BSD-3-Clause
// Peers of vhost devices. DPDK's driver accepts them on a thread of its own as soon as the device
// is configured, and two things go wrong there without a word:
//
// - A peer that connects while the device is being started may leave its queues switched off. Once
// a
//   peer is connected, a device is therefore stopped and started again, which switches them on.
// - A second peer at the same socket takes the device over, and when either of them leaves, the
//   device has no link any more. It is then lost (device_watch.h), so that it is opened again.
//
// The thread that opens the device, unless noted.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Begins to watch the ethdev if it is of this driver. Before it is configured.
void vhost_link_open(uint16_t id, const char *device);

// Ends that, when the device has been closed.
void vhost_link_close(uint16_t id);

// Records that DPDK has reported a change of the link. The thread of DPDK's that reports it.
void vhost_link_changed(uint16_t id);

// Whether a device has been started with its peer connected, or is of another driver. Any thread.
bool vhost_link_is_settled(uint16_t id);

// Whether it has a peer, but was not started since. Any thread.
bool vhost_link_is_due(uint16_t id);

// Stops and starts a device that is due. It is not settled if a peer has come or gone meanwhile:
// the caller looks again, a peer that comes and goes for ever keeps nobody here. No worker uses it.
void vhost_link_settle(uint16_t id);

// Stops a device and starts it again, as if its peer had just connected. False: the driver is
// another one. Control thread.
bool vhost_link_repair(uint16_t id);

// Whether a second peer has connected since the last call. Control thread.
bool vhost_link_is_taken_over(uint16_t id);
