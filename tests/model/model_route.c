// SPDX-License-Identifier: BSD-3-Clause
// The trie of lib/route while prefixes are added, replaced and deleted: with small nodes of two
// bits of the address. Proves for all interleavings: a look-up returns a right result, as before,
// between or after the changes that are made meanwhile, and so does a flow that goes by the slot
// and number that it has remembered, with the route that had this number then; no look-up reads a
// node or a route that was freed; and at the end only the nodes are left that the remaining
// prefixes need, and nodes that the flow remembers.
#define TRIE_STRIDE    2
#define TRIE_ROOT_BITS 2

#include "explore.h"

#include "trie.c"

#define READERS 2
#define FLOW    1 // the reader that remembers a slot
#define PACKETS 2 // of it
#define NODES   8
#define NUMBERS 6 // of routes
#define CHANGES 5
#define FREED   0x600df00d // in the slots of a node: no number of a route
#define ADDR(a) ((uint32_t)(a) << 24)

enum act { NONE, ADD, REPLACE, DELETE };

struct change {
	enum act act;
	uint32_t addr;
	uint8_t len;
	uint8_t route, cover; // of the prefix after the change, of the prefix around it; 0: none
	uint8_t old;          // of REPLACE and DELETE
};

struct scenario {
	struct change change[CHANGES];
	uint32_t lookup[READERS];
	unsigned int left; // nodes at the end
};

// 0x40/2, 0x50/4, 0x54/6: nested, of a node each below the first.
static const struct scenario scenarios[] = {
	// a longer prefix, then the shorter one is deleted, and in the other order
	{{{ADD, ADDR(0x40), 2, 1, 0}, {ADD, ADDR(0x50), 4, 2, 1}, {DELETE, ADDR(0x40), 2, 0, 0, 1},
		 {DELETE, ADDR(0x50), 4, 0, 0, 2}},
		{ADDR(0x50), ADDR(0x60)}, 0},
	{{{ADD, ADDR(0x50), 4, 1, 0}, {ADD, ADDR(0x40), 2, 2, 0}, {DELETE, ADDR(0x50), 4, 0, 2, 1},
		 {DELETE, ADDR(0x40), 2, 0, 0, 2}},
		{ADDR(0x50), ADDR(0x60)}, 0},
	// replaced, above and in a node
	{{{ADD, ADDR(0x40), 2, 1, 0}, {ADD, ADDR(0x54), 6, 2, 1}, {REPLACE, ADDR(0x40), 2, 3, 0, 1},
		 {REPLACE, ADDR(0x54), 6, 4, 3, 2}},
		{ADDR(0x54), ADDR(0x50)}, 2},
	// a node leaves, and its memory is that of another one
	{{{ADD, ADDR(0x54), 6, 1, 0}, {DELETE, ADDR(0x54), 6, 0, 0, 1}, {ADD, ADDR(0x94), 6, 2, 0},
		 {ADD, ADDR(0x50), 5, 3, 0}},
		{ADDR(0x54), ADDR(0x94)}, 4},
	// a default route under and over a node
	{{{ADD, ADDR(0), 0, 1, 0}, {ADD, ADDR(0x50), 4, 2, 1}, {DELETE, ADDR(0), 0, 0, 0, 1},
		 {ADD, ADDR(0x50), 3, 3, 0}},
		{ADDR(0x50), ADDR(0x40)}, 1},
	// the flow remembers a slot of nodes that leave, and that others could use
	{{{ADD, ADDR(0), 0, 1, 0}, {ADD, ADDR(0x58), 6, 2, 1}, {DELETE, ADDR(0x58), 6, 0, 1, 2},
		 {ADD, ADDR(0x98), 6, 3, 1}, {ADD, ADDR(0x54), 6, 4, 1}},
		{ADDR(0x58), ADDR(0x54)}, 4},
	// nodes leave under a default route
	{{{ADD, ADDR(0), 0, 1, 0}, {ADD, ADDR(0x54), 6, 2, 1}, {DELETE, ADDR(0x54), 6, 0, 1, 2}},
		{ADDR(0x54), ADDR(0x50)}, 0},
	// a node of the flow leaves, another route leads to its address, and the node could be that
	// of a third one
	{{{ADD, ADDR(0), 0, 1, 0}, {ADD, ADDR(0x54), 6, 2, 1}, {DELETE, ADDR(0x54), 6, 0, 1, 2},
		 {ADD, ADDR(0x40), 2, 3, 1}, {ADD, ADDR(0x94), 6, 4, 1}},
		{ADDR(0x94), ADDR(0x50)}, 2},
	// the number of the flow's route could be that of another route in the same slot
	{{{ADD, ADDR(0x40), 2, 1, 0}, {REPLACE, ADDR(0x40), 2, 2, 0, 1},
		 {REPLACE, ADDR(0x40), 2, 3, 0, 2}, {REPLACE, ADDR(0x40), 2, 4, 0, 3}},
		{ADDR(0x40), ADDR(0x50)}, 0},
};

// Elements with numbers from 1 on: nodes, or routes.
struct elements {
	bool used[NODES + 1], remembered[NODES + 1]; // by the flow
	uint8_t next[NODES + 1], removed, waiting;
};

static struct model {
	struct trie_node node[NODES + 1];
	_Atomic uint32_t root[1 << TRIE_ROOT_BITS];
	uint16_t users[NODES + 1];
	struct elements nodes, numbers;
	uint8_t route[NUMBERS + 1]; // by number; 0: it was freed
	const _Atomic uint32_t *slot;
	uint32_t number;              // in it, which the flow remembers; 0: none
	uint8_t flow_route;           // that it was the number of
	uint8_t begun, done;          // changes
	uint8_t passes[READERS];      // look-ups that have ended
	uint8_t passes_then[READERS]; // when the grace period of waiting elements began
	bool busy[READERS], busy_then[READERS];
} * model;

static struct trie_nodes nodes;
static struct trie trie;

void *huge_pages_reserve(size_t len)
{
	(void)len;
	return NULL;
}

// The lowest number that is free.
static uint32_t take(struct elements *e, uint32_t max)
{
	for (uint32_t i = 1; i <= max; i++)
		if (!e->used[i]) {
			e->used[i] = true;
			return i;
		}
	explore_assert(false);
	return 0;
}

static void put_aside(struct elements *e, uint32_t number)
{
	explore_assert(e->used[number]);
	e->next[number] = e->removed;
	e->removed = (uint8_t)number;
}

uint32_t slab_take(struct slab *s)
{
	(void)s;
	return take(&model->nodes, NODES);
}

void slab_remove(struct slab *s, uint32_t number)
{
	(void)s;
	put_aside(&model->nodes, number);
}

static bool grace_is_over(void)
{
	for (unsigned int i = 0; i < READERS; i++)
		if (model->busy_then[i] && model->passes[i] == model->passes_then[i])
			return false;
	return true;
}

// The node of a slot; 0: the first one.
static uint32_t node_of(const _Atomic uint32_t *slot)
{
	for (uint32_t i = 1; i <= NODES; i++)
		if (slot >= model->node[i].slot && slot < model->node[i].slot + TRIE_FANOUT)
			return i;
	return 0;
}

static void node_free(uint32_t number)
{
	for (unsigned int i = 0; i < TRIE_FANOUT; i++)
		model->node[number].slot[i] = FREED;
}

static void route_free(uint32_t number)
{
	model->route[number] = 0;
}

static void release(struct elements *e, void (*free)(uint32_t number))
{
	for (uint32_t n = e->waiting; n != 0; n = e->next[n]) {
		if (e->remembered[n]) // not used again
			continue;
		free(n);
		e->used[n] = false;
	}
	e->waiting = e->removed;
	e->removed = 0;
}

// As lib/control/retire.c: removed elements wait for the look-ups that have begun.
static void reclaim(void)
{
	if (grace_is_over()) {
		release(&model->nodes, node_free);
		release(&model->numbers, route_free);
		memcpy(model->passes_then, model->passes, sizeof(model->passes));
		memcpy(model->busy_then, model->busy, sizeof(model->busy));
	}
}

unsigned int model_scenarios(void)
{
	return RTE_DIM(scenarios);
}

unsigned int model_threads(unsigned int scenario)
{
	(void)scenario;
	return 1 + READERS;
}

bool model_matters(const volatile void *p)
{
	(void)p;
	return true;
}

void model_setup(unsigned int scenario)
{
	(void)scenario;
	model = explore_alloc(sizeof(*model));
	nodes = (struct trie_nodes){.slab = {.memory = (uint8_t *)model->node,
					    .size = sizeof(struct trie_node),
					    .max = NODES},
		.users = model->users};
	trie = (struct trie){model->root, IP_V4_BITS, TRIE_ROOT_BITS};
}

// The number of a route that is in use; 0: none.
static uint32_t number_of_route(uint8_t route)
{
	for (uint32_t i = 1; route != 0 && i <= NUMBERS; i++)
		if (model->route[i] == route)
			return i;
	return 0;
}

static uint32_t number_new(uint8_t route)
{
	uint32_t number = take(&model->numbers, NUMBERS);

	model->route[number] = route;
	return number;
}

static void change(const struct change *c)
{
	const struct ip_prefix to = {.addr = ip_addr_from_v4(rte_cpu_to_be_32(c->addr)),
		.len = (uint8_t)(IP_V4_BITS + c->len)};
	uint32_t cover = number_of_route(c->cover), old = number_of_route(c->old);

	if (c->act == ADD)
		explore_assert(trie_hold(&trie, &nodes, &to, 0) == 0);
	trie_change(&trie, &nodes, &to, c->act == ADD ? cover : old,
		c->act == DELETE ? cover : number_new(c->route));
	if (c->act == DELETE)
		trie_drop(&trie, &nodes, &to);
	if (c->act != ADD)
		put_aside(&model->numbers, old);
}

// The route that a prefix of len bits with the address has after the first n changes; 0: none.
static uint32_t route_of_prefix(
	const struct scenario *s, unsigned int n, uint32_t addr, unsigned int len)
{
	uint32_t mask = len == 0 ? 0 : UINT32_MAX << (32 - len), route = 0;

	for (unsigned int i = 0; i < n; i++) {
		const struct change *c = &s->change[i];

		if (c->len == len && (addr & mask) == c->addr)
			route = c->route;
	}
	return route;
}

// The right answer after the first n changes.
static uint32_t expected(const struct scenario *s, unsigned int n, uint32_t addr)
{
	uint32_t best = 0, route;

	for (unsigned int len = 0; len <= 6; len++) {
		route = route_of_prefix(s, n, addr, len);
		if (route != 0)
			best = route;
	}
	return best;
}

// The route of an address: the second reader goes by the slot that it remembers, as a flow does, if
// the slot still has that number.
static uint32_t find(unsigned int reader, uint32_t addr)
{
	const _Atomic uint32_t *slot = &model->node[0].slot[0];
	uint32_t number;

	if (reader == FLOW && model->number != 0 &&
		atomic_load_explicit(model->slot, memory_order_acquire) == model->number)
		return model->flow_route;
	number = trie_find_v4(&trie, &nodes, addr, TRIE_ROOT_BITS, &slot);
	if (number > NUMBERS || (number != 0 && model->route[number] == 0)) {
		explore_assert(false); // freed
		return 0;
	}
	if (reader == FLOW) {
		model->nodes.remembered[node_of(slot)] = true;
		model->numbers.remembered[number] = true;
		model->slot = slot;
		model->number = number;
		model->flow_route = model->route[number];
	}
	return model->route[number];
}

static void look_up(const struct scenario *s, unsigned int reader)
{
	unsigned int from = model->done;
	uint32_t addr = s->lookup[reader], found;
	bool right = false;

	model->busy[reader] = true;
	found = find(reader, addr);
	for (unsigned int n = from; n <= model->begun; n++)
		right |= found == expected(s, n, addr);
	explore_assert(right);
	model->passes[reader]++;
	model->busy[reader] = false;
}

void model_thread(unsigned int scenario, unsigned int thread)
{
	const struct scenario *s = &scenarios[scenario];

	if (thread > 0) {
		look_up(s, thread - 1);
		for (unsigned int i = 1; thread - 1 == FLOW && i < PACKETS; i++) {
			explore_step(&model->done); // at any time later
			look_up(s, thread - 1);
		}
		return;
	}
	for (unsigned int i = 0; i < CHANGES && s->change[i].act != NONE; i++) {
		model->begun++;
		change(&s->change[i]);
		model->done++;
		reclaim();
	}
}

// Whether the node waits because the flow remembers it.
static bool is_removed(uint32_t node)
{
	for (unsigned int i = 0; i < TRIE_FANOUT; i++)
		if (model->node[node].slot[i] != TRIE_GONE)
			return false;
	return true;
}

void model_end(unsigned int scenario)
{
	unsigned int left = 0;

	reclaim();
	reclaim();
	for (uint32_t i = 1; i <= NODES; i++)
		left += model->nodes.used[i] && !is_removed(i);
	explore_assert(left == scenarios[scenario].left);
}
