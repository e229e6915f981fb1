// SPDX-License-Identifier: BSD-3-Clause
#include "page.h"

#include <stdio.h>

#include "collect.h"
#include "filter.h"
#include "ike_tables.h"

// Flows that are skipped at once.
#define STRIDE 256

// The filter, or else the reason why there is none in the answer.
static bool filter_read(struct flow_filter *f, const struct page *p)
{
	char why[RTE_TEL_MAX_STRING_LEN];
	bool ok;

	pthread_mutex_lock(&p->c->lock);
	ok = filter_parse(f, p->c->snapshot, p->filter, why, sizeof(why));
	pthread_mutex_unlock(&p->c->lock);
	if (!ok)
		page_refuse(p, why);
	return ok;
}

// Finds up to n flows from *position on, fewer only at the end of the table.
static unsigned int find(struct control *c, const struct flow_filter *f, uint32_t *position,
	struct flow_view out[], unsigned int n)
{
	uint32_t now = (uint32_t)c->io->now_ms();
	unsigned int found = 0;

	while (found < n && *position != FLOW_LIST_END)
		found += flow_list(c->flows, f, now, position, out + found, n - found);
	return found;
}

// The position of the page's first item: from the cursor if the page follows the last one, else the
// table is searched from its start.
static uint32_t seek(const struct page *p, const struct flow_filter *f)
{
	struct flow_view skipped[STRIDE];
	uint32_t position = FLOW_LIST_START;
	unsigned int offset = p->offset;

	if (cursor_find(&position, p))
		return position;
	while (offset > 0 && position != FLOW_LIST_END)
		offset -= find(p->c, f, &position, skipped, RTE_MIN(offset, (unsigned int)STRIDE));
	return position;
}

// The names of the SAs that packets are sent through, or received from: first those of the
// initiator's packets, then those of the other end's.
static void sas_write(
	char text[VIEW_FLOW_SAS_MAX], const struct sa *initiator, const struct sa *other)
{
	bool both = initiator != NULL && other != NULL && initiator != other;

	snprintf(text, VIEW_FLOW_SAS_MAX, "%s%s%s", initiator != NULL ? initiator->live.name : "",
		both ? "," : "", other != NULL && other != initiator ? other->live.name : "");
}

// The SA that the packets are decapsulated from, of a tunnel of IKE the newest; NULL: they are
// received in clear.
static const struct sa *sa_of(const struct control *c, const struct flow_decision *d)
{
	const struct spd_policy *p = snapshot_policy(c->snapshot, d->by.in);
	const struct sa_in *sa = NULL;

	if (d->ingress >= INGRESS_SA_MIN && p != NULL)
		sa = p->group != 0 ? ike_receiver(c, p->group, 0)
				   : snapshot_find_in(c->snapshot, rte_cpu_to_be_32(d->ingress));
	return sa != NULL ? &sa->sa : NULL;
}

static void decisions_collect(
	struct flows_view *item, const struct control *c, const struct flow_view *v)
{
	const struct sa *out[2] = {0}, *in[2] = {0};

	for (unsigned int dir = 0; dir < 2; dir++) {
		const struct flow_decision *decision = &v->decision[dir];

		if (v->generation[dir] != c->snapshot->flow_generation)
			continue; // its SAs may be gone
		const struct sa_out *sa =
			flow_decision_sa(decision, c->snapshot->objects->policy_out);

		out[dir] = sa != NULL ? &sa->sa : NULL;
		in[dir] = sa_of(c, decision);
	}
	sas_write(item->sa_out, out[v->initiator], out[!v->initiator]);
	sas_write(item->sa_in, in[!v->initiator], in[v->initiator]);
}

// The ends after translation of packets from the end that began, and the rules that still exist.
static void translation_collect(
	struct flows_view *item, const struct control *c, const struct flow_view *v)
{
	const struct ip_ends *to = &v->translation.to;
	const struct nat_rule *rule[NAT_ENDS];

	if (!v->translated)
		return;
	for (enum nat_end end = 0; end < NAT_ENDS; end++)
		rule[end] = nat_set_numbered(c->snapshot->nat, v->translation.rule[end]);
	ip_addr_format(item->to_source, &to->src);
	ip_addr_format(item->to_destination, &to->dst);
	item->to_source_port = rte_be_to_cpu_16(to->src_port);
	item->to_destination_port = v->key.asker != 0 ? 0 : rte_be_to_cpu_16(to->dst_port);
	nat_rules_write(item->nat, rule);
}

static void flow_collect(
	struct flows_view *item, const struct control *c, const struct flow_view *v)
{
	unsigned int from = v->initiator, to = !v->initiator;
	bool query = v->key.asker != 0; // its identifier is that of the asker

	*item = (struct flows_view){
		.proto = v->key.proto,
		.source_port = rte_be_to_cpu_16(v->key.port[from]),
		.destination_port = query ? 0 : rte_be_to_cpu_16(v->key.port[to]),
		.state = flow_state_info[v->state].name,
		.replied = v->replied,
		.idle_s = v->idle_ms / 1000,
		.age_s = v->age_ms / 1000,
		.packets_out = v->packets[from],
		.packets_in = v->packets[to],
		.bytes_out = v->octets[from],
		.bytes_in = v->octets[to],
	};
	ip_addr_format(item->source, &v->key.addr[from]);
	ip_addr_format(item->destination, &v->key.addr[to]);
	decisions_collect(item, c, v);
	translation_collect(item, c, v);
}

void flow_page(const struct page *p)
{
	struct flow_view views[PAGE_ITEMS];
	struct flows_view item;
	struct flow_filter f;
	unsigned int n = 0;
	uint32_t position;

	if (!filter_read(&f, p))
		return;
	position = seek(p, &f);
	cursor_begin(p, position);
	for (; n < PAGE_ITEMS && find(p->c, &f, &position, &views[n], 1) > 0; n++)
		cursor_add(position);

	pthread_mutex_lock(&p->c->lock);
	for (unsigned int i = 0; i < n; i++) {
		flow_collect(&item, p->c, &views[i]);
		if (!page_add_view(p, p->offset + i, "flows", &item))
			break;
	}
	pthread_mutex_unlock(&p->c->lock);
}
