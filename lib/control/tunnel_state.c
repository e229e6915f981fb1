// SPDX-License-Identifier: BSD-3-Clause
#include "tunnel_state.h"

#include <string.h>

#include "event_log.h"

struct tunnel *tunnel_of_policy(const struct tunnels *t, uint32_t policy)
{
	unsigned int from = 0, to = t->n;

	while (from < to) {
		unsigned int at = (from + to) / 2;

		if (t->item[at].policy == policy)
			return &t->item[at];
		if (t->item[at].policy < policy)
			from = at + 1;
		else
			to = at;
	}
	return NULL;
}

const struct conf_probe *tunnel_probe(const struct control *c, const struct tunnel *t)
{
	const struct conf *conf = c->conf;

	return t->policy < conf->n_policies ? &conf->policies[t->policy].probe
					    : &conf->tunnels[t->policy - conf->n_policies].probe;
}

uint32_t tunnel_patience_ms(const struct conf_probe *p)
{
	return RTE_MAX(TUNNEL_PATIENCE_MS, ip_addr_is_none(&p->addr) ? 0 : 2000 * p->interval_s);
}

// Without an answer to its probes a tunnel is down, also before the first one.
static bool probe_fails(const struct control *c, const struct tunnel *t, uint64_t now_ms)
{
	const struct conf_probe *probe = tunnel_probe(c, t);

	return !ip_addr_is_none(&probe->addr) && t->life.state != TUNNEL_UP &&
	       t->life.unanswered_ms != 0 &&
	       now_ms - t->life.unanswered_ms >= tunnel_patience_ms(probe);
}

static enum tunnel_down find_reason(
	const struct control *c, const struct tunnel *t, const struct sa_out *out, uint64_t now_ms)
{
	const struct nexthop *to = out != NULL ? sa_out_path(out)->nexthop : NULL;

	if (t->ordered_down)
		return TUNNEL_DOWN_ORDER;
	// Routes with skip must not lead elsewhere, in clear, while another gateway has the tunnel.
	if (out == NULL)
		return objects_are_standby(c->snapshot->objects) ? TUNNEL_NOT_DOWN
								 : TUNNEL_DOWN_NO_SA;
	if (sa_stop_reason(&out->sa) == DROP_STANDBY)
		return TUNNEL_NOT_DOWN;
	if (sa_has_ended(&out->sa))
		return TUNNEL_DOWN_STOPPED;
	if (to == NULL)
		return TUNNEL_DOWN_PEER;
	if (!c->links[to->iface].up)
		return TUNNEL_DOWN_LINK;
	return probe_fails(c, t, now_ms) ? TUNNEL_DOWN_PROBE : TUNNEL_NOT_DOWN;
}

void tunnel_state_check(
	struct control *c, struct tunnel *t, const struct spd_policy *p, uint64_t now_ms)
{
	const enum tunnel_down before = t->down;
	struct objects *o = c->snapshot->objects;
	struct sa_out *out = p->out, *into;

	t->down = find_reason(c, t, out, now_ms);
	into = t->down == TUNNEL_NOT_DOWN ? out : NULL;
	c->tunnels_changed |= (into == NULL) != (objects_out(o, p->number) == NULL);
	objects_out_set(o, p->number, into);
	if (t->down != TUNNEL_NOT_DOWN)
		t->state = TUNNEL_DOWN;
	if (t->down == before)
		return;
	if (t->down != TUNNEL_NOT_DOWN)
		event_post(TUNNEL_DOWN, EVENT_TEXT(p->name),
			EVENT_TEXT(out != NULL ? out->sa.live.name : ""),
			EVENT_TEXT(tunnel_down_names[t->down]));
	else if (out != NULL)
		event_post(TUNNEL_USABLE, EVENT_TEXT(p->name), EVENT_TEXT(out->sa.live.name));
}

void tunnel_state_sender(struct control *c, uint64_t group, struct sa_out *sa)
{
	struct spd *spd = c->snapshot->spd;
	const struct spd_policy *p = spd_find_group(spd, group);
	struct tunnel *t = p != NULL ? tunnel_of_policy(&c->tunnels, spd_place(spd, p)) : NULL;

	if (t == NULL)
		return;
	spd_set_out(spd, p, sa);
	if (sa != NULL)
		t->ask_ms = t->ask_again_ms = 0;
	tunnel_state_check(c, t, p, c->io->now_ms());
}

bool tunnel_state_order(struct control *c, const char *name, bool down, uint64_t now_ms)
{
	for (unsigned int i = 0; i < c->tunnels.n; i++) {
		struct tunnel *t = &c->tunnels.item[i];
		const struct spd_policy *p = spd_at(c->snapshot->spd, t->policy);

		if (!spd_policy_is_routed(p) || strcmp(p->name, name) != 0)
			continue;
		t->ordered_down = down;
		tunnel_state_check(c, t, p, now_ms);
		return true;
	}
	return false;
}
