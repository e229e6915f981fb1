// SPDX-License-Identifier: BSD-3-Clause
// Counts the instructions that the calling thread executes, exactly and without counters of the
// processor: between step_begin() and step_end() it traps after each one, and the handler counts.
// RDTSC returns that count then, so that code which measures itself by the TSC, as the stages of a
// pass, counts instructions as well. A program that counts has the same random numbers in every
// run, as the places of flows depend on them.
#pragma once

#include <stdint.h>

void step_begin(void);
void step_end(void);

// How many of the instructions between the two were of the program's own code, not of libraries and
// not of lib/crypto/vaes_gcm.c.
uint64_t step_own(void);
