// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline.h"

#include <rte_esp.h>

#include "buffer.h"
#include "dummy.h"
#include "esp_in.h"
#include "esp_out.h"
#include "forward.h"
#include "fragment.h"
#include "handover.h"
#include "host.h"
#include "host_input.h"
#include "input.h"
#include "local.h"
#include "natt.h"
#include "output.h"
#include "pkt_drop.h"
#include "reassemble.h"
#include "sort.h"
#include "tracepoint.h"
#include "transit.h"

// Functions with the parameter traced are compiled twice, so that tracing costs nothing while it is
// off: pipeline_pass() chooses.

// Whether the packet has the destination of the SA, and is in UDP (RFC 3948) or not as the SA is.
static bool is_addressed_to(const struct sa_in *sa, const struct pkt *p)
{
	if (p->ip.v4)
		return sa->sa.v4_end == sa_v4_end(pkt_ip(p)->dst_addr, p->udp_port);

	struct ip_addr dst = ipv6_dst(pkt_ip6(p));

	return sa->sa.udp_port == p->udp_port && ip_addr_equal(&sa->sa.local, &dst);
}

static bool has_local_address(const struct sa_in *sa, const struct pkt *p)
{
	const struct ip_addr dst = pkt_dst(p);

	return ip_addr_equal(&sa->sa.local, &dst);
}

// An ESP packet without an SA: unless it is for the gateway, it is forwarded as any other.
static enum drop esp_without_sa(struct worker *w, struct pkt *p)
{
	enum drop d;

	if (p->sa_in != NULL && has_local_address(p->sa_in, p))
		return DROP_UDP_ENCAP;
	p->sa_in = NULL;
	d = forward_lookup(w, p);
	if (d != DROP_NONE)
		return d;
	if (natt_is_keepalive(w, p)) { // RFC 3948 2.3
		w->counters.keepalives_in++;
		return pkt_consume(w, p);
	}
	if (!pkt_is_local(p))
		return transit_add(w, p);
	return pkt_has_esp(p) ? DROP_NO_SA : DROP_FRAME_SHORT;
}

// Finds the SA of each packet by SPI (RFC 4303 3.4.2), once for a run, and prefetches what will be
// needed of it in two steps.
static __rte_always_inline void esp_find_sas(struct worker *w, struct burst *b)
{
	const struct sa_in *last = NULL;
	struct sa_in *found = NULL;
	rte_be32_t spi = 0; // that no SA has
	uint16_t n = 0;

	for (uint16_t i = 0; i < b->n; i++) {
		struct pkt *p = b->p[i];
		rte_be32_t next = likely(pkt_has_esp(p)) ? pkt_esp(p)->spi : 0;

		if (next != spi) {
			found = snapshot_find_in(w->snapshot, next);
			spi = next;
			if (likely(found != NULL)) {
				rte_prefetch0(found);
				rte_prefetch0(&found->replay);
			}
		}
		p->sa_in = found;
	}
	for (uint16_t i = 0; i < b->n; i++) {
		struct pkt *p = b->p[i];
		struct sa_in *sa = p->sa_in;

		if (likely(sa != NULL && is_addressed_to(sa, p))) {
			b->p[n++] = p;
			if (sa == last)
				continue;
			last = sa;
			rte_prefetch0(sa->sa.session);
			replay_prefetch(&sa->replay, rte_be_to_cpu_32(pkt_esp(p)->seq));
			__builtin_prefetch(&sa->sa.counters[w->id], 1);
			continue;
		}

		enum drop d = esp_without_sa(w, p);

		if (d != DROP_NONE)
			pkt_drop(w, p, d);
	}
	b->n = n;
}

// How many of n packets have a lower number than one that was accepted before.
static __rte_noinline uint16_t reordered_count(
	const uint64_t seq[], const bool accepted[], uint16_t n, uint64_t top)
{
	uint16_t count = 0;

	for (uint16_t i = 0; i < n; i++) {
		if (accepted[i] && seq[i] < top)
			count++;
		top = accepted[i] ? RTE_MAX(top, seq[i]) : top;
	}
	return count;
}

// RFC 4303 3.4.3: only an authenticated packet enters its number into the replay window, in one
// step for a run of packets of one SA.
static __rte_always_inline void esp_accept_seqs(const struct worker *w, const struct burst *b,
	const struct crypto_op op[], const uint64_t seq[], bool accepted[], uint16_t n)
{
	// Cryptography has evicted the windows from the nearest cache, and marking waits for each.
	for (uint16_t i = 1; i < n; i++)
		if (b->p[i]->sa_in != b->p[i - 1]->sa_in)
			replay_prefetch(&b->p[i]->sa_in->replay, seq[i]);
	for (uint16_t i = 0, end; i < n; i = end) {
		struct sa_in *sa = b->p[i]->sa_in;
		uint64_t top = replay_top(&sa->replay), last = top;
		bool in_order = true;

		accepted[i] = false;
		for (end = i; end < n && op[end].ok && b->p[end]->sa_in == sa; end++) {
			in_order &= seq[end] >= last;
			last = seq[end];
		}
		if (unlikely(end == i)) { // not authenticated
			end++;
			continue;
		}
		replay_commit_burst(&sa->replay, &seq[i], &accepted[i], (uint16_t)(end - i));
		if (unlikely(!in_order))
			sa->sa.counters[w->id].reordered +=
				reordered_count(&seq[i], &accepted[i], (uint16_t)(end - i), top);
	}
}

// The reason to drop a packet whose number the window does not accept. With a wrong key every
// packet of a peer that was restarted is one, and looks like a replay. So the ICV of one packet of
// each SA in a second, and of one of a worker in a millisecond, is checked: the reason
// distinguishes a forged packet from a repeated one. The window stays as it is.
static __rte_cold __rte_noinline enum drop replay_reason(
	struct worker *w, struct sa_in *sa, struct crypto_op *op)
{
	uint64_t *sa_next = &sa->sa.counters[w->id].replay_sample_next;

	if (w->now < *sa_next || w->now < w->replay_sample_next)
		return DROP_REPLAY;
	*sa_next = w->now + w->tsc_hz;
	w->replay_sample_next = w->now + w->tsc_hz / 1000;
	crypto_open(op, 1, w->id);
	return op->ok ? DROP_REPLAY : DROP_REPLAY_FORGED;
}

// Fragments of an ESP packet are no property of its inner packet. In transport mode they were
// fragments of that packet (RFC 4303 3.3.4), which only its source may fragment otherwise.
static __rte_always_inline void fragment_size_reset(struct pkt *p)
{
	if (unlikely(p->refrag_size != 0) && (p->sa_in->sa.opt.mode == SA_TUNNEL ||
						     rte_pktmbuf_data_len(p->m) <= p->refrag_size))
		p->refrag_size = 0;
}

// RFC 4303 3.4, inbound packet processing.
static __rte_always_inline void esp_in(struct worker *w, const bool traced)
{
	struct crypto_op op[RX_BURST_MAX];
	uint64_t seq[RX_BURST_MAX];
	bool accepted[RX_BURST_MAX]; // authenticated, and its number as well
	struct burst *b = &w->esp;
	uint16_t arrived = b->n, n = 0;

	esp_find_sas(w, b);
	if (traced)
		trace_burst(w, b, TRACE_SA_FOUND);
	for (uint16_t i = 0; i < b->n; i++) { // 3.4.3: sequence number verification
		struct pkt *p = b->p[i];
		enum drop d = esp_in_check(&op[n], p->sa_in, p->m, pkt_esp_off(p));

		if (likely(d == DROP_NONE)) {
			seq[n] = op[n].seq;
			b->p[n++] = p;
		} else if (d == DROP_REPLAY)
			pkt_drop(w, p, replay_reason(w, p->sa_in, &op[n]));
		else
			pkt_drop(w, p, d);
	}
	b->n = 0;
	stage_end(&w->stages, STAGE_ESP_CHECK, arrived);
	crypto_open(op, n, w->id); // 3.4.4: integrity check, decryption
	stage_end(&w->stages, STAGE_OPEN, n);
	esp_accept_seqs(w, b, op, seq, accepted, n);
	if (unlikely(w->n_udp > 0))
		natt_peers_check(w, seq, accepted, n);
	for (uint16_t i = 0; i < n; i++) {
		struct pkt *p = b->p[i];
		enum drop d = op[i].ok ? DROP_REPLAY : DROP_AUTH;

		if (likely(accepted[i]))
			d = esp_in_finish(&op[i], p->sa_in, p->m, &p->ip, w->id);
		if (unlikely(d != DROP_NONE)) {
			pkt_drop(w, p, d);
			continue;
		}
		fragment_size_reset(p);
		if (traced)
			trace_opened(w, p, op[i].seq);
		d = sort_packet(w, p);
		if (unlikely(d != DROP_NONE))
			pkt_drop(w, p, d);
	}
	stage_end(&w->stages, STAGE_ESP_FINISH, n);
}

static __rte_noinline void pipeline_in(struct worker *w)
{
	esp_in(w, false);
}

// Whether a packet that had too little room was encapsulated in another buffer.
static bool frame_in_larger(enum drop *d, struct crypto_op *op, struct worker *w, struct pkt *p,
	const struct sa_path *path, uint64_t seq)
{
	if (*d != DROP_NO_ROOM)
		return false;
	*d = buffer_flatten(w, &p->m);
	if (*d != DROP_NONE)
		return false;
	*d = esp_out_fns[path->framing](op, p->sa_out, path, p->m, seq, w->id);
	return *d == DROP_NONE;
}

static __rte_always_inline void output_stage(struct worker *w, struct burst *b, const bool traced)
{
	uint16_t n = b->n;

	output_burst(w, b);
	if (traced)
		trace_output(w, b, n);
}

static __rte_always_inline void seal_burst(struct worker *w, struct burst *b, const bool traced)
{
	struct crypto_op op[BURST_MAX];
	uint16_t n = 0;
	bool in_udp = false;

	for (uint16_t i = 0; i < b->n;) { // 3.3.3: sequence number generation, one step for a run
		struct sa_out *sa = b->p[i]->sa_out;
		uint16_t run = i;

		while (run < b->n && b->p[run]->sa_out == sa)
			run++;

		const struct sa_path *path = sa_out_path(sa);
		esp_out_fn frame = esp_out_fns[path->framing];
		const bool v4 = ip_is_v4(path->outer);
		uint64_t seq = sa_out_seq_alloc(sa, (uint32_t)(run - i));

		if (unlikely(path->framing != SA_FRAME_TUNNEL))
			in_udp |= sa->sa.udp_port != 0;
		for (; i < run; i++, seq++) {
			struct pkt *p = b->p[i];
			const uint16_t len = rte_pktmbuf_data_len(p->m);
			enum drop d = frame(&op[n], sa, path, p->m, seq, w->id); // 3.3.2

			p->nexthop = path->nexthop;
			if (likely(d == DROP_NONE) ||
				frame_in_larger(&d, &op[n], w, p, path, seq)) {
				p->ip.v4 = v4;
				if (traced)
					trace_sealed(w, p, seq, len);
				b->p[n++] = p;
			} else {
				pkt_drop(w, p, d);
			}
		}
	}
	b->n = n;
	stage_end(&w->stages, STAGE_FRAME, n);
	crypto_seal(op, n, w->id);
	stage_end(&w->stages, STAGE_SEAL, n);
	n = 0;
	for (uint16_t i = 0; i < b->n; i++) {
		struct pkt *p = b->p[i];

		if (unlikely(!op[i].ok)) {
			pkt_drop(w, p, DROP_CRYPTO_FAILED);
			continue;
		}
		b->p[n++] = p;
	}
	b->n = n;
	if (unlikely(in_udp))
		natt_udp_checksum(b);
	if (unlikely(w->n_large > 0))
		fragment_esp(w, b);
	n = b->n;
	do
		output_stage(w, b, traced);
	while (fragments_drain(w, FRAG_AFTER_ESP, b));
	stage_end(&w->stages, STAGE_OUTPUT, n);
}

// RFC 4303 3.3, outbound packet processing.
static __rte_always_inline void esp_out(struct worker *w, const bool traced)
{
	struct burst *b = &w->protect;
	uint16_t arrived = b->n;

	for (uint16_t i = 0; i < b->n; i++)
		if (i == 0 || b->p[i]->sa_out != b->p[i - 1]->sa_out)
			sa_path_prefetch(b->p[i]->sa_out, w->id);
	forward_burst(w, b);
	stage_end(&w->stages, STAGE_FIT, arrived);
	do
		seal_burst(w, b, traced);
	while (fragments_drain(w, FRAG_BEFORE_ESP, b));
}

static __rte_noinline void pipeline_out(struct worker *w)
{
	esp_out(w, false);
}

static __rte_always_inline void pipeline_forward(struct worker *w, const bool traced)
{
	struct burst *b = &w->forward;
	uint16_t n = b->n;

	forward_burst(w, b);
	stage_end(&w->stages, STAGE_FIT, n);
	n = b->n;
	do {
		if (traced)
			trace_burst(w, b, TRACE_FORWARD);
		output_stage(w, b, traced);
	} while (fragments_drain(w, FRAG_BEFORE_ESP, b));
	stage_end(&w->stages, STAGE_OUTPUT, n);
}

// A fragment that another worker has decapsulated. That worker's SA may be gone.
static void fragment_input(struct worker *w, struct rte_mbuf *m)
{
	struct pkt *p = pkt_new(w);
	enum drop d = DROP_NO_SA;

	*p = (struct pkt){.m = m, .port = m->port};
	p->sa_in = snapshot_find_in(w->snapshot, m->hash.usr);
	if (p->sa_in != NULL)
		d = sort_packet(w, p);
	else
		ip_layout_read(&p->ip, pkt_ip(p)); // for the audit log
	if (d != DROP_NONE)
		pkt_drop(w, p, d);
}

// Returns how many there were, n at most.
static uint16_t handed_input(struct worker *w, uint16_t n)
{
	struct rte_mbuf *m[RX_BURST_MAX];

	n = handover_dequeue(w, m, n);
	for (uint16_t i = 0; i < n; i++)
		fragment_input(w, m[i]);
	return n;
}

// What other threads have given the worker, as far as the pass has room beside n received packets.
static __rte_noinline void rings_input(struct worker *w, uint16_t n)
{
	n = (uint16_t)(RX_BURST_MAX - n);
	if (handover_pending(w))
		n = (uint16_t)(n - handed_input(w, n));
	if (host_pending(w))
		host_input(w, n);
}

static __rte_always_inline void pipeline_run(
	struct worker *w, struct rte_mbuf *const m[], uint16_t n, uint64_t now, const bool traced)
{
	w->snapshot = atomic_load_explicit(w->published, memory_order_acquire);
	w->now = now;
	w->now_ms = (uint32_t)(now / (w->tsc_hz / 1000));
	w->n_pkts = FRAGMENTS_MAX;
	w->n_large = 0;
	w->natt = w->snapshot->udp_ports != NULL;
	w->n_udp = 0;
	if (now >= w->next_tick) {
		w->next_tick = now + w->tsc_hz / 1000;
		output_held(w);
		reassembly_expire(w);
		flow_tick(w->flows, w->id, w->now_ms, w->flow_slice);
		dummies_add(w);
		if (traced)
			trace_originated(w, &w->protect);
		else
			w->tracing = atomic_load_explicit(&w->trace, memory_order_acquire);
	}
	if (n > 0 || handover_pending(w) || host_pending(w)) {
		w->counters.passes++;
		stages_begin(&w->stages);
		traced ? input_burst_traced(w, m, n) : input_burst(w, m, n);
		stage_end(&w->stages, STAGE_INPUT, n);
		traced ? esp_in(w, true) : pipeline_in(w);
		if (unlikely(handover_pending(w) || host_pending(w)))
			rings_input(w, n);
		n = w->transit.n;
		traced ? transit_burst_traced(w) : transit_burst(w);
		stage_end(&w->stages, STAGE_TRANSIT, n);
		n = w->local.n;
		if (traced)
			trace_burst(w, &w->local, TRACE_LOCAL);
		local_burst(w);
		stage_end(&w->stages, STAGE_LOCAL, n);
		traced ? esp_out(w, true) : pipeline_out(w);
		pipeline_forward(w, traced);
	} else if (w->protect.n > 0) { // dummies
		stages_begin(&w->stages);
		traced ? esp_out(w, true) : pipeline_out(w);
	}
	if (w->own.n > 0) { // no errors are sent about own packets, so once is enough
		if (traced)
			trace_burst(w, &w->own, TRACE_MADE);
		local_output(w);
		traced ? esp_out(w, true) : pipeline_out(w);
		pipeline_forward(w, traced);
	}
	if (unlikely(w->punted))
		host_wake(w);
	worker_mbufs_free(w);
}

static __rte_cold __rte_noinline void pipeline_run_traced(
	struct worker *w, struct rte_mbuf *const m[], uint16_t n, uint64_t now)
{
	if (!trace_pass_begin(w)) {
		pipeline_pass(w, m, n, now);
		return;
	}
	pipeline_run(w, m, n, now, true);
	trace_pass_end(w);
}

void pipeline_pass(struct worker *w, struct rte_mbuf *const m[], uint16_t n, uint64_t now)
{
	if (likely(w->tracing == NULL))
		pipeline_run(w, m, n, now, false);
	else
		pipeline_run_traced(w, m, n, now);
}

void pipeline_stop(struct worker *w)
{
	for (uint32_t i = 0; i < w->n_held; i++)
		pkt_drop(w, &(struct pkt){.m = w->held[i].p.m}, DROP_SHUTDOWN);
	w->n_held = 0;
	handover_stop(w);
	host_stop(w);
	reassembly_stop(w);
	worker_mbufs_free(w);
}
