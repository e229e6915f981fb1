// SPDX-License-Identifier: BSD-3-Clause
#include "line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void line_reader_clear(struct line_reader *r)
{
	explicit_bzero(r->text, r->len);
	r->len = 0;
}

enum line_result line_read(struct line_reader *r, const char *octets, size_t len, size_t *used)
{
	if (memchr(r->text, '\0', r->len) != NULL) // the line before
		line_reader_clear(r);
	for (size_t i = 0; i < len; i++) {
		char c = octets[i];

		*used = i + 1;
		if (c != '\n' && (c < ' ' || c > '~'))
			return LINE_NOT_TEXT;
		if (c != '\n' && r->len == sizeof(r->text) - 1)
			return LINE_TOO_LONG;
		r->text[r->len++] = c == '\n' ? '\0' : c;
		if (c == '\n')
			return LINE_WHOLE;
	}
	*used = len;
	return LINE_PART;
}

bool line_word(const char **rest, char *word, size_t size)
{
	size_t len = *rest != NULL ? strcspn(*rest, " ") : 0;

	if (len == 0 || len >= size)
		return false;
	memcpy(word, *rest, len);
	word[len] = '\0';
	*rest = (*rest)[len] == ' ' ? *rest + len + 1 : NULL;
	return true;
}

bool line_number(const char **rest, uint64_t *n, uint64_t max)
{
	char digits[21];

	if (!line_word(rest, digits, sizeof(digits)))
		return false;
	*n = 0;
	for (const char *p = digits; *p != '\0'; p++) {
		uint64_t digit = (uint64_t)(*p - '0');

		if (*p < '0' || *p > '9' || digit > max || *n > (max - digit) / 10)
			return false;
		*n = *n * 10 + digit;
	}
	return true;
}

int line_queue_init(struct line_queue *q, size_t size)
{
	*q = (struct line_queue){.octets = malloc(size), .size = size};
	return q->octets != NULL ? 0 : -ENOMEM;
}

void line_queue_fini(struct line_queue *q)
{
	free(q->octets);
}

static void append(struct line_queue *q, const char *octets, size_t len)
{
	size_t at = (q->first + q->len) % q->size;
	size_t part = q->size - at < len ? q->size - at : len;

	memcpy(q->octets + at, octets, part);
	memcpy(q->octets, octets + part, len - part);
	q->len += len;
}

bool line_queue_put(struct line_queue *q, const char *line, size_t len)
{
	if (line_queue_room(q) < len + 1)
		return false;
	append(q, line, len);
	append(q, "\n", 1);
	return true;
}

// Octets of the first line, which is there.
static size_t first_len(const struct line_queue *q)
{
	size_t part = q->size - q->first < q->len ? q->size - q->first : q->len;
	const char *end = memchr(q->octets + q->first, '\n', part);

	if (end != NULL)
		return (size_t)(end - q->octets) - q->first + 1;
	end = memchr(q->octets, '\n', q->len - part);
	return part + (size_t)(end - q->octets) + 1;
}

// Removes the first octets, and wipes them.
static void remove_first(struct line_queue *q, size_t len)
{
	size_t part = q->size - q->first < len ? q->size - q->first : len;

	explicit_bzero(q->octets + q->first, part);
	explicit_bzero(q->octets, len - part);
	q->first = (q->first + len) % q->size;
	q->len -= len;
}

void line_queue_clear(struct line_queue *q)
{
	remove_first(q, q->len);
}

size_t line_queue_take(struct line_queue *q, char *line, size_t size)
{
	size_t len = q->len > 0 ? first_len(q) : 0;
	size_t part = q->size - q->first < len ? q->size - q->first : len;

	if (len > size)
		return 0;
	memcpy(line, q->octets + q->first, part);
	memcpy(line + part, q->octets, len - part);
	remove_first(q, len);
	return len;
}
