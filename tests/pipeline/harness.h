// SPDX-License-Identifier: BSD-3-Clause
// A whole gateway inside a test: a configuration as text becomes a worker with its snapshot. The
// test gives it frames, and checks the frames that it sends and its counters. Time advances only by
// the test.
//
// Every pass checks the conservation rule, and that frames sent could be transmitted by a port; at
// the end of every test all packet buffers have to be free.
#pragma once

#include "build.h"
#include "icmp.h"
#include "packet.h"
#include "pipeline.h"
#include "running.h"
#include "test.h"

#define SENT_MAX 2000

#define TSC_HZ          1000000 // time is in microseconds
#define HARNESS_WORKERS 4

struct rte_rcu_qsbr;
struct trace;
struct trace_filter;

struct gateway {
	struct gateway *first; // itself, or the gateway whose second worker this is
	// Of the first gateway: NULL in the other.
	struct conf *conf;
	struct snapshot *snapshot;
	struct flow_table *flows;
	struct snapshot *_Atomic published;
	struct rte_rcu_qsbr *qsbr; // of workers that run beside the test; NULL: none does
	// Of each.
	struct worker *w;
	uint64_t now;
	struct trace *trace;  // NULL: no trace
	bool blocked;         // ports accept nothing
	struct counters last; // counters of the last pass
	unsigned int n_sent;  // frames sent by the last pass
	struct frame sent[SENT_MAX];
	struct rte_ring *from_host, *to_host; // behind one port; NULL: there is none
	unsigned int n_punted, wakes;         // to the host, by the last pass
	struct frame punted[RX_BURST_MAX];
};

extern struct rte_mempool *harness_pool, *harness_large_pool;
extern struct neigh_table *harness_neigh; // neighbours of all gateways
extern struct dad *harness_dad; // the same; all addresses that a test does not add are assigned

// Solicits a neighbour, as in struct neigh_params. NULL: nothing is sent.
extern void (*harness_solicit)(
	uint16_t port, const struct ip_addr *addr, const struct rte_ether_addr *to);

#define HARNESS_HOLD_MAX 200

extern uint32_t harness_hold_max;       // packet buffers of a worker for expected groups: the same
extern uint32_t harness_reassembly_max; // datagrams that can be held on each side: 64

// Setup and teardown of the group of tests, and of each test. For programs that are not of cmocka,
// they return 0 or -1.
int harness_start(void **state);
int harness_start_jumbo(void **state); // for ports of up to 9000 octets
int harness_stop(void **state);
int harness_test_begin(void **state);
int harness_test_end(void **state);

#define pipeline_test(f) cmocka_unit_test_setup_teardown(f, harness_test_begin, harness_test_end)

// Reads a configuration from text. NULL, with the mistakes in errors, if it is invalid.
struct conf *harness_conf(const char *text, size_t len, FILE *errors);

// Makes a gateway. Those of one test have different ids, below HARNESS_WORKERS.
struct gateway *gateway_new(unsigned int id, const char *conf);

// The second worker of a gateway, to be freed before it. Tests run it in turn with the first.
struct gateway *gateway_second(struct gateway *first, unsigned int id);

// Makes workers of one gateway share the work of tunnels (fanout.h). w has room for n pointers, and
// belongs to the test until they are freed.
void gateways_share(struct gateway *const g[], struct worker *w[], unsigned int n);

// Such a worker receives n frames: ESP packets go into its lane, if that has room, the rest is
// processed. It works for others' lanes, one burst, and for its own. True: there was something to
// do. Frames sent are in g->sent.
void gateway_receive(struct gateway *g, const struct frame in[], unsigned int n);
bool gateway_help(struct gateway *g);
bool gateway_keep(struct gateway *g);

// Replaces the running configuration by another one, which the caller keeps.
void gateway_reload(struct gateway *g, struct conf *conf);

// Makes the gateway use a snapshot from its next pass on. The caller owns the previous one.
void gateway_publish(struct gateway *g, struct snapshot *s);

// Stops the worker first, which drops the packets that it holds.
void gateway_free(struct gateway *g);

// One pass with n frames, at most RX_BURST_MAX.
void gateway_pass(struct gateway *g, const struct frame in[], unsigned int n);

// The same with buffers made by the test.
void gateway_pass_mbufs(struct gateway *g, struct rte_mbuf *m[], unsigned int n);

// The same, but ports accept nothing: the packets to be sent stay, until gateway_take().
void gateway_pass_blocked(struct gateway *g, const struct frame in[], unsigned int n);
void gateway_take(struct gateway *g);

// A frame in a buffer; at its end, so that the address sanitizer detects reads beyond it.
struct rte_mbuf *frame_mbuf(const struct frame *f);

// The same with n frames.
static inline void frame_mbufs(struct rte_mbuf *m[], const struct frame in[], unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		m[i] = frame_mbuf(&in[i]);
}
struct rte_mbuf *frame_mbuf_at_end(const struct frame *f);

// The running configuration of the gateway, see running.h; and counts of decisions of its worker.
struct sa_in *gateway_sa_in(const struct gateway *g, const char *name);
struct sa_out *gateway_sa_out(const struct gateway *g, const char *name);
const struct spd_policy *gateway_policy(const struct gateway *g, const char *name);
struct decided gateway_policy_decided(const struct gateway *g, const char *name);
struct decided gateway_rule_decided(const struct gateway *g, const char *name);
const struct sa_per_worker *gateway_sa_counted(const struct gateway *g, const char *name);
const struct nexthop *gateway_route(const struct gateway *g, const struct ip_addr *to);

// Look-ups of policies: one by each packet that took the slow path.
uint64_t gateway_lookups(const struct gateway *g);

// The generation of all that, and of decisions about flows; and the next one, as if it had changed.
uint32_t gateway_generation(const struct gateway *g);
uint32_t gateway_flow_generation(const struct gateway *g);
void gateway_generation_next(struct gateway *g);

// Puts a host behind a port: the next pass takes the frames that it sends by gateway_host_sends().
// Hosts of tunnels have the numbers from PORTS_MAX on. since: its generation; else that of the
// snapshot.
void gateway_host_add(struct gateway *g, uint16_t port);
void gateway_host_sends(struct gateway *g, const struct frame *f);
void gateway_host_sends_since(struct gateway *g, const struct frame *f, uint32_t since);
void gateway_host_pass(struct gateway *g, struct frame f); // and that pass

// Moves packets for the host into g->punted. Each pass does.
void gateway_take_punted(struct gateway *g);

// One frame: must be sent as one frame by the port, which is returned.
const struct frame *gateway_expect_sent(struct gateway *g, const struct frame *in, uint16_t port);

// One frame: must be dropped for the reason. The ICMP error sent about it is in g->sent.
void gateway_expect_drop(struct gateway *g, const struct frame *in, enum drop reason);

// One frame: must be given to the host unchanged.
void gateway_expect_punted(struct gateway *g, struct frame in);

// The last pass dropped n packets for the reason, and none for another.
void expect_drops(const struct gateway *g, enum drop reason, unsigned int n);

// The last pass sent n frames, all by the port.
void expect_all_sent(const struct gateway *g, unsigned int n, uint16_t port);

// The octets are an ICMP error about the packet, from and to these addresses.
void expect_error(const uint8_t *packet, uint16_t len, struct icmp_error error, const char *from,
	const char *to, const struct frame *about);

// One event is queued, of this kind and about the address. expect_no_event(): none is queued.
void expect_event(struct gateway *g, enum event_kind kind, uint16_t port, const char *addr);
void expect_no_event(struct gateway *g);

// Traces the next packets; all of them, if filter is NULL. If CULVERT_TEST_TRACED is set, all
// packets of every gateway are traced from the start, which must not change any result.
void gateway_trace(struct gateway *g, const struct trace_filter *filter, uint32_t packets);

// Passes without frames, a millisecond apart, until one sends or drops something or the time is
// over.
void gateway_wait(struct gateway *g, uint64_t microseconds);
