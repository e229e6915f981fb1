// SPDX-License-Identifier: BSD-3-Clause
// SAs and policies of an IKE daemon, in tables beside the configuration (objects.h): adding or
// deleting one costs the same with ten tunnels as with ten thousand, and a rekey lets no flow be
// decided again.
//
// SAs and policies with the same reqid are a tunnel: its policies receive by all of its inbound
// SAs, and send by the newest outbound one that is not late. So does the tunnel of the
// configuration with the if_id of SAs. Control thread, with the gateway's lock; other threads read
// with it.
#pragma once

#include "control.h"

struct ike_sa;
struct ike_policy;

// NULL: there is none with this name.
struct ike_sa *ike_sa_find(const struct control *c, const char *name);
struct ike_policy *ike_policy_find(const struct control *c, const char *name);

struct sa *ike_sa_get(const struct ike_sa *o);

// Adds an SA. Returns 0, or -EEXIST (its name is there), -EADDRINUSE (its SPI is), -EKEYREJECTED
// (its keys are), -ENOMEM, -ENOTSUP (no engine has its algorithms), -EADDRNOTAVAIL (workers do
// not take its UDP port for ESP), -EINVAL (it has dummies), -ENOSPC (IKE_SAS_MAX), -EDQUOT (its
// peer's share of them), -ENXIO (no tunnel has its if_id), -EBUSY (another peer has
// SAs with it).
int ike_sa_add(struct control *c, const struct conf *conf, const struct conf_sa *conf_sa,
	struct ike_sa **added);

// Puts an outbound SA before those of its group that are older or late, or, if it is late, after
// all. The first one sends.
void ike_sa_order(struct control *c, struct ike_sa *o, bool late);

// Deletes it: workers may use it until the end of their pass.
void ike_sa_delete(struct control *c, struct ike_sa *o);

// Adds a policy. Returns 0, -EEXIST (its name is there), -ENOTUNIQ (another peer has its
// selectors), or as spd_table_add().
int ike_policy_add(struct control *c, const struct conf_policy *conf, struct ike_policy **added);

// It may let packets pass in clear: the request is done that added it. Until then it drops them.
void ike_policy_open(struct control *c, const struct ike_policy *o);

// Deletes it within a few ticks: one that was added before decides without a gap, else packets are
// dropped meanwhile.
void ike_policy_delete(struct control *c, struct ike_policy *o);

// Whether IKE is to be asked for an SA of the policy: at most once a second.
bool ike_policy_asks(struct ike_policy *o, uint64_t now_ms);

// Outbound or inbound SA i of the group, as of sa_options_group(), the newest first; NULL: there
// are no more.
struct sa_out *ike_sender(const struct control *c, uint64_t group, unsigned int i);
struct sa_in *ike_receiver(const struct control *c, uint64_t group, unsigned int i);

// Inbound SA i of a policy, of the configuration or of IKE; NULL: it has no more.
struct sa_in *policy_receiver(const struct control *c, const struct spd_policy *p, unsigned int i);

// Tunnel i of all, and its policy; NULL: there are no more.
struct tunnel *ike_tunnel(
	const struct control *c, unsigned int i, const struct spd_policy **policy);

// Whether an inbound SA, or another tunnel whose first SA had it and is gone, has the SPI of one
// with these options.
bool ike_has_spi(const struct control *c, const struct sa_options *o);

// Whether a snapshot cannot be published beside these SAs, because one has the SPI of another:
// writes which one to why (size octets). The load thread, while the control thread changes nothing.
bool ike_collides(const struct control *c, const struct snapshot *s, char *why, size_t size);
