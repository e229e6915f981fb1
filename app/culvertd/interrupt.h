// SPDX-License-Identifier: BSD-3-Clause
// Ends a start that waits. SIGTERM and SIGINT are blocked so that the control thread takes them one
// at a time; but a driver may wait without limit for the other end of a virtual port. Main thread.
#pragma once

#include <stdbool.h>

// From now on SIGTERM and SIGINT interrupt system calls that wait, again and again.
void interrupt_begin(void);

// Blocks the signals again.
void interrupt_end(void);

// Whether a signal has interrupted the start.
bool interrupted(void);
