// SPDX-License-Identifier: BSD-3-Clause
// Whether the device of a port, or of one of its members, is still there. Control thread, unless
// noted.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// State of an open device. Written by the thread that opens it, then by the control thread.
struct device_watch {
	unsigned int if_index; // of the kernel's interface, 0 without one
	int tap;               // its descriptor if the driver made it (tap.h); else -1
	unsigned int patience; // calls of device_is_gone() until a peer has to be connected
};

// Frames that a device with a link accepts and delivers. Control thread.
struct device_stall {
	uint64_t refused, passed; // frames not sent, and sent or received, when last looked at
	uint64_t since_ms;        // when one was refused first, with none passing since; 0: not so
	uint64_t patience_ms;     // how long that may last
};

// Begins to watch a device that has this interface. The thread that opens it.
void device_watch_start(struct device_watch *w, unsigned int if_index);

// Records that the device with this ethdev number asked to be closed. Any thread.
void device_lose(uint16_t id);

// Whether that was noted since the device was opened.
bool device_says_lost(uint16_t id);

// Forgets it, when the device has been closed. The thread that closes it.
void device_find_again(uint16_t id);

// Whether an open device is gone, without an event: its interface or card was removed, or the
// process that it connected to has ended. Call every 100 ms or so.
bool device_is_gone(struct device_watch *w, uint16_t id, const char *device);

// Whether a device with a link has refused frames for seconds and neither sent nor received any:
// then its queues are switched off, or its peer does not read them. True again after twice as long.
// refused: how many it has refused in total. Call every 100 ms or so. Control thread.
bool device_is_stalled(struct device_stall *s, uint16_t id, uint64_t refused, uint64_t now_ms);

// Whether the ethdev has a link, as far as its driver knows. Any thread.
bool device_has_link(uint16_t id);

// Whether a device, which is there now, is opened again when it is lost. Not if the kernel asks for
// CAP_SYS_ADMIN, which would be all that an attacker needs: to load the program of AF_XDP, or to
// learn physical addresses. Then it is closed until the next start. Any thread.
bool device_returns(const char *device);

// Whether opening the device makes sense: it is there, or the process that it connects to is.
// Any thread.
bool device_is_present(const char *device);

// --- peers of vhost devices ---
//
// DPDK's driver accepts them on a thread of its own as soon as the device is configured, and two
// things go wrong there without a word:
//
// - A peer that connects while the device is being started may leave its queues switched off. Once
//   a peer is connected, a device is therefore stopped and started again, which switches them on.
// - A second peer at the same socket takes the device over, and when either of them leaves, the
//   device has no link any more. It is then lost, so that it is opened again.
//
// The thread that opens the device, unless noted.

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
