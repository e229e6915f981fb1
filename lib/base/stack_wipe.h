// SPDX-License-Identifier: BSD-3-Clause
// Wipes what functions that have returned left on the stack of this thread: keys, where libraries
// for cryptography keep them while they run. Any thread.
#pragma once

#define STACK_WIPE_LEN (64 * 1024) // octets; what uses keys takes a quarter

// Call it where those functions were called.
void stack_wipe(void);
