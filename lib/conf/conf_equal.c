// SPDX-License-Identifier: BSD-3-Clause
#include <string.h>

#include "conf_schema.h"

static bool texts_equal(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

// Member by member: there is padding in between.
static bool prefixes_equal(const struct ip_prefix *a, const struct ip_prefix *b)
{
	return ip_addr_equal(&a->addr, &b->addr) && a->len == b->len;
}

static bool interfaces_equal(const struct conf_iface_addr *a, const struct conf_iface_addr *b)
{
	return ip_addr_equal(&a->addr, &b->addr) && prefixes_equal(&a->net, &b->net);
}

static bool is_text(const struct conf_type *type)
{
	return type == &conf_type_text || type == &conf_type_state_dir ||
	       type == &conf_type_socket || type == &conf_type_eal_arg || type == &conf_type_engine;
}

static bool values_equal(const struct conf_option *o, const char *a, const char *b)
{
	const char *x, *y;

	if (o->type == &conf_type_interface)
		return interfaces_equal((const void *)a, (const void *)b);
	if (o->type == &conf_type_prefix)
		return prefixes_equal((const void *)a, (const void *)b);
	if (!is_text(o->type))
		return memcmp(a, b, o->size) == 0;
	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return texts_equal(x, y);
}

bool conf_option_equal(const struct conf_option *o, const void *base_a, const void *base_b)
{
	const char *a = base_a, *b = base_b;
	unsigned int n = 1, m = 1;

	if (o->shape == CONF_ARRAY) {
		memcpy(&n, a + o->count_offset, sizeof(n));
		memcpy(&m, b + o->count_offset, sizeof(m));
	}
	for (unsigned int i = 0; n == m && i < n; i++) {
		size_t at = o->offset + i * o->size;

		if (!values_equal(o, a + at, b + at))
			return false;
	}
	return n == m;
}
