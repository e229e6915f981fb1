// SPDX-License-Identifier: BSD-3-Clause
// Hexadecimal text to octets and back. Any thread.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Reads pairs of hexadecimal digits, optionally after "0x"; blanks, ':' and '_' between pairs are
// skipped. Writes at most size octets. Returns the number of octets the text holds (it may exceed
// size), or -EINVAL for an odd or foreign digit.
int hex_parse(uint8_t *out, size_t size, const char *text);

// Writes two digits for each octet, and a NUL.
void hex_format(char *text, const uint8_t *octets, size_t len);
