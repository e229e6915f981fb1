// SPDX-License-Identifier: BSD-3-Clause
// The lines that the channel itself sends, each after its word. All other lines are those of its
// user. Numbers are decimal. Pure functions.
//
//   hello 1 member=N name=NAME version=VERSION CONFIG   the first line from each side: the protocol
//   alive SENT TAKEN SEEN   every 100 ms: how many lines of its user it has sent, how many of the
//                           other's its user has taken, and how many of the other's alive lines it
//                           has received
//   config CONFIG           its configuration has changed: words "KIND=DIGEST"
//   bye REASON              the end
//
// Without a connection there are signed datagrams, which begin with a line:
//
//   beacon 1 member=N deaf=MS   the protocol, and for how long it has received nothing
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAIR_PROTOCOL 1u

#define PAIR_NAME_MAX    32 // octets with the NUL
#define PAIR_VERSION_MAX 64
#define PAIR_CONFIG_MAX  512
#define PAIR_REASON_MAX  160

enum message_word { MESSAGE_HELLO, MESSAGE_ALIVE, MESSAGE_CONFIG, MESSAGE_BYE, MESSAGE_USER };

// Which of these a line is.
enum message_word message_word(const char *line);

struct pair_hello {
	uint32_t protocol; // if it is another one, the others are unknown
	uint32_t member;
	char name[PAIR_NAME_MAX], version[PAIR_VERSION_MAX];
	char config[PAIR_CONFIG_MAX];
};

struct pair_alive {
	uint64_t sent, taken, seen;
};

struct pair_beacon {
	uint32_t member, deaf_ms;
};

// Write a line without its end, and return its length.
size_t pair_hello_write(char *line, size_t size, const struct pair_hello *h);
size_t pair_alive_write(char *line, size_t size, const struct pair_alive *a);
size_t pair_beacon_write(char *line, size_t size, const struct pair_beacon *b);

// Read a line of that word. False: it is malformed.
bool pair_hello_read(struct pair_hello *h, const char *line);
bool pair_alive_read(struct pair_alive *a, const char *line);
bool pair_beacon_read(struct pair_beacon *b, const char *line);

// Reads words "KIND=DIGEST" with one blank in between, or none. False: they are malformed.
bool pair_config_read(char config[PAIR_CONFIG_MAX], const char *text);

// Writes which kinds differ, with commas in between; a kind that one alone has, too. Empty if none
// does.
void pair_config_compare(char *differing, size_t size, const char *ours, const char *theirs);
