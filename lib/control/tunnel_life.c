// SPDX-License-Identifier: BSD-3-Clause
#include "tunnel_life.h"

const char *const tunnel_state_names[TUNNEL_STATES] = {
	[TUNNEL_NEVER] = "never",
	[TUNNEL_UP] = "up",
	[TUNNEL_SILENT] = "silent",
	[TUNNEL_FAILING] = "failing",
	[TUNNEL_STOPPED] = "stopped",
	[TUNNEL_DOWN] = "down",
	[TUNNEL_STANDBY] = "standby",
};

const char *const tunnel_down_names[TUNNEL_DOWNS] = {
	[TUNNEL_NOT_DOWN] = "-",
	[TUNNEL_DOWN_ORDER] = "command",
	[TUNNEL_DOWN_NO_SA] = "no_sa",
	[TUNNEL_DOWN_STOPPED] = "stopped",
	[TUNNEL_DOWN_PEER] = "peer_unknown",
	[TUNNEL_DOWN_LINK] = "link",
	[TUNNEL_DOWN_PROBE] = "probe",
};

static void note_sent(struct tunnel_life *l, uint32_t patience_ms, uint64_t now_ms)
{
	bool paused = l->state != TUNNEL_SILENT && now_ms - l->sent_ms > patience_ms;

	// A packet that stayed unanswered before a pause may not have needed an answer.
	if (l->unanswered_ms == 0 || paused)
		l->unanswered_ms = now_ms;
	l->sent_ms = now_ms;
	if (l->state == TUNNEL_UP && now_ms - l->unanswered_ms >= patience_ms)
		l->state = TUNNEL_SILENT;
}

void tunnel_life_note(struct tunnel_life *l, bool sent, uint64_t received_ms, uint32_t patience_ms,
	uint64_t now_ms)
{
	if (received_ms > l->received_ms) {
		l->received_ms = received_ms;
		l->unanswered_ms = 0;
		l->state = TUNNEL_UP;
		l->sent_ms = sent ? now_ms : l->sent_ms;
	} else if (sent) {
		note_sent(l, patience_ms, now_ms);
	}
}

// The reason whose counter has grown most; DROP_NONE: none has.
static enum drop most_dropped(const struct tunnel_counts *before, const struct tunnel_counts *now)
{
	enum drop most = DROP_NONE;
	uint64_t growth = 0;

	for (enum drop d = 1; d < DROP_COUNT; d++) {
		const enum drop_of_sa i = drop_info[d].of_sa;

		if (drop_info[d].scope != DROP_SCOPE_SA || now->drops[i] <= before->drops[i] ||
			now->drops[i] - before->drops[i] <= growth)
			continue;
		growth = now->drops[i] - before->drops[i];
		most = d;
	}
	return most;
}

void tunnel_drops_note(struct tunnel_drops *d, const struct tunnel_counts *counts,
	uint32_t patience_ms, uint64_t now_ms)
{
	const enum drop reason = most_dropped(&d->counts, counts);
	const bool passed = counts->passed != d->counts.passed;

	d->counts = *counts;
	if (passed) {
		d->since_ms = 0;
		return;
	}
	if (reason == DROP_NONE)
		return;
	if (d->since_ms == 0 ||
		(!tunnel_drops_all(d, patience_ms) && now_ms - d->last_ms > patience_ms))
		d->since_ms = now_ms;
	d->last_ms = now_ms;
	d->reason = reason;
}

bool tunnel_drops_all(const struct tunnel_drops *d, uint32_t patience_ms)
{
	return d->since_ms != 0 && d->last_ms - d->since_ms >= patience_ms;
}
