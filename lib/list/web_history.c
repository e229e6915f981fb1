// SPDX-License-Identifier: BSD-3-Clause
#include "web_history.h"

#include "collect.h"

static void ports_count(
	struct device_counts count[], const struct control *c, const struct view_list *ports)
{
	struct ports_view v;

	for (unsigned int i = 0; i < CONF_PORTS_MAX && ports->collect(&v, c, i); i++)
		count[v.number] = v.counts;
}

static void sample_take(struct web_sample *s, const struct control *c,
	const struct view_list *ports, uint64_t now_ms)
{
	const struct counters counters = collect_counters(c);

	*s = (struct web_sample){.at_ms = now_ms, .rx = counters.rx, .tx = counters.tx};
	memcpy(s->drops, counters.drops, sizeof(s->drops));
	collect_tunnel_states(s->tunnels_in, c);
	ports_count(s->port, c, ports);
}

static void events_copy(struct web_history *h)
{
	while (event_log_read(&h->position, h->event[h->n_events % WEB_EVENTS]))
		h->n_events++;
}

void web_history_tick(
	struct web_history *h, struct control *c, const struct view_list *ports, uint64_t now_ms)
{
	bool due = now_ms >= h->next_ms;

	if (!due && h->position == event_log_end())
		return;
	pthread_mutex_lock(&c->lock);
	events_copy(h);
	if (due)
		sample_take(&h->sample[h->n++ % WEB_SAMPLES], c, ports, now_ms);
	pthread_mutex_unlock(&c->lock);
	if (due)
		h->next_ms = now_ms + WEB_SAMPLE_MS;
}
