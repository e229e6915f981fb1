// SPDX-License-Identifier: BSD-3-Clause
#include "path_search.h"

void path_search_begin(
	struct path_search *s, uint16_t size, uint32_t spi, uint64_t last_seq, uint64_t now_ms)
{
	s->size = size;
	s->probes = 0;
	s->quiet = false;
	s->spi = spi;
	s->above = last_seq;
	s->id = s->len = 0;
	s->guesses = 0;
	s->due_ms = now_ms;
}

void path_search_probed(struct path_search *s, uint16_t id, uint16_t len, uint64_t now_ms)
{
	s->probes++;
	s->id = id;
	s->len = len;
	s->due_ms = now_ms + PATH_ANSWER_MS;
}

// Whether the quote is of the last probe, as far as a quote without SPI shows.
static bool is_of_probe(struct path_search *s, const struct path_quote *q)
{
	if (q->len != s->len || s->guesses == PATH_GUESSES)
		return false;
	if (q->id == s->id)
		return true;
	s->guesses++;
	return false;
}

bool path_search_is_answer(struct path_search *s, const struct path_quote *q)
{
	if (s->size == 0 || s->probes == 0)
		return false;
	if (q->spi == 0)
		return is_of_probe(s, q);
	return q->spi == s->spi && q->seq - (uint32_t)s->above - 1 < UINT32_MAX / 2;
}

static enum path_result end(
	struct path_search *s, uint32_t wait_ms, uint64_t now_ms, enum path_result result)
{
	s->size = 0;
	s->quiet = result == PATH_REFUTED;
	s->wait_ms = wait_ms;
	s->due_ms = now_ms + wait_ms;
	return result;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

enum path_result path_search_answered(
	struct path_search *s, uint16_t mtu, uint64_t last_seq, uint32_t max_ms, uint64_t now_ms)
{
	if (mtu >= s->size)
		return PATH_CONTINUES; // about an earlier probe
	if (mtu > s->mtu) {            // a link further on may take less
		path_search_begin(s, mtu, s->spi, last_seq, now_ms);
		return PATH_CONTINUES;
	}
	if (mtu == s->mtu)
		return end(s, smaller(2 * s->wait_ms, max_ms), now_ms, PATH_KEPT);
	s->mtu = mtu;
	return end(s, smaller(PATH_FIRST_MS, max_ms), now_ms, PATH_CONFIRMED);
}

enum path_result path_search_unanswered(struct path_search *s, uint16_t top, uint64_t now_ms)
{
	bool whole = s->size >= top;
	bool raised = s->mtu != UINT16_MAX && s->size > s->mtu;

	if (raised)
		s->mtu = whole ? UINT16_MAX : s->size;
	return end(s, raised ? PATH_FIRST_MS : PATH_QUIET_MS, now_ms,
		raised ? PATH_RAISED : PATH_REFUTED);
}
