// SPDX-License-Identifier: BSD-3-Clause
// The thread that opens and closes devices while the gateway runs. Drivers may take long for it,
// and need capabilities: this thread alone keeps those, and has them in effect only while it opens
// or closes a device (docs/decisions/0038-devices-that-return.md), sets the link addresses that one
// receives, gives a card rules, or changes the kernel's interfaces of hosts, and routes by them.
//
// A port is given to the thread when no other one uses its device, and taken back with another
// device. Control thread, unless noted.
#pragma once

#include <sys/types.h>

#include "control.h"
#include "host_thread.h"
#include "port.h"

// Starts the thread, with the privileges of the caller. ports: by number. Returns 0, or -errno
// after a message.
int device_thread_start(struct control *c, struct port ports[]);

// The kernel's number of the thread, which alone keeps capabilities.
pid_t device_thread_tid(void);

// Makes the thread give up all capabilities except those for the devices of the ports, and for
// hosts, once all other threads have none. Returns 0, or -errno after a message.
int device_thread_confine(void);

// Octets of a reason why a device did not open.
#define DEVICE_WHY_SIZE 512

enum device_task {
	DEVICE_OPEN,    // as soon as it is present
	DEVICE_REPLACE, // close it, and open it again as soon as it is present
	DEVICE_RESTART, // stop and start it
	DEVICE_DROP,    // close it: its port is removed
};

// Gives it a port to do that with its device.
void device_thread_give(unsigned int port, enum device_task task);

// Takes a port back if its device is open again: then copies its state to opened.
bool device_thread_take(unsigned int port, struct port *opened);

// Whether the thread has the capabilities to open the device of a port that is added. Any thread.
bool device_thread_may_open(const struct conf_port *c);

// Gives it the device of a port that a configuration adds, to be opened before the configuration
// replaces the running one. The number of the port is free. The thread that loads configurations,
// as the next two functions.
void device_thread_try(unsigned int port, const struct conf *conf);

// Whether it has not finished that yet.
bool device_thread_tries(unsigned int port);

// The result: the port, which is the thread's until device_thread_take() or _drop(). NULL: it did
// not open; then *why is the reason, until the next attempt.
const struct port *device_thread_tried(unsigned int port, const char **why);

// Makes it close the device of a port that it has, open or not, and forget the port.
void device_thread_drop(unsigned int port);

// Whether it has the port, or is about to close it. Any thread.
bool device_thread_has(unsigned int port);

// Requests queues of an open port's card for the inbound SAs of a snapshot. To be called several
// times a second: a card gets some rules at a time.
void device_thread_steer(unsigned int port, const struct snapshot *s);

// Gives the thread the kernel's interfaces of hosts, before it is confined. NULL: it is to use them
// no more, and does not when this returns, unless it hangs: then device_thread_stop() returns
// false.
void device_thread_hosts_give(struct host_thread *h);

// The configuration has been replaced, or the kernel's interfaces of hosts differ from it: the
// thread makes and removes them, changes their addresses and MTUs, and the routes by them, soon.
void device_thread_hosts_change(void);

// The routes that are announced are to be changed or compared (announced_route.h): soon, and before
// the thread ends.
void device_thread_announce(void);

// The link addresses whose frames ports receive have changed (port_groups_set()), while the gateway
// runs: the thread sets those of all devices, soon.
void device_thread_listen(void);

// Frees a configuration that has been replaced, when the thread does not use it any more: that may
// take as long as a device does. Any thread.
void device_thread_conf_free(struct conf *conf);

// Closes the devices of all ports that are open, and ends the thread. False: it waits for a device
// that does not answer, and the memory that it uses must stay.
bool device_thread_stop(void);
