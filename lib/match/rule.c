// SPDX-License-Identifier: BSD-3-Clause
// Connection states are categories of the classifier, so that a rule about several is still one.
// Each scope has a classifier of its own, so that rules of one cost the other nothing.
#include "rule.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#define PART 32 // rules

static_assert(RULE_STATES == 4, "categories of librte_acl");

struct rule_set {
	struct classifier *classifier[RULE_SCOPES];
	uint16_t *index; // of rules, by number
	unsigned int n;  // with the fallback
	struct rule rule[];
};

static struct classifier_rule classifier_rule_of(const struct rule *r, unsigned int index)
{
	return (struct classifier_rule){
		.index = index,
		.categories = r->states,
		.match = r->match,
		.tunnel_max = UINT32_MAX,
	};
}

// How many numbers at the start of the list are consecutive.
static unsigned int run_len(const uint32_t tunnels[], unsigned int n)
{
	unsigned int k = 1;

	while (k < n && tunnels[k] == tunnels[0] + k)
		k++;
	return k;
}

static int rules_compile(struct rule_set *s, enum rule_scope scope)
{
	size_t n_max = s->n;
	struct classifier_rule *rules;
	unsigned int n = 0, place = 0;

	for (unsigned int i = 0; i + 1 < s->n; i++)
		n_max += s->rule[i].n_tunnels;
	rules = calloc(n_max, sizeof(*rules));
	if (rules == NULL)
		return -ENOMEM;
	for (unsigned int i = 0; i + 1 < s->n; i++) {
		const struct rule *r = &s->rule[i];

		if (r->scope != scope)
			continue;
		s->rule[i].place = place++;
		if (r->n_tunnels == 0)
			rules[n++] = classifier_rule_of(r, i);
		// One for each run of policies.
		for (unsigned int t = 0; t < r->n_tunnels;) {
			rules[n] = classifier_rule_of(r, i);
			rules[n].tunnel_min = r->tunnels[t];
			t += run_len(&r->tunnels[t], r->n_tunnels - t);
			rules[n++].tunnel_max = r->tunnels[t - 1];
		}
	}
	s->classifier[scope] = classifier_new(rules, n, PART, RULE_STATES);
	free(rules);
	return s->classifier[scope] != NULL ? 0 : -errno;
}

// False: there is no memory.
static bool rules_index(struct rule_set *s)
{
	unsigned int last = 0;

	for (unsigned int i = 0; i < s->n; i++)
		last = RTE_MAX(last, (unsigned int)s->rule[i].number);
	s->index = calloc(last + 1, sizeof(s->index[0]));
	for (unsigned int i = 0; s->index != NULL && i < s->n; i++)
		s->index[s->rule[i].number] = (uint16_t)i;
	return s->index != NULL;
}

static bool tunnels_copy(struct rule *r, const struct rule *from)
{
	uint32_t *copy = calloc(from->n_tunnels + 1, sizeof(*copy));

	r->tunnels = copy;
	if (copy != NULL && from->n_tunnels > 0)
		memcpy(copy, from->tunnels, from->n_tunnels * sizeof(*copy));
	return copy != NULL;
}

// False: there is no memory.
static bool rules_copy(struct rule_set *s, const struct rule rules[])
{
	bool good = true;

	for (unsigned int i = 0; i + 1 < s->n; i++) {
		struct classifier_match *m = &s->rule[i].match;

		s->rule[i] = rules[i];
		if (m->more != NULL) {
			m->more = classifier_lists_copy(m->more);
			good &= m->more != NULL;
		}
		good &= tunnels_copy(&s->rule[i], &rules[i]);
	}
	return good;
}

struct rule_set *rule_set_new(
	const struct rule rules[], unsigned int n, const struct rule *fallback)
{
	struct rule_set *s = calloc(1, sizeof(*s) + (n + 1) * sizeof(s->rule[0]));
	int rc = 0;

	if (s == NULL)
		return NULL;
	s->n = n + 1;
	s->rule[n] = *fallback;
	if (!rules_copy(s, rules) || !rules_index(s))
		rc = -ENOMEM;
	for (enum rule_scope scope = 0; scope < RULE_SCOPES && rc == 0; scope++)
		rc = rules_compile(s, scope);
	if (rc < 0) {
		rule_set_free(s);
		errno = -rc;
		return NULL;
	}
	return s;
}

void rule_set_free(struct rule_set *s)
{
	if (s == NULL)
		return;
	for (enum rule_scope scope = 0; scope < RULE_SCOPES; scope++)
		classifier_free(s->classifier[scope]);
	for (unsigned int i = 0; i < s->n; i++) {
		free((void *)(uintptr_t)s->rule[i].match.more);
		free((void *)(uintptr_t)s->rule[i].tunnels);
	}
	free(s->index);
	free(s);
}

unsigned int rule_set_count(const struct rule_set *s)
{
	return s->n;
}

const struct rule *rule_set_at(const struct rule_set *s, unsigned int i)
{
	return &s->rule[i];
}

const struct rule *rule_set_numbered(const struct rule_set *s, uint32_t number)
{
	return &s->rule[s->index[number]];
}

unsigned int rule_set_decide(const struct rule_set *s, enum rule_scope scope,
	const struct classifier_key *packet, enum rule_state state)
{
	uint32_t found = classifier_find(s->classifier[scope], packet, state);

	return found != 0 ? found - 1 : s->n - 1;
}
