// SPDX-License-Identifier: BSD-3-Clause
// Strings of JSON (RFC 8259, section 7). Any thread.
#pragma once

#include <stdio.h>

// Writes len octets as a string. Octets that could end a script or an element are escaped as well.
void web_octets(FILE *out, const char *octets, size_t len);

// The same of text that ends with a NUL.
void web_string(FILE *out, const char *text);

// A name of a member of an object, with its colon.
void web_name(FILE *out, const char *name);
