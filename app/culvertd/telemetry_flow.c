// SPDX-License-Identifier: BSD-3-Clause
#include "telemetry_pages.h"

#include <stdio.h>
#include <string.h>

#include "ike_tables.h"
#include "telemetry_add.h"
#include "telemetry_cursor.h"
#include "telemetry_filter.h"

#define LIST "flows"
// Flows that are skipped at once.
#define STRIDE 256

// The filter, or else the reason why there is none in the answer.
static bool filter_read(
	struct flow_filter *f, struct rte_tel_data *d, struct gateway *g, const char *text)
{
	char why[RTE_TEL_MAX_STRING_LEN];
	bool ok;

	pthread_mutex_lock(&g->control.lock);
	ok = filter_parse(f, g->control.snapshot, text, why, sizeof(why));
	pthread_mutex_unlock(&g->control.lock);
	if (!ok)
		add_string(d, "error", why);
	return ok;
}

// Finds up to n flows from *position on, fewer only at the end of the table.
static unsigned int find(struct gateway *g, const struct flow_filter *f, uint32_t *position,
	struct flow_view out[], unsigned int n)
{
	uint32_t now = (uint32_t)gateway_now_ms();
	unsigned int found = 0;

	while (found < n && *position != FLOW_LIST_END)
		found += flow_list(g->control.flows, f, now, position, out + found, n - found);
	return found;
}

// The position of item number offset: from the cursor if the page follows the last one, else the
// table is searched from its start.
static uint32_t seek(
	struct gateway *g, const struct flow_filter *f, unsigned int offset, const char *filter)
{
	struct flow_view skipped[STRIDE];
	uint32_t position = FLOW_LIST_START;

	if (cursor_find(&position, LIST, filter, offset))
		return position;
	while (offset > 0 && position != FLOW_LIST_END)
		offset -= find(g, f, &position, skipped, RTE_MIN(offset, (unsigned int)STRIDE));
	return position;
}

// The names of the SAs that packets are sent through, or received from: first those of the
// initiator's packets, then those of the other end's.
static void add_sas(struct rte_tel_data *d, const char *name, const struct sa *initiator,
	const struct sa *other)
{
	char text[2 * SA_NAME_MAX + 2];
	bool both = initiator != NULL && other != NULL && initiator != other;

	snprintf(text, sizeof(text), "%s%s%s", initiator != NULL ? initiator->live.name : "",
		both ? "," : "", other != NULL && other != initiator ? other->live.name : "");
	add_string(d, name, text);
}

// The SA that the packets are decapsulated from, of a tunnel of IKE the newest; NULL: they are
// received in clear.
static const struct sa *sa_of(const struct control *c, const struct flow_decision *d)
{
	const struct spd_policy *p = snapshot_policy(c->snapshot, d->by.in);
	const struct sa_in *sa = NULL;

	if (d->ingress >= SA_INGRESS_MIN && p != NULL)
		sa = p->reqid != 0 ? ike_receiver(c, p->reqid, 0)
				   : snapshot_find_in(c->snapshot, rte_cpu_to_be_32(d->ingress));
	return sa != NULL ? &sa->sa : NULL;
}

static void add_decisions(
	struct rte_tel_data *d, const struct gateway *g, const struct flow_view *v)
{
	const struct sa *out[2] = {0}, *in[2] = {0};

	for (unsigned int dir = 0; dir < 2; dir++) {
		const struct flow_decision *decision = &v->decision[dir];

		if (v->generation[dir] != g->control.snapshot->flow_generation)
			continue; // its SAs may be gone
		const struct sa_out *sa = flow_egress_sa(decision->egress);

		out[dir] = sa != NULL ? &sa->sa : NULL;
		in[dir] = sa_of(&g->control, decision);
	}
	add_sas(d, "sa_out", out[v->initiator], out[!v->initiator]);
	add_sas(d, "sa_in", in[!v->initiator], in[v->initiator]);
}

static void flow_item(struct rte_tel_data *d, const struct gateway *g, const struct flow_view *v)
{
	unsigned int from = v->initiator, to = !v->initiator;
	bool query = v->key.asker != 0; // its identifier is that of the asker

	add_proto(d, "proto", v->key.proto);
	add_addr(d, "source", &v->key.addr[from]);
	add_u64(d, "source_port", rte_be_to_cpu_16(v->key.port[from]));
	add_addr(d, "destination", &v->key.addr[to]);
	add_u64(d, "destination_port", query ? 0 : rte_be_to_cpu_16(v->key.port[to]));
	add_string(d, "state", flow_state_info[v->state].name);
	add_string(d, "replied", v->replied ? "yes" : "no");
	add_u64(d, "idle_s", v->idle_ms / 1000);
	add_u64(d, "age_s", v->age_ms / 1000);
	add_u64(d, "packets_out", v->packets[from]);
	add_u64(d, "packets_in", v->packets[to]);
	add_u64(d, "bytes_out", v->octets[from]);
	add_u64(d, "bytes_in", v->octets[to]);
	add_decisions(d, g, v);
}

void flow_page(struct rte_tel_data *d, struct gateway *g, unsigned int offset, const char *filter)
{
	struct flow_view views[CURSOR_PAGE];
	struct flow_filter f;
	unsigned int n = 0;
	uint32_t position;

	if (!filter_read(&f, d, g, filter))
		return;
	position = seek(g, &f, offset, filter);
	cursor_begin(LIST, filter, offset, position);
	for (; n < CURSOR_PAGE && find(g, &f, &position, &views[n], 1) > 0; n++)
		cursor_add(position);

	pthread_mutex_lock(&g->control.lock);
	for (unsigned int i = 0; i < n; i++) {
		struct rte_tel_data *o = item_new();

		if (o == NULL)
			break;
		flow_item(o, g, &views[i]);
		add_item(d, offset + i, o);
	}
	pthread_mutex_unlock(&g->control.lock);
}

bool flow_flush_filter(void *gateway, const char *filter, char *why, size_t size)
{
	struct gateway *g = gateway;
	struct flow_filter f;

	if (!filter_parse(&f, g->control.snapshot, filter, why, size))
		return false;
	if (flow_flush(g->control.flows, &f) == 0)
		return true;
	snprintf(why, size, "the last flush is not complete, try again in some seconds");
	return false;
}
