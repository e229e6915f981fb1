// SPDX-License-Identifier: BSD-3-Clause
// The lines that were typed, in $XDG_STATE_HOME/culvert/history (without the variable,
// ~/.local/state/culvert/history), which only the user can read. A line with a key is not kept. One
// thread.
#pragma once

#include <histedit.h>

// The lines of the file. A new history, or NULL without memory.
History *shell_history_open(void);

// Adds a line, which ends with a line end, unless it has a key or is the last one again. If the
// file cannot be written, the history is that of this run alone.
void shell_history_add(History *lines, const char *line);
