// SPDX-License-Identifier: BSD-3-Clause
// The table gets room for more flows while workers run. Arrays by number of the entry have address
// space for all that there may ever be, so entries stay where they are. The index of keys is
// replaced by a larger one, in steps of the control thread:
//
//	clears: the kernel clears the memory of the next index
//	announced: workers put keys into both and remove them from both; until a grace period later
//	copies: each worker copies the keys of the flows of its part as it ages them
//	looked up: both are complete, workers look keys up in the next, until a grace period later
//	left: they put keys into the next alone; after a grace period the former is freed
//
// While some workers put keys into both and others into one alone, either the former or the next
// index is in the lists of all. There two that add the same key find each other.
#include "flow_table.h"

#include <sys/mman.h>

#include "huge_pages.h"

size_t flow_array_len(uint32_t n, size_t item)
{
	return RTE_ALIGN_CEIL(((size_t)n + 1) * item, HUGE_PAGE);
}

void flow_array_free(const struct flow_table *t, void *array, size_t item)
{
	if (array != NULL)
		munmap(array, flow_array_len(t->n_entries_max, item));
}

void *flow_array_new(const struct flow_table *t, size_t item)
{
	void *array = huge_pages_space(flow_array_len(t->n_entries_max, item));

	if (array == NULL || huge_pages_open(array, flow_array_len(t->n_entries_open, item)) == 0)
		return array;
	flow_array_free(t, array, item);
	return NULL;
}

struct flow_index *flow_index_new(uint32_t n_buckets, const struct hash_key *key)
{
	const size_t len = RTE_ALIGN_CEIL(
		sizeof(struct flow_index) + (size_t)n_buckets * sizeof(struct bucket), HUGE_PAGE);
	struct flow_index *x = huge_pages_map(len);

	if (x != NULL) {
		x->n = n_buckets;
		x->len = len;
		x->hash_key = *key;
	}
	return x;
}

void flow_index_free(struct flow_index *x)
{
	if (x != NULL)
		munmap(x, x->len);
}

void flow_move_free(struct flow_table *t)
{
	struct flow_move *m = &t->move;

	if (t->oldest != m->next)
		flow_index_free(t->oldest);
	if (m->former != t->oldest)
		flow_index_free(m->former);
	flow_index_free(m->next);
}

bool flow_pages_fill(void *at, size_t *filled, size_t len)
{
	if (*filled >= len)
		return false;
	huge_page_clear(RTE_PTR_ADD(at, *filled));
	*filled += HUGE_PAGE;
	return true;
}

// Gives the arrays room for n entries.
static int arrays_open(struct flow_table *t, uint32_t n)
{
	if (n <= t->n_entries_open)
		return 0;
	if (n > t->n_entries_max ||
		huge_pages_open(t->entry, flow_array_len(n, sizeof(*t->entry))) < 0 ||
		(t->nat != NULL &&
			huge_pages_open(t->nat, flow_array_len(n, sizeof(struct flow_nat))) < 0) ||
		flow_records_open(t, n) < 0)
		return -ENOMEM;
	t->n_entries_open = n;
	return 0;
}

static uint32_t buckets_now(const struct flow_table *t)
{
	const struct flow_index *next = flow_index_next(t->oldest);

	return next != NULL ? next->n : t->oldest->n;
}

int flow_table_prepare(struct flow_table *t, uint32_t capacity)
{
	const struct flow_layout l = flow_layout(capacity, t->n_workers);
	struct flow_move *m = &t->move;

	if (m->step == FLOW_MOVE_NONE) {
		flow_index_free(m->next);
		m->next = NULL;
	}
	if (arrays_open(t, l.n_entries) < 0)
		return -ENOMEM;
	if (l.n_buckets <= RTE_MAX(buckets_now(t), m->next != NULL ? m->next->n : 0))
		return 0;
	if (m->step != FLOW_MOVE_NONE)
		return -EBUSY;
	m->next = flow_index_new(l.n_buckets, &t->hash_key);
	return m->next != NULL ? 0 : -ENOMEM;
}

// More flows than there are buckets for come when these are there.
void flow_table_resize(struct flow_table *t, uint32_t capacity)
{
	struct flow_move *m = &t->move;

	m->capacity = capacity;
	if (m->next == NULL)
		flow_capacity_set(t, capacity);
	else if (m->step == FLOW_MOVE_NONE)
		m->step = FLOW_MOVE_CLEARS;
}

uint32_t flow_table_slice(const struct flow_table *t)
{
	return t->n_entries_open / t->n_workers / FLOW_ROUND_MS + 1;
}

// --- the steps ---

bool flow_move_fill(struct flow_table *t)
{
	struct flow_move *m = &t->move;

	return m->step == FLOW_MOVE_CLEARS && flow_pages_fill(m->next, &m->cleared, m->next->len);
}

static void copy_ask(struct flow_table *t)
{
	atomic_store_explicit(&t->copy_workers, t->n_workers, memory_order_relaxed);
	atomic_fetch_add_explicit(&t->copy_serial, 1, memory_order_release);
}

static bool step_is_over(struct flow_table *t)
{
	switch (t->move.step) {
	case FLOW_MOVE_CLEARS:
		return t->move.cleared == t->move.next->len;
	case FLOW_MOVE_COPIES:
		return atomic_load_explicit(&t->copy_workers, memory_order_acquire) == 0;
	default:
		return flow_grace_over(t, t->move.token);
	}
}

// Begins the next step.
static void step_end(struct flow_table *t)
{
	struct flow_move *m = &t->move;

	switch (m->step) {
	case FLOW_MOVE_CLEARS:
		m->former = t->oldest;
		atomic_store_explicit(&m->former->next, m->next, memory_order_release);
		break;
	case FLOW_MOVE_ANNOUNCED:
		copy_ask(t);
		break;
	case FLOW_MOVE_COPIES:
		atomic_store_explicit(&t->index, m->next, memory_order_release);
		break;
	case FLOW_MOVE_LOOKED_UP:
		atomic_store_explicit(&t->oldest, m->next, memory_order_release);
		break;
	default:
		flow_index_free(m->former);
		flow_capacity_set(t, m->capacity);
		*m = (struct flow_move){.step = FLOW_MOVE_NONE};
		return;
	}
	m->step++;
	m->token = rte_rcu_qsbr_start(t->qsbr);
}

void flow_table_tick(struct flow_table *t)
{
	if (t->move.step != FLOW_MOVE_NONE && step_is_over(t))
		step_end(t);
}
