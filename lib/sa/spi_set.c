// SPDX-License-Identifier: BSD-3-Clause
#include "spi_set.h"

// The daemon chooses its SPIs itself, at random or in order: no peer fills a bucket.
static unsigned int bucket_of(rte_be32_t spi)
{
	return rte_be_to_cpu_32(spi) % SPI_SET_BUCKETS;
}

static rte_be32_t spi_at(const struct spi_set *set, unsigned int bucket, unsigned int place)
{
	return atomic_load_explicit(&set->spi[bucket][place], memory_order_relaxed);
}

// Its place in the bucket; SPI_SET_PLACES: it is not there.
static unsigned int place_of(const struct spi_set *set, rte_be32_t spi)
{
	const unsigned int bucket = bucket_of(spi);
	unsigned int i = 0;

	while (i < SPI_SET_PLACES && spi_at(set, bucket, i) != spi)
		i++;
	return i;
}

static void place_set(struct spi_set *set, unsigned int bucket, unsigned int i, rte_be32_t spi)
{
	atomic_store_explicit(&set->spi[bucket][i], spi, memory_order_release);
}

void spi_set_add(struct spi_set *set, rte_be32_t spi)
{
	const unsigned int bucket = bucket_of(spi);

	spi_set_remove(set, spi);
	for (unsigned int i = SPI_SET_PLACES - 1; i > 0; i--)
		place_set(set, bucket, i, spi_at(set, bucket, i - 1));
	place_set(set, bucket, 0, spi);
}

void spi_set_remove(struct spi_set *set, rte_be32_t spi)
{
	const unsigned int bucket = bucket_of(spi);
	unsigned int i = place_of(set, spi);

	if (i == SPI_SET_PLACES)
		return;
	for (; i + 1 < SPI_SET_PLACES; i++)
		place_set(set, bucket, i, spi_at(set, bucket, i + 1));
	place_set(set, bucket, i, 0);
}

void spi_set_clear(struct spi_set *set)
{
	for (unsigned int bucket = 0; bucket < SPI_SET_BUCKETS; bucket++)
		for (unsigned int i = 0; i < SPI_SET_PLACES; i++)
			place_set(set, bucket, i, 0);
}

bool spi_set_has(const struct spi_set *set, rte_be32_t spi)
{
	return spi != 0 && place_of(set, spi) < SPI_SET_PLACES; // 0 is no SPI
}
