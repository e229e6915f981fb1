// SPDX-License-Identifier: BSD-3-Clause
#include "openmetrics.h"

#include <inttypes.h>
#include <string.h>

static void append(struct openmetrics_labels *l, const char *text)
{
	size_t len = strlen(text);

	if (l->len + len >= sizeof(l->text))
		return;
	memcpy(l->text + l->len, text, len + 1);
	l->len += len;
}

// Octets of a label's value when it is escaped.
static size_t escaped_len(const char *value)
{
	size_t len = 0;

	for (; *value != '\0'; value++)
		len += strchr("\\\"\n", *value) != NULL ? 2 : 1;
	return len;
}

void openmetrics_label(struct openmetrics_labels *l, const char *name, const char *value)
{
	const size_t around = strlen(",=\"\"");
	size_t len = l->len + strlen(name) + escaped_len(value) + around;

	if (len >= sizeof(l->text))
		return;
	if (l->len > 0)
		append(l, ",");
	append(l, name);
	append(l, "=\"");
	for (; *value != '\0'; value++) {
		const char octet[] = {*value, '\0'};

		append(l, *value == '\n'   ? "\\n"
			  : *value == '"'  ? "\\\""
			  : *value == '\\' ? "\\\\"
					   : octet);
	}
	append(l, "\"");
}

static void head_write(FILE *out, const struct openmetrics_family *f)
{
	static const char *const types[] = {"counter", "gauge", "info"};

	fprintf(out, "# TYPE %s %s\n", f->name, types[f->type]);
	if (f->unit != NULL)
		fprintf(out, "# UNIT %s %s\n", f->name, f->unit);
	fprintf(out, "# HELP %s %s\n", f->name, f->help);
}

static void sample_write(FILE *out, const struct openmetrics_family *f,
	const struct openmetrics_labels *l, uint64_t value)
{
	static const char *const suffix[] = {"_total", "", "_info"};

	fputs(f->name, out);
	fputs(suffix[f->type], out);
	if (l->len > 0)
		fprintf(out, "{%s}", l->text);
	if (f->factor != 0)
		fprintf(out, " %.15g\n", (double)value * f->factor);
	else
		fprintf(out, " %" PRIu64 "\n", value);
}

static void array_write(FILE *out, const struct openmetrics_family *f,
	const struct openmetrics_labels *l, const uint64_t values[])
{
	for (unsigned int i = f->first; i < f->n; i++) {
		struct openmetrics_labels all;

		if (values[i] == OPENMETRICS_NONE || (values[i] == 0 && f->nonzero))
			continue;
		all.len = l->len;
		memcpy(all.text, l->text, l->len + 1);
		openmetrics_label(&all, f->label, f->label_value(i));
		sample_write(out, f, &all, values[i]);
	}
}

static void values_write(FILE *out, const struct openmetrics_list *list,
	const struct openmetrics_family *f, const char *view)
{
	const uint64_t *value = (const uint64_t *)(view + f->offset);
	struct openmetrics_labels l;

	l.len = 0;
	l.text[0] = '\0';
	openmetrics_label(&l, list->common, list->common_value);
	if (list->labels != NULL)
		list->labels(&l, view);
	if (f->labels != NULL)
		f->labels(&l, view);
	if (f->type == OPENMETRICS_INFO)
		sample_write(out, f, &l, 1);
	else if (f->label != NULL)
		array_write(out, f, &l, value);
	else if (*value != OPENMETRICS_NONE && (*value != 0 || !f->nonzero))
		sample_write(out, f, &l, *value);
}

void openmetrics_write(FILE *out, const struct openmetrics_list *list)
{
	for (const struct openmetrics_family *f = list->families; f->name != NULL; f++) {
		head_write(out, f);
		for (size_t i = 0; i < list->n; i++)
			values_write(out, list, f, (const char *)list->views + i * list->size);
	}
}

void openmetrics_end(FILE *out)
{
	fputs("# EOF\n", out);
}
