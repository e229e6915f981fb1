// SPDX-License-Identifier: BSD-3-Clause
// Applies configurations: the first one, and others in its place while workers run. One that is
// refused changes nothing; a published one applies to every packet received afterwards. Control
// thread, unless noted.
#pragma once

#include "control.h"

// Builds the snapshot that a configuration describes; c->snapshot does not notice. NULL after
// writing the reason to why (size octets). Any thread, while nothing is applied or retired.
struct snapshot *configure_build(
	const struct control *c, const struct conf *conf, char *why, size_t size);

// Publishes the first snapshot, which is that of c->conf, before workers run. Failures are logged.
// Returns 0 or -ENOMEM; c owns the snapshot in any case.
int configure_start(struct control *c, struct snapshot *s);

// Has objects that outlive a snapshot prepared for another configuration, just before
// configure_replace(). False after writing the reason to errors.
bool configure_prepare(struct control *c, const struct conf *conf, FILE *errors);

// Replaces the running configuration by another and publishes its snapshot. Only while nothing is
// retired, with the gateway's lock. Returns 0: c owns both, and the caller owns the previous
// configuration. Or -ENOMEM, or -ENOSPC: the table of routes is full. Then nothing has changed.
int configure_replace(struct control *c, struct conf *conf, struct snapshot *s, uint64_t now_ms);

// Warns of tunnels that cannot carry the packets that every host may send, and of replay windows
// that are small for the number of workers.
void configure_warn(const struct conf *conf, const struct snapshot *s);

// The same of replay windows, of the SAs from number first on.
void configure_warn_sas(const struct conf *conf, unsigned int first);

// Whether there is a retired snapshot that no worker can see any more. Call it before the events of
// workers are drained: these include all events about it.
bool configure_grace_over(const struct control *c);

// Frees the retired snapshot, once configure_grace_over() and the events are handled. With the
// gateway's lock.
void configure_retire(struct control *c);

// Frees everything else when workers have ended; not the configuration.
void configure_stop(struct control *c);
