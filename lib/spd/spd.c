// SPDX-License-Identifier: BSD-3-Clause
// The list is compiled by librte_acl, so that the time of a look-up hardly depends on its length.
// Each family has a context of its own, because it has fields of its own; a policy about both is in
// both.
#include "spd.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_acl.h>
#include <rte_jhash.h>

// Fields of IPv4. An address of IPv6 takes four, so that F_REMOTE is behind F_LOCAL + 3, and what
// follows it has numbers larger by ACL_MORE_V6.
enum field { F_PROTO, F_LOCAL, F_REMOTE, F_LOCAL_PORT, F_REMOTE_PORT, F_COUNT };

RTE_ACL_RULE_DEF(acl_rule, F_COUNT + ACL_MORE_V6);

#define FIELD(kind, field, member)                                                                 \
	{                                                                                          \
		RTE_ACL_FIELD_TYPE_##kind, sizeof(((struct spd_key *)0)->member), field, field,    \
			offsetof(struct spd_key, member)                                           \
	}

#define FIELDS_V6(first, member)                                                                   \
	FIELD(MASK, first, member.w[0]), FIELD(MASK, (first) + 1, member.w[1]),                    \
		FIELD(MASK, (first) + 2, member.w[2]), FIELD(MASK, (first) + 3, member.w[3])

static const struct rte_acl_config configs[ACL_FAMILIES] = {
	{
		.num_categories = 1,
		.num_fields = F_COUNT,
		.defs = {FIELD(BITMASK, F_PROTO, proto), FIELD(MASK, F_LOCAL, local.w[3]),
			FIELD(MASK, F_REMOTE, remote.w[3]), FIELD(RANGE, F_LOCAL_PORT, local_port),
			FIELD(RANGE, F_REMOTE_PORT, remote_port)},
	},
	{
		.num_categories = 1,
		.num_fields = F_COUNT + ACL_MORE_V6,
		.defs = {FIELD(BITMASK, F_PROTO, proto), FIELDS_V6(F_LOCAL, local),
			FIELDS_V6(F_LOCAL + 4, remote),
			FIELD(RANGE, F_LOCAL_PORT + ACL_MORE_V6, local_port),
			FIELD(RANGE, F_REMOTE_PORT + ACL_MORE_V6, remote_port)},
	},
};

// That a policy receives by an SA.
struct receiver {
	const struct sa_in *sa;
	uint32_t policy; // its index
};

// With more policies that look at what fragments do not show, fragments are not decided about.
#define SELECTIVE_MAX 32

struct spd {
	struct receiver *receivers; // in ascending order
	unsigned int n_receivers;
	// Those policies, in order; n_selective counts also what is beyond.
	uint32_t selective[SELECTIVE_MAX];
	unsigned int n_selective;
	struct rte_acl_ctx *acl[ACL_FAMILIES]; // NULL if no policy speaks of the family
	unsigned int n;
	struct spd_policy policy[];
};

static bool speaks(const struct spd_policy *p, enum ip_family family)
{
	return acl_speaks(p->family, &p->local, &p->remote, family);
}

static struct acl_rule acl_rule_of(
	const struct spd_policy *p, unsigned int i, enum ip_family family)
{
	// userdata 0 means "no match" to rte_acl.
	struct acl_rule acl = {.data = {.category_mask = 1,
				       .priority = (int32_t)(RTE_ACL_MAX_PRIORITY - i),
				       .userdata = i + 1}};
	struct rte_acl_field *behind =
		acl_prefixes(acl.field, F_LOCAL, &p->local, &p->remote, family);

	acl.field[F_PROTO] = acl_octet(p->proto == SPD_PROTO_ANY, (uint8_t)p->proto);
	behind[F_LOCAL_PORT] = acl_ports(&p->local_port);
	behind[F_REMOTE_PORT] = acl_ports(&p->remote_port);
	return acl;
}

static int add(struct rte_acl_ctx *acl, const struct acl_rule *rule)
{
	return rte_acl_add_rules(acl, (const struct rte_acl_rule *)rule, 1);
}

// Whether the ends may send different types of ICMP: the policy then is a rule for each of them.
static bool is_by_sender(const struct spd_policy *p)
{
	return acl_is_icmp(p->proto) &&
	       (p->local_port.max != ACL_PORT_OPAQUE || p->remote_port.max != ACL_PORT_OPAQUE);
}

static int add_policy(
	struct rte_acl_ctx *acl, const struct spd_policy *p, unsigned int i, enum ip_family family)
{
	const struct rte_acl_field receiver = {
		.value.u32 = ACL_PORT_RECEIVER, .mask_range.u32 = ACL_PORT_RECEIVER};
	struct acl_rule rule = acl_rule_of(p, i, family), back = rule;
	unsigned int more = family == IP_V6 ? ACL_MORE_V6 : 0;
	int rc = 0;

	if (!is_by_sender(p))
		return add(acl, &rule);
	rule.field[F_REMOTE_PORT + more] = receiver;
	back.field[F_LOCAL_PORT + more] = receiver;
	if (p->local_port.min <= p->local_port.max)
		rc = add(acl, &rule);
	if (rc == 0 && p->remote_port.min <= p->remote_port.max)
		rc = add(acl, &back);
	return rc;
}

static int compile(struct spd *spd, enum ip_family family)
{
	static atomic_uint serial; // contexts of rte_acl have unique names
	const struct rte_acl_config *config = &configs[acl_family(family)];
	struct rte_acl_ctx **acl = &spd->acl[acl_family(family)];
	char name[RTE_ACL_NAMESIZE];
	struct rte_acl_param param = {
		.name = name,
		.socket_id = SOCKET_ID_ANY,
		.rule_size = (uint32_t)RTE_ACL_RULE_SZ(config->num_fields),
	};
	int rc = 0;

	for (unsigned int i = 0; i < spd->n; i++)
		if (speaks(&spd->policy[i], family))
			param.max_rule_num += is_by_sender(&spd->policy[i]) ? 2 : 1;
	if (param.max_rule_num == 0)
		return 0;
	snprintf(name, sizeof(name), "spd-%u", atomic_fetch_add(&serial, 1));
	*acl = rte_acl_create(&param);
	if (*acl == NULL)
		return -ENOMEM;
	for (unsigned int i = 0; rc == 0 && i < spd->n; i++)
		if (speaks(&spd->policy[i], family))
			rc = add_policy(*acl, &spd->policy[i], i, family);
	return rc == 0 ? rte_acl_build(*acl, config) : rc;
}

static int receiver_compare(const void *a, const void *b)
{
	const struct receiver *x = a, *y = b;

	if (x->sa != y->sa)
		return x->sa < y->sa ? -1 : 1;
	return (x->policy > y->policy) - (x->policy < y->policy);
}

static int list_receivers(struct spd *spd)
{
	struct receiver *r = calloc((size_t)spd->n * SPD_IN_MAX + 1, sizeof(*r));

	if (r == NULL)
		return -ENOMEM;
	spd->receivers = r;
	for (unsigned int i = 0; i < spd->n; i++)
		for (unsigned int k = 0; k < spd->policy[i].n_in; k++)
			r[spd->n_receivers++] = (struct receiver){spd->policy[i].in[k], i};
	qsort(r, spd->n_receivers, sizeof(*r), receiver_compare);
	return 0;
}

// Whether fragments may not show all that the policy looks at: of IPv6 not even the protocol.
static bool is_selective(const struct spd_policy *p)
{
	return p->local_port.max != ACL_PORT_OPAQUE || p->remote_port.max != ACL_PORT_OPAQUE ||
	       (p->proto != SPD_PROTO_ANY && speaks(p, IP_V6));
}

static void list_selective(struct spd *spd)
{
	for (unsigned int i = 0; i < spd->n; i++)
		if (is_selective(&spd->policy[i]) && spd->n_selective++ < SELECTIVE_MAX)
			spd->selective[spd->n_selective - 1] = i;
}

static void set_hashes(struct spd_policy *p)
{
	const struct ip_addr *peer = p->n_in > 0 ? &p->in[0]->sa.opt.remote : NULL;

	p->name_hash = rte_jhash(p->name, (uint32_t)strlen(p->name), 0);
	p->peer_hash = peer != NULL && !ip_addr_is_none(peer) ? rte_jhash(peer, sizeof(*peer), 0)
							      : p->name_hash;
}

struct spd *spd_new(const struct spd_policy policies[], unsigned int n)
{
	struct spd *spd = calloc(1, sizeof(*spd) + n * sizeof(spd->policy[0]));

	if (spd == NULL)
		return NULL;
	spd->n = n;
	memcpy(spd->policy, policies, n * sizeof(spd->policy[0]));

	for (unsigned int i = 0; i < n; i++)
		set_hashes(&spd->policy[i]);

	list_selective(spd);

	int rc = list_receivers(spd);

	if (rc == 0)
		rc = compile(spd, IP_V4);
	if (rc == 0)
		rc = compile(spd, IP_V6);
	if (rc < 0) {
		spd_free(spd);
		errno = -rc;
		return NULL;
	}
	return spd;
}

void spd_free(struct spd *spd)
{
	if (spd == NULL)
		return;
	for (unsigned int i = 0; i < ACL_FAMILIES; i++)
		rte_acl_free(spd->acl[i]);
	free(spd->receivers);
	free(spd);
}

unsigned int spd_count(const struct spd *spd)
{
	return spd->n;
}

const struct spd_policy *spd_at(const struct spd *spd, unsigned int i)
{
	return &spd->policy[i];
}

struct spd_key spd_key_outbound(const struct ip_view *packet)
{
	return (struct spd_key){
		.proto = packet->proto,
		.local = packet->src,
		.remote = packet->dst,
		.local_port = acl_sender_port(packet),
		.remote_port = acl_receiver_port(packet),
	};
}

struct spd_key spd_key_inbound(const struct ip_view *packet)
{
	return (struct spd_key){
		.proto = packet->proto,
		.local = packet->dst,
		.remote = packet->src,
		.local_port = acl_receiver_port(packet),
		.remote_port = acl_sender_port(packet),
	};
}

static void find_family(const struct spd *spd, enum ip_family family, const struct spd_key key[],
	unsigned int n, const struct spd_policy *found[])
{
	const struct rte_acl_ctx *acl = spd->acl[acl_family(family)];
	const uint8_t *data[SPD_KEYS_MAX];
	const struct spd_policy **to[SPD_KEYS_MAX];
	uint32_t result[SPD_KEYS_MAX];
	unsigned int k = 0;

	for (unsigned int i = 0; acl != NULL && i < n; i++)
		if (ip_addr_family(&key[i].local) == family) {
			to[k] = &found[i];
			data[k++] = (const uint8_t *)&key[i];
		}
	if (k == 0)
		return;
	rte_acl_classify(acl, data, result, k, 1);
	for (unsigned int i = 0; i < k; i++)
		if (result[i] != 0)
			*to[i] = &spd->policy[result[i] - 1];
}

void spd_find(const struct spd *spd, const struct spd_key key[], unsigned int n,
	const struct spd_policy *found[])
{
	for (unsigned int i = 0; i < n; i++)
		found[i] = NULL;
	find_family(spd, IP_V4, key, n, found);
	find_family(spd, IP_V6, key, n, found);
}

static const struct spd_policy *find(const struct spd *spd, struct spd_key key)
{
	const struct spd_policy *found;

	spd_find(spd, &key, 1, &found);
	return found;
}

const struct spd_policy *spd_find_outbound(const struct spd *spd, const struct ip_view *packet)
{
	return find(spd, spd_key_outbound(packet));
}

const struct spd_policy *spd_find_inbound(const struct spd *spd, const struct ip_view *packet)
{
	return find(spd, spd_key_inbound(packet));
}

// Whether the policy may be about a packet between these ends, of which a fragment is.
static bool may_match(const struct spd_policy *p, const struct ip_view *fragment,
	const struct ip_addr *local, const struct ip_addr *remote)
{
	enum ip_family family = ip_addr_family(local);

	return speaks(p, family) && ip_prefix_contains(&p->local, local) &&
	       ip_prefix_contains(&p->remote, remote) &&
	       (p->proto == SPD_PROTO_ANY || p->proto == fragment->proto || family == IP_V6);
}

bool spd_decides_fragment(const struct spd *spd, const struct ip_view *fragment, bool inbound,
	const struct spd_policy **policy)
{
	const struct ip_addr *local = inbound ? &fragment->dst : &fragment->src;
	const struct ip_addr *remote = inbound ? &fragment->src : &fragment->dst;
	unsigned int before;

	if (spd->n_selective > SELECTIVE_MAX)
		return false;
	*policy = inbound ? spd_find_inbound(spd, fragment) : spd_find_outbound(spd, fragment);
	before = *policy != NULL ? (unsigned int)(*policy - spd->policy) : spd->n;
	for (unsigned int i = 0; i < spd->n_selective && spd->selective[i] <= before; i++)
		if (may_match(&spd->policy[spd->selective[i]], fragment, local, remote))
			return false;
	return true;
}

// Where the policies of an SA begin, if it has any.
static unsigned int receivers_of(const struct spd *spd, const struct sa_in *sa)
{
	unsigned int from = 0, to = spd->n_receivers;

	while (from < to) {
		unsigned int middle = (from + to) / 2;

		if (spd->receivers[middle].sa < sa)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

const struct spd_policy *spd_find_receiver(
	const struct spd *spd, const struct sa_in *sa, const struct ip_view *fragment)
{
	for (unsigned int i = receivers_of(spd, sa);
		i < spd->n_receivers && spd->receivers[i].sa == sa; i++) {
		const struct spd_policy *p = &spd->policy[spd->receivers[i].policy];

		if (may_match(p, fragment, &fragment->dst, &fragment->src))
			return p;
	}
	return NULL;
}
