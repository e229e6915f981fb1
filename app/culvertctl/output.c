// SPDX-License-Identifier: BSD-3-Clause
#include "output.h"

#include <ctype.h>
#include <err.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define GAP   "  "
#define LABEL 12 // characters
#define WIDTH 80 // where there is no terminal

struct column {
	const char *key;
	size_t width;
	bool number;
};

bool output_knows_sequences(void)
{
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && term != NULL && strcmp(term, "dumb") != 0;
}

size_t output_width(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
		return 0;
	return size.ws_col != 0 ? size.ws_col : 80; // a serial line does not know
}

static enum exit_code json_print(json_t *value, size_t flags)
{
	int rc = json_dumpf(value, stdout, flags | JSON_ENSURE_ASCII);

	if (rc == 0)
		putchar('\n');
	else
		warn("cannot write JSON");
	json_decref(value);
	return rc == 0 ? EXIT_OK : EXIT_FAILED;
}

enum exit_code output_json(json_t *value)
{
	return json_print(value, JSON_INDENT(2));
}

enum exit_code output_json_line(json_t *value)
{
	enum exit_code code = json_print(value, JSON_COMPACT);

	return fflush(stdout) == 0 ? code : EXIT_FAILED;
}

const char *object_text(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

json_int_t object_number(const json_t *object, const char *name)
{
	return json_integer_value(json_object_get(object, name));
}

void output_text(FILE *out, const char *text)
{
	for (const char *c = text; *c != '\0'; c++)
		if (*c < ' ' || *c > '~' || *c == '\\')
			fprintf(out, "\\x%02x", (unsigned char)*c);
		else
			putc(*c, out);
}

// --- colours ---

#define RED    "\033[31m"
#define GREEN  "\033[32m"
#define YELLOW "\033[33m"
#define PLAIN  "\033[0m"

// Colours of states; others have none.
static const struct {
	const char *states, *colour;
} colours[] = {
	{",up,running,reachable,static,well,", GREEN},
	{",never,silent,", YELLOW},
	{",down,failing,stopped,stalled,failed,refused,degraded,drop,", RED},
};

static bool has_colours(void)
{
	const char *no = getenv("NO_COLOR");

	return output_knows_sequences() && (no == NULL || no[0] == '\0');
}

static void put_coloured(FILE *out, const char *state)
{
	char wanted[32];

	snprintf(wanted, sizeof(wanted), ",%s,", state);
	for (size_t i = 0; has_colours() && i < sizeof(colours) / sizeof(colours[0]); i++)
		if (strstr(colours[i].states, wanted) != NULL) {
			fprintf(out, "%s%s" PLAIN, colours[i].colour, state);
			return;
		}
	fputs(state, out);
}

static bool is_state(const struct column *column)
{
	static const char *const keys[] = {"state", "link", "verdict"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strcmp(column->key, keys[i]) == 0)
			return true;
	return false;
}

// --- paragraphs ---

// The text as output_text() writes it, in new memory.
static char *quoted_new(const char *text)
{
	char *quoted = NULL;
	size_t len;
	FILE *out = open_memstream(&quoted, &len);

	if (out == NULL)
		err(EXIT_FAILED, NULL);
	output_text(out, text);
	if (fclose(out) != 0)
		err(EXIT_FAILED, NULL);
	return quoted;
}

// Writes words in lines that fit the terminal; used: characters of the line so far.
static void words_print(FILE *out, const char *text, size_t used)
{
	size_t width = output_width() != 0 ? output_width() : WIDTH;

	while (*text != '\0') {
		size_t len = strcspn(text, " ");

		if (used > LABEL && used + 1 + len > width) {
			fprintf(out, "\n%*s", LABEL, "");
			used = LABEL;
		}
		used += (size_t)fprintf(out, "%s%.*s", used > LABEL ? " " : "", (int)len, text);
		text += len + strspn(text + len, " ");
	}
	putc('\n', out);
}

void output_paragraph(FILE *out, const char *label, const char *state, const char *text)
{
	char *quoted = quoted_new(text), *first = quoted_new(state);

	if (text[0] != '\0' || state[0] != '\0') {
		fprintf(out, "%-*s", LABEL, label);
		put_coloured(out, first);
		words_print(out, quoted, LABEL + strlen(first));
	}
	free(quoted);
	free(first);
}

const char *output_duration(char text[OUTPUT_TIME_MAX], json_int_t seconds)
{
	long s = (long)seconds;

	snprintf(text, OUTPUT_TIME_MAX, "%ld d %02ld:%02ld:%02ld", s / 86400, s / 3600 % 24,
		s / 60 % 60, s % 60);
	return text;
}

const char *output_time(char text[OUTPUT_TIME_MAX], time_t at)
{
	struct tm when;

	text[0] = '\0';
	if (localtime_r(&at, &when) != NULL)
		strftime(text, OUTPUT_TIME_MAX, "%Y-%m-%d %H:%M:%S", &when);
	return text;
}

static void put_value(FILE *out, json_t *value);

static void put_array(FILE *out, const json_t *array)
{
	for (size_t i = 0; i < json_array_size(array); i++) {
		if (i > 0)
			putc(',', out);
		put_value(out, json_array_get(array, i));
	}
}

static void put_object(FILE *out, json_t *object)
{
	for (void *i = json_object_iter(object); i != NULL; i = json_object_iter_next(object, i)) {
		if (i != json_object_iter(object))
			putc(',', out);
		output_text(out, json_object_iter_key(i));
		putc(':', out);
		put_value(out, json_object_iter_value(i));
	}
}

static void put_value(FILE *out, json_t *value)
{
	if (json_is_array(value)) {
		put_array(out, value);
	} else if (json_is_object(value)) {
		put_object(out, value);
	} else if (json_is_string(value)) {
		output_text(out, json_string_value(value));
	} else if (value != NULL && !json_is_null(value)) {
		char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));

		output_text(out, text != NULL ? text : "");
		free(text);
	}
}

// The text of one cell in new memory. No object: that of the header.
static char *cell_new(const struct column *column, const json_t *object)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (out == NULL)
		err(EXIT_FAILURE, NULL);
	if (object != NULL)
		put_value(out, json_object_get(object, column->key));
	else
		output_text(out, column->key);
	if (object != NULL && ftell(out) == 0)
		putc('-', out);
	if (fclose(out) != 0)
		err(EXIT_FAILURE, NULL);
	for (char *c = text; object == NULL && *c != '\0'; c++)
		*c = (char)toupper((unsigned char)*c);
	return text;
}

static void column_grow(struct column *column, const json_t *object)
{
	char *text = cell_new(column, object);

	if (strlen(text) > column->width)
		column->width = strlen(text);
	free(text);
}

static void column_init(struct column *column, const char *key, json_t *rows)
{
	*column = (struct column){.key = key, .number = true};
	column_grow(column, NULL);
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *object = json_array_get(rows, i);
		const json_t *value = json_object_get(object, key);

		if (value != NULL && !json_is_null(value) && !json_is_number(value))
			column->number = false;
		column_grow(column, object);
	}
}

static void cell_print(FILE *out, const struct column *column, const json_t *object, bool last)
{
	char *text = cell_new(column, object);
	int pad = (int)(column->width - strlen(text));

	if (column->number)
		fprintf(out, "%*s%s", pad, "", text);
	else if (object != NULL && is_state(column))
		put_coloured(out, text);
	else
		fputs(text, out);
	if (!column->number && !last)
		fprintf(out, "%*s", pad, "");
	fputs(last ? "\n" : GAP, out);
	free(text);
}

// The first column and those from begin to end.
static void line_print(
	FILE *out, const struct column *columns, size_t begin, size_t end, const json_t *object)
{
	cell_print(out, &columns[0], object, begin == end);
	for (size_t i = begin; i < end; i++)
		cell_print(out, &columns[i], object, i + 1 == end);
}

// The index after the last column that fits beside the first one, from begin on: at least one
// column fits.
static size_t part_end(const struct column *columns, size_t n, size_t begin, size_t width)
{
	size_t used = columns[0].width;
	size_t end = begin;

	while (end < n) {
		used += strlen(GAP) + columns[end].width;
		if (width != 0 && used > width && end > begin)
			break;
		end++;
	}
	return end;
}

// Returns the columns of a table, n of them, in new memory.
static struct column *columns_new(json_t *rows, size_t *n)
{
	json_t *first = json_array_get(rows, 0);
	struct column *columns = calloc(json_object_size(first) + 1, sizeof(*columns));
	void *item = json_object_iter(first);

	if (columns == NULL)
		err(EXIT_FAILURE, NULL);
	for (*n = 0; item != NULL; item = json_object_iter_next(first, item))
		column_init(&columns[(*n)++], json_object_iter_key(item), rows);
	return columns;
}

// Whether the table is continued below itself, and the first column does not tell its rows apart.
static bool needs_numbers(json_t *rows)
{
	json_t *seen;
	size_t n;
	struct column *columns;

	if (output_width() == 0)
		return false;
	seen = json_object();
	columns = columns_new(rows, &n);

	bool continued = part_end(columns, n, 1, output_width()) < n;

	for (size_t i = 0; continued && i < json_array_size(rows); i++) {
		char *text = cell_new(&columns[0], json_array_get(rows, i));

		json_object_set_new(seen, text, json_true());
		free(text);
	}
	continued = continued && json_object_size(seen) < json_array_size(rows);
	json_decref(seen);
	free(columns);
	return continued;
}

static json_t *rows_numbered(json_t *rows)
{
	json_t *numbered = json_array();

	for (size_t i = 0; i < json_array_size(rows); i++) {
		json_t *row = json_pack("{s:I}", "#", (json_int_t)i + 1);

		json_object_update(row, json_array_get(rows, i));
		json_array_append_new(numbered, row);
	}
	return numbered;
}

void output_rows(FILE *out, json_t *rows)
{
	json_t *shown = needs_numbers(rows) ? rows_numbered(rows) : json_incref(rows);
	size_t n;
	struct column *columns = columns_new(shown, &n);

	for (size_t begin = 1, end = 0; end < n; begin = end) {
		if (begin > 1)
			putc('\n', out);
		end = part_end(columns, n, begin, output_width());
		line_print(out, columns, begin, end, NULL);
		for (size_t i = 0; i < json_array_size(shown); i++)
			line_print(out, columns, begin, end, json_array_get(shown, i));
	}
	free(columns);
	json_decref(shown);
}

json_t *output_plain_new(const char *markdown)
{
	char *text = strdup(markdown), *to = text;
	json_t *plain;

	for (const char *from = markdown; text != NULL && *from != '\0'; from++)
		if (from[0] == ']' && from[1] == '(')
			from += strcspn(from, ")");
		else if (*from != '`' && (from[0] != '[' || from[1] == ' '))
			*to++ = *from;
	if (text == NULL)
		return NULL;
	*to = '\0';
	plain = json_string(text);
	free(text);
	return plain;
}
