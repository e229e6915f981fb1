// SPDX-License-Identifier: BSD-3-Clause
// Which member of a fleet has which group: as much load for its weight as the others, with pins to
// members, and few moves. The weight of a group is its load, and that of a member how much it can
// bear. All members compute this from the same keys of etcd, and so agree on it. Pure functions;
// any thread.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "conf.h"

#define FLEET_MEMBERS_MAX 128 // keys of members, also of strangers
#define FLEET_NONE        UINT_MAX

struct fleet_place_member {
	uint64_t weight;
	uint64_t load; // weights of its groups, see fleet_place_load()
	bool takes;    // groups: it does not drain
	bool shunned;  // for a while nothing moves to it by itself
};

struct fleet_place_group {
	uint64_t weight;
	unsigned int owner; // a member, or that to which it moves; FLEET_NONE: it is free
	bool stays;         // it is not moved by itself
	// Living members that the group prefers to all others, the first one most.
	unsigned int pin[CONF_PINS_MAX + 1];
	unsigned int n_pins;
};

struct fleet_place {
	struct fleet_place_member member[FLEET_MEMBERS_MAX];
	struct fleet_place_group group[CONF_GROUPS_MAX];
	unsigned int n_members, n_groups;
};

// Computes the loads of members.
void fleet_place_load(struct fleet_place *p);

// How many members are to take each free group before this one does; FLEET_NONE: it takes none, or
// the group is not free. Free groups are divided at once: the heaviest first, to the member that
// has the least load with it.
void fleet_place_rank(
	const struct fleet_place *p, unsigned int member, unsigned int rank[CONF_GROUPS_MAX]);

// The member to which the owner of a group hands it over if it does not keep it; FLEET_NONE: no
// other one takes groups.
unsigned int fleet_place_next(const struct fleet_place *p, unsigned int group);

// Whether a member hands one of its groups over by itself: to the first member of its pins, or to
// one that has less load with it than this one has now. So each move makes the loads more even, and
// moves end.
bool fleet_place_move(
	const struct fleet_place *p, unsigned int member, unsigned int *group, unsigned int *to);

// How many members have more load: these move groups first.
unsigned int fleet_place_fuller(const struct fleet_place *p, unsigned int member);
