// SPDX-License-Identifier: BSD-3-Clause
// Changes of the running configuration in its place, at a cost that does not depend on its size:
// SAs that are added, or one that is deleted and that nothing uses. Such a change concerns no other
// item, so it is checked alone; that names, SPIs and keys are unique, by three indexes of all SAs.
// Any other change, or one with a mistake, is for conf_change(), which also has the messages.
// Control thread, while no other one reads the configuration.
#pragma once

#include "conf_change.h"

struct conf_edit {
	struct conf *conf;         // that changes
	const struct conf_sa *sas; // that are added
	unsigned int n_sas;
	int deleted;                // index of the SA that is deleted; -1: none
	struct conf_change *change; // for the log: these, with their names
	unsigned int n;

	struct conf_arena *arena; // private: memory of this
	unsigned int n_copied;    // private: SAs after the last one of the array
	unsigned int n_unsaved;   // private: entries before
	char *name; // private: in memory of the configuration, of the deleted SA or of a new file
};

// Prepares the changes of a record (conf_change.h) with all the memory that they need, which must
// end with conf_edit_commit() or conf_edit_cancel(). The text has len octets and ends with NUL;
// name identifies it in messages. NULL, and nothing has changed: it is for conf_change().
struct conf_edit *conf_edit_new(struct conf *conf, const char *name, const char *text, size_t len);

// Changes the configuration, which cannot fail.
void conf_edit_commit(struct conf_edit *e);

// Frees it after a commit, with the names of its changes. NULL is allowed.
void conf_edit_free(struct conf_edit *e);

// Leaves the configuration as it was.
void conf_edit_cancel(struct conf_edit *e);
