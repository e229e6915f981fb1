// SPDX-License-Identifier: BSD-3-Clause
#include <string.h>

#include "conf_schema.h"

bool conf_texts_equal(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

bool conf_equal_text(const void *a, const void *b)
{
	return conf_texts_equal(*(const char *const *)a, *(const char *const *)b);
}

// Member by member: there is padding in between.
bool conf_equal_prefix(const void *a, const void *b)
{
	const struct ip_prefix *x = a, *y = b;

	return ip_addr_equal(&x->addr, &y->addr) && x->len == y->len;
}

bool conf_equal_interface(const void *a, const void *b)
{
	const struct conf_iface_addr *x = a, *y = b;

	return ip_addr_equal(&x->addr, &y->addr) && conf_equal_prefix(&x->net, &y->net);
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

		if (o->type->equal != NULL ? !o->type->equal(a + at, b + at)
					   : memcmp(a + at, b + at, o->size) != 0)
			return false;
	}
	return n == m;
}
