// SPDX-License-Identifier: BSD-3-Clause
#include <string.h>

#include "conf_schema.h"

const char *conf_identity_plain(const struct conf_schema *schema, const char *text)
{
	const struct conf_option *o = conf_schema_find(schema, schema->identity);
	char buf[IP_PREFIX_STRLEN];
	struct ip_prefix prefix;
	struct ip_addr addr;

	if (o->type == &conf_type_address && ip_addr_parse(&addr, text) == 0)
		return conf_strdup(ip_addr_format(buf, &addr));
	if (o->type == &conf_type_prefix && ip_prefix_parse(&prefix, text) == 0)
		return conf_strdup(ip_prefix_format(buf, &prefix));
	return text;
}

const char *conf_text_in(const config_setting_t *item, const char *name)
{
	const config_setting_t *s = conf_member(item, name);
	const char *text = s != NULL ? config_setting_get_string(s) : NULL;

	return text != NULL ? text : "";
}

const char *conf_identity(const struct conf_schema *schema, const config_setting_t *item)
{
	const char *text = conf_identity_plain(schema, conf_text_in(item, schema->identity));
	const char *scope = schema->scope != NULL ? conf_text_in(item, schema->scope) : "";

	return scope[0] == '\0' ? text : conf_format("%s %s %s", text, schema->scope, scope);
}
