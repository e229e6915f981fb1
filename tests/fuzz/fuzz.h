// SPDX-License-Identifier: BSD-3-Clause
// A fuzz target. With libFuzzer (meson option 'fuzz') that calls its entry points. Otherwise
// driver.c does: it replays the corpus and then mutates it a little, the same in every run.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Inputs are at most this long.
#define FUZZ_INPUT_MAX 4096

// Called once before the first input.
int LLVMFuzzerInitialize(int *argc, char ***argv);

// Processes one input. Ends the program if a check fails.
int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);
