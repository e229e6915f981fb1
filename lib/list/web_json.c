// SPDX-License-Identifier: BSD-3-Clause
#include "web_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collect.h"
#include "filter.h"
#include "page.h"
#include "ranking.h"
#include "web_rates.h"
#include "web_text.h"

#define STRIDE   256u   // tunnels that are looked at, at once, with the gateway's lock
#define PAUSE_NS 500000 // in between

// --- views ---

static void drops_write(FILE *out, const uint64_t packets[DROP_COUNT])
{
	const char *comma = "";

	fputc('{', out);
	for (enum drop r = 1; r < DROP_COUNT; r++) {
		if (packets[r] == 0)
			continue;
		fputs(comma, out);
		web_name(out, drop_info[r].name);
		fprintf(out, "%" PRIu64, packets[r]);
		comma = ",";
	}
	fputc('}', out);
}

static void addresses_write(FILE *out, const struct ports_view *v)
{
	char text[PORT_ADDRESS_STRLEN];

	fputc('[', out);
	for (unsigned int a = 0; a < v->port->n_addrs; a++) {
		fputs(a > 0 ? "," : "", out);
		web_string(out, port_address_text(text, v, a));
	}
	fputc(']', out);
}

static void field_write(FILE *out, const struct view_field *f, const void *view)
{
	const uint64_t *numbers = (const void *)((const char *)view + f->offset);
	char text[VIEW_TEXT_MAX];

	web_name(out, f->name);
	if (f->value == VALUE_U64)
		fprintf(out, "%" PRIu64, *numbers);
	else if (f->value == VALUE_DROPS)
		drops_write(out, numbers);
	else if (f->value == VALUE_ADDRESSES)
		addresses_write(out, view);
	else
		web_string(out, view_text(text, f, view));
}

static void view_write(FILE *out, const char *list, const void *view)
{
	unsigned int n;
	const struct view_field *f = view_fields(list, &n);
	const char *comma = "{";

	for (unsigned int k = 0; k < n; k++) {
		if (f[k].name == NULL)
			continue;
		fputs(comma, out);
		field_write(out, &f[k], view);
		comma = ",";
	}
	fputc('}', out);
}

// --- lists ---

static void list_write(FILE *out, const struct control *c, const struct view_list *list)
{
	union any_view view;

	fputc(',', out);
	web_name(out, list->name);
	fputc('[', out);
	for (unsigned int i = 0; list->collect(&view, c, i); i++) {
		fputs(i > 0 ? "," : "", out);
		view_write(out, list->name, &view);
	}
	fputc(']', out);
}

// Short lists; all others have as many items as the configuration or peers make them have.
static void lists_write(
	FILE *out, const struct control *c, const struct view_list lists[], unsigned int n)
{
	static const char *const shown[] = {"ports", "groups", "members", "totals"};

	for (unsigned int s = 0; s < RTE_DIM(shown); s++)
		for (unsigned int i = 0; i < n; i++)
			if (strcmp(lists[i].name, shown[s]) == 0)
				list_write(out, c, &lists[i]);
}

static void ranked_write(FILE *out, const struct control *c, const char *name, const char *list,
	void (*rank)(struct ranking *, const struct control *),
	bool (*collect)(void *, const struct control *, unsigned int))
{
	union any_view view;
	struct ranking r;

	rank(&r, c);
	fputc(',', out);
	web_name(out, name);
	fputc('[', out);
	for (unsigned int i = 0; i < r.n; i++) {
		collect(&view, c, r.number[i]);
		fputs(i > 0 ? "," : "", out);
		view_write(out, list, &view);
	}
	fputc(']', out);
}

// The reasons that occurred, with their explanations.
static void reasons_write(FILE *out, const struct control *c)
{
	const struct counters counters = collect_counters(c);
	const char *comma = "";

	fputs(",\"drops\":[", out);
	for (enum drop r = 1; r < DROP_COUNT; r++) {
		if (counters.drops[r] == 0)
			continue;
		fprintf(out, "%s{\"packets\":%" PRIu64 ",\"name\":", comma, counters.drops[r]);
		web_string(out, drop_info[r].name);
		fputs(",\"help\":", out);
		web_string(out, drop_info[r].help);
		fputs(",\"advice\":", out);
		web_string(out, drop_info[r].advice);
		fputc('}', out);
		comma = ",";
	}
	fputc(']', out);
}

// The log and show_group may see requests of operators, mistakes in files and the addresses of
// inner hosts; every user of the machine may see this.
static bool is_private(const char *line)
{
	return strstr(line, "\tevent=request_") != NULL ||
	       strstr(line, "\tevent=reload_refused\t") != NULL ||
	       strstr(line, "\tevent=acquire\t") != NULL ||
	       strstr(line, "\tevent=nat_ports\t") != NULL;
}

// Without the fields of private ones: the first three are time, name and severity.
static void event_write(FILE *out, const char *line)
{
	unsigned int fields = is_private(line) ? 3 : UINT_MAX;

	for (unsigned int i = 0; i < fields && *line != '\0'; i++) {
		size_t name = strcspn(line, "="), len = strcspn(line, "\t");

		fputc(i > 0 ? ',' : '{', out);
		web_octets(out, line, name);
		fputc(':', out);
		web_octets(out, line + name + 1, len - name - 1);
		line += len + (line[len] == '\t');
	}
	fputc('}', out);
}

// The newest first.
static void events_write(FILE *out, const struct web_history *h)
{
	uint64_t n = RTE_MIN(h->n_events, (uint64_t)WEB_EVENTS);

	fputs(",\"events\":[", out);
	for (uint64_t i = 0; i < n; i++) {
		fputs(i > 0 ? "," : "", out);
		event_write(out, h->event[(h->n_events - 1 - i) % WEB_EVENTS]);
	}
	fputc(']', out);
}

static void gateway_write(FILE *out, const struct control *c)
{
	fputs("{\"gateway\":", out);
	web_string(out, c->conf->instance);
	fputs(",\"version\":", out);
	web_string(out, c->version);
	fprintf(out, ",\"uptime_ms\":%" PRIu64, c->io->now_ms() - c->started_ms);
}

// --- documents ---

// Other threads get the lock.
static void lock_pause(void)
{
	nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
}

// Text of a stream that was closed; NULL if it lacks memory.
static char *text_of(FILE *out, char **text)
{
	if (fclose(out) == 0)
		return *text;
	free(*text);
	return NULL;
}

struct status {
	FILE *out;
	const struct control *c;
	const struct view_list *lists;
	unsigned int n;
	const struct web_history *history;
	struct web_history *copy;
};

static void first_write(const struct status *s)
{
	*s->copy = *s->history;
	gateway_write(s->out, s->c);
	lists_write(s->out, s->c, s->lists, s->n);
	reasons_write(s->out, s->c);
	web_rates_write_ports(s->out, s->copy, s->c->conf);
}

static void worst_write(const struct status *s)
{
	ranked_write(s->out, s->c, "worst", "tunnels", ranking_worst_tunnels, collect_tunnels);
}

static void busiest_write(const struct status *s)
{
	ranked_write(s->out, s->c, "busiest", "sas", ranking_busiest_sas, collect_sas);
}

// The counters from which a page makes rates of tunnels.
static void busiest_tunnels_write(const struct status *s)
{
	const struct control *c = s->c;
	const struct spd_policy *p = NULL;
	struct ranking r;
	struct decided did;

	ranking_busiest_tunnels(&r, c);
	fputs(",\"busiest_tunnels\":[", s->out);
	for (unsigned int i = 0; i < r.n; i++) {
		collect_tunnel(c, r.number[i], &p);
		did = decisions_sum(c->snapshot->objects->decisions[DECIDER_POLICY], p->number);
		fprintf(s->out, "%s{\"packets\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"tunnel\":",
			i > 0 ? "," : "", did.packets, did.octets);
		web_string(s->out, p->name);
		fputc('}', s->out);
	}
	fputc(']', s->out);
}

// Parts with the gateway's lock, each of which looks at all tunnels or SAs once at most.
static void status_write(const struct status *s, pthread_mutex_t *lock)
{
	static void (*const parts[])(const struct status *) = {
		first_write, worst_write, busiest_write, busiest_tunnels_write};

	for (unsigned int i = 0; i < RTE_DIM(parts); i++) {
		pthread_mutex_lock(lock);
		parts[i](s);
		pthread_mutex_unlock(lock);
		lock_pause();
	}
	web_rates_write(s->out, s->copy);
	events_write(s->out, s->copy);
	fputc('}', s->out);
}

char *web_status_new(struct control *c, const struct view_list lists[], unsigned int n,
	const struct web_history *history, size_t *len)
{
	struct web_history *copy = calloc(1, sizeof(*copy));
	char *text = NULL;
	FILE *out = copy != NULL ? open_memstream(&text, len) : NULL;

	if (out == NULL) {
		free(copy);
		return NULL;
	}
	status_write(&(struct status){out, c, lists, n, history, copy}, &c->lock);
	free(copy);
	return text_of(out, &text);
}

struct tunnels_page {
	FILE *out;
	const struct view_filter *filter;
	uint32_t position;
	unsigned int n; // that match
	bool ended;     // the list
};

// Looks at some tunnels, under the lock. False: the answer is complete.
static bool tunnels_step(struct tunnels_page *p, const struct control *c)
{
	struct tunnels_view view;

	for (unsigned int i = 0; i < STRIDE && p->n < WEB_TUNNELS; i++) {
		p->ended = !collect_tunnels(&view, c, p->position);
		if (p->ended)
			return false;
		p->position++;
		if (!filter_view_matches(p->filter, &view))
			continue;
		fputs(p->n++ > 0 ? "," : "", p->out);
		view_write(p->out, "tunnels", &view);
	}
	return p->n < WEB_TUNNELS;
}

static void tunnels_write(FILE *out, struct control *c, const struct view_filter *f, uint32_t from)
{
	struct tunnels_page p = {.out = out, .filter = f, .position = from};
	bool more;

	fputs("{\"tunnels\":[", out);
	do {
		pthread_mutex_lock(&c->lock);
		more = tunnels_step(&p, c);
		pthread_mutex_unlock(&c->lock);
		lock_pause();
	} while (more);
	fputs("],\"next\":", out);
	if (p.ended)
		fputs("null}", out);
	else
		fprintf(out, "%" PRIu32 "}", p.position);
}

char *web_tunnels_new(struct control *c, uint32_t from, const char *filter, size_t *len)
{
	char *text = NULL, why[256];
	FILE *out = open_memstream(&text, len);
	struct view_filter f;

	if (out == NULL)
		return NULL;
	if (filter_view_parse(&f, "tunnels", filter, why, sizeof(why))) {
		tunnels_write(out, c, &f, from);
	} else {
		fputs("{\"error\":", out);
		web_string(out, why);
		fputc('}', out);
	}
	return text_of(out, &text);
}
