// SPDX-License-Identifier: BSD-3-Clause
// Open addressing at most a quarter full: a look-up reads one cache line nearly always, also of an
// SPI that is not there. The table never changes once made, so it needs nothing more.
#include "sad.h"

#include <errno.h>
#include <stdlib.h>

#include <rte_prefetch.h>

#include "dpdk_compat.h"

struct entry {
	rte_be32_t spi;
	struct sa_in *sa; // NULL: empty
};

struct sad {
	uint32_t mask;
	struct entry entry[];
};

static uint32_t slot_of(const struct sad *sad, rte_be32_t spi)
{
	return (rte_be_to_cpu_32(spi) * UINT32_C(0x9e3779b1) >> 7) & sad->mask;
}

struct sad *sad_new(struct sa_in *const sas[], unsigned int n)
{
	uint32_t size = rte_align32pow2(4 * n + 4);
	struct sad *sad = calloc(1, sizeof(*sad) + size * sizeof(sad->entry[0]));

	if (sad == NULL)
		return NULL;
	sad->mask = size - 1;
	for (unsigned int i = 0; i < n; i++) {
		uint32_t slot = slot_of(sad, sas[i]->sa.spi);

		while (sad->entry[slot].sa != NULL)
			slot = (slot + 1) & sad->mask;
		sad->entry[slot] = (struct entry){.spi = sas[i]->sa.spi, .sa = sas[i]};
	}
	return sad;
}

void sad_free(struct sad *sad)
{
	free(sad);
}

void sad_prefetch(const struct sad *sad, rte_be32_t spi)
{
	rte_prefetch0(&sad->entry[slot_of(sad, spi)]);
}

struct sa_in *sad_find(const struct sad *sad, rte_be32_t spi)
{
	for (uint32_t slot = slot_of(sad, spi);; slot = (slot + 1) & sad->mask) {
		const struct entry *e = &sad->entry[slot];

		if (e->sa == NULL || e->spi == spi)
			return e->sa;
	}
}
