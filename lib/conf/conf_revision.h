// SPDX-License-Identifier: BSD-3-Clause
// Revisions: configurations as text, in which the keys are, that can become the running one again.
// Loading thread, and the control thread before there is one.
#pragma once

#include "conf.h"

// Writes a whole configuration as a file. The text has its keys: wipe it.
void conf_revision_write(const struct conf *c, FILE *out);

struct conf_revision {
	const char *name; // for messages: "revision 12"
	const char *text; // that was written
	size_t len;       // octets of it, without the NUL that ends it
	// The configuration file: other files are named as seen from its folder.
	const char *conf_path;
	// Differences to the running configuration become changes at run time, beside the changes
	// that it has: a reload would discard them only on demand.
	bool unsaved;
	// The configuration of the file, in whose place the daemon begins with this one: the two
	// may not differ in settings that need a restart. NULL: it has begun.
	const struct conf *instead_of;
};

// Reads and checks it as conf_load() does: running (NULL: none) is the configuration that it is to
// replace, which has to be there with unsaved. The caller owns the result. NULL after writing every
// problem to errors, in lines.
struct conf *conf_revision_read(
	const struct conf_revision *revision, const struct conf *running, FILE *errors);
