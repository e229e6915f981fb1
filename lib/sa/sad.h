// SPDX-License-Identifier: BSD-3-Clause
// Security association database: SAs of one direction by SPI (RFC 4301 4.4.2, RFC 4303 2.1). Made
// by the load or control thread; workers look SAs up while the control thread adds and removes
// others.
#pragma once

#include <stdint.h>

#include "sa.h"

struct sad;

// Makes a table in which there is room for n SAs. Returns NULL with errno ENOMEM, or
// that of getrandom(2).
struct sad *sad_new(unsigned int n);

// Frees the table, not the SAs. NULL is fine.
void sad_free(struct sad *sad);

// Whether another SA can be added. Control thread.
bool sad_has_room(const struct sad *sad);

// Adds an SA, which workers find from now on. False: as many have been added as there was room for,
// also if some were removed. The thread that made the table, or the control thread.
bool sad_add(struct sad *sad, struct sa *sa);

// Removes an SA, if the table has it. Workers may have found it just before. Control thread.
void sad_remove(struct sad *sad, const struct sa *sa);

// Prefetches the entry of an SPI.
void sad_prefetch(const struct sad *sad, rte_be32_t spi);

// The inbound SA with this SPI, or NULL. Any thread; workers for the length of a pass.
struct sa_in *sad_find(const struct sad *sad, rte_be32_t spi);

// An outbound SA with this SPI for which fits() returns true, or NULL. As above.
struct sa_out *sad_find_out(const struct sad *sad, rte_be32_t spi,
	bool (*fits)(const void *arg, const struct sa_out *sa), const void *arg);
