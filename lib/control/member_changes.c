// SPDX-License-Identifier: BSD-3-Clause
#include "member_changes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "channel.h"
#include "event_log.h"
#include "hex.h"
#include "line.h"
#include "log.h"
#include "member_arrivals.h"

#define PART_MAX    448 // octets of a request in a line
#define STATE_TICKS 10
#define WHY_MAX     256

struct member_changes {
	uint64_t process;
	struct member_requests journal;
	size_t octets;     // in it
	uint64_t last;     // number of the last request that was in it,
	uint64_t lost;     // of the last one that there was no room for any more,
	uint64_t digested; // and of the last one whose change is in the digest
	// To the other one, on the present connection.
	bool begun;             // it has reported its state
	uint64_t same;          // number of the last change that it had at the begin
	unsigned int state_due; // in how many ticks the own state is sent again
	uint64_t taken, sent;   // numbers of the last one that it has, and that was sent,
	size_t offset;          // and octets of the next one that were
	// From the other one.
	struct member_arrivals arrivals;
	uint64_t done;         // number of its last request that was served
	uint64_t serving;      // the process whose request was taken last
	char refused[WHY_MAX]; // a line to be sent; empty: there is none
};

struct member_changes *member_changes_new(void)
{
	struct member_changes *m = calloc(1, sizeof(*m));

	if (m == NULL)
		return NULL;
	STAILQ_INIT(&m->journal);
	member_arrivals_init(&m->arrivals);
	while (m->process == 0)
		if (getrandom(&m->process, sizeof(m->process), 0) != sizeof(m->process)) {
			free(m);
			return NULL;
		}
	return m;
}

void member_changes_free(struct member_changes *m)
{
	if (m == NULL)
		return;
	member_requests_free(&m->journal);
	member_arrivals_fini(&m->arrivals);
	free(m);
}

// --- the journal ---

static void journal_shorten(struct member_changes *m)
{
	struct member_request *r;

	while (m->octets > MEMBER_JOURNAL_MAX && (r = STAILQ_FIRST(&m->journal)) != NULL) {
		STAILQ_REMOVE_HEAD(&m->journal, next);
		m->octets -= r->len;
		m->lost = r->number;
		m->offset = 0; // it may be the request of which a part has been sent
		member_request_free(r);
	}
}

void member_changes_note(struct control *c, const struct control_request *asked, bool new_keys,
	const char *name, const char *text)
{
	static const char form[] = "%schange %s\n%s";
	struct member_changes *m = c->member.changes;
	const char *declared = new_keys ? "new-keys " : "";
	struct member_request *r;

	if (m == NULL)
		return;
	r = member_request_new((size_t)snprintf(NULL, 0, form, declared, name, text));
	m->last++;
	if (r == NULL) {
		m->lost = m->last;
		return;
	}
	snprintf(r->text, r->len + 1, form, declared, name, text);
	r->number = m->last;
	r->process = member_has_asked(asked) ? m->serving : 0;
	STAILQ_INSERT_TAIL(&m->journal, r, next);
	m->octets += r->len;
	journal_shorten(m);
}

void member_changes_clear(struct control *c)
{
	struct member_changes *m = c->member.changes;

	if (m == NULL)
		return;
	member_requests_free(&m->journal);
	m->octets = 0;
	m->offset = 0;
	m->lost = 0;
	m->sent = m->last;
}

void member_changes_digest(struct control *c)
{
	if (c->member.changes != NULL)
		c->member.changes->digested = c->member.changes->last;
}

// --- to the other one ---

void member_changes_connected(struct control *c, bool same)
{
	struct member_changes *m = c->member.changes;

	m->begun = false;
	m->same = same ? m->digested : 0;
	m->state_due = 0;
	m->offset = 0;
	member_arrivals_connected(&m->arrivals);
}

static bool send_line(struct control *c, const char *line, int len)
{
	return channel_send(c->member.channel, line, (size_t)len);
}

static bool state_send(struct control *c)
{
	struct member_changes *m = c->member.changes;
	char line[80];
	bool room = send_line(c, line,
		snprintf(line, sizeof(line), "changes %" PRIu64 " %" PRIu64 " %" PRIu64, m->process,
			m->arrivals.process, m->done));

	m->state_due = room ? STATE_TICKS : 0;
	return room;
}

static bool refusal_send(struct control *c)
{
	struct member_changes *m = c->member.changes;

	if (m->refused[0] != '\0' && !send_line(c, m->refused, (int)strlen(m->refused)))
		return false;
	m->refused[0] = '\0';
	return true;
}

// The next request that the other one lacks. NULL: there is none.
static const struct member_request *next_of(struct member_changes *m)
{
	const struct member_request *r;

	for (r = STAILQ_FIRST(&m->journal); r != NULL; r = STAILQ_NEXT(r, next)) {
		if (r->number > m->sent && r->process != m->arrivals.process)
			return r;
		m->sent = RTE_MAX(m->sent, r->number); // it was learnt from there
	}
	return NULL;
}

// False: there was no room.
static bool request_send(struct control *c, const struct member_request *r)
{
	struct member_changes *m = c->member.changes;
	char line[2 * PART_MAX + 80];
	bool room = true;

	while (m->offset < r->len && room) {
		size_t n = RTE_MIN(r->len - m->offset, (size_t)PART_MAX);
		int at = snprintf(line, sizeof(line), "change %" PRIu64 " %zu %zu ", r->number,
			m->offset, r->len);

		hex_format(line + at, (const uint8_t *)r->text + m->offset, n);
		room = channel_waiting(c->member.channel) < CHANNEL_BULK_MAX &&
		       send_line(c, line, at + 2 * (int)n);
		m->offset += room ? n : 0;
	}
	explicit_bzero(line, sizeof(line)); // keys
	if (!room)
		return false;
	m->offset = 0;
	m->sent = r->number;
	return true;
}

// Requests that the other one has not served, as far as is known.
static unsigned int in_flight(const struct member_changes *m)
{
	const struct member_request *r;
	unsigned int n = 0;

	for (r = STAILQ_FIRST(&m->journal); r != NULL; r = STAILQ_NEXT(r, next))
		n += r->number > m->taken && r->number <= m->sent &&
		     r->process != m->arrivals.process;
	return n;
}

// Without the lost changes the others could mean something else: the other one gets none of them.
static uint64_t lost_skip(const struct member_changes *m)
{
	log_warn("the other gateway of the pair lacks changes at run time, of which there were too "
		 "many to keep: see culvertctl show members");
	return m->last;
}

static void requests_send(struct control *c)
{
	struct member_changes *m = c->member.changes;
	const struct member_request *r;

	if (m->lost > m->sent)
		m->sent = lost_skip(m);
	for (unsigned int n = in_flight(m); n < MEMBER_AHEAD_MAX; n++) {
		r = next_of(m);
		if (r == NULL || !request_send(c, r))
			return;
	}
}

void member_changes_send(struct control *c)
{
	struct member_changes *m = c->member.changes;

	if (m == NULL)
		return;
	if (m->state_due == 0 || --m->state_due == 0)
		state_send(c);
	if (refusal_send(c) && m->begun)
		requests_send(c);
}

// --- from the other one ---

// The last change that another process has no need of: it has read its file, which has all if the
// configurations are the same, else those before the journal.
static uint64_t needless(const struct member_changes *m)
{
	if (m->same > 0)
		return m->same;
	if (m->lost > 0)
		return lost_skip(m);
	return STAILQ_EMPTY(&m->journal) ? m->last : STAILQ_FIRST(&m->journal)->number - 1;
}

static bool begin_anew(struct control *c)
{
	struct member_changes *m = c->member.changes;
	char line[40];

	m->sent = needless(m);
	// Without the state, the other one would take the line for one of the process before.
	return state_send(c) &&
	       send_line(c, line, snprintf(line, sizeof(line), "same %" PRIu64, m->sent));
}

static bool state_learn(struct control *c, const char *rest)
{
	struct member_changes *m = c->member.changes;
	uint64_t other, process, number;

	if (!line_number(&rest, &other, UINT64_MAX) || other == 0 ||
		!line_number(&rest, &process, UINT64_MAX) ||
		!line_number(&rest, &number, UINT64_MAX) || rest != NULL ||
		(process == m->process && number > m->last))
		return false;
	if (other != m->arrivals.process) {
		member_arrivals_process(&m->arrivals, other);
		m->done = 0;
		m->state_due = 0;
	}
	m->taken = process == m->process ? number : 0;
	if (m->begun)
		return true;
	m->sent = m->taken;
	m->begun = process == m->process || begin_anew(c);
	return true;
}

static bool same_learn(struct member_changes *m, const char *rest)
{
	uint64_t number;

	if (!line_number(&rest, &number, UINT64_MAX) || rest != NULL)
		return false;
	if (number > m->arrivals.received) {
		m->done = m->arrivals.received = number;
		m->state_due = 0;
	}
	return true;
}

static bool refusal_learn(const char *rest)
{
	if (rest == NULL)
		return false;
	event_post(MEMBER_REFUSED, EVENT_TEXT(rest));
	return true;
}

bool member_changes_learn(struct control *c, const char *line)
{
	struct member_changes *m = c->member.changes;
	char word[sizeof("changes")];
	const char *rest = line;

	if (m == NULL || !line_word(&rest, word, sizeof(word)) || rest == NULL)
		return false;
	if (strcmp(word, "changes") == 0)
		return state_learn(c, rest);
	if (strcmp(word, "same") == 0)
		return same_learn(m, rest);
	if (strcmp(word, "change") == 0)
		return member_arrivals_part(&m->arrivals, rest);
	return strcmp(word, "refused") == 0 && refusal_learn(rest);
}

bool member_changes_take(struct control *c, struct control_request *request)
{
	struct member_changes *m = c->member.changes;
	// A change would be lost with one that is not confirmed.
	bool takes = m != NULL && c->revisions.unconfirmed.revision == 0;
	struct member_request *r = takes ? member_arrivals_take(&m->arrivals) : NULL;

	if (r == NULL)
		return false;
	*request = (struct control_request){.text = r->text, .len = r->len, .may_change = true};
	r->text = NULL;
	m->serving = r->process;
	if (r->process == m->arrivals.process) {
		m->done = r->number;
		m->state_due = 0;
	}
	member_request_free(r);
	return true;
}

void member_changes_answer(struct control *c, const char *status, const char *text)
{
	struct member_changes *m = c->member.changes;
	int len;

	if (m == NULL || strcmp(status, "refused") != 0)
		return;
	len = snprintf(m->refused, sizeof(m->refused), "refused ");
	for (const char *p = text; *p != '\0' && *p != '\n' && len + 1 < WHY_MAX; p++)
		m->refused[len++] = (char)(*p >= ' ' && *p <= '~' ? *p : '?');
	m->refused[len] = '\0';
	log_warn("a change of the other gateway of the pair is refused here: %s",
		m->refused + strlen("refused "));
	refusal_send(c);
}
