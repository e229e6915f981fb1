// SPDX-License-Identifier: BSD-3-Clause
// One difference between two configurations, as conf_diff.h reports them. Control thread.
#pragma once

#include "conf.h"

enum conf_difference_kind { CONF_ADDED, CONF_REMOVED, CONF_CHANGED, CONF_MOVED };

extern const char *const conf_difference_names[]; // "added", ...

// A difference. Its texts are valid until the callback returns.
struct conf_difference {
	enum conf_difference_kind kind;
	const char *noun; // "sa"; NULL: a setting that belongs to no item of a list
	const char *name; // of the item
	// Of what is not removed: its number in the new list, which has n_items.
	unsigned int item, n_items;
	// With CONF_CHANGED: the setting, "lifetime.soft_bytes", and its values as in the file or
	// by default. NULL: it has none, or is a key, which nobody is shown. Both NULL, and no key:
	// it has no value in either, what follows from other settings has changed.
	const char *setting, *from, *to;
	bool secret;             // the setting is a key
	bool restart;            // it is for the next start, not for a reload
	bool unsaved;            // what it changes was changed at run time
	struct conf_where where; // of the new one; of what was removed, the old one
};
