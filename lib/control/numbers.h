// SPDX-License-Identifier: BSD-3-Clause
// Sequence numbers and replay windows of keys that both members of a pair have: those of the
// configuration, and those of IKE that its daemons give to each other. Each member sends with
// blocks of numbers of its own (lib/model/number_block.h), and reports to the other one up to where
// they are in use, and which its windows have accepted. So a standby is always ready to continue
// above all that were used, and accepts none that was accepted (RFC 4303 3.3.3, 3.4.3). A report
// decides only where it continues: no number is used twice if there is none, or a wrong one.
// Members of a fleet have such blocks as well, and report to etcd (fleet_numbers.h). Control
// thread, with the gateway's lock. Nothing happens without `pair` or `fleet` in the configuration.
#pragma once

#include "control.h"

#define NUMBERS_LINE_MAX  100
#define NUMBERS_REPEAT_MS 2000 // in which all reports are repeated

// Begins the next own block where one is nearly used up, and where the other member has used higher
// numbers. Call it every 100 ms, before reserve_tick().
void numbers_tick(struct control *c, uint64_t now_ms);

// The same for the SAs of a group of a fleet before it becomes active. group: its place.
void numbers_group_tick(struct control *c, unsigned int group, uint64_t now_ms);

// Writes a line for the other member about the numbers of an SA, without a newline: "out" or "in",
// the name of the SA (member_sa.h), the highest number that this member may have
// used, or has accepted, that of the other one as far as it is known, and how many are in a second.
// Returns its length; 0: nothing is new since the last report, and always is false.
unsigned int numbers_report(struct sa *sa, bool always, char line[NUMBERS_LINE_MAX]);

// Takes such a line from the other member. Keys that this one does not have are ignored, numbers
// that are lower than known ones, too. False: it is none of these lines.
bool numbers_learn(struct control *c, const char *line);

// Before the SAs of a group become active: leaves out the numbers that the other one may have used
// and accepted in the milliseconds since its last report; 0: it has stopped, and reported all.
// UINT64_MAX: it has never reported.
void numbers_take_over(
	struct control *c, const struct conf_group *g, uint64_t silent_ms, uint64_t now_ms);

// When the other one has become standby in a group: the numbers that it has reported are followed
// at once.
void numbers_other_stops(struct control *c, const struct conf_group *g);

// The windows of a key accept no number up to this one any more. Also without a pair.
void numbers_refuse(struct sa_record *r, uint64_t top);

// Whether an inbound SA can have accepted the number: windows move no further at once.
bool numbers_may_accept(const struct sa *sa, uint64_t number);

// The last number with which the SA could continue now.
uint64_t numbers_end(const struct sa_out *sa);
