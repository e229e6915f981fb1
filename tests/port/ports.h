// SPDX-License-Identifier: BSD-3-Clause
// Ports with software devices of DPDK in a test process, without root: a configuration of them, a
// pool of packets, frames that a test sends and receives by a device, and the lines that are
// logged.
#pragma once

#include <rte_ethdev.h>

#include "conf.h"
#include "port.h"
#include "test.h"

extern struct rte_mempool *ports_pool;

// Group fixtures: DPDK and the pool; at the end all packets must be back.
int ports_group_start(void **state);
int ports_group_stop(void **state);

// Loads a configuration of two workers with these ports, a list as in the file. To be freed.
// Empties the log.
struct conf *ports_conf(const char *ports);

// Whether a line with this text has been logged since the log was emptied. Any thread.
bool ports_logged(const char *text);
void ports_log_empty(void);

// Opens a port of a configuration. Fails the test with the log if it does not open.
void port_open_ok(struct port *p, const struct conf *conf, unsigned int port);

// Fails the test if the line has not been logged, and shows the log.
void assert_logged(const char *text);

// Sends a frame by a queue 0, marked with a number.
void frame_send(uint16_t id, uint8_t mark);

// Waits for a frame on any queue of a device. Returns its mark, or -1 if none comes.
int frame_receive(uint16_t id);

// Waits a millisecond. Fails the test after a minute of such waits.
void wait_a_moment(void);
