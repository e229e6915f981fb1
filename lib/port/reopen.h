// SPDX-License-Identifier: BSD-3-Clause
// Ports whose device is lost: its interface, its card or the process at its other end was removed.
// Such a port is closed, and opened again when its device is back, while the others continue.
// Control thread.
#pragma once

#include "control.h"
#include "port.h"

// Functions of workers about the device of a port. arg is that of reopen_start().
struct reopen_io {
	// Prepares them for the device, before the port is open; the opposite for one that is not
	// open any more.
	void (*queues_add)(void *arg, uint16_t port);
	void (*queues_remove)(void *arg, uint16_t port);
	// Gives them the queues of a port that was added, and takes those of one that is removed.
	// It is not open.
	void (*queues_assign)(void *arg, uint16_t port);
	void (*queues_forget)(void *arg, uint16_t port);
	// How many frames the device has not accepted from them.
	uint64_t (*refused)(void *arg, uint16_t port);
};

// Has devices report that they are removed, or have to be reset. Before the first is opened.
void reopen_listen(void);

// Ports that have no device yet wait for it from now on. ports: by number. Before workers run.
void reopen_start(struct control *c, struct port ports[], const struct reopen_io *io, void *io_arg);

// The running configuration has a new port with a device, as the device thread has opened it, or
// it waits for that. With the gateway's lock.
void reopen_add(unsigned int port);

// The running configuration has such a port no more: closes its device, and ends its part of struct
// port_leaving. With the gateway's lock.
void reopen_remove(unsigned int port);

// Closes and opens ports. Call every 100 ms or so, with the gateway's lock.
void reopen_tick(void);

// Gives the device thread the ports that workers were about to leave when they ended.
void reopen_stop(void);
