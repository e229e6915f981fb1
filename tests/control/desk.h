// SPDX-License-Identifier: BSD-3-Clause
// A control thread inside a test: lib/control with one worker, its ports and its clock replaced by
// the test. A test posts events, lets time pass, and checks frames sent, lines logged and events
// posted.
//
//   10.1.0.0/24, 2001:db8:1::/64 --[LAN] gateway [WAN]-- 192.0.2.0/24, 2001:db8:f::/64
//
// The gateway is .1 everywhere. The peers 192.0.2.2 and 2001:db8:f::2 have tunnels to 10.2.0.0/24
// and, with probes, to 2001:db8:2::/64; the peer to 10.3.0.0/24 is behind a NAT, its endpoint not
// known yet.
#pragma once

#include "addrs.h"
#include "control.h"
#include "harness.h"

enum { LAN, WAN };

extern const char *desk_routes; // more routes of all configurations, each with a comma in front
extern struct control desk;
extern uint64_t desk_now, desk_boot;  // milliseconds of both clocks
extern bool desk_link[3];             // whether it is up
extern uint32_t desk_active[3];       // which of its members are
extern bool desk_link_told[3];        // whether the control thread has requested it
extern struct counters desk_counters; // of other threads

extern uint64_t desk_heartbeat;    // of the worker
extern unsigned int desk_watchdog; // how often the watchdog was fed

extern int desk_collector;         // result of sending to the collector of flows
extern unsigned int desk_messages; // that were sent to it, or tried

extern char desk_announced[1024];          // the networks that it was given last, a line each,
extern unsigned int desk_announcements;    // how often it was,
extern void (*desk_at_announcement)(void); // a function that is called then; NULL: none

// Frames that the control thread has sent since the last call of desk_forget().
extern struct frame desk_sent[64];
extern unsigned int desk_n_sent;

// Setup and teardown of a test; the configuration is that above, without more settings.
int desk_begin(void **state);
int desk_end(void **state);

#define desk_test(f) cmocka_unit_test_setup_teardown(f, desk_begin, desk_end)

// Writes that configuration as a file, with more settings, at top level and of the SA "out-4".
void desk_conf_write(FILE *f, const char *more, const char *sa);

// The configuration above with more settings, at top level and of the SA "out-4".
struct conf *desk_conf(const char *more, const char *sa);

// Replaces the running configuration by such a one.
void desk_reload(const char *more, const char *sa);

// Replaces the running configuration, which it frees, by one of desk_conf().
void desk_replace(struct conf *conf);

// Forgets frames sent, events posted and lines logged until now.
void desk_forget(void);

// Lets that many milliseconds pass, with the work that is due every 100 of them.
void desk_wait(unsigned int ms);

// The worker begins a pass; ends it, so that it has no pointers of before, and begins the next.
void desk_worker_begins(void);
void desk_worker_passes(void);

// An event of a worker about a packet: handled at once.
void desk_event(struct event e);

// The next event is this, without its time: "event=link_up\tseverity=info\tport=wan".
void desk_expect_event(const char *event);
void desk_expect_no_event(void);

// A line with this in it has been logged since the last call of desk_forget(); or none has.
void desk_expect_log(const char *part);
void desk_expect_no_log(void);

// The running configuration, see running.h: SAs, and the worker's counters of one; the tunnel of a
// policy; the inbound SA with the SPI, or NULL; generations of everything, and of decisions about
// flows.
struct sa_out *desk_sa_out(const char *name);
struct sa_in *desk_sa_in(const char *name);
struct sa_per_worker *desk_sa_counted(const char *name);
const struct tunnel *desk_tunnel(const char *policy);
struct sa_in *desk_sa_by_spi(uint32_t spi);
const struct nexthop *desk_route(const struct ip_addr *to);
uint32_t desk_generation(void);
void desk_generation_set(uint32_t generation);
uint32_t desk_flow_generation(void);

// Another configuration is being loaded, or not any more.
void desk_loading(bool loading);

// Whether memory waits until no worker can use it.
bool desk_waits(void);
