// SPDX-License-Identifier: BSD-3-Clause
#include "message.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const words[] = {
	[MESSAGE_HELLO] = "hello ",
	[MESSAGE_ALIVE] = "alive ",
	[MESSAGE_CONFIG] = "config ",
	[MESSAGE_BYE] = "bye ",
};

enum message_word message_word(const char *line)
{
	enum message_word w = MESSAGE_HELLO;

	while (w < MESSAGE_USER && strncmp(line, words[w], strlen(words[w])) != 0)
		w++;
	return w;
}

size_t pair_hello_write(char *line, size_t size, const struct pair_hello *h)
{
	return (size_t)snprintf(line, size, "hello %u member=%u name=%s version=%s %s", h->protocol,
		h->member, h->name, h->version, h->config);
}

size_t pair_alive_write(char *line, size_t size, const struct pair_alive *a)
{
	return (size_t)snprintf(
		line, size, "alive %" PRIu64 " %" PRIu64 " %" PRIu64, a->sent, a->taken, a->seen);
}

size_t pair_beacon_write(char *line, size_t size, const struct pair_beacon *b)
{
	return (size_t)snprintf(
		line, size, "beacon %u member=%u deaf=%u", PAIR_PROTOCOL, b->member, b->deaf_ms);
}

// Reads digits of a number up to max. Returns the text after them, NULL if there is no such number.
static const char *number_read(uint64_t *n, const char *text, uint64_t max)
{
	const char *p = text;

	for (*n = 0; *p >= '0' && *p <= '9'; p++) {
		uint64_t digit = (uint64_t)(*p - '0');

		if (digit > max || *n > (max - digit) / 10)
			return NULL;
		*n = *n * 10 + digit;
	}
	return p > text ? p : NULL;
}

// Reads a number and the blank after it; the last one has none.
static bool number_next(uint64_t *n, const char **text, bool last)
{
	const char *end = number_read(n, *text, UINT64_MAX);

	if (end == NULL || *end != (last ? '\0' : ' '))
		return false;
	*text = end + !last;
	return true;
}

// Copies a word, which has at least one octet. Returns the text after it and the blank, or NULL.
static const char *word_read(char *word, size_t size, const char *text)
{
	size_t len = strcspn(text, " ");

	if (len == 0 || len >= size)
		return NULL;
	memcpy(word, text, len);
	word[len] = '\0';
	return text + len + (text[len] == ' ');
}

// The text after "NAME=", or NULL.
static const char *value_of(const char *text, const char *name)
{
	size_t len = strlen(name);

	return text != NULL && strncmp(text, name, len) == 0 && text[len] == '=' ? text + len + 1
										 : NULL;
}

// Words "KIND=DIGEST" with one blank in between.
static bool config_is_right(const char *text)
{
	char word[PAIR_CONFIG_MAX];

	if (strlen(text) >= PAIR_CONFIG_MAX)
		return false;
	while (*text != '\0') {
		const char *next = word_read(word, sizeof(word), text);
		const char *equals = next != NULL ? strchr(word, '=') : NULL;

		if (equals == NULL || equals == word || equals[1] == '\0')
			return false;
		text = next;
	}
	return true;
}

bool pair_hello_read(struct pair_hello *h, const char *line)
{
	uint64_t protocol, member;
	const char *p = number_read(&protocol, line + strlen(words[MESSAGE_HELLO]), UINT32_MAX);

	*h = (struct pair_hello){0};
	if (p == NULL || (*p != ' ' && *p != '\0'))
		return false;
	h->protocol = (uint32_t)protocol;
	if (protocol != PAIR_PROTOCOL)
		return true;
	p = value_of(p + (*p == ' '), "member");
	p = p != NULL ? number_read(&member, p, 2) : NULL;
	if (p == NULL || *p != ' ' || member == 0)
		return false;
	h->member = (uint32_t)member;
	p = value_of(p + 1, "name");
	p = p != NULL ? word_read(h->name, sizeof(h->name), p) : NULL;
	p = value_of(p, "version");
	p = p != NULL ? word_read(h->version, sizeof(h->version), p) : NULL;
	if (p == NULL || !config_is_right(p))
		return false;
	strcpy(h->config, p);
	return true;
}

bool pair_alive_read(struct pair_alive *a, const char *line)
{
	const char *p = line + strlen(words[MESSAGE_ALIVE]);

	return number_next(&a->sent, &p, false) && number_next(&a->taken, &p, false) &&
	       number_next(&a->seen, &p, true);
}

bool pair_beacon_read(struct pair_beacon *b, const char *line)
{
	static const char begin[] = "beacon ";
	uint64_t protocol, member, deaf;
	const char *p = NULL;

	if (strncmp(line, begin, strlen(begin)) == 0)
		p = number_read(&protocol, line + strlen(begin), UINT32_MAX);
	if (p == NULL || protocol != PAIR_PROTOCOL || *p != ' ')
		return false;
	p = value_of(p + 1, "member");
	p = p != NULL ? number_read(&member, p, 2) : NULL;
	if (p == NULL || member == 0 || *p != ' ')
		return false;
	p = value_of(p + 1, "deaf");
	p = p != NULL ? number_read(&deaf, p, UINT32_MAX) : NULL;
	if (p == NULL || *p != '\0')
		return false;
	*b = (struct pair_beacon){(uint32_t)member, (uint32_t)deaf};
	return true;
}

bool pair_config_read(char config[PAIR_CONFIG_MAX], const char *line)
{
	const char *p = line + strlen(words[MESSAGE_CONFIG]);

	if (!config_is_right(p))
		return false;
	strcpy(config, p);
	return true;
}

// Whether the text has the word, of len octets.
static bool has_word(const char *text, const char *word, size_t len)
{
	for (; *text != '\0'; text += strcspn(text, " "), text += *text == ' ')
		if (strncmp(text, word, len) == 0 && (text[len] == ' ' || text[len] == '\0'))
			return true;
	return false;
}

// Whether the words have the name of this one already.
static bool has_name(const char *names, const char *name, size_t len)
{
	for (; *names != '\0'; names += strcspn(names, ","), names += *names == ',')
		if (strncmp(names, name, len) == 0 && (names[len] == ',' || names[len] == '\0'))
			return true;
	return false;
}

// Appends the kinds of one text that the other has not in the same state.
static void differing_add(char *differing, size_t size, const char *from, const char *other)
{
	for (const char *p = from; *p != '\0'; p += strcspn(p, " "), p += *p == ' ') {
		size_t len = strcspn(p, " "), name = strcspn(p, "="), at = strlen(differing);

		if (!has_word(other, p, len) && !has_name(differing, p, name))
			snprintf(differing + at, size - at, "%s%.*s", at > 0 ? "," : "", (int)name,
				p);
	}
}

void pair_config_compare(char *differing, size_t size, const char *ours, const char *theirs)
{
	differing[0] = '\0';
	differing_add(differing, size, ours, theirs);
	differing_add(differing, size, theirs, ours);
}
