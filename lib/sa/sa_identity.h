// SPDX-License-Identifier: BSD-3-Clause
// What makes an SA the one it is (RFC 4301 4.1, 4.4.2.1). Two descriptions of one identity mean the
// same SA, whose state goes on; and numbers under one key go on whatever it is used for. The only
// place that says so. Pure functions, any thread.
#pragma once

#include "sa.h"

struct sa_identity {
	enum crypto_dir direction;
	uint32_t spi; // host byte order
	enum sa_mode mode;
	struct ip_addr local, remote;
	const struct cipher_alg *cipher;
	const struct auth_alg *auth;
	bool esn;
	struct key_id cipher_key, auth_key;
};

struct sa_identity sa_identity_of(enum crypto_dir direction, const struct sa_params *p);

bool sa_identity_equal(const struct sa_identity *a, const struct sa_identity *b);

// The name under which sequence numbers are counted. Of a cipher whose nonces are numbers it is
// that of its key and salt, which must never meet a number twice (RFC 3686 2.1, RFC 4106 3.1); else
// that of keys and SPI, so that the peer's window does not see one twice.
struct key_id sa_identity_numbers(const struct sa_identity *i);
