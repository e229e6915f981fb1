// SPDX-License-Identifier: BSD-3-Clause
#include "neigh_entry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "line_memory.h"

#define RETRY_MS         1000 // RFC 1122 2.3.2.1: at most one request a second and address
#define TRIES            3
#define FAILED_MS        3000  // for how long a failure is remembered
#define UNUSED_REMOVE_MS 60000 // a stale entry that nobody uses goes after this
#define TOKENS_MAX       (NEIGH_REQUESTS_MAX * UINT64_C(1000))

const char *neigh_state_name(enum neigh_state state)
{
	static const char *const names[] = {
		"incomplete", "reachable", "stale", "probe", "failed", "static"};

	return names[state];
}

struct neigh_table *neigh_table_new(const struct neigh_params *p)
{
	static _Atomic unsigned int serial; // names are unique in the process
	struct neigh_table *t = calloc(1, sizeof(*t));
	char name[RTE_HASH_NAMESIZE];
	struct rte_hash_parameters hp = {
		.name = name,
		.entries = RTE_MAX(p->max, 8u),
		.key_len = sizeof(struct key),
		.socket_id = SOCKET_ID_ANY,
		.extra_flag =
			RTE_HASH_EXTRA_FLAGS_RW_CONCURRENCY_LF | RTE_HASH_EXTRA_FLAGS_EXT_TABLE,
	};
	// A removed entry's place is used again only after all workers have passed.
	struct rte_hash_rcu_config rcu = {.v = p->qsbr, .mode = RTE_HASH_QSBR_MODE_SYNC};

	if (t == NULL)
		return NULL;
	snprintf(name, sizeof(name), "neighbours-%u", atomic_fetch_add(&serial, 1));
	t->p = *p;
	for (unsigned int i = 0; i < NEIGH_PORTS_MAX; i++)
		for (unsigned int cause = 0; cause < CAUSES; cause++)
			t->port[i].bucket[cause].tokens = TOKENS_MAX;
	t->hash = rte_hash_create(&hp);
	if (t->hash != NULL && hash_key_draw(&t->hash_key) == 0 &&
		rte_hash_rcu_qsbr_add(t->hash, &rcu) == 0) {
		t->slots = (uint32_t)rte_hash_max_key_id(t->hash) + 1;
		t->entry = line_calloc(t->slots, sizeof(t->entry[0]));
	}
	if (t->entry == NULL) {
		neigh_table_free(t);
		errno = ENOMEM;
		return NULL;
	}
	return t;
}

void neigh_table_free(struct neigh_table *t)
{
	if (t == NULL)
		return;
	rte_hash_free(t->hash);
	line_free(t->entry);
	free(t);
}

static struct key key_get(const struct neigh *n)
{
	struct key key;

	for (unsigned int i = 0; i < KEY_WORDS; i++)
		key.word[i] = atomic_load_explicit(&n->key[i], memory_order_relaxed);
	return key;
}

// While the link word is 0: who reads part of the old key and part of the new sees that again
// after.
static void key_set(struct neigh *n, const struct key *key)
{
	atomic_thread_fence(memory_order_release);
	for (unsigned int i = 0; i < KEY_WORDS; i++)
		atomic_store_explicit(&n->key[i], key->word[i], memory_order_relaxed);
}

static struct rte_ether_addr mac_of(const struct neigh *n)
{
	uint64_t link = atomic_load_explicit(&n->link, memory_order_relaxed);
	struct rte_ether_addr mac;

	memcpy(&mac, &link, sizeof(mac));
	return mac;
}

static void link_set(struct neigh *n, const struct rte_ether_addr *mac)
{
	uint64_t link = 0;

	memcpy(&link, mac, sizeof(*mac));
	atomic_store_explicit(&n->link, link | LINK_KNOWN, memory_order_release);
}

static void state_enter(struct neigh *n, enum neigh_state state, uint64_t now)
{
	n->state = state;
	n->since = now;
	n->tries = 0;
	n->next_try = now;
}

static void entry_remove(struct neigh_table *t, struct neigh *n)
{
	struct key key = key_get(n);

	atomic_store_explicit(&n->link, 0, memory_order_relaxed);
	rte_hash_del_key_with_hash(
		t->hash, &key, hash_of(t, &key)); // returns after all workers have passed
	n->present = n->wanted = false;
	n->answered = 0;
	key_set(n, &(struct key){0});
	t->used--;
	t->port[key.port].used--;
}

// How well an entry can be done without. Neither a scan of a network's unused addresses nor a
// station that claims many addresses must keep the network's hosts out.
enum worth { UNANSWERED, UNCONFIRMED, UNUSED, NEEDED };

static enum worth worth_of(const struct neigh *n)
{
	if (n->state == NEIGH_INCOMPLETE || n->state == NEIGH_FAILED)
		return UNANSWERED;
	if (atomic_load_explicit(&n->used, memory_order_relaxed))
		return NEEDED;
	if (n->state == NEIGH_STALE)
		return UNCONFIRMED;
	return n->state == NEIGH_REACHABLE && !n->wanted ? UNUSED : NEEDED;
}

// Whether a new entry of a port may take the place of one of another port, or its own. In a full
// table a port that has less than its share finds one that has more.
static bool may_replace(const struct neigh_table *t, uint16_t port, uint64_t other)
{
	uint32_t share = t->p.max / RTE_MAX(t->p.n_ports, 1u);

	return t->port[port].used >= share ? other == port : t->port[other].used > share;
}

// Makes room by removing the entry of least worth; among equals the one that has kept us waiting or
// has not been used for longest.
static void entry_evict(struct neigh_table *t, uint16_t port)
{
	struct neigh *least = NULL;
	enum worth least_worth = NEEDED;
	uint64_t least_time = 0;

	for (uint32_t i = 0; i < t->slots; i++) {
		struct neigh *n = &t->entry[i];

		if (!n->present || !may_replace(t, port, key_get(n).port))
			continue;

		enum worth worth = worth_of(n);
		uint64_t time = worth == UNANSWERED ? n->since : n->last_use;

		if (worth < least_worth || (worth == least_worth && time < least_time)) {
			least = n;
			least_worth = worth;
			least_time = time;
		}
	}
	if (least_worth != NEEDED)
		entry_remove(t, least);
}

// NULL: there is no room.
static struct neigh *entry_add(
	struct neigh_table *t, uint16_t port, const struct ip_addr *addr, uint64_t now)
{
	struct key key = key_of(port, addr);

	if (t->used == t->p.max)
		entry_evict(t, port);
	if (t->used == t->p.max)
		return NULL;

	// The position is known only after the key is visible to workers. In between they may read
	// the empty entry that entry_remove() or calloc() left: "wait".
	int32_t pos = rte_hash_add_key_with_hash(t->hash, &key, hash_of(t, &key));

	if (pos < 0)
		return NULL;
	t->used++;
	t->port[port].used++;
	t->entry[pos].present = true;
	t->entry[pos].last_use = now;
	t->entry[pos].holder = NEIGH_HOLDER_OWN; // of one that was learnt
	key_set(&t->entry[pos], &key);
	return &t->entry[pos];
}

int neigh_set_static(struct neigh_table *t, uint16_t port, const struct ip_addr *addr,
	const struct rte_ether_addr *mac)
{
	struct neigh *n = entry_find(t, port, addr);

	if (n == NULL)
		n = entry_add(t, port, addr, 0);
	if (n == NULL)
		return -ENOSPC;
	link_set(n, mac);
	state_enter(n, NEIGH_STATIC, 0);
	return 0;
}

void neigh_unset_static(
	struct neigh_table *t, uint16_t port, const struct ip_addr *addr, uint64_t now)
{
	struct neigh *n = entry_find(t, port, addr);

	if (n != NULL && n->state == NEIGH_STATIC)
		state_enter(n, NEIGH_STALE, now);
}

void neigh_reachable_set(struct neigh_table *t, uint32_t reachable_s)
{
	t->p.reachable_s = reachable_s;
}

void neigh_ports_set(struct neigh_table *t, unsigned int n_ports)
{
	t->p.n_ports = n_ports;
}

// Takes one of the tokens that NEIGH_REQUESTS_MAX limits. False: there is none.
static bool token_take(struct neigh_bucket *b, uint64_t now)
{
	if (now > b->time) {
		b->tokens = RTE_MIN(b->tokens + (now - b->time) * NEIGH_REQUESTS_MAX, TOKENS_MAX);
		b->time = now;
	}
	if (b->tokens < 1000)
		return false;
	b->tokens -= 1000;
	return true;
}

// Requests of the holder on the port, of which a thousandth is forgotten each millisecond.
static struct neigh_bucket *had_by(
	struct neigh_table *t, uint64_t port, uint32_t holder, uint64_t now)
{
	const uint64_t word = holder;
	struct neigh_bucket *had =
		&t->port[port].had[keyed_hash(&t->hash_key, &word, 1) % NEIGH_HOLDERS];

	if (now > had->time)
		had->tokens -= had->tokens * RTE_MIN(now - had->time, 1000u) / 1000;
	had->time = now;
	return had;
}

// Whether another request may be sent for packets of the holder.
static bool request_permitted(struct neigh_table *t, uint64_t port, uint32_t holder, uint64_t now)
{
	struct neigh_bucket *left = &t->port[port].bucket[CAUSE_RESOLVE];
	struct neigh_bucket *had = had_by(t, port, holder, now);

	if (!token_take(left, now))
		return false;
	if (had->tokens > left->tokens * NEIGH_HOLDER_SHARE) {
		left->tokens += 1000; // for others
		return false;
	}
	had->tokens += 1000;
	return true;
}

// Sends the next request if it is due. False when all tries are used up.
static bool request_retry(struct neigh_table *t, struct neigh *n, uint64_t now)
{
	struct rte_ether_addr mac = mac_of(n);
	struct key key = key_get(n);

	if (now < n->next_try)
		return true;
	if (n->tries == TRIES)
		return false;
	// The first one came with the entry.
	if (n->tries > 0 && !request_permitted(t, key.port, n->holder, now))
		return true;
	n->tries++;
	n->next_try = now + RETRY_MS;
	t->p.solicit(
		t->p.arg, (uint16_t)key.port, &key.addr, n->state == NEIGH_PROBE ? &mac : NULL);
	return true;
}

void neigh_resolve(struct neigh_table *t, uint16_t port, const struct ip_addr *addr,
	uint32_t holder, uint64_t now)
{
	struct neigh *n = entry_find(t, port, addr);

	if (n == NULL) {
		n = request_permitted(t, port, holder, now) ? entry_add(t, port, addr, now) : NULL;
		if (n == NULL)
			return; // the packets wait in vain, or for a later request, and are counted
		state_enter(n, NEIGH_INCOMPLETE, now);
		n->wanted = true;
	}
	if (n->state != NEIGH_INCOMPLETE)
		return;
	n->holder = holder; // who was first may have used up its share
	request_retry(t, n, now);
}

// The entry, which is made if that is wanted. NULL if there is none.
static struct neigh *entry_find_or_add(
	struct neigh_table *t, uint16_t port, const struct ip_addr *addr, bool create, uint64_t now)
{
	struct neigh *n = entry_find(t, port, addr);

	if (n != NULL || !create || !token_take(&t->port[port].bucket[CAUSE_LEARN], now))
		return n;
	return entry_add(t, port, addr, now);
}

void neigh_learn(struct neigh_table *t, uint16_t port, const struct ip_addr *addr,
	const struct rte_ether_addr *mac, bool create, uint64_t now)
{
	struct neigh *n = entry_find_or_add(t, port, addr, create, now);

	if (n == NULL || n->state == NEIGH_STATIC)
		return;
	link_set(n, mac);
	state_enter(n, NEIGH_REACHABLE, now);
	n->answered = now;
}

static bool has_link(const struct neigh *n)
{
	return (atomic_load_explicit(&n->link, memory_order_relaxed) & LINK_KNOWN) != 0;
}

// Whether a link address differs from the known one.
static bool is_new(const struct neigh *n, const struct rte_ether_addr *mac)
{
	struct rte_ether_addr known = mac_of(n);

	return mac != NULL && !(has_link(n) && rte_is_same_ether_addr(&known, mac));
}

void neigh_solicited(struct neigh_table *t, uint16_t port, const struct ip_addr *addr,
	const struct rte_ether_addr *mac, bool create, uint64_t now)
{
	struct neigh *n = entry_find_or_add(t, port, addr, create, now);

	if (n == NULL || n->state == NEIGH_STATIC || !is_new(n, mac))
		return;
	link_set(n, mac);
	state_enter(n, NEIGH_STALE, now);
}

void neigh_advertised(struct neigh_table *t, uint16_t port, const struct ip_addr *addr,
	struct neigh_advert advert, uint64_t now)
{
	struct neigh *n = entry_find(t, port, addr);

	if (n == NULL || n->state == NEIGH_STATIC || (!has_link(n) && advert.mac == NULL))
		return;

	bool news = is_new(n, advert.mac);

	if (news && has_link(n) && !advert.override) {
		if (n->state == NEIGH_REACHABLE)
			state_enter(n, NEIGH_STALE, now);
		return;
	}
	if (news)
		link_set(n, advert.mac);
	if (advert.solicited) {
		state_enter(n, NEIGH_REACHABLE, now);
		n->answered = now;
	} else if (news) {
		state_enter(n, NEIGH_STALE, now);
	}
}

static void entry_tick(struct neigh_table *t, struct neigh *n, uint64_t now)
{
	bool used = atomic_exchange_explicit(&n->used, false, memory_order_relaxed);

	if (used) {
		n->last_use = now;
		n->wanted = true;
	}
	switch (n->state) {
	case NEIGH_INCOMPLETE:
		if (!request_retry(t, n, now)) {
			state_enter(n, NEIGH_FAILED, now);
			atomic_store_explicit(&n->link, LINK_FAILED, memory_order_release);
		}
		break;
	case NEIGH_REACHABLE:
		if (now - n->since >= t->p.reachable_s * UINT64_C(1000))
			state_enter(n, NEIGH_STALE, now);
		break;
	case NEIGH_STALE:
		if (used) {
			state_enter(n, NEIGH_PROBE, now);
			request_retry(t, n, now);
		} else if (now - n->last_use >= UNUSED_REMOVE_MS) {
			entry_remove(t, n);
		}
		break;
	case NEIGH_PROBE:
		// Asked directly in vain: it may have moved to another link address. Ask everyone.
		if (!request_retry(t, n, now)) {
			state_enter(n, NEIGH_INCOMPLETE, now);
			atomic_store_explicit(&n->link, 0, memory_order_relaxed);
		}
		break;
	case NEIGH_FAILED:
		if (now - n->since >= FAILED_MS)
			entry_remove(t, n);
		break;
	case NEIGH_STATIC:
		break;
	}
}

void neigh_tick(struct neigh_table *t, uint64_t now)
{
	for (uint32_t i = 0; i < t->slots; i++)
		if (t->entry[i].present)
			entry_tick(t, &t->entry[i], now);
}

void neigh_forget(struct neigh_table *t, uint16_t port)
{
	for (uint32_t i = 0; i < t->slots; i++) {
		struct neigh *n = &t->entry[i];

		if (n->present && n->state != NEIGH_STATIC && key_get(n).port == port)
			entry_remove(t, n);
	}
}

bool neigh_failed(const struct neigh_table *t, uint16_t port, const struct ip_addr *addr)
{
	const struct neigh *n = entry_find(t, port, addr);

	return n != NULL && n->state == NEIGH_FAILED;
}

bool neigh_remove(struct neigh_table *t, uint16_t port, const struct ip_addr *addr)
{
	struct neigh *n = entry_find(t, port, addr);

	if (n == NULL || n->state == NEIGH_STATIC)
		return false;
	entry_remove(t, n);
	return true;
}

unsigned int neigh_list(struct neigh_table *t, struct neigh_view out[], unsigned int n,
	unsigned int offset, uint64_t now)
{
	const bool continues = offset > 0 && offset >= t->listed;
	unsigned int seen = continues ? t->listed : 0, count = 0;
	uint32_t i = continues ? t->listed_slots : 0;

	for (; i < t->slots && count < n; i++) {
		const struct neigh *e = &t->entry[i];

		if (!e->present || seen++ < offset)
			continue;
		out[count++] = (struct neigh_view){
			.addr = key_get(e).addr,
			.port = (uint16_t)key_get(e).port,
			.state = e->state,
			.mac = mac_of(e),
			.age_s = e->answered != 0 ? (uint32_t)((now - e->answered) / 1000) : 0,
		};
	}
	t->listed = seen;
	t->listed_slots = i;
	return count;
}
