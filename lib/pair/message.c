// SPDX-License-Identifier: BSD-3-Clause
#include "message.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "line.h"

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

// The text after "NAME=", or NULL.
static const char *value_of(const char *text, const char *name)
{
	size_t len = strlen(name);

	return text != NULL && strncmp(text, name, len) == 0 && text[len] == '=' ? text + len + 1
										 : NULL;
}

// Takes "NAME=VALUE", whose value is a word, or a number.
static bool value_word(const char **rest, const char *name, char *word, size_t size)
{
	*rest = value_of(*rest, name);
	return line_word(rest, word, size);
}

static bool value_number(const char **rest, const char *name, uint32_t *n, uint32_t max)
{
	uint64_t number;

	*rest = value_of(*rest, name);
	if (!line_number(rest, &number, max))
		return false;
	*n = (uint32_t)number;
	return true;
}

static bool member_read(const char **rest, uint32_t *member)
{
	return value_number(rest, "member", member, 2) && *member > 0;
}

bool pair_hello_read(struct pair_hello *h, const char *line)
{
	const char *rest = line + strlen(words[MESSAGE_HELLO]);
	uint64_t protocol;

	*h = (struct pair_hello){0};
	if (!line_number(&rest, &protocol, UINT32_MAX))
		return false;
	h->protocol = (uint32_t)protocol;
	if (protocol != PAIR_PROTOCOL)
		return true;
	if (!member_read(&rest, &h->member) ||
		!value_word(&rest, "name", h->name, sizeof(h->name)) ||
		!value_word(&rest, "version", h->version, sizeof(h->version)) || rest == NULL)
		return false;
	return pair_config_read(h->config, rest);
}

bool pair_alive_read(struct pair_alive *a, const char *line)
{
	const char *rest = line + strlen(words[MESSAGE_ALIVE]);

	return line_number(&rest, &a->sent, UINT64_MAX) &&
	       line_number(&rest, &a->taken, UINT64_MAX) &&
	       line_number(&rest, &a->seen, UINT64_MAX) && rest == NULL;
}

bool pair_beacon_read(struct pair_beacon *b, const char *line)
{
	const char *rest = line;
	char word[sizeof("beacon")];
	uint64_t protocol;

	return line_word(&rest, word, sizeof(word)) && strcmp(word, "beacon") == 0 &&
	       line_number(&rest, &protocol, UINT32_MAX) && protocol == PAIR_PROTOCOL &&
	       member_read(&rest, &b->member) &&
	       value_number(&rest, "deaf", &b->deaf_ms, UINT32_MAX) && rest == NULL;
}

bool pair_config_read(char config[PAIR_CONFIG_MAX], const char *text)
{
	const char *rest = *text != '\0' ? text : NULL;
	char word[PAIR_CONFIG_MAX];

	if (strlen(text) >= PAIR_CONFIG_MAX)
		return false;
	while (rest != NULL) {
		const char *equals =
			line_word(&rest, word, sizeof(word)) ? strchr(word, '=') : NULL;

		if (equals == NULL || equals == word || equals[1] == '\0')
			return false;
	}
	strcpy(config, text);
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
