// SPDX-License-Identifier: BSD-3-Clause
// Security association database, inbound side: from SPI to SA (RFC 4301 4.4.2, RFC 4303 2.1).
// Immutable: made by the control thread as part of a snapshot, read by all workers.
#pragma once

#include <stdint.h>

#include "sa.h"

struct sad;

// Makes a table of n SAs with different SPIs; the array may go, the SAs must stay. Returns NULL
// with errno ENOMEM.
struct sad *sad_new(struct sa_in *const sas[], unsigned int n);

// Frees the table, not the SAs. NULL is fine.
void sad_free(struct sad *sad);

// Prefetches the entry of an SPI.
void sad_prefetch(const struct sad *sad, rte_be32_t spi);

// The SA with this SPI, or NULL.
struct sa_in *sad_find(const struct sad *sad, rte_be32_t spi);
