// SPDX-License-Identifier: BSD-3-Clause
// Completion in a shell: "culvertctl complete -- WORD..." prints what the last word may become, one
// on each line with a tab and its help, and ":file" for the name of a file. The files in
// conf/completion hand this to bash, zsh and fish.
//
// Each function below prints what may follow n words behind a command. A daemon that does not
// answer ends the program: what it knows comes last. One thread.
#pragma once

#include <stddef.h>

#include "command.h"

typedef void complete_fn(const struct options *options, char **words, size_t n);

complete_fn complete_change, complete_clear, complete_commands, complete_devices, complete_explain,
	complete_file, complete_flush, complete_show, complete_trace, complete_watch;
