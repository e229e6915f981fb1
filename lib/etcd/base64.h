// SPDX-License-Identifier: BSD-3-Clause
// Octets as text (RFC 4648 section 4), as the JSON of etcd has keys and values. Pure functions; any
// thread.
#pragma once

#include <stddef.h>

// The text of len octets, with its padding, to be freed with free(). NULL with errno ENOMEM.
char *base64_write(const char *octets, size_t len);

// The octets of a text with NUL after them, to be freed with free(); *len: how many, without it.
// NULL with errno EBADMSG (it is no such text) or ENOMEM.
char *base64_read(const char *text, size_t *len);
