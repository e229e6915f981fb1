// SPDX-License-Identifier: BSD-3-Clause
// From configuration to snapshot. Control thread, but build_snapshot().
#pragma once

#include "conf.h"
#include "snapshot.h"

// Facts that only the started ports know, by index of conf->ports.
struct build_port {
	struct rte_ether_addr mac;
};

// An SA of the snapshot's ledger with the options of the configuration, to be given back to it.
// NULL with errno of sa_ledger_take(). The thread that builds the snapshot, or the control thread.
struct sa *build_sa(const struct snapshot *s, const struct conf *conf, const struct conf_sa *c);

// Makes the snapshot that the configuration describes. It owns all its objects except SAs that the
// running snapshot (NULL: none) has with the same options: these are shared, and do not change
// before build_commit(). On failure returns NULL after writing the reason to why (size octets):
// memory, or an algorithm that no engine has. Any thread, while no other one builds, commits,
// retires or frees.
struct snapshot *build_snapshot(const struct conf *conf, const struct build_port ports[],
	const struct snapshot *running, char *why, size_t size);

// Call just before the snapshot replaces another: makes its SAs visible to workers, updates path,
// name and lifetimes of shared SAs, starts the sequence numbers of new ones, and prepares its
// routes. conf is the configuration of the snapshot. Returns 0; -ENOMEM, or -ENOSPC: the table of
// routes is full. Then nothing has changed.
int build_commit(struct snapshot *s, const struct conf *conf);

// Just before it is published, and after it is known which SAs may use their local addresses: the
// routes of s by which nothing is sent in clear take the place of the former ones in the table;
// flows go on by the policies and SAs of s, and workers do not find the SAs any more that only the
// old one (NULL: there is none) has. So whoever sees the new generation has none of them, also not
// in packets handed to another worker.
void build_link(const struct snapshot *s, const struct snapshot *old);

// After tunnels have gone up or down: packets go by the routes with skip whose tunnel is up.
void build_routes_skip(const struct snapshot *s);

// When no worker uses the old one any more, before it is retired: the other routes of s take their
// places, and former ones leave. So no packet goes by a policy of one configuration and a route
// of the other in clear.
void build_link_end(const struct snapshot *s);

// When no worker can see the old one any more, in the place of which s was published: it is freed
// with the SAs, and the numbers of policies and rules, that s does not share.
void build_retire(struct snapshot *s, struct snapshot *old);

// Frees it and wipes the keys that no other snapshot shares, when no worker can see it. NULL is
// allowed.
void build_snapshot_free(struct snapshot *s);

// The own address on the port of packets to an address by a route; via none: it is on the link.
// IPv4 by an IPv6 next hop may have none on the port.
struct ip_addr build_source_by(const struct conf *conf, unsigned int port, const struct ip_addr *to,
	const struct ip_addr *via);
