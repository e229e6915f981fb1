// SPDX-License-Identifier: BSD-3-Clause
// culvertctl without a command: a shell. Its lines are commands as on the command line, where
// keywords may be shortened (complete_abbreviations()). On a terminal they are edited, and words
// are completed; other input is a script, which ends at the first command that fails. Each command
// has a process of its own, so that its end is not that of the shell. One thread.
#pragma once

#include "command.h"

// options: of each command, unless it has others. Returns 0, or the exit code of the command that
// ended a script.
enum exit_code shell_run(const struct options *options);

// Whether this process runs a command of a shell.
bool shell_has_begun(void);
