// SPDX-License-Identifier: BSD-3-Clause
// A terminal that shows one picture after the other until the user quits: q, Ctrl-C or a signal
// that ends. Other files, and terminals without control sequences, get them one below the other.
// One thread.
#pragma once

#include <stdbool.h>
#include <stdio.h>

// Takes keys as they are pressed, if there is a terminal, until the program ends.
void screen_begin(void);

// Shows text, as much of it as the terminal has room for.
void screen_show(const char *text);

// Shows the last picture again.
typedef void screen_draw(void *arg);

// Waits, and draws again when the size of the terminal changes; draw NULL: nothing. False if the
// user quits.
bool screen_wait(unsigned int ms, screen_draw *draw, void *arg);
