// SPDX-License-Identifier: BSD-3-Clause
#include "sas.h"

#include "addrs.h"
#include "test.h"

struct sa_params sas_params(const struct cipher_alg *cipher, const struct auth_alg *auth)
{
	static const uint8_t key[CRYPTO_AUTH_KEY_MAX] = {7, 8, 9};
	struct sa_params p = {
		.opt = {.spi = 0x12345678,
			.cipher = cipher,
			.auth = auth,
			.replay_window = 64,
			.dscp = SA_DSCP_COPY,
			.ecn = true,
			.ttl = 64},
		.live = {.name = "sa"},
		.cipher_key = key,
		.auth_key = key,
		.engine = "auto",
		.n_workers = 3,
	};

	p.opt.local = addr_of("192.0.2.1");
	p.opt.remote = addr_of("192.0.2.2");
	return p;
}
