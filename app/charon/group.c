// SPDX-License-Identifier: BSD-3-Clause
// Groups: an SA for each direction, and its successors. charon's reqid would name them, but after
// an IKE_SA was made again two CHILD_SAs with different selectors may have the same one, and so
// have those of two peers with equal selectors; so the gateway is given another reqid for the
// second.
#include "kernel.h"

#define FIRST_NUMBER 0x80000000u // charon's own begin with 1

struct kernel_group {
	uint32_t reqid;  // charon's
	uint32_t peer;   // as kernel_peer()
	uint32_t number; // the gateway's
	linked_list_t *local, *remote;
	unsigned int users; // SAs
};

static linked_list_t *selectors_clone(linked_list_t *selectors)
{
	return selectors->clone_offset(selectors, offsetof(traffic_selector_t, clone));
}

static bool is_selector(linked_list_t *selectors, traffic_selector_t *ts)
{
	enumerator_t *e = selectors->create_enumerator(selectors);
	traffic_selector_t *each;
	bool found = false;

	while (!found && e->enumerate(e, &each))
		found = each->equals(each, ts);
	e->destroy(e);
	return found;
}

static bool same_selectors(linked_list_t *a, linked_list_t *b)
{
	enumerator_t *e = a->create_enumerator(a);
	bool same = a->get_count(a) == b->get_count(b);
	traffic_selector_t *each;

	while (same && e->enumerate(e, &each))
		same = is_selector(b, each);
	e->destroy(e);
	return same;
}

static bool number_is_free(struct kernel *k, uint32_t number)
{
	enumerator_t *e = k->groups->create_enumerator(k->groups);
	struct kernel_group *group;
	bool free = true;

	while (free && e->enumerate(e, &group))
		free = group->number != number;
	e->destroy(e);
	return free;
}

static uint32_t number_choose(struct kernel *k, uint32_t reqid)
{
	uint32_t number = reqid;

	for (uint32_t next = FIRST_NUMBER; !number_is_free(k, number); next++)
		number = next;
	return number;
}

struct kernel_group *group_get(
	struct kernel *k, uint32_t reqid, linked_list_t *local, linked_list_t *remote)
{
	enumerator_t *e = k->groups->create_enumerator(k->groups);
	struct kernel_group *group = NULL, *found = NULL;
	const uint32_t peer = kernel_peer();

	while (found == NULL && e->enumerate(e, &group))
		if (group->reqid == reqid && group->peer == peer &&
			same_selectors(group->local, local) &&
			same_selectors(group->remote, remote))
			found = group;
	e->destroy(e);
	if (found == NULL) {
		found = malloc(sizeof(*found));
		*found = (struct kernel_group){.reqid = reqid,
			.peer = peer,
			.number = number_choose(k, reqid),
			.local = selectors_clone(local),
			.remote = selectors_clone(remote)};
		k->groups->insert_last(k->groups, found);
	}
	found->users++;
	return found;
}

void group_put(struct kernel *k, struct kernel_group *group)
{
	if (group == NULL || --group->users > 0)
		return;
	k->groups->remove(k->groups, group, NULL);
	group->local->destroy_offset(group->local, offsetof(traffic_selector_t, destroy));
	group->remote->destroy_offset(group->remote, offsetof(traffic_selector_t, destroy));
	free(group);
}

uint32_t group_number(const struct kernel_group *group)
{
	return group->number;
}

uint32_t group_number_of(
	struct kernel *k, uint32_t reqid, traffic_selector_t *local, traffic_selector_t *remote)
{
	enumerator_t *e = k->groups->create_enumerator(k->groups);
	uint32_t number = reqid, peer = kernel_peer();
	struct kernel_group *group;

	while (e->enumerate(e, &group)) // a trap is no peer's
		if (group->reqid == reqid && (peer == 0 || group->peer == peer) &&
			is_selector(group->local, local) && is_selector(group->remote, remote))
			number = group->number;
	e->destroy(e);
	return number;
}

unsigned int prefixes_of(traffic_selector_t *ts, struct prefix prefix[RANGE_PREFIXES_MAX])
{
	chunk_t from = ts->get_from_address(ts), to = ts->get_to_address(ts);

	return range_split(from.ptr, to.ptr, from.len, prefix);
}

static size_t prefixes_count(linked_list_t *selectors)
{
	enumerator_t *e = selectors->create_enumerator(selectors);
	struct prefix prefix[RANGE_PREFIXES_MAX];
	traffic_selector_t *ts;
	size_t n = 0;

	while (e->enumerate(e, &ts))
		n += prefixes_of(ts, prefix);
	e->destroy(e);
	return n;
}

size_t policies_count(linked_list_t *local, linked_list_t *remote)
{
	return prefixes_count(local) * prefixes_count(remote);
}
