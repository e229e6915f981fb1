// SPDX-License-Identifier: BSD-3-Clause
// From configuration to snapshot. Control thread.
#pragma once

#include "conf.h"
#include "snapshot.h"

// What only the started ports know, by index of conf->ports.
struct build_port {
	struct rte_ether_addr mac;
};

// Makes the snapshot that the configuration describes. Everything in it is its own. On failure
// returns NULL after writing the reason to why (size octets): memory, or an algorithm that no
// engine has.
struct snapshot *build_snapshot(const struct conf *conf, const struct build_port ports[],
	uint32_t generation, char *why, size_t size);

// Frees it and wipes its keys, when no worker can see it any more. NULL is fine.
void build_snapshot_free(struct snapshot *s);
