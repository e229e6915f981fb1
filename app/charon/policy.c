// SPDX-License-Identifier: BSD-3-Clause
// charon's policies, one for each direction and CHILD_SA, as policies of the gateway, one for each
// pair of selectors, class and reqid; of a range of addresses, one for each of its prefixes. While
// keys change, several CHILD_SAs use one: the gateway sends by the newest SA with the reqid, and
// receives by all. With an if_id, charon's policies mean a tunnel of the gateway, which has no
// policies for it; a trap asks for its SAs.
#include "kernel.h"

#include <arpa/inet.h>

#define PIECES_MAX      64u              // policies of the gateway for one of charon's
#define PIECE_NAME_SIZE (NAME_SIZE + 11) // with a hyphen and a number

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
	uint32_t peer;   // whose share it uses, as kernel_peer()
	bool bypass;
	bool trap;
	uint32_t if_id;               // 0: none
	unsigned int pieces;          // policies of the gateway
	char settings[SETTINGS_SIZE]; // without name, reqid and addresses
	traffic_selector_t *local, *remote;
	linked_list_t *uses; // struct use
};

// --- selectors ---

static bool has_selectors(const struct policy *p, const kernel_ipsec_policy_id_t *id)
{
	return p->local->equals(p->local, local_of(id)) &&
	       p->remote->equals(p->remote, remote_of(id));
}

// --- policies of the gateway for one of charon's ---

static void prefix_write(
	FILE *f, const char *end, traffic_selector_t *ts, const struct prefix *prefix)
{
	char address[ADDRESS_SIZE];

	inet_ntop(ts->get_type(ts) == TS_IPV4_ADDR_RANGE ? AF_INET : AF_INET6, prefix->address,
		address, sizeof(address));
	fprintf(f, " %s = \"%s/%u\";", end, address, prefix->bits);
}

// The first one has the policy's name.
static void piece_name(char name[PIECE_NAME_SIZE], const struct policy *p, unsigned int piece)
{
	if (piece == 0)
		strcpy(name, p->name);
	else
		snprintf(name, PIECE_NAME_SIZE, "%s-%u", p->name, piece + 1);
}

static bool is_piece(const struct policy *p, const char *name)
{
	size_t len = strlen(p->name);

	return strncmp(name, p->name, len) == 0 &&
	       (name[len] == '\0' ||
		       (name[len] == '-' &&
			       name[len + 1 + strspn(name + len + 1, "0123456789")] == '\0'));
}

static void pieces_write(FILE *f, const struct policy *p, const struct prefix local[],
	const struct prefix remote[], unsigned int n_remote)
{
	char name[PIECE_NAME_SIZE];

	for (unsigned int i = 0; i < p->pieces; i++) {
		piece_name(name, p, i);
		fprintf(f, "policy add { name = \"%s\";", name);
		prefix_write(f, "local", p->local, &local[i / n_remote]);
		prefix_write(f, "remote", p->remote, &remote[i % n_remote]);
		fprintf(f, "%s", p->settings);
		if (p->number != 0)
			fprintf(f, " reqid = 0x%x;", p->number);
		fprintf(f, " peer_id = 0x%x; }\n", p->peer);
	}
}

// Makes the changes that were written to the stream, and closes it.
static bool changes_make(struct kernel *k, FILE *f, char **changes)
{
	bool ok = fclose(f) == 0 && kernel_change(k, *changes);

	free(*changes);
	return ok;
}

// Adds all of them, or none.
static bool policy_apply(struct kernel *k, struct policy *p)
{
	struct prefix local[RANGE_PREFIXES_MAX], remote[RANGE_PREFIXES_MAX];
	unsigned int n_local = prefixes_of(p->local, local);
	unsigned int n_remote = prefixes_of(p->remote, remote);
	char *changes;
	size_t size;
	FILE *f;

	if (p->if_id != 0)
		return true;
	p->pieces = n_local * n_remote;
	if (p->pieces == 0 || p->pieces > PIECES_MAX) {
		DBG1(DBG_KNL,
			"culvert: the gateway has no policy for ranges of addresses that are "
			"more than %u pairs of prefixes",
			PIECES_MAX);
		return false;
	}
	f = open_memstream(&changes, &size);
	if (f == NULL)
		return false;
	pieces_write(f, p, local, remote, n_remote);
	return changes_make(k, f, &changes);
}

static bool policy_remove(struct kernel *k, const struct policy *p)
{
	char name[PIECE_NAME_SIZE], *changes;
	size_t size;
	FILE *f = p->pieces > 0 ? open_memstream(&changes, &size) : NULL;

	if (f == NULL)
		return p->pieces == 0;
	for (unsigned int i = 0; i < p->pieces; i++) {
		piece_name(name, p, i);
		fprintf(f, "policy del %s\n", name);
	}
	return changes_make(k, f, &changes);
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

static struct policy *policy_find(
	struct kernel *k, const char *settings, uint32_t number, const kernel_ipsec_policy_id_t *id)
{
	enumerator_t *e = k->policies->create_enumerator(k->policies);
	struct policy *p = NULL, *found = NULL;

	while (found == NULL && e->enumerate(e, &p))
		if (p->number == number && streq(p->settings, settings) && has_selectors(p, id))
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
			has_selectors(p, id) && use_find(p, id, data) != NULL)
			found = p;
	e->destroy(e);
	return found;
}

// The first number that no policy with this name has: 1 is that of the name alone.
static unsigned int number_choose(struct kernel *k, const char *name)
{
	unsigned int n = (unsigned int)k->policies->get_count(k->policies), number = 1;
	enumerator_t *e = k->policies->create_enumerator(k->policies);
	bool *used = calloc(n + 2, sizeof(used[0]));
	size_t len = strlen(name);
	struct policy *p;

	while (e->enumerate(e, &p)) {
		const char *rest = p->name + len;
		unsigned long i = 0;

		if (strncmp(p->name, name, len) == 0)
			i = *rest == '\0' ? 1 : *rest == '.' ? strtoul(rest + 1, NULL, 10) : 0;
		used[i <= n ? i : 0] = true;
	}
	e->destroy(e);
	while (used[number])
		number++;
	free(used);
	return number;
}

// ike.CONNECTION.REQID, and a number for all but the first pair of selectors.
static void name_choose(struct kernel *k, struct policy *p)
{
	char connection[NAME_SIZE], name[NAME_SIZE];
	unsigned int number;

	kernel_connection(connection);
	snprintf(name, sizeof(name), GATEWAY_OWN "%.12s.%u", connection, p->reqid);
	number = number_choose(k, name);
	strcpy(p->name, name);
	if (number > 1)
		snprintf(p->name, sizeof(p->name), GATEWAY_OWN "%.12s.%u.%u", connection, p->reqid,
			number);
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

// In the order of their addition, but those with action bypass last: when all are added again they
// follow the policies with protect, and when all are removed they go first.
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
	traffic_selector_t *local = local_of(id), *remote = remote_of(id);
	struct policy *p = malloc(sizeof(*p));

	*p = (struct policy){.reqid = data->sa->reqid,
		.number = number,
		.peer = kernel_peer(),
		.bypass = data->type == POLICY_PASS,
		.trap = policy_is_trap(data),
		.if_id = id->if_id,
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
	char settings[SETTINGS_SIZE];
	uint32_t number = 0;
	struct policy *p;
	struct use *use;

	if (id->dir == POLICY_FWD)
		return SUCCESS; // the gateway's inbound policies are for these packets, too
	if (unknown != NULL) {
		DBG1(DBG_KNL, "culvert: the gateway has no %s", unknown);
		return NOT_SUPPORTED;
	}
	if (!policy_settings(settings, id, data))
		return NOT_SUPPORTED;
	if (data->type == POLICY_IPSEC)
		number = group_number_of(k, data->sa->reqid, local_of(id), remote_of(id));
	p = policy_find(k, settings, number, id);
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
	bool inbound = id->dir != POLICY_OUT, found = false, known = true;
	enumerator_t *e, *f;
	struct policy *p;
	struct use *use;
	time_t at;

	*used = 0;
	if (id->dir == POLICY_FWD)
		return NOT_FOUND; // charon asks for the inbound policy, too
	e = k->policies->create_enumerator(k->policies);
	while (e->enumerate(e, &p)) {
		if (!has_selectors(p, id))
			continue;
		found = true;
		f = p->uses->create_enumerator(p->uses);
		while (f->enumerate(f, &use)) {
			struct kernel_sa *sa =
				use->inbound == inbound && use->spi != 0
					? sa_find(k, use->spi, use->inbound, use->dst)
					: NULL;

			if (sa == NULL)
				continue;
			known &= sa_used(k, sa, NULL, NULL, &at);
			*used = max(*used, at);
		}
		f->destroy(f);
	}
	e->destroy(e);
	if (!known)
		return FAILED;
	return found ? SUCCESS : NOT_FOUND;
}

status_t policy_del(
	struct kernel *k, kernel_ipsec_policy_id_t *id, kernel_ipsec_manage_policy_t *data)
{
	char settings[SETTINGS_SIZE];
	struct policy *p;
	struct use *use;
	bool ok;

	if (id->dir == POLICY_FWD)
		return SUCCESS;
	p = policy_settings(settings, id, data) ? policy_used(k, settings, id, data) : NULL;
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

void policy_acquire(struct kernel *k, const char *name, uint32_t if_id)
{
	traffic_selector_t *local = NULL, *remote = NULL;
	enumerator_t *e;
	struct policy *p;
	uint32_t reqid = 0;

	k->mutex->lock(k->mutex);
	e = k->policies->create_enumerator(k->policies);
	while (local == NULL && e->enumerate(e, &p))
		if (if_id != 0 ? p->trap && p->if_id == if_id : is_piece(p, name)) {
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
