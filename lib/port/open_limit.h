// SPDX-License-Identifier: BSD-3-Clause
// A limit to the time in which a port is opened at the start: drivers wait for their device without
// one. Control thread.
#pragma once

#include <pthread.h>

#include "conf.h"

struct open_limit {
	pthread_t thread;
	int opened;  // an eventfd
	int signals; // a signalfd
	const struct conf_port *conf;
};

// From now on there are 30 seconds until open_limit_end(), or the process ends after a message with
// cause and remedy: a driver that waits cannot be stopped. So do SIGTERM and SIGINT end it
// meanwhile. The next start removes remaining files. Returns 0 or -errno.
int open_limit_start(struct open_limit *l, const struct conf_port *c);
void open_limit_end(struct open_limit *l);
