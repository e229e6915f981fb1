// SPDX-License-Identifier: BSD-3-Clause
// culvertctl ping: requests one ping after the other of the daemon, which sends them and measures,
// and prints the results; or finds the largest packet that passes (RFC 4821 7 in small).
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client.h"
#include "command.h"
#include "control.h"
#include "instances.h"
#include "query.h"
#include "screen.h"

#define POLL_MS   20
#define REPLY_MS  2000 // a later reply counts as lost
#define SEARCH_MS 1000 // the same while the largest packet is sought,
#define TRIES     3    // as often with one size

struct session {
	const char *instance;
	const char *tunnel, *to; // to NULL: as the daemon chooses
	bool json, quit;
	json_t *first; // result; NULL: nothing has been sent
	unsigned int sent, answered;
	double min_ms, max_ms, sum_ms;
	json_t *pings; // for programs
};

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

// --- one ping ---

// Returns its number, 0 if the daemon refuses it. If it refuses the first one, the program ends.
static unsigned int ping_begin(struct session *s, unsigned int size)
{
	char text[CLIENT_FILTER_MAX + 32];
	struct answer answer;
	unsigned int number = 0;

	snprintf(text, sizeof(text), "ping tunnel=%s%s%s,size=%u", s->tunnel,
		s->to != NULL ? ",to=" : "", s->to != NULL ? s->to : "", size);
	control_request(&answer, s->instance, text, EXIT_FAILED);
	answer.text[strcspn(answer.text, "\n")] = '\0';
	if (strcmp(answer.status, "ok") == 0)
		sscanf(answer.text, "ping %u", &number);
	else if (s->first == NULL)
		instance_refused(s->instance, answer.text);
	else
		warnx("%s", answer.text);
	answer_fini(&answer);
	return number;
}

static const char *state_of(const json_t *result)
{
	const char *state = object_text(result, "state");

	return state != NULL ? state : "";
}

static bool is(const json_t *result, const char *state)
{
	return strcmp(state_of(result), state) == 0;
}

// The result so far, a new reference; NULL: the daemon has forgotten it.
static json_t *result_get(const struct session *s, unsigned int number)
{
	char filter[32];
	json_t *all, *result;

	snprintf(filter, sizeof(filter), ",ping=%u", number);
	all = query_get(s->instance, "ping", filter);
	result = json_incref(json_array_get(all, 0));
	json_decref(all);
	return result;
}

// Waits for the result: a new reference, NULL if there is none.
static json_t *result_wait(struct session *s, unsigned int number, unsigned int wait_ms)
{
	const double end = now_ms() + wait_ms;
	bool over = false;
	json_t *result = NULL;

	while (!over) {
		over = now_ms() >= end || s->quit;
		json_decref(result);
		result = result_get(s, number);
		if (!is(result, "waiting") && !is(result, "resolving"))
			return result;
		if (!over)
			s->quit = !screen_wait(POLL_MS, NULL, NULL);
	}
	return result;
}

// Sends a ping and returns its result, a new reference; NULL: it was not sent.
static json_t *ping(struct session *s, unsigned int size, unsigned int wait_ms)
{
	unsigned int number = ping_begin(s, size);
	json_t *result = number != 0 ? result_wait(s, number, wait_ms) : NULL;

	if (s->first == NULL)
		s->first = json_incref(result);
	return result;
}

// --- one after the other ---

static double round_trip_ms(const json_t *result)
{
	return (double)object_number(result, "round_trip_ns") / 1e6;
}

static void count(struct session *s, const json_t *result)
{
	const double ms = round_trip_ms(result);

	s->sent += !is(result, "resolving");
	if (!is(result, "answered"))
		return;
	s->min_ms = s->answered == 0 || ms < s->min_ms ? ms : s->min_ms;
	s->max_ms = ms > s->max_ms ? ms : s->max_ms;
	s->sum_ms += ms;
	s->answered++;
}

static void header_print(const struct session *s)
{
	printf("ping through %s: %s > %s, %lld octets", s->tunnel, object_text(s->first, "from"),
		object_text(s->first, "to"), object_number(s->first, "size"));
	if (object_number(s->first, "esp_size") > 0)
		printf(", %lld as ESP", object_number(s->first, "esp_size"));
	printf(", by port %s\n", object_text(s->first, "port"));
}

static void error_print(const json_t *result)
{
	long long mtu = object_number(result, "mtu"), fits = object_number(result, "fits");

	if (mtu == 0)
		printf("%s reports: unreachable, icmp type %lld code %lld",
			object_text(result, "by"), object_number(result, "icmp_type"),
			object_number(result, "icmp_code"));
	else
		printf("%s reports: too large for its next link, whose MTU is %lld",
			object_text(result, "by"), mtu);
	printf(fits > 0 ? "; %lld octets fit\n" : "\n", fits);
}

static void result_print(unsigned int number, const json_t *result)
{
	printf("%4u: ", number);
	if (is(result, "answered"))
		printf("reply after %.3f ms\n", round_trip_ms(result));
	else if (is(result, "resolving"))
		puts("not sent: the next hop does not answer");
	else if (is(result, "waiting"))
		puts("no reply");
	else
		error_print(result);
	fflush(stdout);
}

static void one(struct session *s, const struct options *options, unsigned int number)
{
	bool begins = s->first == NULL;
	json_t *result = ping(s, options->size, REPLY_MS);

	// After Ctrl-C the reply may still be on its path.
	if (result != NULL && !(s->quit && is(result, "waiting"))) {
		count(s, result);
		if (s->json)
			json_array_append(s->pings, result);
		else if (begins)
			header_print(s);
		if (!s->json)
			result_print(number, result);
	}
	json_decref(result);
}

static void pause_until(struct session *s, double end)
{
	double left = end - now_ms();

	if (left > 0)
		s->quit |= !screen_wait((unsigned int)left, NULL, NULL);
}

static unsigned int loss_percent(const struct session *s)
{
	return s->sent > 0 ? 100 * (s->sent - s->answered) / s->sent : 0;
}

static void summary_json(const struct session *s)
{
	output_json(json_pack("{s:s, s:O?, s:O?, s:O?, s:i, s:i, s:i, s:o, s:O}", "tunnel",
		s->tunnel, "from", json_object_get(s->first, "from"), "to",
		json_object_get(s->first, "to"), "size", json_object_get(s->first, "size"), "sent",
		(int)s->sent, "answered", (int)s->answered, "loss_percent", (int)loss_percent(s),
		"round_trip_ms",
		s->answered > 0 ? json_pack("{s:f, s:f, s:f}", "min", s->min_ms, "avg",
					  s->sum_ms / s->answered, "max", s->max_ms)
				: json_null(),
		"pings", s->pings));
}

static enum exit_code summary_print(const struct session *s)
{
	if (s->json) {
		summary_json(s);
	} else {
		printf("\n%u sent, %u answered, %u %% lost", s->sent, s->answered, loss_percent(s));
		if (s->answered > 0)
			printf("; round trip min/avg/max %.3f/%.3f/%.3f ms", s->min_ms,
				s->sum_ms / s->answered, s->max_ms);
		putchar('\n');
	}
	return s->answered > 0 ? EXIT_OK : EXIT_FAILED;
}

static enum exit_code ping_repeat(struct session *s, const struct options *options)
{
	for (unsigned int i = 1; i <= options->packets && !s->quit; i++) {
		const double next = now_ms() + options->pause * 1e3;

		one(s, options, i);
		if (i < options->packets && !s->quit)
			pause_until(s, next);
	}
	return summary_print(s);
}

// --- the largest packet ---

struct search {
	unsigned int low, high; // octets that pass; that may pass
	json_t *by;             // result with the error that high follows from; NULL: there is none
	bool silent;            // larger packets got no reply, and no error
};

// Whether the size passes. *result: of the last ping of that size, a new reference.
static bool try(struct session *s, unsigned int size, json_t **result)
{
	bool over = false;

	*result = NULL;
	for (unsigned int i = 0; i < TRIES && !s->quit && !over; i++) {
		json_decref(*result);
		*result = ping(s, size, SEARCH_MS);
		over = *result != NULL && !is(*result, "waiting") && !is(*result, "resolving");
	}
	return is(*result, "answered");
}

// After a size that does not pass: the size that an error names fits, else one less may.
static unsigned int high_set(struct search *f, unsigned int size, json_t *result)
{
	const unsigned int fits = (unsigned int)object_number(result, "fits");
	bool known = fits > 0 && fits < size;

	f->high = known ? fits : size - 1;
	f->silent = !known;
	json_decref(f->by);
	f->by = known ? json_incref(result) : NULL;
	return known && fits > f->low ? fits : (f->low + f->high + 1) / 2;
}

static void search(struct session *s, struct search *f)
{
	unsigned int size = f->high;
	json_t *result;

	while (f->low < f->high && !s->quit) {
		if (try(s, size, &result)) {
			f->low = size;
			size = (f->low + f->high + 1) / 2;
		} else {
			size = high_set(f, size, result);
		}
		json_decref(result);
	}
}

// The object that refuses larger packets, "port" if it is the own one; NULL: nobody reports.
static const char *limit_of(const struct session *s, const struct search *f)
{
	if (f->by != NULL)
		return object_text(f->by, "by");
	return f->silent ? NULL : object_text(s->first, "port");
}

static json_int_t limit_mtu(const struct session *s, const struct search *f)
{
	return f->by != NULL ? object_number(f->by, "mtu") : object_number(s->first, "port_mtu");
}

static void search_json(const struct session *s, const struct search *f)
{
	const char *limit = limit_of(s, f);

	output_json(json_pack("{s:s, s:O, s:O, s:i, s:s, s:s?, s:o}", "tunnel", s->tunnel, "from",
		json_object_get(s->first, "from"), "to", json_object_get(s->first, "to"), "largest",
		(int)f->low, "limit",
		limit == NULL   ? "unknown"
		: f->by != NULL ? "router"
				: "port",
		"by", limit, "mtu", limit != NULL ? json_integer(limit_mtu(s, f)) : json_null()));
}

static void search_print(const struct session *s, const struct search *f)
{
	const char *limit = limit_of(s, f);

	printf("largest packet through %s to %s: %u octets\n", s->tunnel,
		object_text(s->first, "to"), f->low);
	if (limit == NULL)
		puts("larger ones got no reply, and no router reported why");
	else if (f->by != NULL)
		printf("%s refuses larger ones: the MTU of its next link is %lld\n", limit,
			limit_mtu(s, f));
	else
		printf("port %s refuses larger ones: its MTU is %lld\n", limit, limit_mtu(s, f));
}

static enum exit_code ping_mtu(struct session *s, const struct options *options)
{
	struct search f = {0};
	json_t *result;
	bool answered = try(s, options->size, &result);

	if (answered) {
		f.low = (unsigned int)object_number(result, "size");
		f.high = (unsigned int)object_number(result, "size_max");
		search(s, &f);
	}
	json_decref(result);
	if (!answered)
		warnx("no reply through %s", s->tunnel);
	else if (s->quit)
		warnx("ended before the largest packet was found: at least %u octets pass", f.low);
	else if (s->json)
		search_json(s, &f);
	else
		search_print(s, &f);
	json_decref(f.by);
	return answered && !s->quit ? EXIT_OK : EXIT_FAILED;
}

enum exit_code command_ping(const struct options *options, char **words)
{
	struct session s = {.json = options->json, .tunnel = words[0]};
	enum exit_code code;

	if (words[0] == NULL || (words[1] != NULL && words[2] != NULL))
		errx(EXIT_USAGE, "ping: expected the name of a tunnel, and perhaps an address");
	if (options->mtu && options->size > 0)
		errx(EXIT_USAGE, "ping: --mtu finds the size: leave --size out");
	for (char **word = words; *word != NULL; word++)
		if (word[0][0] == '\0' || strpbrk(*word, ", \n") != NULL)
			errx(EXIT_USAGE, "ping: invalid word \"%s\"", *word);
	s.to = words[1];
	s.instance = instance_choose(options->instance);
	s.pings = json_array();
	screen_begin();
	code = options->mtu ? ping_mtu(&s, options) : ping_repeat(&s, options);
	json_decref(s.pings);
	json_decref(s.first);
	return code;
}
