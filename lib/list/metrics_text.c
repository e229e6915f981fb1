// SPDX-License-Identifier: BSD-3-Clause
#include "metrics_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 64  // views
#define LABELS_MAX 512 // octets of the labels of a sample with their NUL

// --- the text format ---

struct labels {
	size_t len;
	char text[LABELS_MAX];
};

// Output that does not fit is counted all the same.
static void put(struct labels *l, char octet)
{
	if (l->len < sizeof(l->text))
		l->text[l->len] = octet;
	l->len++;
}

// A label that does not fit is left out.
static void label_add(struct labels *l, const char *name, const char *value)
{
	size_t before = l->len;

	if (before > 0)
		put(l, ',');
	while (*name != '\0')
		put(l, *name++);
	put(l, '=');
	put(l, '"');
	for (; *value != '\0'; value++) {
		if (strchr("\\\"\n", *value) != NULL)
			put(l, '\\');
		put(l, *value == '\n' ? 'n' : *value);
	}
	put(l, '"');
	if (l->len >= sizeof(l->text))
		l->len = before;
	l->text[l->len] = '\0';
}

static void head_write(
	FILE *out, const char *name, enum openmetrics_type type, const char *unit, const char *help)
{
	static const char *const types[] = {"counter", "gauge", "info"};

	fprintf(out, "# TYPE %s %s\n", name, types[type]);
	if (unit != NULL)
		fprintf(out, "# UNIT %s %s\n", name, unit);
	fprintf(out, "# HELP %s %s\n", name, help);
}

static void sample_write(FILE *out, const char *name, enum openmetrics_type type,
	const struct labels *l, uint64_t value, double factor)
{
	static const char *const suffix[] = {"_total", "", "_info"};

	fprintf(out, "%s%s", name, suffix[type]);
	if (l->len > 0)
		fprintf(out, "{%s}", l->text);
	if (factor != 0 && factor != 1)
		fprintf(out, " %.15g\n", (double)value * factor);
	else
		fprintf(out, " %" PRIu64 "\n", value);
}

// --- the families ---

// The views of a list.
struct views {
	const struct view_list *list;
	const struct view_field *field;
	unsigned int n_fields;
	char *view;
	unsigned int n;
};

static bool has_metrics(const struct views *v)
{
	for (unsigned int i = 0; i < v->n_fields; i++)
		if (v->field[i].metric.kind == METRIC_FAMILY)
			return true;
	return false;
}

// Collects all views of a list, none if it has no metrics. False if there is no memory.
static bool views_collect(struct views *v, const struct control *c)
{
	size_t size = v->list->size;
	unsigned int room = ROOM_FIRST;

	v->n = 0;
	if (!has_metrics(v))
		return true;
	v->view = malloc(room * size);
	while (v->view != NULL && v->list->collect(v->view + v->n * size, c, v->n)) {
		char *larger;

		if (++v->n < room)
			continue;
		room *= 2;
		larger = realloc(v->view, room * size);
		if (larger == NULL)
			free(v->view);
		v->view = larger;
	}
	return v->view != NULL;
}

// Appends the labels that a view's fields of one kind give.
static void labels_add(
	struct labels *l, const struct views *v, const void *view, enum metric_kind kind)
{
	char text[VIEW_TEXT_MAX];

	for (unsigned int i = 0; i < v->n_fields; i++) {
		const struct view_field *f = &v->field[i];

		if (f->metric.kind == kind)
			label_add(l, f->metric.name, view_text(text, f, view));
	}
}

static bool is_there(const struct metric *m, uint64_t value)
{
	return value != UINT64_MAX && (value != 0 || !m->positive);
}

static void array_write(FILE *out, const char *name, const struct metric *m, const struct labels *l,
	const uint64_t values[])
{
	for (unsigned int i = m->first; i < m->n; i++) {
		struct labels all = *l;

		if (!is_there(m, values[i]))
			continue;
		label_add(&all, m->label, m->word(i));
		sample_write(out, name, m->type, &all, values[i], m->factor);
	}
}

// The samples of a view.
static void samples_write(FILE *out, const char *name, const struct view_field *f,
	const struct labels *l, const void *view)
{
	const struct metric *m = &f->metric;
	size_t offset = m->offset == METRIC_OF_FIELD ? f->offset : m->offset;
	const uint64_t *value = (const void *)((const char *)view + offset);

	if (m->type == OPENMETRICS_INFO)
		sample_write(out, name, m->type, l, 1, 0);
	else if (m->label != NULL)
		array_write(out, name, m, l, value);
	else if (is_there(m, *value))
		sample_write(out, name, m->type, l, *value, m->factor);
}

static void family_write(
	FILE *out, const struct view_field *f, const struct views *v, const char *instance)
{
	const struct metric *m = &f->metric;
	char name[64];

	snprintf(name, sizeof(name), "culvert_%s", m->name);
	head_write(out, name, m->type, m->unit, m->help);
	for (unsigned int i = 0; i < v->n; i++) {
		const void *view = v->view + i * v->list->size;
		struct labels l = {0};

		label_add(&l, "gateway", instance);
		labels_add(&l, v, view, METRIC_LABEL);
		if (m->type == OPENMETRICS_INFO)
			labels_add(&l, v, view, METRIC_INFO_LABEL);
		samples_write(out, name, f, &l, view);
	}
}

static void list_write(FILE *out, const struct views *v, const char *instance)
{
	for (unsigned int i = 0; i < v->n_fields; i++)
		if (v->field[i].metric.kind == METRIC_FAMILY)
			family_write(out, &v->field[i], v, instance);
}

char *metrics_text_new(
	struct control *c, const struct view_list lists[], unsigned int n, size_t *len)
{
	struct views *views = calloc(n, sizeof(*views));
	bool complete = views != NULL;
	char *text = NULL;
	FILE *out = open_memstream(&text, len);
	char instance[CONF_NAME_MAX];

	pthread_mutex_lock(&c->lock);
	snprintf(instance, sizeof(instance), "%s", c->conf->instance);
	for (unsigned int i = 0; i < n && complete; i++) {
		views[i].list = &lists[i];
		views[i].field = view_fields(lists[i].name, &views[i].n_fields);
		complete = views_collect(&views[i], c);
	}
	pthread_mutex_unlock(&c->lock);
	for (unsigned int i = 0; i < n && out != NULL && complete; i++)
		list_write(out, &views[i], instance);
	for (unsigned int i = 0; i < n && views != NULL; i++)
		free(views[i].view);
	free(views);
	if (out == NULL)
		return NULL;
	fputs("# EOF\n", out);
	if (fclose(out) == 0 && complete)
		return text;
	free(text);
	return NULL;
}
