// SPDX-License-Identifier: BSD-3-Clause
#include "audit_log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "audit.h"
#include "log.h"
#include "peers.h"
#include "retire.h"

#define AGAIN_MS     500  // between lines: workers report once a second each
#define PREFIXES_MAX 3    // of a list, beside the first
#define OVER_MS      2000 // without a line: log later events, or remove the subject

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
	append(l, "audit event=%s sa=%s", drop_info[reason].name, sa != NULL ? sa->live.name : "-");
}

// The first prefixes of a list, and how many more there are.
static void append_prefixes(struct line *l, const char *name, const struct ip_prefix *first,
	const struct ip_prefix *more, unsigned int n)
{
	char text[IP_PREFIX_STRLEN];

	append(l, " %s=%s", name, ip_prefix_format(text, first));
	for (unsigned int i = 0; i < n && i < PREFIXES_MAX; i++)
		append(l, ",%s", ip_prefix_format(text, &more[i]));
	if (n > PREFIXES_MAX)
		append(l, ",+%u", n - PREFIXES_MAX);
}

// The policy whose selectors a packet out of the SA has to match.
static void append_policy(struct line *l, const struct control *c, const struct sa *sa)
{
	const struct sa_in *in = (const struct sa_in *)sa; // which begins with it
	const struct spd_policy *p;

	for (unsigned int i = 0; (p = snapshot_policy_at(c->snapshot, i)) != NULL; i++) {
		if (!spd_receives(p, in))
			continue;
		append(l, " policy=%s", p->name);
		append_prefixes(l, "local", &p->local, p->more != NULL ? p->more->source : NULL,
			p->more != NULL ? p->more->n_source : 0);
		append_prefixes(l, "remote", &p->remote,
			p->more != NULL ? p->more->destination : NULL,
			p->more != NULL ? p->more->n_destination : 0);
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
static void append_peer(struct line *l, const char *name, const struct sa *sa)
{
	struct ip_addr peer = peer_endpoint(sa).addr;

	if (ip_addr_is_none(&peer))
		append(l, " %s=any", name);
	else
		append_addr(l, name, &peer);
}

// An inner packet: the ends of the tunnel are the SA's.
static void append_inner(struct line *l, const struct control *c, const struct event *e)
{
	bool out = e->reason == DROP_SEQUENCE_END;

	append(l, " spi=0x%08" PRIx32, rte_be_to_cpu_32(e->sa->spi));
	if (out) {
		append_addr(l, "tunnel_source", &e->sa->opt.local);
		append_peer(l, "tunnel_destination", e->sa);
	} else {
		append_peer(l, "tunnel_source", e->sa);
		append_addr(l, "tunnel_destination", &e->sa->opt.local);
	}
	if (!ip_addr_is_none(&e->addr))
		append_packet(l, e);
	if (!out)
		append_policy(l, c, e->sa);
}

// A packet that policy drops, without an SA.
static void append_clear(struct line *l, const struct control *c, const struct event *e)
{
	if (ip_addr_is_none(&e->addr))
		return;
	append(l, " port=%s", c->snapshot->port[e->port].name);
	append_packet(l, e);
}

static void append_outer(struct line *l, const struct event *e)
{
	append(l, " spi=0x%08" PRIx32, rte_be_to_cpu_32(e->spi));
	append_addr(l, "source", &e->addr);
	append_addr(l, "destination", &e->peer);
	append(l, " seq=%" PRIu32, rte_be_to_cpu_32(e->seq));
}

static void log_event(const struct control *c, const struct event *e, uint64_t more)
{
	struct line l;

	line_begin(&l, e->sa, e->reason);
	if (e->inner && e->sa != NULL)
		append_inner(&l, c, e);
	else if (e->inner)
		append_clear(&l, c, e);
	else
		append_outer(&l, e);
	if (!ip_addr_is_v4(&e->addr) && !ip_addr_is_none(&e->addr))
		append(&l, " flow=0x%05" PRIx32, e->flow_label);
	append(&l, " more=%" PRIu64, more);
	log_warn("%s", l.text);
}

static void log_rest(const struct audit_subject *s, uint64_t more)
{
	struct line l;

	line_begin(&l, s->sa, s->reason);
	append(&l, " more=%" PRIu64, more);
	log_warn("%s", l.text);
}

static uint64_t dropped_by(
	const struct control *c, unsigned int worker, const struct sa *sa, enum drop reason)
{
	return sa != NULL ? sa_dropped(&sa->per_worker[worker], reason)
			  : c->workers[worker]->counters.drops[reason];
}

static uint64_t dropped(const struct control *c, const struct audit_subject *s)
{
	uint64_t n = 0;

	for (unsigned int w = 0; w < c->conf->n_workers; w++)
		n += dropped_by(c, w, s->sa, s->reason);
	return n;
}

// Up to and with the packet of the event.
static uint64_t dropped_at(
	const struct control *c, const struct audit_subject *s, const struct event *e)
{
	return dropped(c, s) - (dropped_by(c, e->worker, s->sa, s->reason) - e->count);
}

static struct audit_subject *subject_find(struct control *c, const struct event *e)
{
	for (unsigned int i = 0; i < c->audit.n; i++)
		if (c->audit.subject[i].sa == e->sa && c->audit.subject[i].reason == e->reason)
			return &c->audit.subject[i];
	return NULL;
}

static void subject_remove(struct control *c, struct audit_subject *s)
{
	*s = c->audit.subject[--c->audit.n];
}

static bool has_sa(const struct snapshot *s, const struct sa *sa)
{
	const struct sa *at;

	for (unsigned int i = 0; (at = sa_list_at(&s->objects->sas, i)) != NULL; i++)
		if (at == sa)
			return true;
	return false;
}

void audit_event(struct control *c, const struct event *e, uint64_t now_ms)
{
	struct audit_subject *s;
	uint64_t at;

	if (!retire_keeps_sas(c, e->generation))
		return;
	s = subject_find(c, e);
	if (s == NULL && c->audit.n == AUDIT_SUBJECTS) {
		c->audit.suppressed++;
		return;
	}
	if (s == NULL) {
		s = &c->audit.subject[c->audit.n++];
		*s = (struct audit_subject){.sa = e->sa, .reason = e->reason};
		s->logged = dropped_at(c, s, e) - 1;
	} else if (now_ms - s->at_ms < AGAIN_MS) {
		return;
	}
	at = RTE_MAX(dropped_at(c, s, e), s->logged + 1);
	log_event(c, e, at - s->logged - 1);
	s->logged = at;
	s->at_ms = now_ms;
}

void audit_tick(struct control *c, uint64_t now_ms)
{
	for (unsigned int i = 0; i < c->audit.n;) {
		struct audit_subject *s = &c->audit.subject[i];
		uint64_t n = dropped(c, s);

		if (now_ms - s->at_ms < OVER_MS) {
			i++;
		} else if (n > s->logged) {
			log_rest(s, n - s->logged);
			s->logged = n;
			s->at_ms = now_ms;
			i++;
		} else {
			subject_remove(c, s);
		}
	}
	if (c->audit.suppressed > 0 && now_ms - c->audit.suppressed_ms >= 1000) {
		log_warn("audit: %u events suppressed, more than %d SAs and reasons at once",
			c->audit.suppressed, AUDIT_SUBJECTS);
		c->audit.suppressed = 0;
		c->audit.suppressed_ms = now_ms;
	}
}

// Logs the rest about it.
static void subject_end(struct control *c, struct audit_subject *s)
{
	uint64_t n = dropped(c, s);

	if (n > s->logged)
		log_rest(s, n - s->logged);
	subject_remove(c, s);
}

void audit_retire(struct control *c)
{
	for (unsigned int i = 0; i < c->audit.n;) {
		struct audit_subject *s = &c->audit.subject[i];

		if ((s->sa == NULL || has_sa(c->snapshot, s->sa)) &&
			audit_wants(c->snapshot->audit, s->reason))
			i++;
		else
			subject_end(c, s);
	}
}

void audit_forget(struct control *c, const struct sa *sa)
{
	for (unsigned int i = 0; i < c->audit.n;)
		if (c->audit.subject[i].sa == sa)
			subject_end(c, &c->audit.subject[i]);
		else
			i++;
}
