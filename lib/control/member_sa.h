// SPDX-License-Identifier: BSD-3-Clause
// Names of SAs in the lines that the members of a pair exchange: the first octets of the id of
// their key (lib/sa/key_id.h), which both have, in hexadecimal digits. Control thread, with the
// gateway's lock.
#pragma once

#include "control.h"

#define MEMBER_SA_STRLEN (2 * SA_SHORT_ID + 1)

// Writes the name of an SA.
void member_sa_write(char name[MEMBER_SA_STRLEN], const struct sa *sa);

// Takes the name from a line, as line_word(). Returns false if it is none. *sa: the SA of that
// direction which has the name; NULL: there is none on this member.
bool member_sa_read(
	struct control *c, const char **rest, enum sa_direction direction, struct sa **sa);
