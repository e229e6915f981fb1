// SPDX-License-Identifier: BSD-3-Clause
#include "sa_identity.h"

#include <string.h>

struct sa_identity sa_identity_of(enum crypto_dir direction, const struct sa_params *p)
{
	return (struct sa_identity){
		.direction = direction,
		.spi = p->spi,
		.mode = p->mode,
		.local = p->local,
		.remote = p->remote,
		.cipher = p->key.cipher,
		.auth = p->key.auth,
		.esn = p->key.esn,
		.cipher_key = p->cipher_key_id,
		.auth_key = p->auth_key_id,
	};
}

bool sa_identity_equal(const struct sa_identity *a, const struct sa_identity *b)
{
	return a->direction == b->direction && a->spi == b->spi && a->mode == b->mode &&
	       ip_addr_equal(&a->local, &b->local) && ip_addr_equal(&a->remote, &b->remote) &&
	       a->cipher == b->cipher && a->auth == b->auth && a->esn == b->esn &&
	       key_id_equal(&a->cipher_key, &b->cipher_key) &&
	       key_id_equal(&a->auth_key, &b->auth_key);
}

struct key_id sa_identity_numbers(const struct sa_identity *i)
{
	struct {
		struct key_id cipher_key, auth_key;
		uint32_t spi, direction;
	} all;

	if (cipher_alg_counts(i->cipher) && i->direction == CRYPTO_SEAL)
		return i->cipher_key;
	memset(&all, 0, sizeof(all));
	all.cipher_key = i->cipher_key;
	all.auth_key = i->auth_key;
	all.spi = i->spi;
	all.direction = i->direction;
	return key_id_of((const uint8_t *)&all, sizeof(all));
}
