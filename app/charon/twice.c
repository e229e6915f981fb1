// SPDX-License-Identifier: BSD-3-Clause
// IKE_SAs that are there twice. strongSwan's plugin ha, when charon has just started, asks the
// other charon for all of them: one that is made within that second comes twice, or comes back to
// who made it. Of the two with the same SPIs charon finds one, while the other one has the
// CHILD_SAs. The message numbers that ha reports meanwhile go to the one that is found, so the one
// that is kept takes them over: the peer ignores a request with a number that it has seen.
#include "kernel.h"

#include <collections/array.h>

struct seen {
	uint64_t spi[2]; // of initiator and responder: each is unique for who has chosen it alone
			 // (RFC 7296 2.6)
	uint32_t id;
	unsigned int rank; // of several the highest one is kept, of equal ones the newest
	uint32_t next[2];  // numbers of the next request: of the peer, of this end
	bool is_behind;    // the IKE_SA has lower numbers than these
};

static u_int hash(const void *seen)
{
	const struct seen *s = seen;

	return (u_int)(s->spi[0] ^ s->spi[1]);
}

static bool equals(const void *a, const void *b)
{
	return memcmp(((const struct seen *)a)->spi, ((const struct seen *)b)->spi,
		       sizeof(((const struct seen *)a)->spi)) == 0;
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

static void next_take(struct seen *to, const struct seen *from)
{
	for (unsigned int i = 0; i < 2; i++)
		if (from->next[i] > to->next[i]) {
			to->next[i] = from->next[i];
			to->is_behind = true;
		}
}

// Notes an IKE_SA; of two with the same SPI the id of the worse one is added to the list.
static void see(hashtable_t *all, array_t *twice, ike_sa_t *ike_sa)
{
	ike_sa_id_t *id = ike_sa->get_id(ike_sa);
	struct seen *seen = malloc(sizeof(*seen)), *better = seen, *worse;

	*seen = (struct seen){.spi = {id->get_initiator_spi(id), id->get_responder_spi(id)},
		.id = ike_sa->get_unique_id(ike_sa),
		.rank = rank_of(ike_sa),
		.next = {ike_sa->get_message_id(ike_sa, FALSE),
			ike_sa->get_message_id(ike_sa, TRUE)}};
	worse = all->put(all, seen, seen);
	if (worse == NULL)
		return;
	if (is_better(worse, seen)) {
		all->put(all, worse, worse);
		better = worse;
		worse = seen;
	}
	next_take(better, worse);
	array_insert(twice, ARRAY_TAIL, &worse->id);
	free(worse);
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

// After the others are gone: charon found one of them for the messages of ha. One that is not
// passive has its numbers by itself.
static void next_set(const struct seen *seen)
{
	ike_sa_t *ike_sa = charon->ike_sa_manager->checkout_by_id(charon->ike_sa_manager, seen->id);

	if (ike_sa == NULL)
		return;
	for (int own = 0; own < 2 && ike_sa->get_state(ike_sa) == IKE_PASSIVE; own++)
		if (ike_sa->get_message_id(ike_sa, own) < seen->next[own])
			ike_sa->set_message_id(ike_sa, own, seen->next[own]);
	charon->ike_sa_manager->checkin(charon->ike_sa_manager, ike_sa);
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
	struct seen *seen;
	ike_sa_t *ike_sa;
	uint32_t id;

	while (e->enumerate(e, &ike_sa))
		see(all, twice, ike_sa);
	e->destroy(e);
	while (array_remove(twice, ARRAY_HEAD, &id))
		destroy(id);
	array_destroy(twice);
	e = all->create_enumerator(all);
	while (e->enumerate(e, NULL, &seen))
		if (seen->is_behind)
			next_set(seen);
	e->destroy(e);
	all->destroy_function(all, seen_free);
}
