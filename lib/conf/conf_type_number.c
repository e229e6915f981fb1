// SPDX-License-Identifier: BSD-3-Clause
// Numbers, and numbers with a unit: "30m" is 1800 seconds, "1.5G" of memory are 1536 MB.
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "conf_schema.h"

// The factor of a suffix. The last one has no suffix.
struct unit {
	const char *suffix;
	uint64_t factor;
};

static const struct unit none[] = {{"", 1}};
static const struct unit thousands[] = {{"k", 1000}, {"M", 1000000}, {"G", 1000000000},
	{"T", 1000000000000}, {"P", 1000000000000000}, {"", 1}};
static const struct unit seconds[] = {{"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}, {"", 1}};
static const struct unit megabytes[] = {{"M", 1}, {"G", 1024}, {"T", 1048576}, {"", 1}};

const char *conf_number(uint32_t *v, const char *text)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	const char *digits = hex ? text + 2 : text;
	char *end;

	if (!isxdigit((unsigned char)digits[0]) || (!hex && !isdigit((unsigned char)digits[0])))
		return NULL;

	unsigned long long value = strtoull(digits, &end, hex ? 16 : 10);

	if (value > UINT32_MAX)
		return NULL;
	*v = (uint32_t)value;
	return end;
}

bool conf_number_whole(uint32_t *v, const char *text)
{
	const char *end = conf_number(v, text);

	return end != NULL && *end == '\0';
}

void conf_store(const struct conf_option *o, void *field, uint64_t v)
{
	uint8_t v8 = (uint8_t)v;
	uint16_t v16 = (uint16_t)v;
	uint32_t v32 = (uint32_t)v;

	memcpy(field,
		o->size == 1   ? (void *)&v8
		: o->size == 2 ? (void *)&v16
		: o->size == 4 ? (void *)&v32
			       : &v,
		o->size);
}

struct decimal {
	uint64_t digits, divisor; // "1.5": 15 and 10
};

static bool is_point(const char *text, bool in_fraction)
{
	return text[0] == '.' && !in_fraction && isdigit((unsigned char)text[1]);
}

// Returns the text after the number; NULL if there is none, or too many digits.
static const char *decimal_read(struct decimal *d, const char *text)
{
	bool fraction = false;

	*d = (struct decimal){.divisor = 1};
	if (!isdigit((unsigned char)text[0]))
		return NULL;
	for (; isdigit((unsigned char)*text) || is_point(text, fraction); text++) {
		if (*text == '.') {
			fraction = true;
			continue;
		}
		if (__builtin_mul_overflow(d->digits, 10, &d->digits) ||
			__builtin_add_overflow(d->digits, (uint64_t)(*text - '0'), &d->digits) ||
			__builtin_mul_overflow(d->divisor, fraction ? 10 : 1, &d->divisor))
			return NULL;
	}
	return text;
}

// False unless the text is a number and perhaps a unit, and the product a whole number.
static bool scale(uint64_t *v, const struct unit *unit, const char *text)
{
	struct decimal d;
	const char *suffix = decimal_read(&d, text);
	uint32_t hex;

	if (text[0] == '0' && conf_number_whole(&hex, text)) {
		*v = hex;
		return true;
	}
	if (suffix == NULL)
		return false;
	while (unit->suffix[0] != '\0' && strcmp(unit->suffix, suffix) != 0)
		unit++;
	if (strcmp(unit->suffix, suffix) != 0 ||
		__builtin_mul_overflow(d.digits, unit->factor, &d.digits))
		return false;
	*v = d.digits / d.divisor;
	return d.digits % d.divisor == 0;
}

// Without a range (conf_schema.h) any number above 0 is allowed that fits 63 bits.
static bool is_in_range(const struct conf_option *o, uint64_t v)
{
	return o->max > 0 ? v >= o->min && v <= o->max : v >= 1 && v <= INT64_MAX;
}

static void parse_scaled(const struct conf_value *v, const struct unit *unit)
{
	uint64_t number;
	bool is_number = scale(&number, unit, v->text);

	if (is_number && is_in_range(v->option, number))
		conf_store(v->option, v->field, number);
	else if (is_number || config_setting_type(v->s) != CONFIG_TYPE_STRING)
		conf_err(v->r, v->s, "%s is out of range, must be %s", conf_show(v->text),
			conf_allowed(v->option));
	else
		conf_reject(v);
}

#define PARSE(kind, units)                                                                         \
	void conf_parse_##kind(const struct conf_value *v)                                         \
	{                                                                                          \
		parse_scaled(v, units);                                                            \
	}

PARSE(uint, none)
PARSE(count, thousands)
PARSE(seconds, seconds)
PARSE(megabytes, megabytes)
