// SPDX-License-Identifier: BSD-3-Clause
// Tuple space search (Srinivasan, Suri, Varghese, 1999). A tuple is a family and a pair of lengths
// of prefixes. For each tuple in use a lookup masks the addresses, and finds the policies between
// these two networks in a hash table, where it compares protocol and ports of one after the other.
// So a lookup takes as many probes as there are tuples, however many policies there are.
//
// A policy is stored under its own tuple, or under a shorter one: neither length exceeds its own.
// So prefixes are always compared in full. The tuple of length 0 twice always has a place.
//
// Readers and the one writer, the control thread:
// - All policies of a bucket are a chain in order of rank: by priority, and of the same priority
//   the newest first. A link only ever leads to a later rank, so that a reader makes progress with
//   every step, whatever is added or removed meanwhile, and never sees an entry twice.
// - An entry is complete before a link to it is stored with release; readers load links with
//   acquire. This also holds for the link that bypasses a removed entry: the reader that follows
//   it may see the next entry for the first time.
// - A removed entry keeps its own link. A reader that stands on it continues with the entry that
//   came next when it was removed, and if that one has been removed since, likewise. So
//   every entry of a later rank that is there during the whole lookup is still ahead of the reader:
//   it was reachable from each entry on the path when the link of that entry last changed. Only
//   entries that are added meanwhile can be missed.
// - No entry on such a path is freed, nor its slot used again: the reader has not been quiescent
//   since any of them was removed.
// - Tuples are hints where to look. An entry is compared with the tuple that the reader read, never
//   with its place, so that the place of an emptied one can be used again at once. A tuple is
//   stored before the first of its entries is linked, and cleared after the last was unlinked.
#include "spd_table.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <rte_common.h>
#include <rte_prefetch.h>

#include "dpdk_compat.h"
#include "keyed_hash.h"
#include "spd_tuples.h"

#define GROUP 32 // keys whose memory is fetched at once

// A holder adds a policy under two networks while it has less than half of the free room there.
#define SHARE_NETWORKS 2

// A tuple, or 0; local address; remote address. Also the masks of these.
#define NETWORKS_WORDS 5

struct networks {
	uint64_t word[NETWORKS_WORDS];
};

typedef struct entry *_Atomic link;

struct entry {
	_Alignas(RTE_CACHE_LINE_SIZE) struct networks networks;
	link next;
	uint64_t serial; // a larger one is newer
	uint32_t slot;
	struct spd_policy policy;
	// Used by the control thread alone.
	struct spd_holder *holder;
	bool removed;
};

static_assert(offsetof(struct entry, policy) == RTE_CACHE_LINE_SIZE, "a chain costs a line each");
static_assert(NETWORKS_WORDS <= HASH_WORDS_MAX, "keyed_hash()");

struct spd_table {
	struct hash_key hash_key;
	uint32_t bucket_mask;
	link *bucket;
	link *at; // by slot
	struct tuples tuples[IP_V6 + 1];

	// Used by the control thread alone.
	_Alignas(RTE_CACHE_LINE_SIZE) unsigned int max;
	unsigned int slots; // that were ever in use
	uint32_t *unused;   // n_unused of these that are not
	unsigned int n_unused;
	uint64_t serial;
};

static struct entry *next_of(const link *l)
{
	return atomic_load_explicit(l, memory_order_acquire);
}

static void link_to(link *l, struct entry *e)
{
	atomic_store_explicit(l, e, memory_order_release);
}

static bool precedes(const struct entry *a, const struct entry *b)
{
	uint32_t x = a->policy.priority, y = b->policy.priority;

	return x != y ? x < y : a->serial > b->serial;
}

static uint32_t tuple_of(const struct spd_policy *p)
{
	return (uint32_t)p->family << 16 | (uint32_t)p->local.len << 8 | p->remote.len;
}

// The first len of 64 bits, at most all, in network byte order.
static uint64_t mask_of(int len)
{
	return len <= 0 ? 0 : rte_cpu_to_be_64(UINT64_MAX << (64 - RTE_MIN(len, 64)));
}

static struct networks masks_of(uint32_t tuple)
{
	int local = tuple >> 8 & 0xff, remote = tuple & 0xff;

	return (struct networks){{tuple, mask_of(local), mask_of(local - 64), mask_of(remote),
		mask_of(remote - 64)}};
}

static struct networks networks_of(
	const struct networks *mask, const struct ip_addr *local, const struct ip_addr *remote)
{
	return (struct networks){
		{mask->word[0], local->q[0] & mask->word[1], local->q[1] & mask->word[2],
			remote->q[0] & mask->word[3], remote->q[1] & mask->word[4]}};
}

static bool networks_equal(const struct networks *a, const struct networks *b)
{
	uint64_t difference = 0;

	for (unsigned int i = 0; i < NETWORKS_WORDS; i++)
		difference |= a->word[i] ^ b->word[i];
	return difference == 0;
}

static link *bucket_of(const struct spd_table *t, const struct networks *n)
{
	return &t->bucket[keyed_hash(&t->hash_key, n->word, NETWORKS_WORDS) & t->bucket_mask];
}

struct spd_table *spd_table_new(unsigned int max)
{
	size_t size = RTE_ALIGN_CEIL(sizeof(struct spd_table), RTE_CACHE_LINE_SIZE);
	struct spd_table *t = aligned_alloc(RTE_CACHE_LINE_SIZE, size);
	int rc;

	if (t == NULL)
		return NULL;
	memset(t, 0, size);
	t->max = max;
	t->bucket_mask = rte_align32pow2(2 * max + 1) - 1;
	t->bucket = calloc((size_t)t->bucket_mask + 1, sizeof(*t->bucket));
	t->at = calloc((size_t)max + 1, sizeof(*t->at));
	t->unused = calloc((size_t)max + 1, sizeof(*t->unused));
	if (t->bucket == NULL || t->at == NULL || t->unused == NULL)
		rc = -ENOMEM;
	else
		rc = hash_key_draw(&t->hash_key);
	if (rc == 0)
		return t;
	spd_table_free(t);
	errno = -rc;
	return NULL;
}

void spd_table_free(struct spd_table *t)
{
	if (t == NULL)
		return;
	for (unsigned int slot = 0; slot < t->slots; slot++)
		free(next_of(&t->at[slot]));
	free(t->bucket);
	free(t->at);
	free(t->unused);
	free(t);
}

static bool networks_are_full(
	const link *bucket, const struct networks *networks, const struct spd_holder *holder)
{
	unsigned int n = 0, own = 0;

	for (const struct entry *e = next_of(bucket); e != NULL; e = next_of(&e->next)) {
		bool same = networks_equal(&e->networks, networks);

		n += same;
		own += same && e->holder == holder;
	}
	return n >= SPD_TABLE_NETWORKS_MAX ||
	       (holder != NULL && own * SHARE_NETWORKS >= SPD_TABLE_NETWORKS_MAX - n);
}

// The link that leads, or would, to the entry.
static link *link_before(link *l, const struct entry *e)
{
	struct entry *next;

	while ((next = next_of(l)) != NULL && precedes(next, e))
		l = &next->next;
	return l;
}

static struct entry *entry_new(const struct spd_policy *policy, const struct networks *networks)
{
	struct entry *e = aligned_alloc(RTE_CACHE_LINE_SIZE, sizeof(*e));

	if (e == NULL)
		return NULL;
	memset(e, 0, sizeof(*e));
	e->networks = *networks;
	e->policy = *policy;
	spd_policy_set_hashes(&e->policy);
	return e;
}

unsigned int spd_table_next_slot(const struct spd_table *t)
{
	return t->n_unused > 0 ? t->unused[t->n_unused - 1] : t->slots;
}

static int room_check(const struct spd_table *t, const struct spd_holder *holder)
{
	unsigned int free = t->max - t->slots + t->n_unused;

	if (free == 0)
		return -ENOSPC;
	return holder != NULL && holder->policies * SPD_TABLE_SHARE >= free ? -EDQUOT : 0;
}

static unsigned int slot_take(struct spd_table *t)
{
	unsigned int slot = spd_table_next_slot(t);

	if (t->n_unused > 0)
		t->n_unused--;
	else
		t->slots++;
	return slot;
}

static void entry_link(struct spd_table *t, link *bucket, struct entry *e)
{
	link *before = link_before(bucket, e);

	link_to(&t->at[e->slot], e);
	link_to(&e->next, next_of(before));
	link_to(before, e);
}

int spd_table_add(struct spd_table *t, const struct spd_policy *policy, struct spd_holder *holder)
{
	struct tuples *all = &t->tuples[policy->family];
	const uint32_t tuple = tuple_choose(all, tuple_of(policy), holder);
	const struct networks mask = masks_of(tuple);
	const struct networks networks =
		networks_of(&mask, &policy->local.addr, &policy->remote.addr);
	link *bucket = bucket_of(t, &networks);
	int rc = room_check(t, holder);
	struct entry *e;

	if (rc < 0)
		return rc;
	if (networks_are_full(bucket, &networks, holder))
		return -E2BIG;
	e = entry_new(policy, &networks);
	if (e == NULL)
		return -ENOMEM;
	tuple_hold(all, tuple, holder);
	if (holder != NULL)
		holder->policies++;
	e->holder = holder;
	e->serial = t->serial++;
	e->slot = slot_take(t);
	e->policy.number = spd_table_number(e->slot);
	entry_link(t, bucket, e);
	return (int)e->slot;
}

void spd_table_remove(struct spd_table *t, unsigned int slot)
{
	struct entry *e = next_of(&t->at[slot]);

	e->removed = true;
	link_to(link_before(bucket_of(t, &e->networks), e), next_of(&e->next));
	tuple_drop(&t->tuples[e->policy.family], (uint32_t)e->networks.word[0], e->holder);
}

void spd_table_release(struct spd_table *t, unsigned int slot)
{
	struct entry *e = next_of(&t->at[slot]);

	if (e->holder != NULL)
		e->holder->policies--;
	free(e);
	link_to(&t->at[slot], NULL);
	t->unused[t->n_unused++] = slot;
}

void spd_table_set_out(struct spd_table *t, unsigned int slot, struct sa_out *sa)
{
	atomic_store_explicit(&next_of(&t->at[slot])->policy.out, sa, memory_order_release);
}

void spd_table_set_action(struct spd_table *t, unsigned int slot, enum spd_action action)
{
	atomic_store_explicit(&next_of(&t->at[slot])->policy.action, action, memory_order_release);
}

unsigned int spd_table_slots(const struct spd_table *t)
{
	return t->slots;
}

const struct spd_policy *spd_table_listed(const struct spd_table *t, unsigned int slot)
{
	const struct entry *e = next_of(&t->at[slot]);

	return e != NULL && !e->removed ? &e->policy : NULL;
}

const struct spd_policy *spd_table_at(const struct spd_table *t, unsigned int slot)
{
	return &next_of(&t->at[slot])->policy;
}

static unsigned int tuples_count(const struct spd_table *t, enum ip_family family)
{
	return atomic_load_explicit(&t->tuples[family].n, memory_order_relaxed);
}

bool spd_table_is_empty(const struct spd_table *t)
{
	return tuples_count(t, IP_V4) == 0 && tuples_count(t, IP_V6) == 0;
}

// The first entry of a chain that has these networks and matches, or an earlier one, if any, that
// is known already.
static __rte_always_inline const struct entry *chain_find(const struct entry *e,
	const struct networks *networks, const struct entry *known,
	bool (*matches)(const struct spd_policy *, const void *), const void *packet)
{
	for (; e != NULL && (known == NULL || precedes(e, known)); e = next_of(&e->next))
		if (networks_equal(&e->networks, networks) && matches(&e->policy, packet))
			return e;
	return known;
}

static bool key_matches(const struct spd_policy *p, const void *packet)
{
	const struct classifier_key *key = packet;
	struct spd_ports pair[2];
	bool found = false;

	if ((p->proto != PROTO_ANY && p->proto != key->proto) ||
		!ip_prefix_contains(&p->local, &key->source) ||
		!ip_prefix_contains(&p->remote, &key->destination))
		return false;
	for (unsigned int i = 0, n = spd_policy_ports(p, pair); i < n; i++)
		found |= acl_port_matches(&pair[i].local, key->source_port) &&
			 acl_port_matches(&pair[i].remote, key->destination_port);
	return found;
}

// The policies between the networks of a tuple, for n keys at once.
static void find_tuple(const struct spd_table *t, uint32_t tuple,
	const struct classifier_key *const key[], unsigned int n, const struct entry *found[])
{
	const struct networks mask = masks_of(tuple);
	const struct entry *first[GROUP];
	struct networks networks[GROUP];
	const link *bucket[GROUP];

	for (unsigned int i = 0; i < n; i++) {
		networks[i] = networks_of(&mask, &key[i]->source, &key[i]->destination);
		bucket[i] = bucket_of(t, &networks[i]);
		rte_prefetch0(bucket[i]);
	}
	for (unsigned int i = 0; i < n; i++) {
		first[i] = next_of(bucket[i]);
		if (first[i] != NULL) {
			rte_prefetch0(first[i]);
			rte_prefetch0(&first[i]->policy.local_port);
		}
	}
	for (unsigned int i = 0; i < n; i++)
		found[i] = chain_find(first[i], &networks[i], found[i], key_matches, key[i]);
}

static void find_family(const struct spd_table *t, enum ip_family family,
	const struct classifier_key key[], unsigned int n, uint32_t found[])
{
	unsigned int n_tuples = tuples_count(t, family), k = 0;
	const struct entry *entry[GROUP] = {NULL};
	const struct classifier_key *of_family[GROUP];

	for (unsigned int i = 0; n_tuples > 0 && i < n; i++)
		if (ip_addr_family(&key[i].source) == family)
			of_family[k++] = &key[i];
	for (unsigned int i = 0; k > 0 && i < n_tuples; i++) {
		uint32_t tuple = tuple_get(&t->tuples[family], i);

		if (tuple != 0)
			find_tuple(t, tuple, of_family, k, entry);
	}
	for (unsigned int i = 0; i < k; i++)
		found[of_family[i] - key] = entry[i] != NULL ? entry[i]->slot + 1 : 0;
}

void spd_table_find(const struct spd_table *t, const struct classifier_key key[], unsigned int n,
	uint32_t found[])
{
	memset(found, 0, n * sizeof(found[0]));
	for (unsigned int i = 0; i < n; i += GROUP)
		for (enum ip_family f = IP_V4; f <= IP_V6; f++)
			find_family(t, f, &key[i], RTE_MIN(n - i, GROUP), &found[i]);
}

// A packet of which only a fragment is seen, that an SA received or in clear.
struct part {
	const struct ip_view *fragment;
	const struct ip_addr *local, *remote;
	const struct sa_in *sa;
};

static bool may_receive(const struct spd_policy *p, const void *packet)
{
	const struct part *part = packet;

	return spd_receives(p, part->sa) &&
	       spd_policy_may_match(p, part->fragment, part->local, part->remote);
}

static bool may_depend(const struct spd_policy *p, const void *packet)
{
	const struct part *part = packet;

	return spd_policy_is_selective(p) &&
	       spd_policy_may_match(p, part->fragment, part->local, part->remote);
}

// The first entry that matches and whose networks have both addresses.
static const struct entry *find_between(const struct spd_table *t, const struct ip_addr *local,
	const struct ip_addr *remote, bool (*matches)(const struct spd_policy *, const void *),
	const void *packet)
{
	enum ip_family family = ip_addr_family(local);
	unsigned int n_tuples = tuples_count(t, family);
	const struct entry *found = NULL;

	for (unsigned int i = 0; i < n_tuples; i++) {
		const struct networks mask = masks_of(tuple_get(&t->tuples[family], i));
		const struct networks networks = networks_of(&mask, local, remote);

		found = chain_find(
			next_of(bucket_of(t, &networks)), &networks, found, matches, packet);
	}
	return found;
}

uint32_t spd_table_find_receiver(
	const struct spd_table *t, const struct sa_in *sa, const struct ip_view *fragment)
{
	const struct part part = {fragment, &fragment->dst, &fragment->src, sa};
	const struct entry *found = find_between(t, part.local, part.remote, may_receive, &part);

	return found != NULL ? found->slot + 1 : 0;
}

bool spd_table_decides_fragment(
	const struct spd_table *t, const struct ip_view *fragment, bool inbound, uint32_t *found)
{
	struct classifier_key key = classifier_key_of(fragment);
	struct part part = {fragment, &fragment->src, &fragment->dst, NULL};
	const struct entry *selective;

	if (inbound) {
		key = classifier_key_reversed(&key);
		part.local = &fragment->dst;
		part.remote = &fragment->src;
	}
	spd_table_find(t, &key, 1, found);
	selective = find_between(t, part.local, part.remote, may_depend, &part);
	return selective == NULL ||
	       (*found != 0 && precedes(next_of(&t->at[*found - 1]), selective));
}

static bool is_of_another_peer(const struct spd_policy *p, const void *policy)
{
	const struct spd_policy *q = policy;

	return p->peer_id != 0 && p->peer_id != q->peer_id && p->out != NULL &&
	       spd_policy_same_selectors(p, q);
}

bool spd_table_is_taken(const struct spd_table *t, const struct spd_policy *policy)
{
	return policy->peer_id != 0 && find_between(t, &policy->local.addr, &policy->remote.addr,
					       is_of_another_peer, policy) != NULL;
}
