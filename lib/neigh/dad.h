// SPDX-License-Identifier: BSD-3-Clause
// Whether an own address may be used: an IPv6 address once it is known to be free, by duplicate
// address detection (RFC 4862 5.4); an address of a group, which several gateways have, while this
// one is active. The control thread alone writes; workers only read the state of an address.
//
// Any station on the link can claim an address once with a forged advertisement, so that a
// duplicate is solicited again: after 5 seconds, then at intervals that double up to a minute. It
// is used if nobody claims it within a second.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"

enum dad_state {
	DAD_TENTATIVE, // not to be used yet
	DAD_ASSIGNED,
	DAD_DUPLICATE, // another station's: not used, and checked again
	DAD_STANDBY,   // of a group that another gateway answers for: not used, and never checked
	DAD_EXPECTED,  // as DAD_STANDBY, but answered for: its group is about to be active here
	DAD_REMOVED,   // no own address any more
};

struct dad;

struct dad_params {
	unsigned int max; // addresses
	// Sends a solicitation for addr, from none (::), on a port.
	void (*solicit)(void *arg, uint16_t port, const struct ip_addr *addr);
	// The state of the address has changed from was, to DAD_ASSIGNED or DAD_DUPLICATE.
	void (*decided)(void *arg, uint16_t port, const struct ip_addr *addr, enum dad_state was,
		enum dad_state state);
	void *arg;
};

// Control thread. Time is in milliseconds of a clock that never steps.

// Returns NULL with errno ENOMEM.
struct dad *dad_new(const struct dad_params *p);

// NULL is allowed.
void dad_free(struct dad *d);

// Adds an own address, tentative. An address may be added again only a grace period after it was
// removed. Returns 0 or -ENOSPC.
int dad_add(struct dad *d, uint16_t port, const struct ip_addr *addr);

// The address is one of a group: not checked, but DAD_ASSIGNED, DAD_STANDBY or DAD_EXPECTED, as the
// group is. It need not have been added; there is room as of dad_add().
void dad_group_set(struct dad *d, uint16_t port, const struct ip_addr *addr, enum dad_state state);

// The address is none of a group any more, if it was: of IPv6 one that was not used is checked.
void dad_group_unset(struct dad *d, uint16_t port, const struct ip_addr *addr);

// Removes one that was added; there may be none.
void dad_remove(struct dad *d, uint16_t port, const struct ip_addr *addr);

// Makes all addresses of a port but those of groups tentative again: it may be on another link now
// (RFC 4862 5.3).
void dad_restart(struct dad *d, uint16_t port);

// Another station claims addr: it has solicited for it from none (::), or advertised it.
void dad_claimed(struct dad *d, uint16_t port, const struct ip_addr *addr, uint64_t now);

// Solicits and decides. Call every 100 ms or so.
void dad_tick(struct dad *d, uint64_t now);

// Control thread. A change of roles begins, and is complete: also of SAs and flows, which follow
// addresses.
void dad_roles_begin(struct dad *d);
void dad_roles_end(struct dad *d);

// Any thread. A number that is another one after each change of addresses of groups; it is odd
// during a change of roles.
uint32_t dad_roles(const struct dad *d);

// Any thread. The state of an own address; DAD_ASSIGNED for an address that was not added.
enum dad_state dad_state(const struct dad *d, uint16_t port, const struct ip_addr *addr);

// Any thread. Whether an own address, of either family, may be a source address (RFC 4862 5.4): it
// is assigned, on every port that has it.
bool dad_may_use(const struct dad *d, const struct ip_addr *addr);

// Any thread. Whether any own address is DAD_STANDBY or DAD_EXPECTED; an address on any port; on
// this port; DAD_EXPECTED on any.
bool dad_has_standby(const struct dad *d);
bool dad_is_standby(const struct dad *d, const struct ip_addr *addr);
bool dad_is_standby_on(const struct dad *d, uint16_t port, const struct ip_addr *addr);
bool dad_is_expected(const struct dad *d, const struct ip_addr *addr);

// Any thread. Whether packets may have to be held (lib/dp/hold.h): an address is DAD_EXPECTED, or
// roles are being changed.
bool dad_may_hold(const struct dad *d);
