// SPDX-License-Identifier: BSD-3-Clause
// Applies records of changes (conf_change.h) to a configuration without its file, for rekeying and
// the like. Control thread.
#pragma once

#include "conf_change.h"

// The running configuration once more, or NULL after an error about missing memory.
struct conf *conf_copy(const struct conf *running, FILE *errors);

// Applies all changes of a record to the running configuration, and checks the whole as conf_load()
// does. The text has len octets and ends with NUL; name identifies it in messages. Returns another
// configuration, or NULL after writing every problem found to errors, as conf_load() does:
// "name:line: ..." or the line of the file that conflicts.
struct conf *conf_change(
	const struct conf *running, const char *name, const char *text, size_t len, FILE *errors);
