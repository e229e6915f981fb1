// SPDX-License-Identifier: BSD-3-Clause
#include "sas.h"

#include "test.h"

struct sa_params sas_params(const struct cipher_alg *cipher, const struct auth_alg *auth)
{
	static const uint8_t key[CRYPTO_AUTH_KEY_MAX] = {7, 8, 9};
	struct sa_params p = {
		.name = "sa",
		.spi = 0x12345678,
		.key = {cipher, auth, key, key, false, 0},
		.engine = "auto",
		.replay_window = 64,
		.tos_copied = 0xff,
		.ttl = 64,
		.n_workers = 3,
	};

	assert_int_equal(ip_addr_parse(&p.local, "192.0.2.1"), 0);
	assert_int_equal(ip_addr_parse(&p.remote, "192.0.2.2"), 0);
	return p;
}
