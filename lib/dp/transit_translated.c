// SPDX-License-Identifier: BSD-3-Clause
// The packets take their steps together, so that the memory of their ports comes at once, and their
// rules and policies are looked up at once.
#include "transit_translated.h"

#include "decide.h"
#include "flow_lookup.h"
#include "pkt_drop.h"
#include "transit_slow.h"
#include "translate.h"

#define TRIES 4 // while other workers make the packet's flow, or take its port

struct translated {
	struct pkt *p;
	struct flow_pkt *fp;
	struct flow *f; // as *flow of transit_slow_path()
	bool is_new;    // and may be translated
	struct translating translating;
	const struct nat_rule *rule; // for its source
	struct port_choice port;
	struct route_ends ends;
	struct policies found;
};

// --- steps ---

// First checks, and the destination of a new flow. Sets *through as transit_slow_begin().
static enum drop begin(struct worker *w, struct translated *t, bool *through)
{
	enum drop d;

	w->translating = &t->translating;
	t->p->sa_out = NULL;
	t->rule = NULL;
	t->port.rule = NULL;
	t->port.n = t->port.n_own = 0;
	if (t->f != NULL && translate_is_void(w, t->f)) {
		flow_remove(w->flows, w->id, t->f, w->now_ms);
		flow_pkt_leave(t->fp);
		t->f = NULL;
	}
	t->is_new = translate_begin(w, t->p, t->fp, t->f) && t->f == NULL;
	t->ends = forward_ends(w, t->p);
	d = transit_slow_begin(w, t->p, t->fp, &t->ends, t->f, through);
	w->translating = NULL;
	return d;
}

static void find_rules(struct worker *w, struct translated *const t[], uint16_t n)
{
	const struct nat_rule *found[RX_BURST_MAX];
	struct classifier_key key[RX_BURST_MAX];
	uint8_t at[RX_BURST_MAX];
	unsigned int asking = 0;

	for (uint16_t i = 0; i < n; i++) {
		w->translating = &t[i]->translating;
		if (t[i]->is_new && translate_asks_source(w, t[i]->p, &key[asking]))
			at[asking++] = (uint8_t)i;
	}
	if (asking > 0)
		nat_set_find_each(w->snapshot->nat, NAT_FROM, key, asking, found);
	for (unsigned int i = 0; i < asking; i++)
		t[at[i]]->rule = found[i];
}

static enum drop choose_source(struct worker *w, struct translated *t)
{
	return t->is_new ? translate_source(w, t->p, t->fp, t->rule, &t->port) : DROP_NONE;
}

static enum drop choose_port(struct worker *w, struct translated *t)
{
	return translate_port(w, t->p, t->fp, &t->port);
}

// Other ports, for packets whose own one seems in use: in two steps, as their memory is read in
// two.
static void look_for_ports(struct worker *w, struct translated *const t[], uint16_t n)
{
	for (uint16_t i = 0; i < n; i++) {
		w->translating = &t[i]->translating;
		translate_port_look(w, t[i]->p, t[i]->fp, &t[i]->port);
	}
	for (uint16_t i = 0; i < n; i++)
		translate_port_look_again(w, &t[i]->port);
}

// Drops a packet that gets no source or port.
static void refuse(struct worker *w, struct translated *t, enum drop d)
{
	w->translating = &t->translating;
	translate_count(w, t->p, d);
	w->translating = NULL;
	pkt_drop(w, t->p, d);
}

// Takes the step for each packet. Returns how many are left: the others are dropped.
static uint16_t for_each(struct worker *w, struct translated *t[], uint16_t n,
	enum drop (*step)(struct worker *w, struct translated *t))
{
	uint16_t kept = 0;

	for (uint16_t i = 0; i < n; i++) {
		enum drop d;

		w->translating = &t[i]->translating;
		d = step(w, t[i]);
		if (d == DROP_NONE)
			t[kept++] = t[i];
		else
			refuse(w, t[i], d);
	}
	return kept;
}

static void find_policies(struct worker *w, struct translated *const t[], uint16_t n)
{
	struct policy_search policies;

	policies.n = 0;
	for (uint16_t i = 0; i < n; i++) {
		w->translating = &t[i]->translating;
		policy_search_add(w, t[i]->p, t[i]->ends.back, &policies, &t[i]->found);
	}
	policy_search_end(w->snapshot, &policies);
}

// Source, port and policies. Returns as for_each().
static uint16_t prepare(struct worker *w, struct translated *t[], uint16_t n)
{
	find_rules(w, t, n);
	n = for_each(w, t, n, choose_source);
	look_for_ports(w, t, n);
	n = for_each(w, t, n, choose_port);
	find_policies(w, t, n);
	w->translating = NULL;
	return n;
}

// The rest of the slow path, and as that.
static enum drop pass(struct worker *w, struct translated *t)
{
	enum drop d = STALE;

	w->translating = &t->translating;
	if (t->f == NULL) // an earlier packet of this burst may have made it
		t->f = flow_find(w->flows, t->fp);
	// Before policies and rules count the packet.
	if (t->f != NULL || likely(!translate_port_is_lost(w, t->fp, &t->port)))
		d = transit_slow_path(w, t->p, t->fp, &t->f, &t->found);
	w->translating = NULL;
	return d;
}

// Evaluates a packet once more, whose flow or port another one has got meanwhile.
static void try_again(struct worker *w, struct translated *t)
{
	enum drop d = STALE;

	for (unsigned int i = 0; d == STALE && i < TRIES; i++) {
		bool through;

		if (t->f == NULL)
			t->f = flow_find(w->flows, t->fp);
		d = begin(w, t, &through);
		if (d != DROP_NONE)
			break;
		if (!through || prepare(w, &t, 1) == 0)
			return;
		d = pass(w, t);
	}
	if (d == STALE)
		refuse(w, t, DROP_NAT_PORTS);
	else if (d != DROP_NONE)
		pkt_drop(w, t->p, d);
}

// --- calls ---

void transit_translated(
	struct worker *w, struct flow *const flows[], const uint8_t place[], uint16_t n)
{
	struct translated t[RX_BURST_MAX], *kept[RX_BURST_MAX] = {NULL};
	const struct flow_pkt *new[RX_BURST_MAX];
	uint16_t n_kept = 0, n_new = 0;

	w->as_received = true;
	for (uint16_t i = 0; i < n; i++) {
		bool through;
		enum drop d;

		t[i].p = w->transit.p[place[i]];
		t[i].fp = &w->flow_pkt[place[i]];
		t[i].f = flows[place[i]];
		d = begin(w, &t[i], &through);
		if (d != DROP_NONE)
			pkt_drop(w, t[i].p, d);
		if (d != DROP_NONE || !through)
			continue;
		if (t[i].f == NULL)
			new[n_new++] = t[i].fp;
		kept[n_kept++] = &t[i];
	}
	flow_insert_prefetch(w->flows, new, n_new);
	n_kept = prepare(w, kept, n_kept);
	for (uint16_t i = 0; i < n_kept; i++) {
		enum drop d = pass(w, kept[i]);

		if (d == STALE)
			try_again(w, kept[i]);
		else if (d != DROP_NONE)
			pkt_drop(w, kept[i]->p, d);
	}
	w->as_received = false;
}

void transit_translated_again(struct worker *w, struct pkt *p, struct flow_pkt *fp, struct flow *f)
{
	w->as_received = true;
	try_again(w, &(struct translated){.p = p, .fp = fp, .f = f});
	w->as_received = false;
}
