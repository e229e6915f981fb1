// SPDX-License-Identifier: BSD-3-Clause
// SAs and policies of an IKE daemon, which are not part of the configuration: the control thread
// adds and deletes one without making another snapshot, while workers look them up (RCU). The
// snapshots of a daemon share them. lib/build makes this, lib/control/ike.c changes it.
#pragma once

#include "policy_set.h"
#include "sad.h"
#include "spi_set.h"
#include "spd_table.h"

#define IKE_POLICIES_MAX 0x7fff // so many numbers of policies are theirs
#define IKE_SAS_MAX      0x10000

struct ike_objects {
	// The control thread replaces them when they are full.
	struct sad *_Atomic sad_in, *_Atomic sad_out;
	struct spd_table *policies;
	struct policy_set set;  // by slot of policies
	struct spi_set awaited; // of inbound SAs that are not added yet
	unsigned int users;     // snapshots; of the thread that builds them
	// All policies in the order in which they decide, for lists; of the control thread.
	const struct spd_policy **listed;
	unsigned int n_listed;
};

// NULL with errno ENOMEM, or of getrandom(2). Load or control thread.
struct ike_objects *ike_objects_new(unsigned int n_workers);

// Adds a user, which has to free it, too.
struct ike_objects *ike_objects_share(struct ike_objects *ike);

// Removes a user; the last one frees it. The SAs are not freed. NULL is allowed.
void ike_objects_free(struct ike_objects *ike);
