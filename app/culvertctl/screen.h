// SPDX-License-Identifier: BSD-3-Clause
// A terminal that shows one picture after the other until the user quits: q, Ctrl-C or a signal
// that ends. Other files, and terminals without control sequences, get them one below the other.
// One thread.
#pragma once

#include <stdbool.h>
#include <stdio.h>

// Takes keys as they are pressed, if there is a terminal, until the program ends.
void screen_begin(void);

// Whether the output is a terminal.
bool screen_is_terminal(void);

// Shows text, as much of it as there are lines on the terminal.
void screen_show(const char *text);

// Waits. False if the user quits.
bool screen_wait(unsigned int ms);
