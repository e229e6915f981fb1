// SPDX-License-Identifier: BSD-3-Clause
// Own IPv6 addresses (RFC 4862 5.4): tried out when the link comes up, and until they are known to
// be ours not used by SAs either. Control thread.
#pragma once

#include "gateway.h"

// Makes g->dad. Returns 0 or -ENOMEM.
int address_init(struct gateway *g);

// Before workers run: begins to try the addresses of a snapshot out, and listens for who asks for
// them.
void address_start(struct gateway *g, const struct snapshot *s);

// A port's link has come up.
void address_restart(struct gateway *g, uint16_t port);

// Tells the SAs of a snapshot whether their own addresses may be used. To be called before workers
// see it, and with the gateway's lock.
void address_apply(const struct gateway *g, const struct snapshot *s);
