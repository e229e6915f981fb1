// SPDX-License-Identifier: BSD-3-Clause
// Reloads of the configuration, asked for by SIGHUP or culvertctl: done by the control thread, and
// what came of the last one is kept for whoever asked.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct gateway;

// Guarded by the gateway's lock, unless said otherwise.
struct reload {
	uint32_t asked; // reloads that were asked for
	uint32_t done;  // of which so many are done: several at once are one
	bool refused;   // the last one
	char *errors;   // what was wrong with it, in lines; NULL: there was none

	// Of the one that goes on, control thread: NULL if there is none; all that it is for; what
	// is wrong with it.
	FILE *stream;
	uint32_t number;
	char *lines;
	size_t size;
};

// Asks for a reload. Returns its number: it is done when that many are. Any thread.
uint32_t reload_ask(struct gateway *g);

// Reloads if it was asked for, and writes to the log what came of it. Control thread, often.
void reload_tick(struct gateway *g);

// At the end.
void reload_fini(struct gateway *g);
