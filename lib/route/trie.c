// SPDX-License-Identifier: BSD-3-Clause
#include "trie.h"

#include <errno.h>
#include <sys/mman.h>

#include "huge_pages.h"

#define DEPTH_MAX      (128 / TRIE_STRIDE + 1)
#define DIV_CEIL(n, d) (((n) + (d)-1) / (d))

// From the first node to that of a prefix.
struct path {
	struct {
		_Atomic uint32_t *slot; // in the node before, with the number
		uint32_t node;
	} step[DEPTH_MAX];
	unsigned int n;
	_Atomic uint32_t *slots; // of the last node, for the addresses of the prefix
	unsigned int n_slots;
};

static size_t users_len(const struct trie_nodes *nodes)
{
	return RTE_ALIGN_CEIL((nodes->slab.max + 1) * sizeof(nodes->users[0]), HUGE_PAGE);
}

int trie_nodes_init(struct trie_nodes *nodes, void *memory, uint32_t max)
{
	int rc = slab_init(&nodes->slab, memory, sizeof(struct trie_node), max);

	nodes->users = rc == 0 ? huge_pages_reserve(users_len(nodes)) : NULL;
	return nodes->users != NULL ? 0 : -ENOMEM;
}

void trie_nodes_fini(struct trie_nodes *nodes)
{
	if (nodes->users != NULL)
		munmap(nodes->users, users_len(nodes));
	slab_fini(&nodes->slab);
}

static uint32_t load(const _Atomic uint32_t *slot)
{
	return atomic_load_explicit(slot, memory_order_relaxed); // no other thread stores
}

static void store(_Atomic uint32_t *slot, uint32_t value)
{
	atomic_store_explicit(slot, value, memory_order_release);
}

static _Atomic uint32_t *slots_of(const struct trie_nodes *nodes, uint32_t node)
{
	struct trie_node *n = slab_at(&nodes->slab, node);

	return n->slot;
}

// n bits of an address from the bit start on, as a number.
static unsigned int bits_of(const struct ip_addr *a, unsigned int start, unsigned int n)
{
	unsigned int bits = 0;

	for (unsigned int i = start; i < start + n; i++)
		bits = bits << 1 | (a->b[i / 8] >> (7 - i % 8) & 1u);
	return bits;
}

// Puts a node of the slot's route in the place of that: no look-up has another result. Returns its
// number: there is one.
static uint32_t node_add(struct trie_nodes *nodes, _Atomic uint32_t *slot)
{
	uint32_t node = slab_take(&nodes->slab), route = load(slot);
	_Atomic uint32_t *slots = slots_of(nodes, node);

	for (unsigned int i = 0; i < TRIE_FANOUT; i++)
		atomic_store_explicit(&slots[i], route, memory_order_relaxed);
	nodes->users[node] = 0;
	store(slot, node | TRIE_NODE);
	return node;
}

// Goes to the node of a prefix, and adds missing nodes before it. False, with no change: fewer than
// that and left are unused.
static bool path_find(struct path *path, struct trie *t, struct trie_nodes *nodes,
	const struct ip_prefix *to, uint32_t left)
{
	unsigned int bit = t->first_bit, bits = t->root_bits;

	path->n = 0;
	path->slots = t->root;
	for (; to->len > bit + bits; bit += bits, bits = TRIE_STRIDE) {
		_Atomic uint32_t *slot = &path->slots[bits_of(&to->addr, bit, bits)];
		uint32_t node = load(slot);

		// With the first one that is missing all others are.
		if ((node & TRIE_NODE) == 0 &&
			slab_unused(&nodes->slab) <
				left + DIV_CEIL(to->len - bit - bits, TRIE_STRIDE))
			return false;
		node = (node & TRIE_NODE) != 0 ? node & ~TRIE_NODE : node_add(nodes, slot);
		if (path->n > 0 && nodes->users[node] == 0)
			nodes->users[path->step[path->n - 1].node]++;
		path->step[path->n].slot = slot;
		path->step[path->n++].node = node;
		path->slots = slots_of(nodes, node);
	}
	path->slots += bits_of(&to->addr, bit, bits);
	path->n_slots = 1u << (bit + bits - to->len);
	return true;
}

// Removes the nodes at the end of a path that nothing needs any more: all their slots are the same.
static void path_prune(const struct path *path, struct trie_nodes *nodes)
{
	for (unsigned int i = path->n; i-- > 0 && nodes->users[path->step[i].node] == 0;) {
		uint32_t node = path->step[i].node;

		store(path->step[i].slot, load(&slots_of(nodes, node)[0]));
		for (unsigned int k = 0; k < TRIE_FANOUT; k++)
			store(&slots_of(nodes, node)[k], TRIE_GONE);
		slab_remove(&nodes->slab, node);
		if (i > 0)
			nodes->users[path->step[i - 1].node]--;
	}
}

// Puts a route in the place of another one in n slots and all nodes below them.
static void slots_change(const struct trie_nodes *nodes, _Atomic uint32_t *slots, unsigned int n,
	uint32_t from, uint32_t to)
{
	for (unsigned int i = 0; i < n; i++) {
		uint32_t at = load(&slots[i]);

		if ((at & TRIE_NODE) != 0)
			slots_change(
				nodes, slots_of(nodes, at & ~TRIE_NODE), TRIE_FANOUT, from, to);
		else if (at == from)
			store(&slots[i], to);
	}
}

int trie_hold(struct trie *t, struct trie_nodes *nodes, const struct ip_prefix *to, uint32_t left)
{
	struct path path;

	if (!path_find(&path, t, nodes, to, left))
		return -ENOSPC;
	if (path.n > 0)
		nodes->users[path.step[path.n - 1].node]++;
	return 0;
}

void trie_change(struct trie *t, struct trie_nodes *nodes, const struct ip_prefix *to, uint32_t old,
	uint32_t number)
{
	struct path path;

	path_find(&path, t, nodes, to, 0);
	slots_change(nodes, path.slots, path.n_slots, old, number);
}

void trie_drop(struct trie *t, struct trie_nodes *nodes, const struct ip_prefix *to)
{
	struct path path;

	path_find(&path, t, nodes, to, 0);
	if (path.n > 0)
		nodes->users[path.step[path.n - 1].node]--;
	path_prune(&path, nodes);
}
