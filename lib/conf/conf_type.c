// SPDX-License-Identifier: BSD-3-Clause
#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "conf_schema.h"
#include "crypto.h"
#include "proto_model.h"

#define DEVICE_MAX 255 // octets of a device's name and arguments

#define INTEGER (CONF_KIND(CONFIG_TYPE_INT) | CONF_KIND(CONFIG_TYPE_INT64))
#define STRING  CONF_KIND(CONFIG_TYPE_STRING)

void conf_reject(const struct conf_value *v)
{
	const struct conf_option *o = v->option;
	struct nearest near = {.text = v->text};
	const char *word;

	for (unsigned int i = 0; o->type->word != NULL && (word = o->type->word(o, i)) != NULL; i++)
		nearest_try(&near, word);
	conf_err(v->r, v->s, "%s is not allowed, %s", conf_quote(v->text),
		conf_hint(&near, conf_format("must be %s", conf_allowed(o))));
}

static void parse_bool(const struct conf_value *v)
{
	// libconfig knows no third value.
	*(bool *)v->field = strcmp(v->text, "true") == 0;
}

const struct conf_type conf_type_bool = {
	"true or false", CONF_KIND(CONFIG_TYPE_BOOL), NULL, parse_bool, NULL};

static const char *choice(const struct conf_option *o, unsigned int i)
{
	return o->choices[i];
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

static void parse_choice(const struct conf_value *v)
{
	int i = choice_find(v);

	if (i >= 0)
		conf_store(v->option, v->field, (uint64_t)i);
}

const struct conf_type conf_type_choice = {"one of", STRING, choice, parse_choice, NULL};

static void parse_engine(const struct conf_value *v)
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

// The first choice leaves it to the program.
const struct conf_type conf_type_engine = {"one of", STRING, choice, parse_engine, conf_equal_text};

static void parse_name(const struct conf_value *v)
{
	size_t len = strspn(
		v->text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-");

	if (isalnum((unsigned char)v->text[0]) && v->text[len] == '\0' && len < CONF_NAME_MAX)
		strcpy(v->field, v->text);
	else
		conf_reject(v);
}

const struct conf_type conf_type_name = {
	"1 to 31 letters, digits, _ . or -, a letter or digit first", STRING, NULL, parse_name,
	NULL};

static bool is_printable(const char *text)
{
	for (; *text != '\0'; text++)
		if (!isgraph((unsigned char)*text))
			return false;
	return true;
}

static void parse_text(const struct conf_value *v)
{
	if (v->text[0] != '\0' && strlen(v->text) <= DEVICE_MAX && is_printable(v->text))
		*(char **)v->field = conf_strdup(v->text);
	else
		conf_reject(v);
}

const struct conf_type conf_type_text = {
	"1 to 255 printable characters without blanks", STRING, NULL, parse_text, conf_equal_text};

static void parse_state_dir(const struct conf_value *v)
{
	if (v->text[0] == '/')
		parse_text(v);
	else if (strcmp(v->text, "none") == 0)
		*(char **)v->field = NULL;
	else
		conf_reject(v);
}

const struct conf_type conf_type_state_dir = {
	"a path that begins with /, of 1 to 255 printable characters without blanks, or none",
	STRING, NULL, parse_state_dir, conf_equal_text};

static void parse_string(const struct conf_value *v)
{
	if (v->text[0] == '\0')
		conf_reject(v);
}

const struct conf_type conf_type_string = {
	"a string that is not empty", STRING, NULL, parse_string, NULL};

const struct conf_type conf_type_key = {
	"a string that is not empty", STRING, NULL, parse_string, NULL};

static void parse_sas(const struct conf_value *v)
{
	int n = config_setting_length(v->s);

	if (!config_setting_is_aggregate(v->s)) {
		parse_string(v);
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

const struct conf_type conf_type_sas = {"the name of an SA, or an array [ ] of 1 to 4 names",
	STRING | CONF_KIND(CONFIG_TYPE_ARRAY) | CONF_KIND(CONFIG_TYPE_LIST), NULL, parse_sas, NULL};

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

static void parse_eal_arg(const struct conf_value *v)
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
	parse_text(v);
}

const struct conf_type conf_type_eal_arg = {"1 to 255 printable characters without blanks", STRING,
	NULL, parse_eal_arg, conf_equal_text};

static void parse_spi(const struct conf_value *v)
{
	uint32_t spi;

	if (conf_number_whole(&spi, v->text) && spi >= CONF_SPI_MIN)
		*(uint32_t *)v->field = spi;
	else
		conf_reject(v);
}

const struct conf_type conf_type_spi = {
	"from 0x100 to 0xffffffff in a string such as \"0x00001001\"", STRING | INTEGER, NULL,
	parse_spi, NULL};

static const char *proto_name(const struct conf_option *o, unsigned int i)
{
	(void)o;
	return proto_infos[i].name;
}

static void parse_proto(const struct conf_value *v)
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

const struct conf_type conf_type_proto = {
	"a number from 0 to 255 or one of", STRING | INTEGER, proto_name, parse_proto, NULL};

// "53" or "1000-2000"
static void parse_ports(const struct conf_value *v)
{
	uint16_t *range = v->field;
	uint32_t min, max;
	const char *end = conf_number(&min, v->text);

	max = min;
	if (end != NULL && *end == '-')
		end = conf_number(&max, end + 1);
	if (end != NULL && *end == '\0' && min <= max && max <= UINT16_MAX) {
		range[0] = (uint16_t)min;
		range[1] = (uint16_t)max;
	} else {
		conf_reject(v);
	}
}

const struct conf_type conf_type_ports = {
	"a port such as \"53\" or a range such as \"1000-2000\", up to 65535", STRING | INTEGER,
	NULL, parse_ports, NULL};

// "N" or "N-M", up to 255, as a range; returns what is behind it, or NULL.
static const char *parse_octets(uint32_t range[2], const char *text)
{
	const char *end = conf_number(&range[0], text);

	range[1] = range[0];
	if (end != NULL && *end == '-')
		end = conf_number(&range[1], end + 1);
	return end != NULL && range[0] <= range[1] && range[1] <= UINT8_MAX ? end : NULL;
}

// "none", "8", "133-137", "3/1" or "3/0-4"
static void parse_icmp(const struct conf_value *v)
{
	uint32_t type[2], code[2] = {0, UINT8_MAX};
	uint16_t *range = v->field;
	const char *end;

	if (strcmp(v->text, "none") == 0) {
		range[0] = 1;
		range[1] = 0;
		return;
	}
	end = parse_octets(type, v->text);
	if (end != NULL && *end == '/' && type[0] == type[1])
		end = parse_octets(code, end + 1);
	if (end == NULL || *end != '\0') {
		conf_reject(v);
		return;
	}
	range[0] = (uint16_t)(type[0] << 8 | code[0]);
	range[1] = (uint16_t)(type[1] << 8 | code[1]);
}

const struct conf_type conf_type_icmp = {
	"a type such as \"8\", types such as \"133-137\", a type and codes such as \"3/1\" or "
	"\"3/0-4\", or \"none\"",
	STRING | INTEGER, NULL, parse_icmp, NULL};

static const char *dscp_name(const struct conf_option *o, unsigned int i)
{
	(void)o;
	return sa_dscps[i].name;
}

static void parse_dscp(const struct conf_value *v)
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

const struct conf_type conf_type_dscp = {
	"a number from 0 to 63 or one of", STRING | INTEGER, dscp_name, parse_dscp, NULL};

// The word is the highest number.
static void parse_uint_or_word(const struct conf_value *v)
{
	if (strcmp(v->text, v->option->choices[0]) == 0)
		conf_store(v->option, v->field, UINT32_MAX);
	else if (isdigit((unsigned char)v->text[0]))
		conf_type_uint.parse(v);
	else
		conf_reject(v);
}

const struct conf_type conf_type_tfc_pad = {
	"\"mtu\" or an integer", STRING | INTEGER, NULL, parse_uint_or_word, NULL};

const struct conf_type conf_type_mss = {
	"\"auto\" or an integer", STRING | INTEGER, NULL, parse_uint_or_word, NULL};

static const char *cipher_name(const struct conf_option *o, unsigned int i)
{
	(void)o;
	return cipher_algs[i].name;
}

static void parse_cipher(const struct conf_value *v)
{
	const struct cipher_alg *cipher = cipher_alg_find(v->text);

	if (cipher != NULL)
		*(const struct cipher_alg **)v->field = cipher;
	else
		conf_reject(v);
}

const struct conf_type conf_type_cipher = {"one of", STRING, cipher_name, parse_cipher, NULL};

static const char *auth_name(const struct conf_option *o, unsigned int i)
{
	(void)o;
	return auth_algs[i].name;
}

static void parse_auth(const struct conf_value *v)
{
	const struct auth_alg *auth = auth_alg_find(v->text);

	if (auth != NULL)
		*(const struct auth_alg **)v->field = auth;
	else
		conf_reject(v);
}

const struct conf_type conf_type_auth = {"one of", STRING, auth_name, parse_auth, NULL};
