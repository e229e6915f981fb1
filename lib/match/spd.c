// SPDX-License-Identifier: BSD-3-Clause
#include "spd.h"

#include <errno.h>
#include <stdlib.h>

// A policy, and the SPI of an SA that it receives by.
struct receiver {
	rte_be32_t spi;
	uint32_t policy; // its index
};

// With more policies that depend on fields which fragments lack, none decides about fragments.
#define SELECTIVE_MAX 32

struct spd {
	struct receiver *receivers; // in ascending order
	unsigned int n_receivers;
	// Those policies, in order; n_selective also counts policies for which there is no room.
	uint32_t selective[SELECTIVE_MAX];
	unsigned int n_selective;
	uint32_t *grouped; // tunnels with SAs of IKE, in ascending order of groups
	unsigned int n_grouped;
	struct classifier *classifier; // of the policies
	unsigned int n, n_tunnels;
	struct spd_policy policy[]; // then the tunnels
};

// As a rule about outbound packets.
static struct classifier_rule rule_of(
	const struct spd_policy *p, unsigned int index, const struct spd_ports *ports)
{
	return (struct classifier_rule){
		.index = index,
		.categories = 1,
		.match = {.family = p->family,
			.source = p->local,
			.destination = p->remote,
			.proto = p->proto,
			.source_port = ports->local,
			.destination_port = ports->remote,
			.in = CLASSIFIER_ANY,
			.out = CLASSIFIER_ANY},
		.tunnel_max = UINT32_MAX,
	};
}

// The lists of a pair of ports: of two ICMP types, each has those of its sender alone.
static const struct classifier_lists *lists_of(
	const struct spd_policy *p, const struct spd_ports *ports, struct classifier_lists *own)
{
	if (p->more == NULL)
		return NULL;
	*own = *p->more;
	if (ports->local.min == ACL_PORT_RECEIVER)
		own->n_source_port = 0;
	if (ports->remote.min == ACL_PORT_RECEIVER)
		own->n_destination_port = 0;
	return own;
}

static unsigned int rules_add(struct classifier_rule rules[], struct classifier_lists lists[],
	const struct spd_policy *p, unsigned int index)
{
	struct spd_ports pair[2];
	unsigned int n = spd_policy_ports(p, pair);

	for (unsigned int k = 0; k < n; k++) {
		rules[k] = rule_of(p, index, &pair[k]);
		rules[k].match.more = lists_of(p, &pair[k], &lists[k]);
	}
	return n;
}

static int policies_compile(struct spd *spd)
{
	struct classifier_rule *rules = calloc(2 * (size_t)spd->n + 1, sizeof(*rules));
	struct classifier_lists *lists = calloc(2 * (size_t)spd->n + 1, sizeof(*lists));
	unsigned int n = 0;
	int rc = -ENOMEM;

	if (rules != NULL && lists != NULL) {
		for (unsigned int i = 0; i < spd->n; i++)
			n += rules_add(&rules[n], &lists[n], &spd->policy[i], i);
		spd->classifier = classifier_new(rules, n, UINT32_MAX, 1);
		rc = spd->classifier != NULL ? 0 : -errno;
	}
	free(lists);
	free(rules);
	return rc;
}

static int receiver_compare(const void *a, const void *b)
{
	const struct receiver *x = a, *y = b;

	if (x->spi != y->spi)
		return x->spi < y->spi ? -1 : 1;
	return (x->policy > y->policy) - (x->policy < y->policy);
}

static int list_receivers(struct spd *spd)
{
	struct receiver *r = calloc((size_t)spd_count(spd) * SPD_IN_MAX + 1, sizeof(*r));

	if (r == NULL)
		return -ENOMEM;
	spd->receivers = r;
	for (unsigned int i = 0; i < spd_count(spd); i++)
		for (unsigned int k = 0; k < spd->policy[i].n_in; k++)
			r[spd->n_receivers++] = (struct receiver){spd->policy[i].in[k]->sa.spi, i};
	qsort(r, spd->n_receivers, sizeof(*r), receiver_compare);
	return 0;
}

static int group_compare(const void *a, const void *b, void *arg)
{
	const struct spd *spd = arg;
	uint64_t x = spd->policy[*(const uint32_t *)a].group;
	uint64_t y = spd->policy[*(const uint32_t *)b].group;

	return (x > y) - (x < y);
}

static int list_grouped(struct spd *spd)
{
	spd->grouped = calloc((size_t)spd->n_tunnels + 1, sizeof(spd->grouped[0]));
	if (spd->grouped == NULL)
		return -ENOMEM;
	for (unsigned int i = spd->n; i < spd_count(spd); i++)
		if (spd->policy[i].group != 0)
			spd->grouped[spd->n_grouped++] = i;
	qsort_r(spd->grouped, spd->n_grouped, sizeof(spd->grouped[0]), group_compare, spd);
	return 0;
}

static void list_selective(struct spd *spd)
{
	for (unsigned int i = 0; i < spd->n; i++)
		if (spd_policy_is_selective(&spd->policy[i]) && spd->n_selective++ < SELECTIVE_MAX)
			spd->selective[spd->n_selective - 1] = i;
}

// Returns 0 or -ENOMEM.
static int policies_copy(struct spd *spd, const struct spd_policy policies[])
{
	int rc = 0;

	for (unsigned int i = 0; i < spd_count(spd); i++) {
		struct spd_policy *p = &spd->policy[i];

		memcpy(p, &policies[i], sizeof(*p));
		spd_policy_set_hashes(p);
		if (p->more != NULL) {
			p->more = classifier_lists_copy(p->more);
			rc = p->more != NULL ? rc : -ENOMEM;
		}
	}
	return rc;
}

struct spd *spd_new(const struct spd_policy policies[], unsigned int n, unsigned int n_tunnels)
{
	const unsigned int all = n + n_tunnels;
	struct spd *spd = calloc(1, sizeof(*spd) + all * sizeof(spd->policy[0]));

	if (spd == NULL)
		return NULL;
	spd->n = n;
	spd->n_tunnels = n_tunnels;

	int rc = policies_copy(spd, policies);

	list_selective(spd);
	if (rc == 0)
		rc = list_receivers(spd);
	if (rc == 0)
		rc = list_grouped(spd);
	if (rc == 0)
		rc = policies_compile(spd);
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
	for (unsigned int i = 0; i < spd->n; i++)
		free((void *)(uintptr_t)spd->policy[i].more);
	classifier_free(spd->classifier);
	free(spd->receivers);
	free(spd->grouped);
	free(spd);
}

unsigned int spd_count(const struct spd *spd)
{
	return spd->n + spd->n_tunnels;
}

unsigned int spd_count_policies(const struct spd *spd)
{
	return spd->n;
}

const struct spd_policy *spd_at(const struct spd *spd, unsigned int i)
{
	return &spd->policy[i];
}

unsigned int spd_place(const struct spd *spd, const struct spd_policy *policy)
{
	return (unsigned int)(policy - spd->policy);
}

void spd_find(const struct spd *spd, const struct classifier_key key[], unsigned int n,
	const struct spd_policy *found[])
{
	uint32_t number[CLASSIFIER_KEYS_MAX];

	classifier_find_each(spd->classifier, key, n, number);
	for (unsigned int i = 0; i < n; i++)
		found[i] = number[i] != 0 ? &spd->policy[number[i] - 1] : NULL;
}

const struct spd_policy *spd_find_outbound(const struct spd *spd, const struct ip_view *packet)
{
	const struct classifier_key key = classifier_key_of(packet);
	const struct spd_policy *found;

	spd_find(spd, &key, 1, &found);
	return found;
}

const struct spd_policy *spd_find_inbound(const struct spd *spd, const struct ip_view *packet)
{
	struct classifier_key key = classifier_key_of(packet);
	const struct spd_policy *found;

	key = classifier_key_reversed(&key);
	spd_find(spd, &key, 1, &found);
	return found;
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
		if (spd_policy_may_match(&spd->policy[spd->selective[i]], fragment, local, remote))
			return false;
	return true;
}

// Index of the first receiver of an SA, if it has any.
static unsigned int first_receiver(const struct spd *spd, const struct sa_in *sa)
{
	unsigned int from = 0, to = spd->n_receivers;

	while (from < to) {
		unsigned int middle = (from + to) / 2;

		if (spd->receivers[middle].spi < sa->sa.spi)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

const struct spd_policy *spd_find_group(const struct spd *spd, uint64_t group)
{
	unsigned int from = 0, to = spd->n_grouped;

	while (from < to) {
		unsigned int middle = (from + to) / 2;
		const struct spd_policy *p = &spd->policy[spd->grouped[middle]];

		if (p->group == group)
			return p;
		if (p->group < group)
			from = middle + 1;
		else
			to = middle;
	}
	return NULL;
}

void spd_set_out(struct spd *spd, const struct spd_policy *tunnel, struct sa_out *sa)
{
	atomic_store_explicit(&spd->policy[spd_place(spd, tunnel)].out, sa, memory_order_release);
}

const struct spd_policy *spd_find_tunnel(const struct spd *spd, const struct sa_in *sa)
{
	const uint64_t group = sa_options_group(&sa->sa.opt);

	if (group != 0)
		return spd_find_group(spd, group);
	for (unsigned int i = spd->n_tunnels > 0 ? first_receiver(spd, sa) : spd->n_receivers;
		i < spd->n_receivers && spd->receivers[i].spi == sa->sa.spi; i++) {
		const struct spd_policy *p = &spd->policy[spd->receivers[i].policy];

		if (spd_policy_is_routed(p) && spd_receives(p, sa))
			return p;
	}
	return NULL;
}

const struct spd_policy *spd_find_receiver(
	const struct spd *spd, const struct sa_in *sa, const struct ip_view *fragment)
{
	for (unsigned int i = first_receiver(spd, sa);
		i < spd->n_receivers && spd->receivers[i].spi == sa->sa.spi; i++) {
		const struct spd_policy *p = &spd->policy[spd->receivers[i].policy];

		if (spd_receives(p, sa) &&
			spd_policy_may_match(p, fragment, &fragment->dst, &fragment->src))
			return p;
	}
	return NULL;
}
