// SPDX-License-Identifier: BSD-3-Clause
#include "page.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_tcp.h>

#include "filter.h"
#include "trace.h"

#define PAGE 32 // about as many as fit one answer

// Whether it is the trace of that number. If so, its client is still there.
static bool is_meant(const struct page *p)
{
	char why[RTE_TEL_MAX_STRING_LEN] = "that trace has ended: another one has started";
	struct tracing *t = &p->c->tracing;
	unsigned int number;

	if (filter_trace_number_parse(&number, p->filter, why, sizeof(why)) &&
		number == t->number && number > 0) {
		t->asked_ms = p->c->io->now_ms();
		return true;
	}
	page_refuse(p, why);
	return false;
}

void trace_state_page(const struct page *p)
{
	const struct tracing *t = &p->c->tracing;
	struct rte_tel_data *o = p->offset == 0 && is_meant(p) ? item_new() : NULL;

	if (o == NULL)
		return;
	add_string(o, "state", t->on ? "on" : "over");
	add_u64(o, "packets", trace_packets(t->trace));
	add_u64(o, "lost_steps", trace_lost(t->trace));
	page_add(p, 0, o);
}

static void add_tcp_flags(struct rte_tel_data *d, const char *name, uint8_t flags)
{
	static const char *const flag[] = {"fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"};
	char text[40] = "";

	for (unsigned int i = 0; i < RTE_DIM(flag); i++)
		if ((flags & 1u << i) != 0) {
			strcat(text, text[0] != '\0' ? "," : "");
			strcat(text, flag[i]);
		}
	add_string(d, name, text);
}

static void add_spi(struct rte_tel_data *d, const char *name, rte_be32_t spi)
{
	char text[16];

	snprintf(text, sizeof(text), "0x%08" PRIx32, rte_be_to_cpu_32(spi));
	add_string(d, name, text);
}

static void add_upper(struct rte_tel_data *d, const struct trace_header *h)
{
	if (h->has_ports) {
		add_u64(d, "source_port", rte_be_to_cpu_16(h->src_port));
		add_u64(d, "destination_port", rte_be_to_cpu_16(h->dst_port));
	}
	if (h->has_ports && h->proto == IPPROTO_TCP)
		add_tcp_flags(d, "tcp_flags", h->tcp_flags);
	if (h->has_icmp) {
		add_u64(d, "icmp_type", h->icmp_type);
		add_u64(d, "icmp_code", h->icmp_code);
	}
	if (h->mtu_told != 0)
		add_u64(d, "mtu_told", h->mtu_told);
	if (h->has_esp) {
		add_spi(d, "spi", h->spi);
		add_u64(d, "sequence", rte_be_to_cpu_32(h->seq));
	}
}

static void add_header(struct rte_tel_data *d, const struct trace_header *h)
{
	char ether_type[8], proto[PROTO_TEXT_MAX];

	if (h->ether_type != 0) {
		snprintf(ether_type, sizeof(ether_type), "0x%04x", rte_be_to_cpu_16(h->ether_type));
		add_string(d, "ether_type", ether_type);
	}
	if (!ip_addr_is_none(&h->src) || !ip_addr_is_none(&h->dst)) {
		add_addr(d, "source", &h->src);
		add_addr(d, "destination", &h->dst);
	}
	if (!h->has_ip)
		return;
	add_string(d, "proto", proto_format(proto, h->proto));
	add_u64(d, "ttl", h->ttl);
	if (h->df)
		add_string(d, "df", "yes");
	if (h->fragment) {
		add_u64(d, "fragment_offset", h->frag_off);
		add_string(d, "more_fragments", h->more ? "yes" : "no");
	}
	add_upper(d, h);
}

static void add_name(struct rte_tel_data *d, const struct trace_step *s)
{
	static const char *const word[] = {
		[TRACE_NAMES_SA] = "sa",
		[TRACE_NAMES_POLICY] = "policy",
		[TRACE_NAMES_RULE] = "rule",
		[TRACE_NAMES_NAT] = "nat",
		[TRACE_NAMES_FLOW] = "state",
	};

	if (s->name[0] != '\0')
		add_string(d, word[trace_info[s->kind].names], s->name);
}

static void step_item(struct rte_tel_data *d, const struct control *c, const struct trace_step *s)
{
	const struct trace_info *info = &trace_info[s->kind];
	char mac[RTE_ETHER_ADDR_FMT_SIZE];

	add_u64(d, "packet", s->packet);
	add_u64(d, "worker", s->worker);
	add_u64(d, "ns",
		(uint64_t)((double)(s->tsc - c->tracing.start) * 1e9 / (double)rte_get_tsc_hz()));
	add_string(d, "stage", info->stage);
	add_string(d, "decision", info->decision);
	add_name(d, s);
	if (s->reason != DROP_NONE) {
		add_string(d, "reason", drop_info[s->reason].name);
		add_string(d, "help", drop_info[s->reason].help);
	}
	if (s->port < c->conf->n_ports)
		add_string(d, "port", c->conf->ports[s->port].name);
	if (s->before != 0)
		add_u64(d, "octets_before", s->before);
	add_u64(d, "octets", s->len);
	if (s->pieces != 0)
		add_u64(d, "pieces", s->pieces);
	if (s->mtu != 0)
		add_u64(d, "mtu", s->mtu);
	if (s->seq != 0)
		add_u64(d, "sequence_64", s->seq);
	if (!ip_addr_is_none(&s->next))
		add_addr(d, "next_hop", &s->next);
	if (!rte_is_zero_ether_addr(&s->mac)) {
		rte_ether_format_addr(mac, sizeof(mac), &s->mac);
		add_string(d, "mac", mac);
	}
	add_header(d, &s->header);
}

void trace_steps_page(const struct page *p)
{
	if (!is_meant(p))
		return;
	for (unsigned int i = p->offset; i < p->offset + PAGE; i++) {
		const struct trace_step *s = trace_step_at(p->c->tracing.trace, i);
		struct rte_tel_data *o = s != NULL ? item_new() : NULL;

		if (o == NULL)
			break;
		step_item(o, p->c, s);
		page_add(p, i, o);
	}
}
