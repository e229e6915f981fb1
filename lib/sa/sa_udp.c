// SPDX-License-Identifier: BSD-3-Clause
#include "sa_udp.h"

#include <stdlib.h>
#include <string.h>

#include <rte_ip.h>

#include "line_memory.h"

struct sa_udp_index *sa_udp_index_new(unsigned int n)
{
	return line_calloc(1, sizeof(struct sa_udp_index) + n * sizeof(struct sa_udp_entry));
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct sa_udp_ends));
}

// False if no packet of the SA has such ends.
static bool ends_of(struct sa_udp_ends *ends, const struct sa_out *sa)
{
	const struct sa_path *path = sa_out_path(sa);
	const struct rte_ipv4_hdr *ip = (const void *)path->outer;

	if (sa->sa.udp_port == 0 || path->nexthop == NULL || ip->version_ihl >> 4 != 4)
		return false;
	memcpy(ends, &ip->src_addr, sizeof(*ends));
	return true;
}

void sa_udp_index_fill(struct sa_udp_index *index, struct sa_out *const sas[], unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		struct sa_udp_entry *e = &index->of[index->n];

		e->sa = sas[i];
		index->n += ends_of(&e->ends, e->sa);
	}
	qsort(index->of, index->n, sizeof(index->of[0]), compare);
}

// The first entry that is not before these ends.
static unsigned int lower_bound(const struct sa_udp_index *index, const struct sa_udp_ends *ends)
{
	unsigned int low = 0, high = index->n;

	while (low < high) {
		unsigned int middle = (low + high) / 2;

		if (compare(&index->of[middle], ends) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void sa_udp_forget(struct sa_udp_index *index, const struct sa_out *sa)
{
	for (unsigned int i = 0; i < index->n; i++)
		if (index->of[i].sa == sa)
			index->of[i].sa = NULL;
}

struct sa_out *sa_udp_find(const struct sa_udp_index *index, const struct sa_udp_ends *ends)
{
	struct sa_out *found = NULL, *sa;

	for (unsigned int i = lower_bound(index, ends);
		i < index->n && compare(&index->of[i], ends) == 0; i++) {
		sa = index->of[i].sa;
		if (sa == NULL)
			continue;
		found = sa;
		if (found->sa.per_packet.stop == DROP_NONE)
			break;
	}
	return found;
}
