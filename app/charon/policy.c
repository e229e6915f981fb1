// SPDX-License-Identifier: BSD-3-Clause
// charon's policies, one for each direction and CHILD_SA, as policies of the gateway, one for each
// pair of selectors (docs/configuration.md, policies). While keys change, several CHILD_SAs use
// one: the newest sends, all receive.
#include "kernel.h"

#include <arpa/inet.h>
#include <processing/jobs/callback_job.h>
#include <stdio.h>

#define IN_MAX    4   // SAs that a policy of the gateway receives from
#define TEXT_SIZE 512 // of settings

// A policy that charon has added, without the one for forwarded packets, which goes with that for
// inbound ones.
struct use {
	bool inbound;
	policy_type_t type;
	policy_priority_t priority;
	uint32_t manual, reqid, spi; // of charon's; host byte order
	host_t *dst;                 // of the SA
};

struct policy {
	char name[NAME_SIZE];
	char selectors[TEXT_SIZE / 2]; // settings; what it is found by
	unsigned int narrow;           // higher for narrower selectors
	linked_list_t *uses;           // struct use, the oldest first
	char settings[TEXT_SIZE];      // of the gateway's policy; empty: there is none
	uint32_t rank;                 // of it; the lowest decides first
};

// --- selectors ---

// Writes an end of a policy. Returns the bits that it compares, -1 if it cannot be written.
static int end_write(FILE *f, const char *end, traffic_selector_t *ts)
{
	uint16_t from = ts->get_from_port(ts), to = ts->get_to_port(ts);
	uint8_t proto = ts->get_protocol(ts), bits;
	char address[ADDRESS_SIZE];
	host_t *net;
	bool is_prefix = ts->to_subnet(ts, &net, &bits);

	kernel_address(address, net);
	net->destroy(net);
	if (!is_prefix || from > to) {
		DBG1(DBG_KNL, "culvert: the gateway has no policy for %s",
			is_prefix ? "packets without ports alone"
				  : "a range of addresses that is no prefix");
		return -1;
	}
	fprintf(f, " %s = \"%s/%u\";", end, address, bits);
	if (from == 0 && to == UINT16_MAX)
		return bits;
	if (proto != IPPROTO_ICMP && proto != IPPROTO_ICMPV6)
		fprintf(f, " %s_port = \"%u-%u\";", end, from, to);
	else if (from == to)
		fprintf(f, " %s_icmp = \"%u/%u\";", end, from >> 8, from & 0xff);
	else if (from >> 8 == to >> 8)
		fprintf(f, " %s_icmp = \"%u/%u-%u\";", end, from >> 8, from & 0xff, to & 0xff);
	else
		fprintf(f, " %s_icmp = \"%u-%u\";", end, from >> 8, to >> 8);
	return bits + 1;
}

// False, after a message, if the gateway cannot have them.
static bool selectors_write(struct policy *p, kernel_ipsec_policy_id_t *id)
{
	bool inbound = id->dir != POLICY_OUT;
	traffic_selector_t *local = inbound ? id->dst_ts : id->src_ts;
	traffic_selector_t *remote = inbound ? id->src_ts : id->dst_ts;
	unsigned int proto = max(local->get_protocol(local), remote->get_protocol(remote));
	FILE *f = fmemopen(p->selectors, sizeof(p->selectors), "w");
	int a, b;

	if (f == NULL)
		return false;
	a = end_write(f, "local", local);
	b = end_write(f, "remote", remote);
	if (proto != 0)
		fprintf(f, " proto = %u;", proto);
	fclose(f);
	p->narrow = (unsigned int)(a + b) * 2 + (proto != 0);
	return a >= 0 && b >= 0;
}

static struct policy *policy_find(struct kernel *k, const char *selectors)
{
	enumerator_t *e = k->policies->create_enumerator(k->policies);
	struct policy *p = NULL, *found = NULL;

	while (found == NULL && e->enumerate(e, &p))
		if (streq(p->selectors, selectors))
			found = p;
	e->destroy(e);
	return found;
}

static bool name_is_free(struct kernel *k, const char *name)
{
	enumerator_t *e = k->policies->create_enumerator(k->policies);
	struct policy *p;
	bool free = true;

	while (free && e->enumerate(e, &p))
		free = !streq(p->name, name);
	e->destroy(e);
	return free;
}

// ike.CONNECTION.REQID, and a number for all but the first pair of selectors.
static void name_choose(struct kernel *k, struct policy *p, uint32_t reqid)
{
	char connection[NAME_SIZE], name[NAME_SIZE];

	kernel_connection(connection);
	snprintf(name, sizeof(name), GATEWAY_OWN "%.12s.%u", connection, reqid);
	for (unsigned int i = 2; !name_is_free(k, name); i++)
		snprintf(name, sizeof(name), GATEWAY_OWN "%.12s.%u.%u", connection, reqid, i);
	strcpy(p->name, name);
}

// --- what the gateway's policy is ---

static uint32_t rank_of(const struct policy *p, const struct use *use)
{
	return use->manual != 0 ? use->manual : (use->priority + 1) * 100000u - p->narrow * 8;
}

// How long the SA of a use is not to send, in seconds, if another one can.
static time_t wait_of(struct kernel *k, const struct use *use)
{
	const struct kernel_sa *sa = sa_find(k, use->spi, false, use->dst);

	return sa != NULL ? max(0, sa->waits_until - time_monotonic(NULL)) : 0;
}

// The use that decides about outbound packets: of the highest class the newest that need not wait.
static const struct use *sender_of(struct kernel *k, const struct policy *p)
{
	enumerator_t *e = p->uses->create_enumerator(p->uses);
	const struct use *sender = NULL;
	struct use *use;

	while (e->enumerate(e, &use))
		if (!use->inbound && (sender == NULL || use->priority < sender->priority ||
					     (use->priority == sender->priority &&
						     wait_of(k, use) <= wait_of(k, sender))))
			sender = use;
	e->destroy(e);
	return sender;
}

// The SAs that receive, between the same ends as the one that sends: the newest first. Returns
// their number.
static unsigned int receivers_find(struct kernel *k, const struct policy *p,
	const struct kernel_sa *out, struct kernel_sa *in[])
{
	enumerator_t *e = p->uses->create_enumerator(p->uses);
	struct kernel_sa *all[64], *sa;
	unsigned int n = 0, found = 0;
	struct use *use;

	while (e->enumerate(e, &use)) {
		sa = use->inbound && use->spi != 0 ? sa_find(k, use->spi, true, use->dst) : NULL;
		if (sa != NULL && sa->name[0] != '\0' && sa->mode == out->mode &&
			sa->src->ip_equals(sa->src, out->dst) &&
			sa->dst->ip_equals(sa->dst, out->src) && n < countof(all))
			all[n++] = sa;
	}
	e->destroy(e);
	while (n > 0 && found < IN_MAX)
		in[found++] = all[--n];
	return found;
}

// Settings of a policy that protects; none while charon has not yet both directions.
static void protect_write(
	FILE *f, struct kernel *k, const struct policy *p, const struct use *sender)
{
	struct kernel_sa *out = sa_find(k, sender->spi, false, sender->dst), *in[IN_MAX];
	unsigned int n = out != NULL && out->name[0] != '\0' ? receivers_find(k, p, out, in) : 0;

	if (n == 0)
		return;
	fprintf(f, "{ name = \"%s\";%s action = \"protect\"; out = \"%s\"; in = [", p->name,
		p->selectors, out->name);
	for (unsigned int i = 0; i < n; i++)
		fprintf(f, "%s\"%s\"", i > 0 ? ", " : " ", in[i]->name);
	fprintf(f, " ]; }");
}

static void settings_write(char settings[TEXT_SIZE], struct kernel *k, const struct policy *p,
	const struct use *sender)
{
	FILE *f = fmemopen(settings, TEXT_SIZE, "w");

	settings[0] = '\0';
	if (f == NULL)
		return;
	if (sender != NULL && sender->type == POLICY_IPSEC)
		protect_write(f, k, p, sender);
	else if (sender != NULL)
		fprintf(f, "{ name = \"%s\";%s action = \"%s\"; }", p->name, p->selectors,
			sender->type == POLICY_PASS ? "bypass" : "discard");
	fclose(f);
}

// The place of a policy: before the first one that decides after it.
static void place_write(FILE *f, struct kernel *k, const struct policy *p, uint32_t rank)
{
	enumerator_t *e = k->policies->create_enumerator(k->policies);
	const struct policy *next = NULL;
	struct policy *other;

	while (e->enumerate(e, &other))
		if (other != p && other->settings[0] != '\0' && other->rank > rank &&
			(next == NULL || other->rank < next->rank))
			next = other;
	e->destroy(e);
	if (next != NULL)
		fprintf(f, "before %s ", next->name);
	else if (k->before[0] != '\0')
		fprintf(f, "before %s ", k->before);
}

// Makes the gateway's policy what it is to be. False if that is refused.
static bool policy_apply(struct kernel *k, struct policy *p)
{
	const struct use *sender = sender_of(k, p);
	uint32_t rank = sender != NULL ? rank_of(p, sender) : 0;
	char settings[TEXT_SIZE], changes[2 * TEXT_SIZE];
	FILE *f;

	settings_write(settings, k, p, sender);
	if (streq(settings, p->settings))
		return true;
	f = fmemopen(changes, sizeof(changes), "w");
	if (f == NULL)
		return false;
	if (p->settings[0] != '\0')
		fprintf(f, "policy del %s\n", p->name);
	if (settings[0] != '\0') {
		fprintf(f, "policy add ");
		place_write(f, k, p, rank);
		fprintf(f, "%s\n", settings);
	}
	fclose(f);
	if (!kernel_change(k, changes))
		return false;
	strcpy(p->settings, settings);
	p->rank = rank;
	return true;
}

void policies_apply(struct kernel *k)
{
	enumerator_t *e = k->policies->create_enumerator(k->policies);
	struct policy *p;

	while (e->enumerate(e, &p))
		policy_apply(k, p);
	e->destroy(e);
}

static job_requeue_t waited(struct kernel *k)
{
	k->mutex->lock(k->mutex);
	policies_apply(k);
	k->mutex->unlock(k->mutex);
	return JOB_REQUEUE_NONE;
}

// --- kernel_ipsec_t ---

static void use_free(struct use *use)
{
	use->dst->destroy(use->dst);
	free(use);
}

static void policy_free(struct policy *p)
{
	p->uses->destroy_function(p->uses, (void *)use_free);
	free(p);
}

static void policy_drop_unused(struct kernel *k, struct policy *p)
{
	if (p->uses->get_count(p->uses) > 0)
		return;
	k->policies->remove(k->policies, p, NULL);
	policy_free(p);
}

static struct policy *policy_make(struct kernel *k, const struct policy *selectors, uint32_t reqid)
{
	struct policy *p = malloc(sizeof(*p));

	*p = *selectors;
	p->uses = linked_list_create();
	name_choose(k, p, reqid);
	k->policies->insert_last(k->policies, p);
	return p;
}

status_t policy_add(
	struct kernel *k, kernel_ipsec_policy_id_t *id, kernel_ipsec_manage_policy_t *data)
{
	const char *unknown = policy_unknown(id, data);
	struct policy selectors = {0}, *p;
	struct use *use;

	if (id->dir == POLICY_FWD)
		return SUCCESS; // the gateway's inbound policies are for these packets, too
	if (unknown != NULL) {
		DBG1(DBG_KNL, "culvert: the gateway has no %s", unknown);
		return NOT_SUPPORTED;
	}
	if (!selectors_write(&selectors, id))
		return NOT_SUPPORTED;
	if (data->type == POLICY_IPSEC && data->sa->esp.spi == 0) {
		DBG1(DBG_KNL, "culvert: the gateway has no traps: it does not say that a packet "
			      "needs an SA");
		return NOT_SUPPORTED;
	}
	p = policy_find(k, selectors.selectors);
	if (p == NULL)
		p = policy_make(k, &selectors, data->sa->reqid);
	use = malloc(sizeof(*use));
	*use = (struct use){.inbound = id->dir == POLICY_IN,
		.type = data->type,
		.priority = data->prio,
		.manual = data->manual_prio,
		.reqid = data->sa->reqid,
		.spi = ntohl(data->sa->esp.spi),
		.dst = data->dst->clone(data->dst)};
	p->uses->insert_last(p->uses, use);
	if (!use->inbound && wait_of(k, use) > 0 && sender_of(k, p) != use)
		lib->scheduler->schedule_job(lib->scheduler,
			(job_t *)callback_job_create((void *)waited, k, NULL, NULL),
			(uint32_t)wait_of(k, use));
	if (policy_apply(k, p))
		return SUCCESS;
	p->uses->remove(p->uses, use, NULL);
	use_free(use);
	policy_drop_unused(k, p);
	return FAILED;
}

status_t policy_query(struct kernel *k, kernel_ipsec_policy_id_t *id, time_t *used)
{
	struct policy selectors = {0}, *p;
	struct use *use;
	enumerator_t *e;

	if (!selectors_write(&selectors, id))
		return NOT_FOUND;
	p = policy_find(k, selectors.selectors);
	if (p == NULL)
		return NOT_FOUND;
	*used = 0;
	e = p->uses->create_enumerator(p->uses);
	while (e->enumerate(e, &use)) {
		struct kernel_sa *sa = use->inbound == (id->dir != POLICY_OUT)
					       ? sa_find(k, use->spi, use->inbound, use->dst)
					       : NULL;

		if (sa != NULL)
			*used = max(*used, sa_used(k, sa, NULL, NULL));
	}
	e->destroy(e);
	return SUCCESS;
}

// The use that charon means: the oldest, should there be equal ones.
static struct use *use_find(const struct policy *p, const kernel_ipsec_policy_id_t *id,
	const kernel_ipsec_manage_policy_t *data)
{
	enumerator_t *e = p->uses->create_enumerator(p->uses);
	struct use *use = NULL, *found = NULL;

	while (found == NULL && e->enumerate(e, &use))
		if (use->inbound == (id->dir == POLICY_IN) && use->type == data->type &&
			use->priority == data->prio && use->spi == ntohl(data->sa->esp.spi) &&
			use->reqid == data->sa->reqid)
			found = use;
	e->destroy(e);
	return found;
}

status_t policy_del(
	struct kernel *k, kernel_ipsec_policy_id_t *id, kernel_ipsec_manage_policy_t *data)
{
	struct policy selectors = {0}, *p;
	struct use *use;
	bool ok;

	if (id->dir == POLICY_FWD)
		return SUCCESS;
	p = selectors_write(&selectors, id) ? policy_find(k, selectors.selectors) : NULL;
	use = p != NULL ? use_find(p, id, data) : NULL;
	if (use == NULL)
		return NOT_FOUND;
	p->uses->remove(p->uses, use, NULL);
	use_free(use);
	ok = policy_apply(k, p);
	policy_drop_unused(k, p);
	return ok ? SUCCESS : FAILED;
}

void policies_forget(struct kernel *k)
{
	struct policy *p;

	while (k->policies->remove_last(k->policies, (void **)&p) == SUCCESS)
		policy_free(p);
}

void policies_lost(struct kernel *k)
{
	enumerator_t *e = k->policies->create_enumerator(k->policies);
	struct policy *p;

	while (e->enumerate(e, &p))
		p->settings[0] = '\0';
	e->destroy(e);
}
