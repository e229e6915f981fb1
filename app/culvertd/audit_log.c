// SPDX-License-Identifier: BSD-3-Clause
#include "audit_log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "audit.h"
#include "collect.h"
#include "log.h"

#define SUBJECTS 64   // told of at once: so many lines in a second, twice at most
#define AGAIN_MS 500  // between lines: workers tell once a second each
#define OVER_MS  2000 // without a line: tell what has followed, or forget

// An SA and a reason that the log was told of lately.
struct subject {
	const struct sa *sa; // NULL: no SA
	enum drop reason;
	uint64_t at_ms; // of the last line
	uint64_t told;  // packets dropped up to it
};

static struct {
	struct subject subject[SUBJECTS];
	unsigned int n;
	unsigned int left_out; // events for which there was no room
	uint64_t left_out_ms;  // when that was told last
} audit;

struct line {
	size_t len;
	char text[768];
};

static void append(struct line *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void append(struct line *l, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(l->text + l->len, sizeof(l->text) - l->len, fmt, ap);
	va_end(ap);
	l->len = RTE_MIN(l->len + (size_t)n, sizeof(l->text) - 1);
}

static void append_addr(struct line *l, const char *name, const struct ip_addr *a)
{
	char text[IP_ADDR_STRLEN];

	append(l, " %s=%s", name, ip_addr_format(text, a));
}

static void line_begin(struct line *l, const struct sa *sa, enum drop reason)
{
	l->len = 0;
	append(l, "audit event=%s sa=%s", drop_info[reason].name, sa != NULL ? sa->name : "-");
}

// The policy whose selectors a packet out of the SA has to match.
static void append_policy(struct line *l, const struct gateway *g, const struct sa *sa)
{
	const struct sa_in *in = (const struct sa_in *)sa; // which begins with it
	char local[IP_PREFIX_STRLEN], remote[IP_PREFIX_STRLEN];

	for (unsigned int i = 0; i < spd_count(g->snapshot->spd); i++) {
		const struct spd_policy *p = spd_at(g->snapshot->spd, i);

		if (!spd_receives(p, in))
			continue;
		append(l, " policy=%s local=%s remote=%s", p->name,
			ip_prefix_format(local, &p->local), ip_prefix_format(remote, &p->remote));
		return;
	}
}

static void append_packet(struct line *l, const struct event *e)
{
	append_addr(l, "source", &e->addr);
	append_addr(l, "destination", &e->peer);
	append(l, " proto=%u source_port=%u destination_port=%u", e->proto,
		rte_be_to_cpu_16(e->addr_port), rte_be_to_cpu_16(e->peer_port));
}

// As far as it is known.
static void append_peer(struct line *l, const char *name, const struct sa *sa, bool out)
{
	struct ip_addr peer = collect_peer(sa, out).addr;

	if (ip_addr_is_none(&peer))
		append(l, " %s=any", name);
	else
		append_addr(l, name, &peer);
}

// An inner packet: the ends of the tunnel are the SA's.
static void append_inner(struct line *l, const struct gateway *g, const struct event *e)
{
	bool out = e->reason == DROP_SEQUENCE_END;

	append(l, " spi=0x%08" PRIx32, rte_be_to_cpu_32(e->sa->spi));
	if (out) {
		append_addr(l, "tunnel_source", &e->sa->local);
		append_peer(l, "tunnel_destination", e->sa, out);
	} else {
		append_peer(l, "tunnel_source", e->sa, out);
		append_addr(l, "tunnel_destination", &e->sa->local);
	}
	if (!ip_addr_is_none(&e->addr))
		append_packet(l, e);
	if (!out)
		append_policy(l, g, e->sa);
}

// A packet that policy drops, which no SA is about.
static void append_clear(struct line *l, const struct gateway *g, const struct event *e)
{
	if (ip_addr_is_none(&e->addr))
		return;
	append(l, " port=%s", g->snapshot->port[e->port].name);
	append_packet(l, e);
}

static void append_outer(struct line *l, const struct event *e)
{
	append(l, " spi=0x%08" PRIx32, rte_be_to_cpu_32(e->spi));
	append_addr(l, "source", &e->addr);
	append_addr(l, "destination", &e->peer);
	append(l, " seq=%" PRIu32, rte_be_to_cpu_32(e->seq));
}

static void tell(const struct gateway *g, const struct event *e, uint64_t more)
{
	struct line l;

	line_begin(&l, e->sa, e->reason);
	if (e->inner && e->sa != NULL)
		append_inner(&l, g, e);
	else if (e->inner)
		append_clear(&l, g, e);
	else
		append_outer(&l, e);
	if (!ip_addr_is_v4(&e->addr) && !ip_addr_is_none(&e->addr))
		append(&l, " flow=0x%05" PRIx32, e->flow_label);
	append(&l, " more=%" PRIu64, more);
	log_warn("%s", l.text);
}

static void tell_rest(const struct subject *s, uint64_t more)
{
	struct line l;

	line_begin(&l, s->sa, s->reason);
	append(&l, " more=%" PRIu64, more);
	log_warn("%s", l.text);
}

static uint64_t dropped_by(
	const struct gateway *g, unsigned int worker, const struct sa *sa, enum drop reason)
{
	return sa != NULL ? sa->counters[worker].drops[reason]
			  : g->loops[worker]->worker->counters.drops[reason];
}

static uint64_t dropped(const struct gateway *g, const struct subject *s)
{
	uint64_t n = 0;

	for (unsigned int w = 0; w < g->conf->n_workers; w++)
		n += dropped_by(g, w, s->sa, s->reason);
	return n;
}

// Up to and with the packet that a worker tells of.
static uint64_t dropped_at(const struct gateway *g, const struct subject *s, const struct event *e)
{
	return dropped(g, s) - (dropped_by(g, e->worker, s->sa, s->reason) - e->count);
}

static struct subject *find(const struct event *e)
{
	for (unsigned int i = 0; i < audit.n; i++)
		if (audit.subject[i].sa == e->sa && audit.subject[i].reason == e->reason)
			return &audit.subject[i];
	return NULL;
}

static void forget(struct subject *s)
{
	*s = audit.subject[--audit.n];
}

static bool has_sa(const struct snapshot *s, const struct sa *sa)
{
	for (unsigned int i = 0; i < s->n_sa_out; i++)
		if (&s->sa_out[i]->sa == sa)
			return true;
	for (unsigned int i = 0; i < s->n_sa_in; i++)
		if (&s->sa_in[i]->sa == sa)
			return true;
	return false;
}

// SAs of other generations may be gone.
static bool is_there(const struct gateway *g, uint32_t generation)
{
	return generation == g->snapshot->generation ||
	       (g->retired != NULL && generation == g->retired->generation);
}

void audit_event(const struct gateway *g, const struct event *e, uint64_t now_ms)
{
	struct subject *s;
	uint64_t at;

	if (!is_there(g, e->generation))
		return;
	s = find(e);
	if (s == NULL && audit.n == SUBJECTS) {
		audit.left_out++;
		return;
	}
	if (s == NULL) {
		s = &audit.subject[audit.n++];
		*s = (struct subject){.sa = e->sa, .reason = e->reason};
		s->told = dropped_at(g, s, e) - 1;
	} else if (now_ms - s->at_ms < AGAIN_MS) {
		return;
	}
	at = RTE_MAX(dropped_at(g, s, e), s->told + 1);
	tell(g, e, at - s->told - 1);
	s->told = at;
	s->at_ms = now_ms;
}

void audit_tick(const struct gateway *g, uint64_t now_ms)
{
	for (unsigned int i = 0; i < audit.n;) {
		struct subject *s = &audit.subject[i];
		uint64_t n = dropped(g, s);

		if (now_ms - s->at_ms < OVER_MS) {
			i++;
		} else if (n > s->told) {
			tell_rest(s, n - s->told);
			s->told = n;
			s->at_ms = now_ms;
			i++;
		} else {
			forget(s);
		}
	}
	if (audit.left_out > 0 && now_ms - audit.left_out_ms >= 1000) {
		log_warn("audit: %u events suppressed, more than %d SAs and reasons at once",
			audit.left_out, SUBJECTS);
		audit.left_out = 0;
		audit.left_out_ms = now_ms;
	}
}

void audit_retire(const struct gateway *g)
{
	for (unsigned int i = 0; i < audit.n;) {
		struct subject *s = &audit.subject[i];
		uint64_t n = dropped(g, s);

		if ((s->sa == NULL || has_sa(g->snapshot, s->sa)) &&
			audit_wants(g->snapshot->audit, s->reason)) {
			i++;
			continue;
		}
		if (n > s->told)
			tell_rest(s, n - s->told);
		forget(s);
	}
}
