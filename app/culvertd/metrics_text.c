// SPDX-License-Identifier: BSD-3-Clause
#include "metrics_text.h"

#include <stdlib.h>

#include "view.h"

#define ROOM_FIRST 64 // views

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
static bool views_collect(struct views *v, const struct gateway *g)
{
	size_t size = v->list->size;
	unsigned int room = ROOM_FIRST;

	v->n = 0;
	if (!has_metrics(v))
		return true;
	v->view = malloc(room * size);
	while (v->view != NULL && v->list->collect(v->view + v->n * size, g, v->n)) {
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
static void labels_add(struct openmetrics_labels *l, const struct views *v, const void *view,
	enum metric_kind kind)
{
	char text[VIEW_TEXT_MAX];

	for (unsigned int i = 0; i < v->n_fields; i++) {
		const struct view_field *f = &v->field[i];

		if (f->metric.kind == kind)
			openmetrics_label(l, f->metric.name, view_text(text, f, view));
	}
}

static bool is_there(const struct metric *m, uint64_t value)
{
	return value != UINT64_MAX && (value != 0 || !m->positive);
}

static void array_write(FILE *out, const char *name, const struct metric *m,
	const struct openmetrics_labels *l, const uint64_t values[])
{
	for (unsigned int i = m->first; i < m->n; i++) {
		struct openmetrics_labels all = *l;

		if (!is_there(m, values[i]))
			continue;
		openmetrics_label(&all, m->label, m->word(i));
		openmetrics_sample(out, name, m->type, &all, values[i], m->factor);
	}
}

// The samples of a view.
static void samples_write(FILE *out, const char *name, const struct view_field *f,
	const struct openmetrics_labels *l, const void *view)
{
	const struct metric *m = &f->metric;
	size_t offset = m->offset == METRIC_OF_FIELD ? f->offset : m->offset;
	const uint64_t *value = (const void *)((const char *)view + offset);

	if (m->type == OPENMETRICS_INFO)
		openmetrics_sample(out, name, m->type, l, 1, 0);
	else if (m->label != NULL)
		array_write(out, name, m, l, value);
	else if (is_there(m, *value))
		openmetrics_sample(out, name, m->type, l, *value, m->factor);
}

static void family_write(
	FILE *out, const struct view_field *f, const struct views *v, const char *instance)
{
	const struct metric *m = &f->metric;
	char name[64];

	snprintf(name, sizeof(name), "culvert_%s", m->name);
	openmetrics_head(out, name, m->type, m->unit, m->help);
	for (unsigned int i = 0; i < v->n; i++) {
		const void *view = v->view + i * v->list->size;
		struct openmetrics_labels l = {0};

		openmetrics_label(&l, "gateway", instance);
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

char *metrics_text_new(struct gateway *g, size_t *len)
{
	struct views *views = calloc(view_n_lists, sizeof(*views));
	bool complete = views != NULL;
	char *text = NULL;
	FILE *out = open_memstream(&text, len);
	char instance[CONF_NAME_MAX];

	pthread_mutex_lock(&g->lock);
	snprintf(instance, sizeof(instance), "%s", g->control.conf->instance);
	for (unsigned int i = 0; i < view_n_lists && complete; i++) {
		views[i].list = &view_lists[i];
		views[i].field = view_fields(view_lists[i].name, &views[i].n_fields);
		complete = views_collect(&views[i], g);
	}
	pthread_mutex_unlock(&g->lock);
	for (unsigned int i = 0; i < view_n_lists && out != NULL && complete; i++)
		list_write(out, &views[i], instance);
	for (unsigned int i = 0; i < view_n_lists && views != NULL; i++)
		free(views[i].view);
	free(views);
	if (out == NULL)
		return NULL;
	openmetrics_end(out);
	if (fclose(out) == 0 && complete)
		return text;
	free(text);
	return NULL;
}
