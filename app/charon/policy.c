// SPDX-License-Identifier: BSD-3-Clause
// charon's policies, one for each direction and CHILD_SA, as policies of the gateway, one for each
// pair of selectors, class and reqid. While keys change, several CHILD_SAs use one: the gateway
// sends by the newest SA with the reqid, and receives by all.
#include "kernel.h"

#include <arpa/inet.h>
#include <stdio.h>

#define TEXT_SIZE 512 // of settings

// A policy that charon has added, for a direction.
struct use {
	bool inbound;
	uint32_t spi; // of its SA; 0: of a trap, or without SAs; host byte order
	host_t *dst;  // of the SA
};

struct policy {
	char name[NAME_SIZE];
	uint32_t reqid;  // charon's; 0: it does not protect
	uint32_t number; // the gateway's
	bool bypass;
	char settings[TEXT_SIZE]; // without the name and the reqid
	traffic_selector_t *local, *remote;
	linked_list_t *uses; // struct use
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

// The settings of a policy of the gateway. False, after a message, if it cannot have them.
static bool settings_write(
	char settings[TEXT_SIZE], kernel_ipsec_policy_id_t *id, kernel_ipsec_manage_policy_t *data)
{
	bool inbound = id->dir != POLICY_OUT;
	traffic_selector_t *local = inbound ? id->dst_ts : id->src_ts;
	traffic_selector_t *remote = inbound ? id->src_ts : id->dst_ts;
	unsigned int proto = max(local->get_protocol(local), remote->get_protocol(remote)), narrow;
	FILE *f = fmemopen(settings, TEXT_SIZE, "w");
	int a, b;

	if (f == NULL)
		return false;
	a = end_write(f, "local", local);
	b = end_write(f, "remote", remote);
	if (proto != 0)
		fprintf(f, " proto = %u;", proto);
	narrow = (unsigned int)(a + b) * 2 + (proto != 0);
	// charon's classes come first, then narrower selectors before wider ones.
	fprintf(f, " priority = 0x%x;",
		data->manual_prio != 0 ? data->manual_prio
				       : (data->prio + 1) * 100000u - narrow * 8);
	if (data->type == POLICY_IPSEC)
		fprintf(f, " action = \"protect\";");
	else
		fprintf(f, " action = \"%s\";", data->type == POLICY_PASS ? "bypass" : "discard");
	fclose(f);
	return a >= 0 && b >= 0;
}

// The use that charon means: the oldest, should there be equal ones.
static struct use *use_find(const struct policy *p, const kernel_ipsec_policy_id_t *id,
	const kernel_ipsec_manage_policy_t *data)
{
	enumerator_t *e = p->uses->create_enumerator(p->uses);
	struct use *use = NULL, *found = NULL;

	while (found == NULL && e->enumerate(e, &use))
		if (use->inbound == (id->dir == POLICY_IN) && use->spi == ntohl(data->sa->esp.spi))
			found = use;
	e->destroy(e);
	return found;
}

static struct policy *policy_find(struct kernel *k, const char *settings, uint32_t number)
{
	enumerator_t *e = k->policies->create_enumerator(k->policies);
	struct policy *p = NULL, *found = NULL;

	while (found == NULL && e->enumerate(e, &p))
		if (p->number == number && streq(p->settings, settings))
			found = p;
	e->destroy(e);
	return found;
}

// The one that charon uses for an SA. Its group may be gone.
static struct policy *policy_used(struct kernel *k, const char *settings,
	const kernel_ipsec_policy_id_t *id, const kernel_ipsec_manage_policy_t *data)
{
	enumerator_t *e = k->policies->create_enumerator(k->policies);
	struct policy *p = NULL, *found = NULL;

	while (found == NULL && e->enumerate(e, &p))
		if (p->reqid == data->sa->reqid && streq(p->settings, settings) &&
			use_find(p, id, data) != NULL)
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
static void name_choose(struct kernel *k, struct policy *p)
{
	char connection[NAME_SIZE], name[NAME_SIZE];

	kernel_connection(connection);
	snprintf(name, sizeof(name), GATEWAY_OWN "%.12s.%u", connection, p->reqid);
	for (unsigned int i = 2; !name_is_free(k, name); i++)
		snprintf(name, sizeof(name), GATEWAY_OWN "%.12s.%u.%u", connection, p->reqid, i);
	strcpy(p->name, name);
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
	p->local->destroy(p->local);
	p->remote->destroy(p->remote);
	free(p);
}

static bool policy_apply(struct kernel *k, const struct policy *p)
{
	char change[TEXT_SIZE + NAME_SIZE + 64], reqid[32] = "";

	if (p->number != 0)
		snprintf(reqid, sizeof(reqid), " reqid = 0x%x;", p->number);
	snprintf(change, sizeof(change), "policy add { name = \"%s\";%s%s }\n", p->name,
		p->settings, reqid);
	return kernel_change(k, change);
}

// In the order in which they were added, but those that bypass last: when all are added again they
// come after those that protect, and when all are removed they go first.
static void list_insert(struct kernel *k, struct policy *p)
{
	enumerator_t *e = k->policies->create_enumerator(k->policies);
	struct policy *at;

	while (e->enumerate(e, &at) && (p->bypass || !at->bypass))
		;
	k->policies->insert_before(k->policies, e, p);
	e->destroy(e);
}

// NULL: the gateway refuses it.
static struct policy *policy_make(struct kernel *k, const char *settings, uint32_t number,
	kernel_ipsec_policy_id_t *id, kernel_ipsec_manage_policy_t *data)
{
	traffic_selector_t *local = id->dir == POLICY_OUT ? id->src_ts : id->dst_ts;
	traffic_selector_t *remote = id->dir == POLICY_OUT ? id->dst_ts : id->src_ts;
	struct policy *p = malloc(sizeof(*p));

	*p = (struct policy){.reqid = data->sa->reqid,
		.number = number,
		.bypass = data->type == POLICY_PASS,
		.local = local->clone(local),
		.remote = remote->clone(remote),
		.uses = linked_list_create()};
	strcpy(p->settings, settings);
	name_choose(k, p);
	if (policy_apply(k, p)) {
		list_insert(k, p);
		return p;
	}
	policy_free(p);
	return NULL;
}

status_t policy_add(
	struct kernel *k, kernel_ipsec_policy_id_t *id, kernel_ipsec_manage_policy_t *data)
{
	const char *unknown = policy_unknown(id, data);
	char settings[TEXT_SIZE];
	uint32_t number = 0;
	struct policy *p;
	struct use *use;

	if (id->dir == POLICY_FWD)
		return SUCCESS; // the gateway's inbound policies are for these packets, too
	if (unknown != NULL) {
		DBG1(DBG_KNL, "culvert: the gateway has no %s", unknown);
		return NOT_SUPPORTED;
	}
	if (!settings_write(settings, id, data))
		return NOT_SUPPORTED;
	if (data->type == POLICY_IPSEC)
		number = group_number_of(k, data->sa->reqid,
			id->dir == POLICY_OUT ? id->src_ts : id->dst_ts,
			id->dir == POLICY_OUT ? id->dst_ts : id->src_ts);
	p = policy_find(k, settings, number);
	if (p == NULL)
		p = policy_make(k, settings, number, id, data);
	if (p == NULL)
		return FAILED;
	use = malloc(sizeof(*use));
	*use = (struct use){.inbound = id->dir == POLICY_IN,
		.spi = ntohl(data->sa->esp.spi),
		.dst = data->dst->clone(data->dst)};
	p->uses->insert_last(p->uses, use);
	return SUCCESS;
}

// The policy may be there in several classes: the SA is used that was used last.
status_t policy_query(struct kernel *k, kernel_ipsec_policy_id_t *id, time_t *used)
{
	bool inbound = id->dir != POLICY_OUT, found = false;
	traffic_selector_t *local = inbound ? id->dst_ts : id->src_ts;
	traffic_selector_t *remote = inbound ? id->src_ts : id->dst_ts;
	enumerator_t *e, *f;
	struct policy *p;
	struct use *use;

	*used = 0;
	if (id->dir == POLICY_FWD)
		return NOT_FOUND; // charon asks for the inbound policy, too
	e = k->policies->create_enumerator(k->policies);
	while (e->enumerate(e, &p)) {
		if (!p->local->equals(p->local, local) || !p->remote->equals(p->remote, remote))
			continue;
		found = true;
		f = p->uses->create_enumerator(p->uses);
		while (f->enumerate(f, &use)) {
			struct kernel_sa *sa =
				use->inbound == inbound && use->spi != 0
					? sa_find(k, use->spi, use->inbound, use->dst)
					: NULL;

			if (sa != NULL)
				*used = max(*used, sa_used(k, sa, NULL, NULL));
		}
		f->destroy(f);
	}
	e->destroy(e);
	return found ? SUCCESS : NOT_FOUND;
}

static bool policy_remove(struct kernel *k, struct policy *p)
{
	char change[NAME_SIZE + 16];

	snprintf(change, sizeof(change), "policy del %s\n", p->name);
	return kernel_change(k, change);
}

status_t policy_del(
	struct kernel *k, kernel_ipsec_policy_id_t *id, kernel_ipsec_manage_policy_t *data)
{
	char settings[TEXT_SIZE];
	struct policy *p;
	struct use *use;
	bool ok;

	if (id->dir == POLICY_FWD)
		return SUCCESS;
	p = settings_write(settings, id, data) ? policy_used(k, settings, id, data) : NULL;
	if (p == NULL)
		return NOT_FOUND;
	use = use_find(p, id, data);
	p->uses->remove(p->uses, use, NULL);
	use_free(use);
	if (p->uses->get_count(p->uses) > 0)
		return SUCCESS;
	ok = policy_remove(k, p);
	k->policies->remove(k->policies, p, NULL);
	policy_free(p);
	return ok ? SUCCESS : FAILED;
}

void policy_acquire(struct kernel *k, const char *name)
{
	traffic_selector_t *local = NULL, *remote = NULL;
	enumerator_t *e;
	struct policy *p;
	uint32_t reqid = 0;

	k->mutex->lock(k->mutex);
	e = k->policies->create_enumerator(k->policies);
	while (local == NULL && e->enumerate(e, &p))
		if (streq(p->name, name)) {
			reqid = p->reqid;
			local = p->local->clone(p->local);
			remote = p->remote->clone(p->remote);
		}
	e->destroy(e);
	k->mutex->unlock(k->mutex);
	if (local == NULL)
		return;
	// Without the mutex: charon waits for IKE_SAs, whose threads may wait for it.
	charon->kernel->acquire(
		charon->kernel, reqid, &(kernel_acquire_data_t){.src = local, .dst = remote});
	local->destroy(local);
	remote->destroy(remote);
}

void policies_forget(struct kernel *k)
{
	struct policy *p;

	while (k->policies->remove_last(k->policies, (void **)&p) == SUCCESS)
		policy_free(p);
}

status_t policies_flush(struct kernel *k)
{
	struct policy *p;
	bool ok = true;

	while (k->policies->remove_last(k->policies, (void **)&p) == SUCCESS) {
		ok &= policy_remove(k, p);
		policy_free(p);
	}
	return ok ? SUCCESS : FAILED;
}

void policies_restore(struct kernel *k)
{
	enumerator_t *e = k->policies->create_enumerator(k->policies);
	struct policy *p;

	while (e->enumerate(e, &p))
		policy_apply(k, p);
	e->destroy(e);
}
