// SPDX-License-Identifier: BSD-3-Clause
// The state of the control thread, which decides everything except the path of a single packet:
// next hops, own addresses, peers, path MTUs, lifetimes, tunnels, the audit log. Nothing in this
// library opens a port or a socket or starts a thread, but the channel of a pair (member.h): the
// daemon gives it access to those as struct control_io, and tests run it in process. Lines are
// written by log.h of lib/base.
//
// Set up before workers run. After that the control thread alone writes, with the lock where other
// threads read.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include <rte_mbuf.h>
#include <rte_rcu_qsbr.h>

#include "build.h"
#include "conf.h"
#include "conf_digest.h"
#include "dad.h"
#include "flow_scan.h"
#include "history.h"
#include "listener.h"
#include "neigh.h"
#include "path_search.h"
#include "ping_table.h"
#include "snapshot.h"
#include "tunnel_life.h"
#include "worker.h"

// Where a worker has stalled, for the log.
struct control_stall {
	char place[96]; // "frames of port "lan" queue 0"
	char state[2];  // of its thread, as the kernel has it: "R", it runs
	int thread, cpu;
};

// A counter that a driver has by a name of its own.
struct device_counter {
	char name[64];
	uint64_t value;
};

// Functions of the daemon for the control thread. arg is that of struct control.
struct control_io {
	// Sends a frame by a port, and takes it. False: it cannot, and the caller keeps the frame.
	bool (*send)(void *arg, uint16_t port, struct rte_mbuf *m);
	// Makes a port receive the frames of these multicast groups.
	void (*listen)(void *arg, uint16_t port, const struct ip_addr group[], unsigned int n);
	bool (*has_link)(void *arg, uint16_t port);
	// The members that send for a port, or for the parent of a VLAN: bit i for that of number
	// i. 0: it has no members, or none is active.
	uint32_t (*active)(void *arg, uint16_t port);
	// The link of a port is found up or down for the first time, or has changed.
	void (*link)(void *arg, uint16_t port, bool up);
	// Adds the counters of threads other than the workers and the control thread.
	struct counters (*counters)(void *arg);
	uint64_t (*now_ms)(void);  // of a clock that never steps
	uint64_t (*boot_ms)(void); // of one that runs while the machine is suspended
	// Differs from pass to pass of a worker.
	uint64_t (*heartbeat)(void *arg, unsigned int worker);
	struct control_stall (*stall)(void *arg, unsigned int worker);
	// Feeds the watchdog of the service manager.
	void (*watchdog)(void *arg);
	// Packets held inside the gateway.
	uint64_t (*held)(void *arg);
	// Copies up to n counters that the driver of a port's device has, from number first on.
	// Returns how many.
	unsigned int (*device_counters)(void *arg, uint16_t port, unsigned int first,
		struct device_counter counters[], unsigned int n);
	// Sends a message by UDP to the collector of flows, from the kernel of this machine, and
	// does not wait. Returns 0 or -errno, also of earlier messages; -EAGAIN: there are too
	// many.
	int (*export_send)(void *arg, const struct ip_addr *to, uint16_t port, const void *message,
		size_t len);
	// Gives the kernel routes to these networks, each once and in order, and takes back all
	// others that it got so: see announced.h. Copies them, and does not wait.
	void (*announce)(void *arg, const struct ip_prefix to[], unsigned int n);
};

struct health_worker {
	uint64_t heartbeat; // at the last check
	uint64_t fed;       // when the watchdog was fed
	uint32_t quiet;     // checks since it changed
	bool stalled;
	uint32_t stalls;
};

// See health.h.
struct health {
	struct health_worker worker[CONF_WORKERS_MAX];
	uint32_t watchdog_ms;   // how often the watchdog is fed; 0: never
	uint64_t watchdog_next; // milliseconds
	uint32_t buffers_free_min;
	bool buffers_short;
};

struct control_link {
	bool up;
	uint32_t changes;
	uint32_t active; // members, from control_io
};

// An SA and a reason that were logged lately; see audit_log.h.
struct audit_subject {
	const struct sa *sa; // NULL: no SA
	enum drop reason;
	uint64_t at_ms;  // of the last line
	uint64_t logged; // packets dropped up to it
};

#define AUDIT_SUBJECTS 64 // at once: as many lines in a second, twice at most

struct audit_state {
	struct audit_subject subject[AUDIT_SUBJECTS];
	unsigned int n;
	unsigned int suppressed; // events for which there was no room
	uint64_t suppressed_ms;  // when that was logged last
};

// SAs and policies of an IKE daemon, by search.h of the C library; see ike.h.
struct ike_state {
	void *sas, *policies;     // by name
	void *groups, *ingresses; // by id; those with an ingress, by that
	void *peers;              // by id
	unsigned int n_sas;       // not yet released
	uint64_t n_added;         // SAs so far
	struct ike_policy **tunnels;
	unsigned int n_tunnels;
	unsigned int tunnel_next; // is checked next
	bool mss_clamped;         // by a policy that was added
	struct object *leaving;   // deleted since the last snapshot
	bool redecide;            // flows: policies or roles have changed since then
	bool renew;               // SAs of the configuration were added since then
	struct snapshot *spare;   // for the next one, if there is no memory
};

// The last reload, if it was refused.
struct reload_refusal {
	uint64_t at_ms; // 0: it was not
	char why[128];  // the first mistake, printable ASCII, as much as telemetry sends
};

// See tracing.h.
struct tracing {
	struct trace *trace; // NULL: there never was one
	uint32_t number;     // of the one that is on or was the last, from 1
	bool on;
	uint64_t token;    // of the grace period after which there can be another
	uint64_t asked_ms; // when steps were last requested; telemetry writes it, with the lock
	uint64_t start;    // TSC
};

// The host of IFACE_HOST(i), as it was seen last, for lists.
struct control_host {
	char name[CONF_NAME_MAX]; // of its interface; empty: there is none
	const char *state;
	uint64_t to, from; // packets given to the kernel, and received from it
};

// A group as etcd has it: see fleet.h.
struct fleet_group {
	bool present;        // etcd has had it
	int64_t revision;    // of its last change; 0: it is not there
	char *coded;         // the value, as of struct etcd_key; NULL: it is not there
	uint64_t turn;       // of the last value that was not refused,
	uint32_t sum;        // and its CRC
	conf_name owner;     // "-": none
	int64_t lease;       // of the owner's process
	conf_name next_name; // the member to which it moves,
	int64_t next;        // and its lease; 0: it does not move
	bool ready;          // which has answered
	int64_t held;        // with which this process has written the value last; 0: it has not
	unsigned int lines;  // SAs that the value of this member has
	const char *refused; // why the value is not used; NULL: it is
	bool unchecked;      // the value has not been read with the present configuration
	bool giving;         // by a command: this member gives it up
	uint64_t ordered_ms; // until when this member takes it from whoever has it, by a command
	uint64_t free_ms;    // since when it has had no owner; 0: it has one
	uint64_t avoid_ms;   // until when this member leaves it to others
	uint64_t check_ms;   // when its numbers are looked at next
	unsigned int rank;   // members that take it before this one, if it is free; FLEET_NONE: not
			     // this one
	bool stays;          // it does not move by itself: a command or a move has brought it here
	uint64_t claimed_ms; // when another station announced an address of it, and etcd was away
	bool drains;         // by a command: it moves to another member
	int64_t to;          // lease of the member to which this one moves it; 0: it does not
	uint64_t move_ms;    // until when that one may answer, or then, when it is given up
	uint64_t answered;   // turn of the last value that this member was to answer,
	uint64_t ready_ms;   // when routers have its routes,
	bool may_answer;     // and whether that is so
};

// See group.h.
struct owned_group {
	conf_name name;
	enum conf_role role;
	uint64_t since_ms; // of the role
	uint32_t changes;
	bool leaving;               // active, but about to be another gateway's: not defended
	bool expected;              // standby, but about to be active here: see role_expect(),
	uint64_t expected_ms;       // until then at most
	unsigned int announcements; // of its addresses, still to be sent: the next one
	uint64_t announce_ms;       // at this time,
	uint32_t again_ms;          // and another one that much later
	uint64_t defend_ms;         // from when on another station's claim has them announced again
	bool other_known;           // the other gateway of a pair has reported:
	enum conf_role other;       // its role,
	uint32_t other_changes;     // and how often that has changed; 0: also before all reports
	uint64_t other_since_ms;    // since when it has that
	bool both;                  // both are active,
	uint64_t both_ms;           // since when
	uint64_t yielded_ms;        // when this one became standby for that reason; 0: never
	// Why the other one cannot take it over yet; NULL: no operator wants that.
	const char *drain;
	unsigned int announced; // networks, see announced.h
	struct fleet_group fleet;
};

struct owned_groups {
	struct owned_group item[CONF_GROUPS_MAX]; // as in the configuration
	unsigned int n;
	// Of a fleet: the SAs of the configuration that each has, from the first one on by
	// group_next, and after those of groups the SAs that are of none.
	struct sa *sas[CONF_GROUPS_MAX + 1];
	uint64_t takeover_ms; // when the last one is over; 0: it is, or there was none
};

// See announced.h.
struct announced {
	struct ip_prefix *to; // networks that the kernel has got, in order
	unsigned int n;
	uint64_t compare_ms; // when they are compared next with those of the groups,
	uint64_t repeat_ms;  // and given to the kernel again
};

// See digests.h.
struct config_digests {
	char text[CONF_DIGESTS_MAX];
	uint32_t generation; // of the snapshot that has that configuration,
	uint64_t next_ms;    // and when another one may be looked at
};

// See member.h.
struct control_member {
	struct channel *channel;        // NULL: there is none
	uint64_t epoch;                 // of the connection of the last event
	uint64_t lines_epoch;           // of the last lines,
	uint64_t lines_ms;              // and when the last one was taken; 0: never
	unsigned int next;              // SA of which lines are sent first,
	unsigned int left, n_sas;       // how many are sent in any case, and of how many
	struct member_changes *changes; // NULL: there is no channel
	uint64_t peers_ms;              // endpoints of peers that have changed since are to be sent
	struct flow_scan scan;          // of the flows that are sent: see member_flows.h
	uint64_t scan_begun_ms, scan_ms;    // when it has begun, and when it continues
	uint64_t flows_sent, flows_ignored; // lines; lines of the other one that were not adopted
};

// A change that returns by itself unless it is confirmed.
struct unconfirmed {
	uint32_t revision, former; // revision 0: there is none
	uint32_t user;
	uint64_t end_ms; // when it returns
	bool of_file;    // it was a reload
	bool unsaved;    // the file lacks the differences, or changes at run time that it discarded
};

// See revisions.h.
struct revisions {
	struct history history;
	uint32_t begun;          // the revision that the daemon began with instead of the file
	bool edited;             // the file has changed since it was not confirmed
	struct revision waiting; // is not on the disk yet; number 0: there is none
	unsigned int n_waiting;  // the changes that it has
	uint64_t write_ms;       // from when on it may be written
	struct unconfirmed unconfirmed, undone; // that waits, and that was undone last
	// For the other gateway of a pair, with the confirmation: name and changes, NULL: there are
	// none; these have new keys; the configuration is that of the file.
	char *pending;
	bool pending_new_keys, pending_file;
};

// Of a port that was removed: its number is free from then on, 0: the workers may still have the
// port; and whether its flows are being removed.
struct port_leaving {
	uint64_t free_ms;
	bool is_flushed;
	bool has_device; // which is not closed yet; cleared by reopen.c
};

struct control {
	const struct control_io *io;
	void *io_arg;
	const char *conf_path, *version; // of the daemon
	uint64_t started_ms;             // 0: not yet
	// Held by the control thread while it changes data of show commands, and by the threads of
	// these commands while they read. Workers never take it.
	pthread_mutex_t lock;
	struct rte_mempool *pool;       // for the packets of this thread, and of workers
	struct rte_mempool *large_pool; // for reassembled packets
	struct counters counters;       // of these packets
	// Thread i is worker i, and the last one is the reader of flows.
	struct rte_rcu_qsbr *qsbr;
	struct worker *workers[CONF_WORKERS_MAX];
	struct retired *retired_memory; // see retire.h

	struct conf *conf;
	struct build_port ports[PORTS_MAX]; // by index of conf->ports, as all about ports
	struct snapshot *_Atomic snapshot;  // read by workers
	struct reload_refusal refusal;
	bool loading; // another snapshot is being made from it, which must stay meanwhile
	// Fields of the next configuration, by port. The loading thread reads them.
	struct conf_guests guests[PORTS_MAX];
	struct conf_followed followed[PORTS_MAX];
	// The previous snapshot, and the token of the QSBR for its grace period. NULL: there is
	// none.
	struct snapshot *retired;
	uint64_t retired_token;
	// Events of earlier generations may name SAs that have been freed.
	uint32_t oldest_generation;

	struct control_host hosts[HOSTS_MAX]; // see host_thread_tick()
	struct control_link links[PORTS_MAX];
	struct port_leaving leaving[PORTS_MAX]; // by number: see port_change.h
	uint64_t links_next_ms;                 // when they are checked next
	struct neigh_table *neigh;
	struct dad *dad; // own IPv6 addresses, and those of groups
	struct owned_groups groups;
	struct announced announced;
	struct deadlines deadlines; // of workers, see frozen.h
	struct listener *listener;  // multicast groups
	struct flow_table *flows;
	uint64_t conflict_next_ms; // when an address conflict may be logged next
	uint64_t rule_second;      // of the last line about a rule,
	unsigned int rule_lines;   // and how many there were in it
	struct audit_state audit;
	struct health health;
	struct path_mtus path_mtus;
	struct tunnels tunnels; // of the snapshot
	struct ike_state ike;
	struct tracing tracing;
	struct pings pings;
	struct config_digests digests;
	struct control_member member;
	struct revisions revisions;
	struct flow_export *flow_export; // see flow_export.h; NULL: there was none yet
	struct fleet *fleet;             // see fleet.h; NULL: this gateway is of none
	unsigned int expiry_next;        // SA whose lifetime is checked next
	unsigned int sas_leaving;        // of the configuration, deleted but not yet released
	bool routes_changed;             // of the kernel, see kernel_routes.h
	// Of routes that have changed so that flows are to be decided again: since the last batch,
	// and of the batches whose grace period is not over.
	struct flow_regions redecide, redecide_soon;
	unsigned int batches;   // of these
	bool tunnels_changed;   // some are up or down, which routes with skip follow
	bool moves_pending;     // of SAs, see struct sa_out
	bool udp_ends_moved;    // peers have moved since they were indexed
	unsigned int peer_next; // SA whose keepalive is checked next
};
