// SPDX-License-Identifier: BSD-3-Clause
// Packets made by another implementation: the lines of a file in tests/vectors/, split into words.
#pragma once

#include <rte_ether.h>

#include "addr.h"

#define PACKETS_WORDS_MAX 10
#define PACKETS_LEN_MAX   2048

// A packet without memory after it, so that a memory checker detects reads beyond its end.
struct octets {
	uint8_t *b;
	uint32_t len;
};

// Calls use() with the words of each line. Returns their number.
unsigned int packets_each_line(const char *file, void (*use)(char *const word[]));

// The same for the lines of ipv6_packets.txt whose first word is kind, which is omitted.
unsigned int packets_each(const char *kind, void (*use)(char *const word[]));

// The value of a word.
struct octets packet_octets(const char *word); // to be freed
struct rte_ether_addr packet_mac(const char *word);
