// SPDX-License-Identifier: BSD-3-Clause
// Requests of an IKE daemon to the control thread of desk.h, and the contents of lists then. Names
// begin with "ike.", which the functions that add leave out.
#pragma once

#include "desk.h"
#include "view.h"

#define CONFIGURED_SAS      6
#define CONFIGURED_POLICIES 3

int ike_desk_end(void **state);

#define ike_desk_test(f) cmocka_unit_test_setup_teardown(f, desk_begin, ike_desk_end)

// Adds changes to the next request; the key of an SA follows from its SPI. A pair, NAME.in and
// NAME.out, has the SPIs spi and spi + 1.
void __attribute__((format(printf, 1, 2))) ask_add(const char *fmt, ...);
void ask_sa(const char *name, const char *direction, unsigned int spi, uint32_t reqid,
	const char *more);
void ask_pair(const char *name, unsigned int spi, uint32_t reqid);
void ask_policy(const char *name, const char *remote, uint32_t reqid, const char *more);

// Makes the request: it is done; or it is refused, with this answer.
void ask_done(void);
void ask_refused(const char *why);

#define ask_now(...) (ask_add(__VA_ARGS__), ask_done())

// Contents of lists. An SA is not listed twice.
bool listed_sa(const char *name);
unsigned int listed_sas(void), listed_policies(void), listed_tunnels(void);
const struct spd_policy *listed_policy(const char *name);
struct tunnels_view listed_tunnel(const char *name);

// Nothing of IKE is left; or at least nothing that is counted of its peers.
void expect_only_configured(void);
void expect_no_peers(void);

// SAs of IKE that workers may use, and tunnels of its policies.
unsigned int ike_sas(void);
unsigned int ike_tunnels(void);

// As if there were n SAs more, or fewer.
void ike_sas_pretend(int n);

// The policy that decides about a packet, or NULL; slots of the table
// that it is in.
const struct spd_policy *ike_policy_for(const struct classifier_key *packet);
unsigned int ike_policy_slots(void);

// Both places from which workers take the sender of a policy have this SA.
void expect_sender(const char *of, const char *sa);

// Frees objects that wait for workers, unless they may use them; all, when they have stopped.
void desk_tick(void);
void desk_settle(void);
