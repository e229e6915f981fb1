// SPDX-License-Identifier: BSD-3-Clause
#include "fleet_traffic.h"

#include <inttypes.h>
#include <stdlib.h>

#include "die.h"

struct fleet_traffic {
	struct fleet_shared *shared;
	struct fleet_member_shared *own;
	uint64_t passed_ms;     // 0: there was no pass
	struct fleet_run **run; // by number of the SA; NULL: it has none
	unsigned int n_usable;
	uint32_t usable[]; // numbers of the SAs that may be used
};

struct fleet_traffic *fleet_traffic_new(
	const struct control *c, struct fleet_shared *shared, unsigned int member)
{
	unsigned int n = c->snapshot->control->n_sa;
	struct fleet_traffic *t = calloc(1, sizeof(*t) + n * sizeof(t->usable[0]));

	if (t != NULL)
		t->run = calloc(n, sizeof(t->run[0]));
	if (t == NULL || t->run == NULL)
		die("no memory for traffic");
	t->shared = shared;
	t->own = &shared->member[member];
	return t;
}

void fleet_traffic_follow(struct fleet_traffic *t, const struct control *c)
{
	const struct snapshot_control *s = c->snapshot->control;

	t->n_usable = 0;
	for (unsigned int i = 0; i < s->n_sa; i++)
		if (s->sa[i]->local_unusable == DROP_NONE)
			t->usable[t->n_usable++] = i;
}

static void count(struct fleet_traffic *t, enum fleet_count what, uint64_t n)
{
	atomic_fetch_add_explicit(&t->own->count[what], n, memory_order_relaxed);
}

static void run_note(struct fleet_traffic *t, unsigned int sa, uint64_t first, uint64_t last)
{
	struct fleet_run *r = t->run[sa];

	if (r != NULL && r->last + 1 == first) {
		r->last = last;
		return;
	}
	uint32_t i = atomic_fetch_add(&t->shared->n_runs, 1);

	if (i >= FLEET_BENCH_RUNS)
		die("more than %d runs of numbers", FLEET_BENCH_RUNS);
	r = t->run[sa] = &t->shared->run[i];
	r->sa = sa;
	r->first = first;
	r->last = last;
}

// As workers do: packets above the limit are dropped, and have numbers all the same.
static void out_pass(struct fleet_traffic *t, struct sa_out *sa, unsigned int i, uint32_t n)
{
	uint64_t limit = atomic_load(&sa->sa.per_packet.seq_limit);
	uint64_t first = sa_out_seq_alloc(sa, n);
	uint64_t used = RTE_MIN(first + n, RTE_MAX(limit + 1, first)) - first;

	if (used > 0)
		run_note(t, i, first, first + used - 1);
	count(t, COUNT_USED, used);
	count(t, COUNT_UNSAVED, n - used);
}

// A peer that is a Culvert leaves numbers out when this member has taken over.
static void peer_follow(struct fleet_traffic *t, struct fleet_peer *peer, uint64_t top, uint32_t n)
{
	while (peer->sent < top) {
		peer->sent += NUMBER_LEAP_ESN;
		count(t, COUNT_REPLAYED, n);
	}
}

static void in_pass(struct fleet_traffic *t, struct sa_in *sa, unsigned int i, uint32_t n)
{
	struct replay *w = &sa->sa.per_packet.replay;
	struct fleet_peer *peer = &t->shared->peer[i];
	uint64_t end = replay_end(w), last;

	// A packet that any member has accepted is accepted by no other one.
	if (peer->accepted != 0 && peer->accepted <= end && replay_check(w, peer->accepted))
		count(t, COUNT_TWICE, 1);
	peer_follow(t, peer, replay_top(w), n);
	last = peer->sent + n;
	if (last > end) {
		sa->sa.per_worker[0].above_end = last;
		count(t, COUNT_UNSAVED, RTE_MIN(last - end, (uint64_t)n));
	}
	if (peer->sent < end) {
		replay_commit(w, RTE_MIN(last, end));
		count(t, COUNT_ACCEPTED, RTE_MIN(last, end) - peer->sent);
		peer->accepted = RTE_MIN(last, end);
	}
	peer->sent = last;
}

void fleet_traffic_pass(struct fleet_traffic *t, const struct control *c, uint64_t now_ms)
{
	const struct snapshot_control *s = c->snapshot->control;
	uint64_t ms = t->passed_ms != 0 ? RTE_MIN(now_ms - t->passed_ms, UINT64_C(1000)) : 0;
	uint32_t share = t->shared->share, fast = t->shared->fast, slow = t->shared->slow;

	t->passed_ms = now_ms;
	for (unsigned int k = 0; k < t->n_usable; k++) {
		unsigned int i = t->usable[k];
		bool is_fast = i / 2 / c->groups.n % share == 0; // tunnels take turns of groups
		uint32_t n = (uint32_t)((is_fast ? fast : slow) * ms / 1000);

		if (n == 0)
			continue;
		if (s->sa[i]->opt.direction == SA_OUT)
			out_pass(t, sa_out_of(s->sa[i]), i, n);
		else
			in_pass(t, sa_in_of(s->sa[i]), i, n);
	}
}

static int compare(const void *a, const void *b)
{
	const struct fleet_run *x = a, *y = b;

	if (x->sa != y->sa)
		return x->sa < y->sa ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

bool fleet_runs_overlap(struct fleet_shared *shared)
{
	struct fleet_run *r = shared->run;

	qsort(r, shared->n_runs, sizeof(r[0]), compare);
	for (uint32_t i = 1; i < shared->n_runs; i++)
		if (r[i].sa == r[i - 1].sa && r[i].first <= r[i - 1].last && r[i].last != 0) {
			fprintf(stderr,
				"SA %" PRIu32 ": %" PRIu64 " to %" PRIu64 ", and %" PRIu64
				" to %" PRIu64 "\n",
				r[i].sa, r[i - 1].first, r[i - 1].last, r[i].first, r[i].last);
			return true;
		}
	return false;
}
