// SPDX-License-Identifier: BSD-3-Clause
// IKE_SAs that are there twice. strongSwan's plugin ha, when charon has just started, asks the
// other charon for all of them: one that is made within that second comes twice, or comes back to
// who made it. Of the two with the same SPIs charon finds one, while the other one has the
// CHILD_SAs.
#include "kernel.h"

#include <collections/array.h>

struct seen {
	uint64_t spi; // of the initiator, which is random
	uint32_t id;
	unsigned int rank; // of several the highest one is kept, of equal ones the newest
};

static u_int hash(const void *seen)
{
	return (u_int)((const struct seen *)seen)->spi;
}

static bool equals(const void *a, const void *b)
{
	return ((const struct seen *)a)->spi == ((const struct seen *)b)->spi;
}

// A passive one may be this charon's own that has come back.
static unsigned int rank_of(ike_sa_t *ike_sa)
{
	ike_sa_state_t state = ike_sa->get_state(ike_sa);

	return 2 * (ike_sa->get_child_count(ike_sa) > 0) +
	       (state != IKE_PASSIVE && state != IKE_CONNECTING);
}

static bool is_better(const struct seen *a, const struct seen *b)
{
	return a->rank != b->rank ? a->rank > b->rank : a->id > b->id;
}

// Notes an IKE_SA; of two with the same SPI the id of the worse one is added to the list.
static void see(hashtable_t *all, array_t *twice, ike_sa_t *ike_sa)
{
	ike_sa_id_t *id = ike_sa->get_id(ike_sa);
	struct seen *seen = malloc(sizeof(*seen)), *before;

	*seen = (struct seen){.spi = id->get_initiator_spi(id),
		.id = ike_sa->get_unique_id(ike_sa),
		.rank = rank_of(ike_sa)};
	before = all->put(all, seen, seen);
	if (before == NULL)
		return;
	if (is_better(before, seen)) {
		array_insert(twice, ARRAY_TAIL, &seen->id);
		all->put(all, before, before);
		before = seen;
	} else {
		array_insert(twice, ARRAY_TAIL, &before->id);
	}
	free(before);
}

static void destroy(uint32_t id)
{
	ike_sa_t *ike_sa = charon->ike_sa_manager->checkout_by_id(charon->ike_sa_manager, id);

	if (ike_sa == NULL)
		return;
	DBG1(DBG_KNL, "culvert: IKE_SA %s[%u] is there twice: ha has sent it again",
		ike_sa->get_name(ike_sa), id);
	ike_sa->set_state(ike_sa, IKE_PASSIVE); // so that ha does not pass it on
	charon->ike_sa_manager->checkin_and_destroy(charon->ike_sa_manager, ike_sa);
}

static void seen_free(void *seen, const void *key)
{
	free(seen);
}

void twice_end(void)
{
	enumerator_t *e = charon->ike_sa_manager->create_enumerator(charon->ike_sa_manager, TRUE);
	array_t *twice = array_create(sizeof(uint32_t), 0);
	hashtable_t *all = hashtable_create(hash, equals, 64);
	ike_sa_t *ike_sa;
	uint32_t id;

	while (e->enumerate(e, &ike_sa))
		see(all, twice, ike_sa);
	e->destroy(e);
	while (array_remove(twice, ARRAY_HEAD, &id))
		destroy(id);
	array_destroy(twice);
	all->destroy_function(all, seen_free);
}
