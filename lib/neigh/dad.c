// SPDX-License-Identifier: BSD-3-Clause
#include "dad.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>

#define TRANSMITS 1    // DupAddrDetectTransmits (RFC 4862 5.1)
#define RETRY_MS  1000 // RetransTimer (RFC 4861 10)
// Intervals between checks of a duplicate.
#define AGAIN_MIN_MS 5000
#define AGAIN_MAX_MS 60000

struct dad_addr {
	struct ip_addr addr;
	uint16_t port;
	// enum dad_state; written by control, read by workers, which read the address unless it is
	// DAD_REMOVED
	_Atomic uint8_t state;
	uint8_t sent;         // of this check; from here on control only
	bool of_group;        // which decides about the state
	uint32_t interval_ms; // to the next check of a duplicate
	uint64_t next;
};

struct dad {
	struct dad_params p;
	// Written by control, read by workers; those expected are standby as well.
	_Atomic unsigned int n, n_standby, n_expected;
	_Atomic uint32_t roles; // see dad_roles(); written by control
	struct dad_addr entry[];
};

struct dad *dad_new(const struct dad_params *p)
{
	struct dad *d = calloc(1, sizeof(*d) + p->max * sizeof(d->entry[0]));

	if (d != NULL)
		d->p = *p;
	return d;
}

void dad_free(struct dad *d)
{
	free(d);
}

static unsigned int count(const struct dad *d)
{
	return atomic_load_explicit(&d->n, memory_order_acquire);
}

static enum dad_state state_of(const struct dad_addr *a)
{
	return (enum dad_state)atomic_load_explicit(&a->state, memory_order_acquire);
}

static bool is_standby(enum dad_state state)
{
	return state == DAD_STANDBY || state == DAD_EXPECTED;
}

static void state_set(struct dad_addr *a, enum dad_state state)
{
	atomic_store_explicit(&a->state, (uint8_t)state, memory_order_release);
}

static void entry_init(struct dad_addr *a)
{
	a->sent = 0;
	a->interval_ms = 0;
	a->next = 0;
	a->of_group = false;
}

int dad_add(struct dad *d, uint16_t port, const struct ip_addr *addr)
{
	unsigned int i = 0, n = count(d);

	while (i < n && state_of(&d->entry[i]) != DAD_REMOVED)
		i++;
	if (i == d->p.max)
		return -ENOSPC;
	d->entry[i].addr = *addr;
	d->entry[i].port = port;
	entry_init(&d->entry[i]);
	state_set(&d->entry[i], DAD_TENTATIVE);
	atomic_store_explicit(&d->n, RTE_MAX(n, i + 1), memory_order_release);
	return 0;
}

static bool is_entry_of(const struct dad_addr *a, const struct ip_addr *addr)
{
	return state_of(a) != DAD_REMOVED && ip_addr_equal(&a->addr, addr);
}

// Index of the address, or count(d).
static unsigned int entry_index(const struct dad *d, uint16_t port, const struct ip_addr *addr)
{
	unsigned int i = 0, n = count(d);

	while (i < n && (!is_entry_of(&d->entry[i], addr) || d->entry[i].port != port))
		i++;
	return i;
}

static void standby_count(struct dad *d)
{
	unsigned int n = 0, n_expected = 0;

	for (unsigned int i = 0; i < count(d); i++) {
		n += is_standby(state_of(&d->entry[i]));
		n_expected += state_of(&d->entry[i]) == DAD_EXPECTED;
	}
	atomic_store_explicit(&d->n_standby, n, memory_order_release);
	atomic_store_explicit(&d->n_expected, n_expected, memory_order_release);
	atomic_fetch_add_explicit(&d->roles, 2, memory_order_release);
}

void dad_roles_begin(struct dad *d)
{
	atomic_fetch_add_explicit(&d->roles, 1, memory_order_release);
	// Each part of the change is seen after that.
	atomic_thread_fence(memory_order_seq_cst);
}

void dad_roles_end(struct dad *d)
{
	atomic_fetch_add_explicit(&d->roles, 1, memory_order_release);
}

uint32_t dad_roles(const struct dad *d)
{
	return atomic_load_explicit(&d->roles, memory_order_acquire);
}

void dad_group_set(struct dad *d, uint16_t port, const struct ip_addr *addr, enum dad_state state)
{
	unsigned int i = entry_index(d, port, addr);

	if (i == count(d) && dad_add(d, port, addr) < 0)
		return;
	i = entry_index(d, port, addr);
	d->entry[i].of_group = true;
	state_set(&d->entry[i], state);
	standby_count(d);
}

void dad_group_unset(struct dad *d, uint16_t port, const struct ip_addr *addr)
{
	unsigned int i = entry_index(d, port, addr);
	bool standby;

	if (i == count(d) || !d->entry[i].of_group)
		return;
	standby = is_standby(state_of(&d->entry[i]));
	entry_init(&d->entry[i]);
	if (ip_addr_is_v4(addr))
		state_set(&d->entry[i], DAD_REMOVED);
	else if (standby)
		state_set(&d->entry[i], DAD_TENTATIVE);
	standby_count(d);
}

void dad_remove(struct dad *d, uint16_t port, const struct ip_addr *addr)
{
	unsigned int i = entry_index(d, port, addr);

	if (i < count(d))
		state_set(&d->entry[i], DAD_REMOVED);
	standby_count(d);
}

static void state_decide(struct dad *d, struct dad_addr *a, enum dad_state state)
{
	enum dad_state was = state_of(a);

	state_set(a, state);
	if (state != was)
		d->p.decided(d->p.arg, a->port, &a->addr, was, state);
}

void dad_restart(struct dad *d, uint16_t port)
{
	for (unsigned int i = 0; i < count(d); i++) {
		struct dad_addr *a = &d->entry[i];

		if (a->port != port || state_of(a) == DAD_REMOVED || a->of_group)
			continue;
		entry_init(a);
		state_set(a, DAD_TENTATIVE);
	}
}

void dad_claimed(struct dad *d, uint16_t port, const struct ip_addr *addr, uint64_t now)
{
	unsigned int i = entry_index(d, port, addr);
	struct dad_addr *a = &d->entry[i];

	// An assigned address is defended (RFC 4862 5.4.3). Between checks nothing changes: claims,
	// however many, do not postpone the next one.
	if (i == count(d) || state_of(a) == DAD_ASSIGNED || is_standby(state_of(a)) ||
		(state_of(a) == DAD_DUPLICATE && a->sent == 0))
		return;
	a->interval_ms = RTE_MIN(RTE_MAX(2 * a->interval_ms, AGAIN_MIN_MS), AGAIN_MAX_MS);
	a->next = now + a->interval_ms;
	a->sent = 0;
	state_decide(d, a, DAD_DUPLICATE);
}

void dad_tick(struct dad *d, uint64_t now)
{
	for (unsigned int i = 0; i < count(d); i++) {
		struct dad_addr *a = &d->entry[i];

		if ((state_of(a) != DAD_TENTATIVE && state_of(a) != DAD_DUPLICATE) || now < a->next)
			continue;
		if (a->sent == TRANSMITS) {
			state_decide(d, a, DAD_ASSIGNED);
			continue;
		}
		a->sent++;
		a->next = now + RETRY_MS;
		d->p.solicit(d->p.arg, a->port, &a->addr);
	}
}

enum dad_state dad_state(const struct dad *d, uint16_t port, const struct ip_addr *addr)
{
	unsigned int i = entry_index(d, port, addr);

	return i < count(d) ? state_of(&d->entry[i]) : DAD_ASSIGNED;
}

bool dad_may_use(const struct dad *d, const struct ip_addr *addr)
{
	for (unsigned int i = 0; i < count(d); i++)
		if (is_entry_of(&d->entry[i], addr) && state_of(&d->entry[i]) != DAD_ASSIGNED)
			return false;
	return true;
}

bool dad_has_standby(const struct dad *d)
{
	return atomic_load_explicit(&d->n_standby, memory_order_acquire) != 0;
}

bool dad_is_standby(const struct dad *d, const struct ip_addr *addr)
{
	if (!dad_has_standby(d))
		return false;
	for (unsigned int i = 0; i < count(d); i++)
		if (is_entry_of(&d->entry[i], addr) && is_standby(state_of(&d->entry[i])))
			return true;
	return false;
}

bool dad_is_standby_on(const struct dad *d, uint16_t port, const struct ip_addr *addr)
{
	return unlikely(dad_is_standby(d, addr)) && is_standby(dad_state(d, port, addr));
}

bool dad_may_hold(const struct dad *d)
{
	return atomic_load_explicit(&d->n_expected, memory_order_acquire) != 0 ||
	       dad_roles(d) % 2 == 1;
}

bool dad_is_expected(const struct dad *d, const struct ip_addr *addr)
{
	if (likely(atomic_load_explicit(&d->n_expected, memory_order_acquire) == 0))
		return false;
	for (unsigned int i = 0; i < count(d); i++)
		if (is_entry_of(&d->entry[i], addr) && state_of(&d->entry[i]) == DAD_EXPECTED)
			return true;
	return false;
}
