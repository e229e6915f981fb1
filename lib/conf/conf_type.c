// SPDX-License-Identifier: BSD-3-Clause
#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "conf_schema.h"
#include "crypto.h"
#include "pem.h"
#include "proto_model.h"

#define DEVICE_MAX 255 // octets of a device's name and arguments

#define STRING       CONF_KIND(CONFIG_TYPE_STRING)
#define INTEGER      (CONF_KIND(CONFIG_TYPE_INT) | CONF_KIND(CONFIG_TYPE_INT64))
#define BOOLEAN      CONF_KIND(CONFIG_TYPE_BOOL)
#define SEQUENCE     (CONF_KIND(CONFIG_TYPE_ARRAY) | CONF_KIND(CONFIG_TYPE_LIST))
#define NONE         NULL, 0
#define CHOICES      NULL, sizeof(char *)
#define WORDS(array) (array), sizeof((array)[0])

// Patterns. JSON Schema has no ranges of numbers in strings.
#define NUMBER  "(0[xX][0-9A-Fa-f]+|[0-9]+)"
#define RANGE   NUMBER "(-" NUMBER ")?"
#define UNIT(u) "^(0[xX][0-9A-Fa-f]+|[0-9]+([.][0-9]+)?" u "?)$"
#define ADDRESS "[0-9A-Fa-f:.]+"

#define TYPE(name, written, words, parse, equal, ...)                                              \
	const struct conf_type conf_type_##name = {                                                \
		.kinds = (written), words, conf_parse_##parse, equal, __VA_ARGS__};
#include "conf_type.def"

const char *conf_word(const struct conf_option *o, unsigned int i)
{
	const char *words = o->type->words != NULL ? o->type->words : (const char *)o->choices;
	const char *word = NULL;

	if (o->type->word_size > 0)
		memcpy(&word, words + i * o->type->word_size, sizeof(word));
	return word;
}

void conf_reject(const struct conf_value *v)
{
	const struct conf_option *o = v->option;
	struct nearest near = {.text = v->text};
	const char *word;

	for (unsigned int i = 0; (word = conf_word(o, i)) != NULL; i++)
		nearest_try(&near, word);
	conf_err(v->r, v->s, "%s is not allowed, %s", conf_quote(v->text),
		conf_hint(&near, conf_format("must be %s", conf_allowed(o))));
}

void conf_parse_bool(const struct conf_value *v)
{
	// libconfig knows no third value.
	*(bool *)v->field = strcmp(v->text, "true") == 0;
}

// The number of the choice; -1, after a message, if it is none.
static int choice_find(const struct conf_value *v)
{
	for (int i = 0; v->option->choices[i] != NULL; i++)
		if (strcmp(v->option->choices[i], v->text) == 0)
			return i;
	conf_reject(v);
	return -1;
}

void conf_parse_choice(const struct conf_value *v)
{
	int i = choice_find(v);

	if (i >= 0)
		conf_store(v->option, v->field, (uint64_t)i);
}

void conf_parse_engine(const struct conf_value *v)
{
	int i = choice_find(v);

	if (i > 0 && !crypto_engine_built_in(v->text))
		conf_err(v->r, v->s,
			"engine %s is not built in, for lack of its library: use \"%s\" or "
			"rebuild",
			conf_quote(v->text), v->option->choices[0]);
	else if (i >= 0)
		*(const char **)v->field = v->option->choices[i];
}

void conf_parse_name(const struct conf_value *v)
{
	size_t len = strspn(
		v->text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-");

	if (isalnum((unsigned char)v->text[0]) && v->text[len] == '\0' && len < CONF_NAME_MAX)
		strcpy(v->field, v->text);
	else
		conf_reject(v);
}

static bool is_printable(const char *text)
{
	for (; *text != '\0'; text++)
		if (!isgraph((unsigned char)*text))
			return false;
	return true;
}

void conf_parse_text(const struct conf_value *v)
{
	if (v->text[0] != '\0' && strlen(v->text) <= DEVICE_MAX && is_printable(v->text))
		*(char **)v->field = conf_strdup(v->text);
	else
		conf_reject(v);
}

void conf_parse_state_dir(const struct conf_value *v)
{
	if (v->text[0] == '/')
		conf_parse_text(v);
	else if (strcmp(v->text, "none") == 0)
		*(char **)v->field = NULL;
	else
		conf_reject(v);
}

void conf_parse_string(const struct conf_value *v)
{
	if (v->text[0] == '\0')
		conf_reject(v);
}

void conf_parse_sas(const struct conf_value *v)
{
	int n = config_setting_length(v->s);

	if (!config_setting_is_aggregate(v->s)) {
		conf_parse_string(v);
		return;
	}
	if (n < 1 || n > CONF_POLICY_IN_MAX)
		conf_err(v->r, v->s, "has %d elements, must have 1 to %d", n, CONF_POLICY_IN_MAX);
	for (int i = 0; i < n; i++) {
		const char *name = config_setting_get_string_elem(v->s, i);

		if (name == NULL || name[0] == '\0') {
			conf_err(v->r, v->s, "element %d is not a name, must be %s", i + 1,
				v->option->type->allowed);
			return;
		}
	}
}

void conf_parse_hops(const struct conf_value *v)
{
	unsigned int n = (unsigned int)config_setting_length(v->s);
	struct conf_hops *hops = v->field;

	if (n < 2 || n > CONF_HOPS_MAX) {
		conf_err(v->r, v->s, "has %u elements, must have 2 to %d", n, CONF_HOPS_MAX);
		return;
	}
	*hops = (struct conf_hops){conf_alloc(n, sizeof(hops->hop[0])), n};
	for (unsigned int i = 0; i < n; i++) {
		config_setting_t *s = config_setting_get_elem(v->s, i);

		if (config_setting_is_group(s))
			conf_read_group(v->r, v->option->options, s, &hops->hop[i]);
		else
			conf_err(v->r, v->s, "element %u must be a group { }", i + 1);
	}
}

// EAL arguments that follow from other settings. EAL takes abbreviations of long ones.
static const struct eal_arg {
	const char *name;
	const char *instead;
} eal_args[] = {
	{"-l", "cpus"},
	{"-c", "cpus"},
	{"--lcores", "cpus"},
	{"--main-lcore", "cpus"},
	{"-m", "memory.size"},
	{"--socket-mem", "memory.size"},
	{"--no-huge", "memory.hugepages"},
	{"--in-memory", "memory.hugepages"},
	{"-a", "ports"},
	{"--allow", "ports"},
	{"--vdev", "ports"},
	{"--file-prefix", "instance"},
	{"--proc-type", NULL},
	{"--no-telemetry", NULL},
	{"--", NULL},
};

static bool is_eal_arg(const char *text, const char *name)
{
	size_t len = strcspn(text, "=");

	if (name[1] != '-')
		return strncmp(text, name, 2) == 0;
	return len > 2 ? strncmp(text, name, len) == 0 : strcmp(text, name) == 0;
}

void conf_parse_eal_arg(const struct conf_value *v)
{
	for (unsigned int i = 0; i < RTE_DIM(eal_args); i++) {
		if (!is_eal_arg(v->text, eal_args[i].name))
			continue;
		if (eal_args[i].instead != NULL)
			conf_err(v->r, v->s, "\"%s\" is not allowed, must be set by the setting %s",
				eal_args[i].name, eal_args[i].instead);
		else
			conf_err(v->r, v->s, "\"%s\" is not allowed, is set by culvertd",
				eal_args[i].name);
		return;
	}
	conf_parse_text(v);
}

void conf_parse_spi(const struct conf_value *v)
{
	uint32_t spi;

	if (conf_number_whole(&spi, v->text) && spi >= CONF_SPI_MIN)
		*(uint32_t *)v->field = spi;
	else
		conf_reject(v);
}

void conf_parse_proto(const struct conf_value *v)
{
	const struct proto_info *p = proto_find(v->text);
	uint32_t number;

	if (p != NULL)
		conf_store(v->option, v->field, p->number);
	else if (conf_number_whole(&number, v->text) && number <= UINT8_MAX)
		conf_store(v->option, v->field, number);
	else
		conf_reject(v);
}

// "53" or "1000-2000"
void conf_parse_ports(const struct conf_value *v)
{
	struct proto_ports *range = v->field;
	uint32_t min, max;
	const char *end = conf_number(&min, v->text);

	max = min;
	if (end != NULL && *end == '-')
		end = conf_number(&max, end + 1);
	if (end != NULL && *end == '\0' && min <= max && max <= UINT16_MAX) {
		*range = (struct proto_ports){(uint16_t)min, (uint16_t)max};
	} else {
		conf_reject(v);
	}
}

// "N" or "N-M", up to 255, as a range; returns the text after it, or NULL.
static const char *parse_octets(uint32_t range[2], const char *text)
{
	const char *end = conf_number(&range[0], text);

	range[1] = range[0];
	if (end != NULL && *end == '-')
		end = conf_number(&range[1], end + 1);
	return end != NULL && range[0] <= range[1] && range[1] <= UINT8_MAX ? end : NULL;
}

// "none", "8", "133-137", "3/1" or "3/0-4"
void conf_parse_icmp(const struct conf_value *v)
{
	uint32_t type[2], code[2] = {0, UINT8_MAX};
	struct proto_ports *range = v->field;
	const char *end;

	if (strcmp(v->text, "none") == 0) {
		*range = (struct proto_ports){1, 0};
		return;
	}
	end = parse_octets(type, v->text);
	if (end != NULL && *end == '/' && type[0] == type[1])
		end = parse_octets(code, end + 1);
	if (end == NULL || *end != '\0') {
		conf_reject(v);
		return;
	}
	range->min = (uint16_t)(type[0] << 8 | code[0]);
	range->max = (uint16_t)(type[1] << 8 | code[1]);
}

void conf_parse_dscp(const struct conf_value *v)
{
	uint32_t number;
	unsigned int i = 0;

	while (sa_dscps[i].name != NULL && strcmp(sa_dscps[i].name, v->text) != 0)
		i++;
	if (sa_dscps[i].name != NULL)
		conf_store(v->option, v->field, sa_dscps[i].number);
	else if (conf_number_whole(&number, v->text) && number <= SA_DSCP_MAX)
		conf_store(v->option, v->field, number);
	else
		conf_reject(v);
}

void conf_parse_protocol(const struct conf_value *v)
{
	uint32_t number;
	unsigned int i = 0;

	while (route_protocols[i].name != NULL && strcmp(route_protocols[i].name, v->text) != 0)
		i++;
	if (route_protocols[i].name != NULL)
		conf_store(v->option, v->field, route_protocols[i].number);
	else if (conf_number_whole(&number, v->text) && number >= 1 && number <= UINT8_MAX)
		conf_store(v->option, v->field, number);
	else
		conf_reject(v);
}

// The word is the highest number.
void conf_parse_uint_or_word(const struct conf_value *v)
{
	if (strcmp(v->text, v->option->choices[0]) == 0)
		conf_store(v->option, v->field, UINT32_MAX);
	else if (isdigit((unsigned char)v->text[0]))
		conf_parse_uint(v);
	else
		conf_reject(v);
}

void conf_parse_cipher(const struct conf_value *v)
{
	const struct cipher_alg *cipher = cipher_alg_find(v->text);

	if (cipher != NULL)
		*(const struct cipher_alg **)v->field = cipher;
	else
		conf_reject(v);
}

void conf_parse_auth(const struct conf_value *v)
{
	const struct auth_alg *auth = auth_alg_find(v->text);

	if (auth != NULL)
		*(const struct auth_alg **)v->field = auth;
	else
		conf_reject(v);
}

// The text of the file that the setting names. A change at run time has no file: the channel has
// read it at the start. NULL after a message.
static const char *pem_of(const struct conf_value *v, bool is_public)
{
	const char *text;

	if (v->text[0] == '\0') {
		conf_reject(v);
		return NULL;
	}
	if (v->r->running == NULL)
		return conf_pem_read(v->r, v->s, v->text, is_public);
	text = *(const char *const *)((const char *)v->r->running + v->option->offset);
	return text != NULL ? conf_strdup(text) : NULL;
}

void conf_parse_certificate(const struct conf_value *v)
{
	const char *text = pem_of(v, true);

	if (text != NULL && v->s->hook == NULL && !pem_is_certificate(text))
		conf_err(v->r, v->s, "%s has no certificate in PEM", conf_quote(v->text));
	*(const char **)v->field = text;
}

void conf_parse_private_key(const struct conf_value *v)
{
	const char *text = pem_of(v, false);

	if (text != NULL && v->s->hook == NULL && !pem_is_key(text))
		conf_err(v->r, v->s, "%s has no private key in PEM without a passphrase",
			conf_quote(v->text));
	*(const char **)v->field = text;
}
