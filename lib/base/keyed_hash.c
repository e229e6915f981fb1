// SPDX-License-Identifier: BSD-3-Clause
#include "keyed_hash.h"

#include <errno.h>
#include <sys/random.h>

int hash_key_draw(struct hash_key *key)
{
	return getrandom(key, sizeof(*key), 0) < 0 ? -errno : 0;
}
