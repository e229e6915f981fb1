// SPDX-License-Identifier: BSD-3-Clause
#include "trace_filter.h"

#include <string.h>

static bool header_matches(const struct trace_filter *f, const struct trace_header *h)
{
	bool addressed = !ip_addr_is_none(&h->src) || !ip_addr_is_none(&h->dst);
	bool addr =
		f->addr.len == 0 || (addressed && (ip_prefix_contains(&f->addr, &h->src) ||
							  ip_prefix_contains(&f->addr, &h->dst)));
	bool port = f->port == 0 ||
		    (h->has_ports && (h->src_port == f->port || h->dst_port == f->port));
	bool proto = f->proto == PROTO_ANY || (h->has_ip && h->proto == f->proto);

	return addr && port && proto;
}

static bool is_in(const struct trace_step *s)
{
	return s->kind == TRACE_INPUT;
}

static bool is_out(const struct trace_step *s)
{
	return s->kind == TRACE_SENT || s->kind == TRACE_HELD || s->kind == TRACE_ANSWERED;
}

static bool is_named(const struct trace_step *s, enum trace_names names, const char *name)
{
	return trace_info[s->kind].names == names && strcmp(s->name, name) == 0;
}

unsigned int trace_filter_match(const struct trace_filter *f, const struct trace_step *s)
{
	const struct trace_header *h = &s->header;
	unsigned int hold = 0;

	hold |= header_matches(f, h) ? TRACE_KEY_HEADER : 0;
	hold |= h->has_esp && h->spi == f->spi ? TRACE_KEY_SPI : 0;
	hold |= is_named(s, TRACE_NAMES_SA, f->sa) ? TRACE_KEY_SA : 0;
	hold |= is_named(s, TRACE_NAMES_POLICY, f->policy) ? TRACE_KEY_POLICY : 0;
	hold |= is_in(s) && s->port == f->in ? TRACE_KEY_IN : 0;
	hold |= is_out(s) && s->port == f->out ? TRACE_KEY_OUT : 0;
	hold |= s->kind == TRACE_DROPPED && (f->reason == DROP_NONE || s->reason == f->reason)
			? TRACE_KEY_DROP
			: 0;
	return hold & f->keys;
}
