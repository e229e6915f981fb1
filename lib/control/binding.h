// SPDX-License-Identifier: BSD-3-Clause
// Translations that the other gateway of a pair reports: own rules of `nat` of these names must be
// about the packets, and be able to give them exactly these ends. By which port a packet comes and
// leaves is not compared. Control thread, with the gateway's lock.
#pragma once

#include "flow_line.h"
#include "snapshot.h"

// The names of the rules of a translated flow. False: a rule has been deleted.
bool binding_name(struct flow_line *f, const struct nat_set *nat);

// Sets the fields of a translated flow that follow from the rules. False: they do not translate so.
bool binding_learn(struct flow_line *f, const struct snapshot *s);
