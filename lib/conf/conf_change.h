// SPDX-License-Identifier: BSD-3-Clause
// Changes of a configuration without its file, for rekeying and the like. One request is a text
// with changes, in lines:
//
//   sa add { SETTINGS }                    SETTINGS as in the file
//   sa set NAME { SETTINGS }               these; the others stay
//   sa del NAME
//   policy add before NAME { SETTINGS }    or: after NAME, first, last, which is the default
//
// and the same with policy, rule, neighbour (whose NAME is its address, and perhaps "port PORT")
// and route (whose NAME is its target, and perhaps "source ADDRESS"). Where order decides, among
// policies and rules, it can be chosen. Control thread.
#pragma once

#include "conf.h"

// The running configuration once more, or NULL after an error for want of memory.
struct conf *conf_copy(const struct conf *running, FILE *errors);

// Applies all changes of a request to what runs, and checks the whole as conf_load() does. The
// text has len octets and ends with NUL; name is what messages call it. Returns another
// configuration, or NULL after writing every problem found to errors, as conf_load() does:
// "name:line: ..." or the line of the file that conflicts.
struct conf *conf_change(
	const struct conf *running, const char *name, const char *text, size_t len, FILE *errors);
