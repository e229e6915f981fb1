// SPDX-License-Identifier: BSD-3-Clause
#include "nat_bindings.h"

#include <netinet/in.h>

const struct nat_rules *rules_now;
struct binding binding[BINDINGS];

bool ends_equal(const struct ends *a, const struct ends *b)
{
	return strcmp(a->src, b->src) == 0 && strcmp(a->dst, b->dst) == 0 && a->sport == b->sport &&
	       a->dport == b->dport;
}

struct ends ends_reversed(const struct binding *b, const struct ends *e)
{
	return b->proto == IPPROTO_ICMP ? (struct ends){e->dst, e->sport, e->src, 0}
					: (struct ends){e->dst, e->dport, e->src, e->sport};
}

struct binding *binding_find(uint8_t proto, const struct ends *from, const struct ends *to)
{
	for (unsigned int i = 0; i < BINDINGS; i++) {
		struct binding *b = &binding[i];

		if (b->alive && b->proto == proto && (from == NULL || ends_equal(&b->from, from)) &&
			(to == NULL || ends_equal(&b->to, to)))
			return b;
	}
	return NULL;
}

struct binding *binding_slot(void)
{
	for (unsigned int i = 0; i < BINDINGS; i++)
		if (!binding[i].alive)
			return &binding[i];
	fail_msg("the model has too few bindings");
	return NULL;
}

unsigned int bindings_alive(void)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < BINDINGS; i++)
		n += binding[i].alive;
	return n;
}

unsigned int bindings_of(uint8_t proto, const struct ends *from, const char *source)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < BINDINGS; i++) {
		const struct binding *b = &binding[i];

		n += b->alive && b->counted && b->proto == proto &&
		     strcmp(b->to.dst, from->dst) == 0 && b->to.dport == from->dport &&
		     (source == NULL || strcmp(b->from.src, source) == 0);
	}
	return n;
}

bool port_is_free(uint8_t proto, const struct ends *from, uint16_t port)
{
	const struct ends to = {OWN, port, from->dst, from->dport};

	return binding_find(proto, NULL, &to) == NULL;
}

bool port_is_of_rule(uint16_t port)
{
	return port >= rules_now->first && port < rules_now->first + PORTS;
}

uint16_t port_expected(uint8_t proto, const struct ends *from, bool *none)
{
	const unsigned int start =
		port_is_of_rule(from->sport) ? (unsigned int)(from->sport - rules_now->first) : 0;

	*none = false;
	if (port_is_of_rule(from->sport) && port_is_free(proto, from, from->sport))
		return from->sport;
	for (unsigned int i = 0; i < PORTS; i++) {
		const uint16_t port = (uint16_t)(rules_now->first + (start + i) % PORTS);

		if (port_is_free(proto, from, port))
			return rules_now->in_order ? port : 0;
	}
	*none = true;
	return 0;
}
