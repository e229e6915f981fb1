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

void openmetrics_head(
	FILE *out, const char *name, enum openmetrics_type type, const char *unit, const char *help)
{
	static const char *const types[] = {"counter", "gauge", "info"};

	fprintf(out, "# TYPE %s %s\n", name, types[type]);
	if (unit != NULL)
		fprintf(out, "# UNIT %s %s\n", name, unit);
	fprintf(out, "# HELP %s %s\n", name, help);
}

void openmetrics_sample(FILE *out, const char *name, enum openmetrics_type type,
	const struct openmetrics_labels *l, uint64_t value, double factor)
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

void openmetrics_end(FILE *out)
{
	fputs("# EOF\n", out);
}
