// SPDX-License-Identifier: BSD-3-Clause
// Parameters of an SA, of which tests change some; and its counters.
#pragma once

#include "sa.h"

// A tunnel from 192.0.2.1 to 192.0.2.2 for three workers, with SPI 0x12345678 and keys that need
// not be secret. The caller owns nothing of it.
struct sa_params sas_params(const struct cipher_alg *cipher, const struct auth_alg *auth);

// A worker's counters of an SA.
static inline struct sa_per_worker *sas_counted(const struct sa *sa, unsigned int worker)
{
	return &sa->per_worker[worker];
}
