// SPDX-License-Identifier: BSD-3-Clause
// The editor of lines on a terminal, by libedit: history, Tab completes a word as shells do, ?
// lists the words that may follow with their help, Ctrl-C abandons the line. One thread.
#pragma once

#include <histedit.h>

#include "command.h"

// A new editor; NULL: this terminal has none. The caller keeps ownership of options and
// lines, which outlive it.
EditLine *shell_editor_open(const struct options *options, History *lines);

// Reads a line, which ends with a line end, and is valid until the next; NULL: there are no more.
const char *shell_editor_line(EditLine *editor);
