// SPDX-License-Identifier: BSD-3-Clause
// Configurations as text, in the format of the file. Keys are never written: where an SA's were
// read from a key file its name is, else a comment. Control thread.
#pragma once

#include "conf.h"

// The whole configuration, without comments and with what it includes.
void conf_print(const struct conf *c, FILE *out);

// The SAs and policies that the other end of the tunnels needs: directions and ends exchanged.
// peer: its address or the name of a policy; NULL: all tunnels, which must lead to one peer.
// Returns 0, -EINVAL after a line to errors if there is no such peer, or -ENOMEM.
int conf_print_peer(const struct conf *c, const char *peer, FILE *out, FILE *errors);

// What to changes as a JSON array of objects with the keys of "culvertctl --json diff"; nothing if
// that is nothing. Returns the number of differences, or -ENOMEM.
int conf_print_diff(const struct conf *from, const struct conf *to, FILE *out);

// The changes (conf_change.h) that make what runs out of what is in the file. What a change cannot
// do is a comment. Returns the number of differences, or -ENOMEM.
int conf_print_changes(const struct conf *running, const struct conf *file, FILE *out);
