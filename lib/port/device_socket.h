// SPDX-License-Identifier: BSD-3-Clause
// Unix sockets of devices: vhost, virtio_user and memif meet their peers there. The thread that
// opens the device, unless noted.
#pragma once

#include <stdbool.h>

#include "conf.h"

#define DEVICE_SOCKET_SIZE 108 // of a path with its end

// Whether the device is a vhost backend. Any thread.
bool device_is_vhost(const char *device);

// Whether the driver of the device, when it is opened, waits until a peer connects to its path.
bool device_socket_waits(char path[DEVICE_SOCKET_SIZE], const char *device);

// Whether the driver of the device, when it is opened, connects to a path where a process has to
// listen. One that begins with '@' is an abstract name.
bool device_socket_connects(char path[DEVICE_SOCKET_SIZE], const char *device);

// Whether a process listens there. It does not notice.
bool device_socket_is_used(const char *path);

// Largest possible number of queues of the device, from its arguments.
unsigned int device_queues(const char *device);

// Before the device is opened: removes the socket that it is to listen on if no process has it any
// more. A daemon that crashed leaves it, and the driver could not listen there again. A socket in
// use stays, and so does any other file: drivers would remove them when they fail. Returns 0, or
// -EIO after logging the cause and the remedy.
int device_socket_prepare(const struct conf_port *c);

// Whether the device connects to a socket that is there, but not for this process. Any thread.
bool device_socket_is_denied(const char *device);

// Logs why a device that did not open cannot listen on its socket, or connect to it. False if its
// socket is not the cause, or it has none.
bool device_socket_explain(const struct conf_port *c);
