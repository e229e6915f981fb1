// SPDX-License-Identifier: BSD-3-Clause
// Puts the changes at run time into the files of the configuration: only the settings that differ
// are edited, all other octets stay. On the loading thread.
#pragma once

#include "conf.h"
#include "conf_text.h"

// Loads the file at path, from which running was loaded before its changes, and writes the patches
// to out that make it equal to running; nothing if it lacks no change at run time:
//
//   config PATH              of the config file
//   file DIGEST AFTER PATH   of this file, whose octets have the first digest; then the second one
//   patch AT REMOVED LEN     from octet AT on, REMOVED octets become the LEN octets after this line
//   changes                  and then the differences, as conf_print_diff() writes them
//
// They are proved: the files with the patches are loaded, and differ from running in nothing. False
// after lines to errors that give all reasons: a file was edited since it was loaded, keys are in
// no key file, an item begins in one file and ends in another.
bool conf_rewrite(const struct conf *running, const char *path, FILE *out, FILE *errors);

// Whether these texts may replace files of the configuration at path: they make a configuration
// that differs in settings alone that need no restart. False after lines to errors. So a daemon
// that is no longer trusted cannot have a command of root's write other settings, or other files.
bool conf_rewrite_check(const char *path, const struct conf_texts *after, FILE *errors);
