// SPDX-License-Identifier: BSD-3-Clause
#include "digests.h"

// Those of ten thousand SAs take a while: they are made at most once a second, and take at most a
// hundredth of the time.
#define DIGESTS_EVERY_MS 1000
#define DIGESTS_SHARE    100

bool digests_follow(struct control *c, uint64_t now_ms)
{
	struct config_digests *d = &c->digests;
	bool made;

	if (d->generation == c->snapshot->generation || now_ms < d->next_ms)
		return false;
	made = conf_digests_write(d->text, c->conf) == 0;
	if (made)
		d->generation = c->snapshot->generation;
	d->next_ms = now_ms + DIGESTS_EVERY_MS + DIGESTS_SHARE * (c->io->now_ms() - now_ms);
	return made;
}
