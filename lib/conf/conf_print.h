// SPDX-License-Identifier: BSD-3-Clause
// Configurations as text, in the format of the file. Keys are never written: where an SA's were
// read from a key file its name is, else a comment. Control thread.
#pragma once

#include "conf_change.h"

// The whole configuration, without comments and with included files.
void conf_print(const struct conf *c, FILE *out);

// The SAs and policies that the other end of the tunnels needs: directions and ends exchanged.
// peer: its address or the name of a policy; NULL: all tunnels, which must lead to one peer.
// Returns 0, -EINVAL after a line to errors if there is no such peer, or -ENOMEM.
int conf_print_peer(const struct conf *c, const char *peer, FILE *out, FILE *errors);

// A difference (conf_diff()) as a JSON array of objects with the keys of "culvertctl --json diff";
// nothing if it is none.
void conf_print_diff(const struct conf_changes *list, FILE *out);

// The same as conf_changes_write() does, without keys.
void conf_print_changes(const struct conf_changes *list, FILE *out);
