// SPDX-License-Identifier: BSD-3-Clause
// Wipes the stack of this thread below the caller: libraries for cryptography leave keys there. Any
// thread.
#pragma once

#define STACK_WIPE_LEN (64 * 1024) // octets; functions that use keys need a quarter

// Call it where those functions were called.
void stack_wipe(void);
