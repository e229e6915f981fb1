// SPDX-License-Identifier: BSD-3-Clause
// The control thread of desk.h with a configuration file and a history in a folder of its own, and
// an operator who sends requests.
#pragma once

#include "collect.h"
#include "desk.h"
#include "request_client.h"

#define RULE "rule add { name = \"r\"; action = \"drop\"; }"
#define SA(n)                                                                                      \
	"sa add { name = \"more-" n "\"; direction = \"in\"; spi = \"0x200" n "\"; "               \
	"local = \"192.0.2.1\"; remote = \"192.0.2.2\"; cipher = \"aes-128-gcm\"; "                \
	"cipher_key = \"0f0102030405060708090a0b0c0d0e0fa0a1a2a" n "\"; }"

extern char history_folder[], history_settings[128]; // settings that each file begins with
extern bool history_refused;                         // the built snapshot cannot be applied
extern bool history_takes_long;                      // to make it
extern bool history_back;                            // the last one loaded had run before

int history_setup(void **state);
int history_teardown(void **state);

// Writes the configuration file, with more settings; the same with another value of history.
void conf_file_write(const char *more);
void conf_file_history(const char *n);

// Starts as a daemon does; lets it serve requests, and work that is due.
void daemon_start(void);
void daemon_pass(void);

// Sends a request, whose answer has this status, and this in its text.
void expect_answer(const char *request_text, const char *wanted, const char *part);

// Sends one that is not answered yet.
void request_send(const char *request_text);

unsigned int n_revisions(void);
struct history_view nth_revision(unsigned int i);
void expect_last(uint64_t revision, const char *source, const char *summary);

// Whether state_dir has a file; puts a folder in its place, or takes it away.
bool state_has(const char *name);
void state_block(const char *name, bool on);
