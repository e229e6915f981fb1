// SPDX-License-Identifier: BSD-3-Clause
// SPIs that an IKE daemon has given out for inbound SAs which it has not added yet. The control
// thread adds and removes them; workers look up packets that would be dropped without an SA. A
// fixed number of places: a new SPI replaces the oldest of eight.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include <rte_byteorder.h>

#define SPI_SET_BUCKETS 512 // 2^9
#define SPI_SET_PLACES  8

struct spi_set {
	_Atomic rte_be32_t spi[SPI_SET_BUCKETS][SPI_SET_PLACES]; // the newest first; 0: none
};

// Adds an SPI, if the set lacks it. Control thread.
void spi_set_add(struct spi_set *set, rte_be32_t spi);

// Removes an SPI, if the set has it; all of them. Control thread.
void spi_set_remove(struct spi_set *set, rte_be32_t spi);
void spi_set_clear(struct spi_set *set);

// Whether the set has the SPI. While another one of its bucket is added or removed, it may seem to
// lack it. Any thread.
bool spi_set_has(const struct spi_set *set, rte_be32_t spi);
