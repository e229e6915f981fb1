// SPDX-License-Identifier: BSD-3-Clause
// A fuzz target. With libFuzzer (meson option 'fuzz') its entry points are called by that; without,
// by driver.c, which replays the corpus and then changes it a little, the same way in every run.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Inputs are at most this long.
#define FUZZ_INPUT_MAX 4096

// Called once before the first input.
int LLVMFuzzerInitialize(int *argc, char ***argv);

// Takes one input. Ends the program if something is wrong.
int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);
