// SPDX-License-Identifier: BSD-3-Clause
// charon's interface to the kernel's IPsec, which culvertd provides instead: kernel_ipsec_t. charon
// calls it from any of its threads; the mutex admits one of them at a time.
#pragma once

#include "gateway.h"
#include "range.h"
#include "strongswan.h"

#include <stdio.h>

#define NAME_SIZE    32 // of the gateway's objects, with NUL
#define ADDRESS_SIZE 46

// An SA of charon's: an SPI that was given out, or an SA of the gateway.
struct kernel_sa {
	uint32_t spi; // host byte order
	bool inbound;
	ipsec_mode_t mode;
	char name[NAME_SIZE]; // of the gateway's SA; empty: it has none yet
	bool lost;            // with the gateway that has stopped
	bool left;            // the peer deletes it: another sends
	bool renew;           // see pair.c
	host_t *src, *dst;
	uint32_t if_id;             // of the tunnel that it belongs to; 0: it has policies
	struct kernel_group *group; // NULL: it has no name, or an if_id
};

struct kernel {
	kernel_ipsec_t public;
	listener_t listener; // see listener.c
	mutex_t *mutex;
	char *instance;
	int claim;       // descriptor: no other charon drives the gateway; -1: not claimed
	bool ready;      // objects of an earlier charon have been removed
	hashlist_t *sas; // see sa.c
	linked_list_t *policies, *groups;
	int events;         // descriptor; -1: not subscribed
	bool segment_taken; // see pair.c
	time_t renew_from;  // seconds of time_monotonic(): when SAs may get new keys
	bool stopping;      // charon ends
};

kernel_ipsec_t *kernel_create(void);

// Applies changes. False if they were refused: the reason is in the log.
bool kernel_change(struct kernel *k, const char *changes);

// The gateway has stopped: the next one must be claimed as well.
void kernel_unclaim(struct kernel *k);

// The connection that this thread of charon works for, as a part of names; in name.
void kernel_connection(char name[NAME_SIZE]);

// The same for the peer: a number of its identity as it was authenticated; 0: no peer.
uint32_t kernel_peer(void);

void kernel_address(char text[ADDRESS_SIZE], host_t *host);

// sa.c: members of kernel_ipsec_t
status_t sa_get_spi(struct kernel *k, host_t *src, host_t *dst, uint32_t *spi);
status_t sa_add(struct kernel *k, kernel_ipsec_sa_id_t *id, kernel_ipsec_add_sa_t *data);
status_t sa_update(struct kernel *k, kernel_ipsec_sa_id_t *id, kernel_ipsec_update_sa_t *data);
status_t sa_query(struct kernel *k, kernel_ipsec_sa_id_t *id, uint64_t *bytes, uint64_t *packets,
	time_t *used);
status_t sa_del(struct kernel *k, kernel_ipsec_sa_id_t *id);

// The SA with that SPI and destination; NULL if there is none.
struct kernel_sa *sa_find(struct kernel *k, uint32_t spi, bool inbound, host_t *dst);

// When it last received or sent a packet, as time_monotonic(); 0: never. bytes and packets may be
// NULL. False: the gateway does not answer, or does not have it.
bool sa_used(struct kernel *k, const struct kernel_sa *sa, uint64_t *bytes, uint64_t *packets,
	time_t *used);

// The SA with the name of the gateway's; NULL if there is none.
struct kernel_sa *sa_named(struct kernel *k, const char *name);

// Whether the policies send by another SA while there is one.
void sa_set_late(struct kernel *k, const char *name, bool late);

// A table for struct kernel_sa.
hashlist_t *sas_create(void);
void sas_forget(struct kernel *k);

// group.c: SAs that one and the same policies use, and the selectors of these

// The group of an SA with this reqid of charon's, and these selectors; group_put() drops it.
struct kernel_group *group_get(
	struct kernel *k, uint32_t reqid, linked_list_t *local, linked_list_t *remote);
void group_put(struct kernel *k, struct kernel_group *group); // NULL is allowed

// The gateway's reqid of a group, and of a policy: charon's while there are no SAs with these
// selectors.
uint32_t group_number(const struct kernel_group *group);
uint32_t group_number_of(
	struct kernel *k, uint32_t reqid, traffic_selector_t *local, traffic_selector_t *remote);

// The addresses of a selector, as range_split().
unsigned int prefixes_of(traffic_selector_t *ts, struct prefix prefix[RANGE_PREFIXES_MAX]);

// How many policies the gateway needs for all pairs of two lists of selectors.
size_t policies_count(linked_list_t *local, linked_list_t *remote);

// policy.c: the same as sa.c
status_t policy_add(
	struct kernel *k, kernel_ipsec_policy_id_t *id, kernel_ipsec_manage_policy_t *data);
status_t policy_query(struct kernel *k, kernel_ipsec_policy_id_t *id, time_t *used);
status_t policy_del(
	struct kernel *k, kernel_ipsec_policy_id_t *id, kernel_ipsec_manage_policy_t *data);
status_t policies_flush(struct kernel *k);
void policies_forget(struct kernel *k);

// Adds all of them again: the gateway has none any more.
void policies_restore(struct kernel *k);

// Asks charon for an SA of the policy with this name, or by the trap with the if_id if that is not
// 0.
void policy_acquire(struct kernel *k, const char *name, uint32_t if_id);

// policy_settings.c: the values that the gateway's policies for one of charon's share, without
// name, reqid and addresses. False, after a message, if the gateway does not support them.
#define SETTINGS_SIZE 256
bool policy_settings(char settings[SETTINGS_SIZE], const kernel_ipsec_policy_id_t *id,
	const kernel_ipsec_manage_policy_t *data);

static inline traffic_selector_t *local_of(const kernel_ipsec_policy_id_t *id)
{
	return id->dir == POLICY_OUT ? id->src_ts : id->dst_ts;
}

static inline traffic_selector_t *remote_of(const kernel_ipsec_policy_id_t *id)
{
	return id->dir == POLICY_OUT ? id->dst_ts : id->src_ts;
}

static inline bool policy_is_trap(const kernel_ipsec_manage_policy_t *data)
{
	return data->type == POLICY_IPSEC && data->prio == POLICY_PRIORITY_ROUTED;
}

// reauth.c: has the SA, which is late, send after a while.
void reauth_wait(struct kernel *k, const struct kernel_sa *sa);

// A message of the peer, before charon answers it.
void reauth_message(struct kernel *k, ike_sa_t *ike_sa, message_t *message);

// proposal.c: writes the algorithms and keys of an SA. False, after a message, if the gateway lacks
// one of them.
bool algorithms_write(FILE *f, const kernel_ipsec_add_sa_t *data);

// Removes algorithms that the gateway lacks from the proposals of a request for a CHILD_SA.
void proposals_filter(message_t *message, bool incoming);

// listener.c: an option of the CHILD_SA whose inbound SA this thread adds, which the gateway lacks;
// NULL: none.
const char *child_unknown(void);
void listener_start(struct kernel *k);
void listener_stop(struct kernel *k);

// pair.c: the other charon of a pair of gateways. Whether there may be one.
bool pair_is_there(void);
void pair_start(struct kernel *k);
void pair_stop(struct kernel *k);

// IKE_SAs follow the roles of the gateway's groups, which may have changed.
void pair_follow(struct kernel *k);

// All CHILD_SAs get new keys soon: the other charon may not have all of them.
void pair_renew(struct kernel *k);

// twice.c: destroys IKE_SAs of which there is another one with the same SPIs.
void twice_end(void);

// event.c: has charon renew the SA, or, after its hard limit, make another.
void sa_expire(const struct kernel_sa *sa, bool hard);

// Passes the gateway's events to charon from now on, also if the gateway does not run yet.
void events_start(struct kernel *k);
void events_stop(struct kernel *k);
