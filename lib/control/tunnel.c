// SPDX-License-Identifier: BSD-3-Clause
#include "tunnel.h"

#include <stdlib.h>
#include <string.h>

#include "event_log.h"
#include "esp_probe.h"
#include "icmp.h"
#include "ike_tables.h"
#include "originate.h"
#include "peer_takeover.h"
#include "peers.h"
#include "policy_find.h"
#include "tunnel_state.h"

// Tunnels that one call of tunnels_tick() checks; with more, the next call continues after them.
#define TUNNELS_AT_ONCE 4096u
#define DUMMIES_AT_ONCE 512u // a worker's ring has room for them
#define DROPS_CHECK_MS  1000 // drops are summed less often: they are on other cache lines

static int compare_out(const void *a, const void *b)
{
	const struct spd_policy *const *p = a, *const *q = b;

	if ((*p)->out != (*q)->out)
		return (*p)->out < (*q)->out ? -1 : 1;
	return *p < *q ? -1 : *p > *q;
}

// Of the policies with one outbound SA the first posts events.
static void choose_posting(
	struct tunnels *t, const struct snapshot *s, const struct spd_policy **sorted)
{
	for (unsigned int i = 0; i < t->n; i++)
		sorted[i] = spd_at(s->spd, t->item[i].policy);
	qsort(sorted, t->n, sizeof(*sorted), compare_out);
	for (unsigned int i = 0; i < t->n; i++)
		if (i == 0 || sorted[i]->out != sorted[i - 1]->out ||
			spd_policy_is_routed(sorted[i]))
			tunnel_of_policy(t, (uint32_t)(sorted[i] - spd_at(s->spd, 0)))->posts =
				true;
}

bool tunnels_new(struct tunnels *t, const struct snapshot *s)
{
	unsigned int n = spd_count(s->spd);
	const struct spd_policy **sorted = calloc(n + 1, sizeof(struct spd_policy *));

	*t = (struct tunnels){.item = calloc(n + 1, sizeof(t->item[0]))};
	for (unsigned int i = 0; t->item != NULL && i < n; i++)
		if (spd_at(s->spd, i)->action == SPD_PROTECT)
			t->item[t->n++].policy = i;
	if (t->item != NULL && sorted != NULL)
		choose_posting(t, s, sorted);
	else
		tunnels_free(t);
	free(sorted);
	return t->item != NULL;
}

void tunnels_free(struct tunnels *t)
{
	free(t->item);
	*t = (struct tunnels){0};
}

// Without dummies and probes of the path MTU, which nobody answers.
static uint64_t sent_by(const struct sa *sa)
{
	uint64_t n = 0;

	for (unsigned int w = 0; w < sa->n_workers; w++)
		n += sa->per_worker[w].packets - sa->per_worker[w].dummies;
	return n;
}

// After since_ms; 0 if none was.
static uint64_t received_ms(const struct control *c, const struct spd_policy *p, uint64_t since_ms)
{
	const struct sa_in *in;
	uint64_t last = 0;

	for (unsigned int i = 0; (in = policy_receiver(c, p, i)) != NULL; i++)
		last = RTE_MAX(last, in->sa.seen_ms);
	return last > since_ms ? last : 0;
}

void tunnels_set(struct control *c, struct tunnels *t, const struct snapshot *s,
	const struct snapshot *before)
{
	for (unsigned int i = 0; i < t->n; i++) {
		struct tunnel *tunnel = &t->item[i];
		const struct spd_policy *p = spd_at(s->spd, tunnel->policy);
		const struct spd_policy *same =
			before != NULL ? policy_namesake(before->spd, p, tunnel->policy) : NULL;
		const struct tunnel *old =
			same != NULL ? tunnel_of_policy(&c->tunnels,
					       (uint32_t)(same - spd_at(before->spd, 0)))
				     : NULL;

		if (p->group != 0)
			spd_set_out(s->spd, p, ike_sender(c, p->group, 0));
		tunnel->sent = p->out != NULL ? sent_by(&p->out->sa) : 0;
		tunnel->since_ms = old != NULL ? old->since_ms : received_ms(c, p, 0);
		if (old != NULL) {
			tunnel->state = old->state;
			tunnel->down = old->down;
			tunnel->ordered_down = old->ordered_down;
			tunnel->life = old->life;
			tunnel->probes = old->probes;
			tunnel->probe_ms = old->probe_ms;
			tunnel->drops_ms = old->drops_ms;
			memcpy(tunnel->drops, old->drops, sizeof(tunnel->drops));
		}
	}
	free(c->tunnels.item);
	c->tunnels = *t;
}

void tunnels_keep_down(struct control *c, uint64_t now_ms)
{
	for (unsigned int i = 0; i < c->tunnels.n; i++) {
		struct tunnel *t = &c->tunnels.item[i];

		if (t->down != TUNNEL_NOT_DOWN)
			tunnel_state_check(c, t, spd_at(c->snapshot->spd, t->policy), now_ms);
	}
}

static const char *peer_format(char buf[IP_ADDR_STRLEN], const struct spd_policy *p)
{
	const struct ip_addr peer = peer_endpoint(&p->out->sa).addr;

	return ip_addr_is_none(&peer) ? "any" : ip_addr_format(buf, &peer);
}

static void post_state(const struct tunnel *t, const struct spd_policy *p, uint64_t now_ms)
{
	const struct event_value tunnel = EVENT_TEXT(p->name),
				 sa = EVENT_TEXT(p->out->sa.live.name);
	char peer[IP_ADDR_STRLEN];

	if (t->state == TUNNEL_UP)
		event_post(TUNNEL_UP, tunnel, sa, EVENT_TEXT(peer_format(peer, p)));
	else if (t->state == TUNNEL_STOPPED)
		event_post(TUNNEL_STOPPED, tunnel, sa, EVENT_TEXT(peer_format(peer, p)));
	else if (t->state == TUNNEL_FAILING)
		event_post(TUNNEL_FAILING, tunnel, sa, EVENT_TEXT(peer_format(peer, p)),
			EVENT_TEXT(drop_info[t->reason].name));
	else if (t->state == TUNNEL_SILENT)
		event_post(TUNNEL_SILENT, tunnel, sa, EVENT_TEXT(peer_format(peer, p)),
			EVENT_NUMBER(now_ms - t->life.unanswered_ms));
}

struct echo {
	struct ip_addr from, to;
	uint32_t number; // identifier and sequence number
};

static bool echo_make(struct sa_out *sa, struct rte_mbuf *m, void *arg)
{
	const struct echo *e = arg;

	rte_pktmbuf_append(
		m, icmp_echo_build(rte_pktmbuf_mtod(m, uint8_t *), &e->from, &e->to, e->number, 0));
	return esp_own_seal(sa, m);
}

static bool probe_send(struct control *c, struct tunnel *t, struct sa_out *sa, uint64_t now_ms)
{
	const struct ip_addr *to = &tunnel_probe(c, t)->addr;
	const struct spd_policy *policy = spd_at(c->snapshot->spd, t->policy);
	struct echo e = {.from = policy_source(c->snapshot, policy, ip_addr_family(to)),
		.to = *to,
		.number = t->policy << 16 | (uint16_t)(t->probes + 1)};

	return dad_may_use(c->dad, &e.from) && originate_by_sa(c, sa, echo_make, &e, now_ms);
}

// Received traffic makes a probe unnecessary.
static void probe(struct control *c, struct tunnel *t, struct sa_out *sa, uint64_t now_ms)
{
	const struct conf_probe *p = tunnel_probe(c, t);
	uint64_t last_ms = RTE_MAX(t->life.received_ms, t->probe_ms);

	if (sa == NULL || ip_addr_is_none(&p->addr) || now_ms - last_ms < p->interval_s * 1000 ||
		sa->sa.per_packet.stop != DROP_NONE)
		return;
	if (!probe_send(c, t, sa, now_ms))
		return;
	t->probes++;
	t->probe_ms = now_ms;
}

// A dummy is meant to be dropped. A packet that policy drops was counted as passed before.
static void counts_add(struct tunnel_counts *sum, const struct sa *sa)
{
	sum->passed += sent_by(sa);
	for (unsigned int w = 0; w < sa->n_workers; w++) {
		const uint64_t *drops = sa->per_worker[w].drops;

		sum->passed -= drops[DROP_OF_SA_SELECTOR] + drops[DROP_OF_SA_TUNNEL_SOURCE];
		for (unsigned int i = 0; i < DROP_OF_SA_COUNT; i++)
			sum->drops[i] += i != DROP_OF_SA_DUMMY ? drops[i] : 0;
	}
}

// Returns the reason for which the SAs of one direction drop everything; DROP_NONE: they do not.
static enum drop drops_check(struct control *c, struct tunnel *t, const struct spd_policy *p,
	uint32_t patience_ms, uint64_t now_ms)
{
	struct tunnel_counts counts[2] = {0};
	const struct sa_in *in;

	if (now_ms - t->drops_ms >= DROPS_CHECK_MS) {
		t->drops_ms = now_ms;
		counts_add(&counts[SA_OUT], &p->out->sa);
		for (unsigned int i = 0; (in = policy_receiver(c, p, i)) != NULL; i++)
			counts_add(&counts[SA_IN], &in->sa);
		for (enum sa_direction d = SA_IN; d <= SA_OUT; d++)
			tunnel_drops_note(&t->drops[d], &counts[d], patience_ms, now_ms);
	}
	for (enum sa_direction d = SA_IN; d <= SA_OUT; d++)
		if (tunnel_drops_all(&t->drops[d], patience_ms))
			return t->drops[d].reason;
	return DROP_NONE;
}

// A tunnel that carries nothing begins again with packets that are received after that.
static void tunnel_reset(struct tunnel *t, enum tunnel_state state)
{
	t->life = (struct tunnel_life){0};
	memset(t->drops, 0, sizeof(t->drops));
	t->reason = DROP_NONE;
	t->state = state;
}

static void tunnel_check(struct control *c, struct tunnel *t, const struct spd_policy *p,
	uint32_t patience_ms, uint64_t now_ms)
{
	const struct sa_out *out = p->out;
	enum tunnel_state before = t->state;
	uint64_t sent;

	if (out == NULL) { // IKE will add one
		tunnel_reset(t, t->down != TUNNEL_NOT_DOWN ? TUNNEL_DOWN
				: spd_policy_is_routed(p)  ? TUNNEL_STANDBY
							   : TUNNEL_NEVER);
		return;
	}
	peer_takeover_tick(c, p, now_ms);
	sent = sent_by(&out->sa);
	if (sa_stop_reason(&out->sa) == DROP_STANDBY) {
		tunnel_reset(t, t->down != TUNNEL_NOT_DOWN ? TUNNEL_DOWN : TUNNEL_STANDBY);
		t->sent = sent;
		t->since_ms = now_ms;
		return;
	}
	tunnel_life_note(
		&t->life, sent != t->sent, received_ms(c, p, t->since_ms), patience_ms, now_ms);
	t->sent = sent;
	t->reason = drops_check(c, t, p, patience_ms, now_ms);
	t->state = t->down != TUNNEL_NOT_DOWN   ? TUNNEL_DOWN
		   : out->sa.ended != DROP_NONE ? TUNNEL_STOPPED
		   : t->reason != DROP_NONE     ? TUNNEL_FAILING
						: t->life.state;
	if (t->state != before && t->posts)
		post_state(t, p, now_ms);
}

static void configured_check(struct control *c, struct tunnel *t, uint64_t now_ms)
{
	const struct spd_policy *p = spd_at(c->snapshot->spd, t->policy);

	if (spd_policy_is_routed(p))
		tunnel_state_check(c, t, p, now_ms);
	tunnel_check(c, t, p, tunnel_patience_ms(tunnel_probe(c, t)), now_ms);
	probe(c, t, p->out, now_ms);
}

void tunnels_tick(struct control *c, uint64_t now_ms)
{
	struct tunnels *t = &c->tunnels;

	t->dummies = DUMMIES_AT_ONCE;
	for (unsigned int i = 0; i < RTE_MIN(t->n, TUNNELS_AT_ONCE); i++)
		configured_check(c, &t->item[t->next++ % t->n], now_ms);
	for (unsigned int i = 0; i < RTE_MIN(c->ike.n_tunnels, TUNNELS_AT_ONCE); i++) {
		const struct spd_policy *p;
		struct tunnel *tunnel = ike_tunnel(c, c->ike.tunnel_next++ % c->ike.n_tunnels, &p);

		tunnel_check(c, tunnel, p, TUNNEL_PATIENCE_MS, now_ms);
	}
}
