// SPDX-License-Identifier: BSD-3-Clause
#include "flow_line.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow_adopt.h"

#define WORDS         14 // the first of which is "flow"
#define WORDS_OF_BOTH 20 // with those of a translated one
#define NO_RULE       "*"

static size_t ends_write(char *at, const struct ip_ends *e)
{
	char src[IP_ADDR_STRLEN], dst[IP_ADDR_STRLEN];

	return (size_t)sprintf(at, " %s %u %s %u", ip_addr_format(src, &e->src),
		rte_be_to_cpu_16(e->src_port), ip_addr_format(dst, &e->dst),
		rte_be_to_cpu_16(e->dst_port));
}

static const char *rule_text(const char *name)
{
	return name[0] != '\0' ? name : NO_RULE;
}

size_t flow_line_write(char line[FLOW_LINE_MAX], const struct flow_line *f)
{
	const struct flow_copy *c = &f->copy;
	char *at = line;

	at += sprintf(at, "flow %u %s %x", c->proto, flow_state_info[flow_word_state(c->word)].name,
		c->word & ~FLOW_STATE_MASK);
	at += ends_write(at, &c->from);
	at += sprintf(at, " %u %u %u %u %u %u", c->icmp_type << 8 | c->icmp_code, c->age_ms,
		c->idle_ms[0], c->idle_ms[1], c->scale[0], c->scale[1]);
	if (c->translated) {
		at += ends_write(at, &c->to);
		at += sprintf(
			at, " %s %s", rule_text(f->rule[NAT_TO]), rule_text(f->rule[NAT_FROM]));
	}
	return (size_t)(at - line);
}

// Splits the text, which it changes, at single blanks. Returns how many words there are; max + 1:
// more, or an empty one.
static unsigned int split(char *text, const char *word[], unsigned int max)
{
	unsigned int n = 0;

	for (char *end = text; end != NULL; text = end + 1) {
		end = strchr(text, ' ');
		if (end != NULL)
			*end = '\0';
		if (n == max || *text == '\0')
			return max + 1;
		word[n++] = text;
	}
	return n;
}

// Reads digits of a base up to 16, as they are written.
static bool number_read(uint32_t *n, const char *word, unsigned int base, uint32_t max)
{
	uint64_t value = 0;

	if (word[0] == '0' && word[1] != '\0')
		return false;
	for (const char *p = word; *p != '\0'; p++) {
		int digit = *p >= '0' && *p <= '9'   ? *p - '0'
			    : *p >= 'a' && *p <= 'f' ? *p - 'a' + 10
						     : 16;

		value = value * base + (unsigned int)digit;
		if ((unsigned int)digit >= base || value > max)
			return false;
	}
	*n = (uint32_t)value;
	return true;
}

static bool end_read(struct ip_addr *addr, rte_be16_t *port, const char *const word[2])
{
	uint32_t number;

	if (ip_addr_parse(addr, word[0]) < 0 || !number_read(&number, word[1], 10, UINT16_MAX))
		return false;
	*port = rte_cpu_to_be_16((uint16_t)number);
	return true;
}

static bool ends_read(struct ip_ends *e, const char *const word[4])
{
	return end_read(&e->src, &e->src_port, word) && end_read(&e->dst, &e->dst_port, word + 2);
}

static bool state_read(uint32_t *word, const char *name, const char *facts)
{
	uint32_t state = FLOW_FREE + 1;

	while (state < FLOW_STATE_COUNT && strcmp(name, flow_state_info[state].name) != 0)
		state++;
	if (state == FLOW_STATE_COUNT || !number_read(word, facts, 16, UINT32_MAX) ||
		(*word & FLOW_STATE_MASK) != 0)
		return false;
	*word |= state;
	return true;
}

static bool icmp_read(struct flow_copy *c, const char *word)
{
	const bool v4 = ip_addr_is_v4(&c->from.src);
	uint32_t number;

	if (!number_read(&number, word, 10, UINT16_MAX))
		return false;
	c->icmp_type = (uint8_t)(number >> 8);
	c->icmp_code = (uint8_t)number;
	c->query = c->proto == (v4 ? IPPROTO_ICMP : IPPROTO_ICMPV6) &&
		   flow_icmp_is_query(c->icmp_type, v4);
	return true;
}

static bool times_read(struct flow_copy *c, const char *const word[5])
{
	uint32_t scale[2];

	if (!number_read(&c->age_ms, word[0], 10, UINT32_MAX) ||
		!number_read(&c->idle_ms[0], word[1], 10, INT32_MAX) ||
		!number_read(&c->idle_ms[1], word[2], 10, INT32_MAX) ||
		!number_read(&scale[0], word[3], 10, FLOW_SCALE_MAX) ||
		!number_read(&scale[1], word[4], 10, FLOW_SCALE_MAX))
		return false;
	c->scale[0] = (uint8_t)scale[0];
	c->scale[1] = (uint8_t)scale[1];
	return true;
}

static bool rule_read(conf_name name, const char *word)
{
	if (strlen(word) >= sizeof(conf_name))
		return false;
	strcpy(name, strcmp(word, NO_RULE) != 0 ? word : "");
	return true;
}

bool flow_line_read(struct flow_line *f, const char *line)
{
	struct flow_copy *c = &f->copy;
	const char *word[WORDS_OF_BOTH];
	char text[FLOW_LINE_MAX];
	unsigned int n;
	uint32_t proto;

	*f = (struct flow_line){0};
	if (strlen(line) >= sizeof(text))
		return false;
	strcpy(text, line);
	n = split(text, word, WORDS_OF_BOTH);
	if (n != WORDS && n != WORDS_OF_BOTH)
		return false;
	if (!number_read(&proto, word[1], 10, UINT8_MAX) ||
		!state_read(&c->word, word[2], word[3]) || !ends_read(&c->from, word + 4))
		return false;
	c->proto = (uint8_t)proto;
	c->to = c->from;
	c->translated = n == WORDS_OF_BOTH;
	if (!icmp_read(c, word[8]) || !times_read(c, word + 9))
		return false;
	if (c->translated &&
		(!ends_read(&c->to, word + 14) || !rule_read(f->rule[NAT_TO], word[18]) ||
			!rule_read(f->rule[NAT_FROM], word[19])))
		return false;
	return flow_copy_is_possible(c);
}
