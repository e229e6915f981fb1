// SPDX-License-Identifier: BSD-3-Clause
#include "dad.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#define TRANSMITS 1    // DupAddrDetectTransmits (RFC 4862 5.1)
#define RETRY_MS  1000 // RetransTimer (RFC 4861 10)

struct dad_addr {
	struct ip_addr addr;
	uint16_t port;
	_Atomic uint8_t state; // enum dad_state; written by control, read by workers
	uint8_t sent;          // from here on control only
	uint64_t next;
};

struct dad {
	struct dad_params p;
	unsigned int n;
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

int dad_add(struct dad *d, uint16_t port, const struct ip_addr *addr)
{
	if (d->n == d->p.max)
		return -ENOSPC;
	d->entry[d->n].addr = *addr;
	d->entry[d->n].port = port;
	d->n++;
	return 0;
}

// Index of the address, or d->n.
static unsigned int find(const struct dad *d, uint16_t port, const struct ip_addr *addr)
{
	unsigned int i = 0;

	while (i < d->n && (d->entry[i].port != port || !ip_addr_equal(&d->entry[i].addr, addr)))
		i++;
	return i;
}

static void decide(struct dad *d, struct dad_addr *a, enum dad_state state)
{
	atomic_store_explicit(&a->state, (uint8_t)state, memory_order_relaxed);
	d->p.decided(d->p.arg, a->port, &a->addr, state);
}

static bool is_tentative(const struct dad_addr *a)
{
	return atomic_load_explicit(&a->state, memory_order_relaxed) == DAD_TENTATIVE;
}

void dad_restart(struct dad *d, uint16_t port)
{
	for (unsigned int i = 0; i < d->n; i++) {
		struct dad_addr *a = &d->entry[i];

		if (a->port != port)
			continue;
		a->sent = 0;
		a->next = 0;
		atomic_store_explicit(&a->state, DAD_TENTATIVE, memory_order_relaxed);
	}
}

void dad_heard(struct dad *d, uint16_t port, const struct ip_addr *addr)
{
	unsigned int i = find(d, port, addr);

	// Who wants an address that we have is told so (RFC 4862 5.4.3); we keep it.
	if (i < d->n && is_tentative(&d->entry[i]))
		decide(d, &d->entry[i], DAD_DUPLICATE);
}

void dad_tick(struct dad *d, uint64_t now)
{
	for (unsigned int i = 0; i < d->n; i++) {
		struct dad_addr *a = &d->entry[i];

		if (!is_tentative(a) || now < a->next)
			continue;
		if (a->sent == TRANSMITS) {
			decide(d, a, DAD_ASSIGNED);
			continue;
		}
		a->sent++;
		a->next = now + RETRY_MS;
		d->p.solicit(d->p.arg, a->port, &a->addr);
	}
}

enum dad_state dad_state(const struct dad *d, uint16_t port, const struct ip_addr *addr)
{
	unsigned int i = find(d, port, addr);

	return i < d->n ? (enum dad_state)atomic_load_explicit(
				  &d->entry[i].state, memory_order_relaxed)
			: DAD_ASSIGNED;
}

bool dad_may_use(const struct dad *d, const struct ip_addr *addr)
{
	for (unsigned int i = 0; i < d->n; i++)
		if (ip_addr_equal(&d->entry[i].addr, addr) &&
			atomic_load_explicit(&d->entry[i].state, memory_order_relaxed) !=
				DAD_ASSIGNED)
			return false;
	return true;
}
