// SPDX-License-Identifier: BSD-3-Clause
// Each end has a classifier of its own; rules of NAT_ACCEPT are in both.
#include "nat.h"

#include <errno.h>
#include <stdlib.h>

#define PART 32 // rules

struct nat_set {
	struct classifier *classifier[NAT_ENDS];
	bool translates[NAT_ENDS];
	unsigned int n;
	struct nat_rule rule[];
};

static int compile(struct nat_set *s, enum nat_end end)
{
	struct classifier_rule *rules = calloc(s->n + 1, sizeof(*rules));
	unsigned int n = 0;

	if (rules == NULL)
		return -ENOMEM;
	for (unsigned int i = 0; i < s->n; i++) {
		s->translates[end] |= s->rule[i].action != NAT_ACCEPT && s->rule[i].end == end;
		if (s->rule[i].action == NAT_ACCEPT || s->rule[i].end == end)
			rules[n++] = (struct classifier_rule){.index = i,
				.categories = 1,
				.match = s->rule[i].match,
				.tunnel_max = UINT32_MAX};
	}
	s->classifier[end] = classifier_new(rules, n, PART, 1);
	free(rules);
	return s->classifier[end] != NULL ? 0 : -errno;
}

// Returns 0 or -ENOMEM.
static int rules_copy(struct nat_set *s, const struct nat_rule rules[])
{
	int rc = 0;

	for (unsigned int i = 0; i < s->n; i++) {
		struct classifier_match *m = &s->rule[i].match;

		s->rule[i] = rules[i];
		if (m->more != NULL) {
			m->more = classifier_lists_copy(m->more);
			rc = m->more != NULL ? rc : -ENOMEM;
		}
	}
	return rc;
}

struct nat_set *nat_set_new(const struct nat_rule rules[], unsigned int n)
{
	struct nat_set *s = calloc(1, sizeof(*s) + n * sizeof(s->rule[0]));
	int rc;

	if (s == NULL)
		return NULL;
	s->n = n;
	rc = rules_copy(s, rules);
	for (enum nat_end end = 0; end < NAT_ENDS && rc == 0; end++)
		rc = compile(s, end);
	if (rc == 0)
		return s;
	nat_set_free(s);
	errno = -rc;
	return NULL;
}

void nat_set_free(struct nat_set *s)
{
	for (enum nat_end end = 0; s != NULL && end < NAT_ENDS; end++)
		classifier_free(s->classifier[end]);
	for (unsigned int i = 0; s != NULL && i < s->n; i++)
		free((void *)(uintptr_t)s->rule[i].match.more);
	free(s);
}

unsigned int nat_set_count(const struct nat_set *s)
{
	return s != NULL ? s->n : 0;
}

const struct nat_rule *nat_set_at(const struct nat_set *s, unsigned int i)
{
	return &s->rule[i];
}

const struct nat_rule *nat_set_numbered(const struct nat_set *s, uint16_t number)
{
	for (unsigned int i = 0; i < nat_set_count(s); i++)
		if (s->rule[i].number == number)
			return &s->rule[i];
	return NULL;
}

bool nat_set_translates(const struct nat_set *s, enum nat_end end)
{
	return s->translates[end];
}

void nat_set_find_each(const struct nat_set *s, enum nat_end end,
	const struct classifier_key packet[], unsigned int n, const struct nat_rule *rule[])
{
	uint32_t found[CLASSIFIER_KEYS_MAX];

	classifier_find_each(s->classifier[end], packet, n, found);
	for (unsigned int i = 0; i < n; i++) {
		rule[i] = found[i] != 0 ? &s->rule[found[i] - 1] : NULL;
		if (rule[i] != NULL && rule[i]->action == NAT_ACCEPT)
			rule[i] = NULL;
	}
}
