// SPDX-License-Identifier: BSD-3-Clause
// Changes of the configuration in its place: SAs that an operator adds, or one that he deletes,
// without another configuration and snapshot (conf_edit.h). Control thread.
#pragma once

#include "conf_edit.h"
#include "control.h"

// Sets the first sequence number of an SA, as reserve_sa_begin(). Returns 0 or a negative number.
typedef int change_sa_begin(void *arg, struct sa *sa, bool new_keys);

// Makes the changes of a record, whose text has len octets and ends with NUL; name identifies it in
// messages. Returns these changes, for conf_edit_free(). NULL: it has changed nothing, and the
// record needs conf_change(). Only while nothing is loaded or retired.
struct conf_edit *change_in_place(struct control *c, const char *name, const char *text, size_t len,
	bool new_keys, change_sa_begin *begin, void *arg);
