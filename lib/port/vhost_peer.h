// SPDX-License-Identifier: BSD-3-Clause
// A peer for virtio_user ports that are servers, while they are opened: the driver waits for one
// without limit, but once it has had one it also works without, and lets another one connect at any
// time. Control thread, at start.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "device_socket.h"

struct vhost_peer {
	pthread_t thread;
	_Atomic bool stop;
	char path[DEVICE_SOCKET_SIZE];
};

// Starts to connect to path until the driver listens there, and answers it. Returns 0 or -errno.
int vhost_peer_start(struct vhost_peer *v, const char *path);

// Disconnects.
void vhost_peer_stop(struct vhost_peer *v);
