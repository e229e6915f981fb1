// SPDX-License-Identifier: BSD-3-Clause
#include "tunnel_life.h"

const char *const tunnel_state_names[TUNNEL_STATES] = {
	[TUNNEL_NEVER] = "never",
	[TUNNEL_UP] = "up",
	[TUNNEL_SILENT] = "silent",
	[TUNNEL_STOPPED] = "stopped",
};

static void note_sent(struct tunnel_life *l, uint32_t patience_ms, uint64_t now_ms)
{
	bool paused = l->state != TUNNEL_SILENT && now_ms - l->sent_ms > patience_ms;

	// What stayed unanswered before a pause need not have asked for an answer.
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
