// SPDX-License-Identifier: BSD-3-Clause
#include "linear_hash.h"

#include <errno.h>
#include <stdlib.h>

#define SEGMENT      1024 // buckets, a power of 2
#define SEGMENTS_MAX 1024
#define SPARSE       4 // times more buckets than entries

int linear_hash_open(struct linear_hash *h)
{
	*h = (struct linear_hash){.segment = calloc(SEGMENTS_MAX, sizeof(h->segment[0]))};
	if (h->segment != NULL)
		h->segment[0] = calloc(SEGMENT, sizeof(h->segment[0][0]));
	if (h->segment == NULL || h->segment[0] == NULL) {
		linear_hash_close(h);
		return -ENOMEM;
	}
	h->n_buckets = SEGMENT;
	return 0;
}

void linear_hash_close(struct linear_hash *h)
{
	for (unsigned int i = 0; h->segment != NULL && i < SEGMENTS_MAX; i++)
		free(h->segment[i]);
	free(h->segment);
	*h = (struct linear_hash){0};
}

struct linear_node **linear_hash_bucket(const struct linear_hash *h, unsigned int number)
{
	return &h->segment[number / SEGMENT][number % SEGMENT];
}

// The highest power of 2 that is not above the number.
static unsigned int power_below(unsigned int number)
{
	return 1u << (31 - __builtin_clz(number));
}

struct linear_node **linear_hash_find(const struct linear_hash *h, uint32_t hash)
{
	unsigned int half = power_below(h->n_buckets), number = hash & (2 * half - 1);

	return linear_hash_bucket(h, number < h->n_buckets ? number : hash & (half - 1));
}

// Makes a bucket after the last one. NULL: there is no memory, or no further segment.
static struct linear_node **bucket_add(struct linear_hash *h)
{
	unsigned int segment = h->n_buckets / SEGMENT;

	if (segment == SEGMENTS_MAX)
		return NULL;
	if (h->segment[segment] == NULL)
		h->segment[segment] = calloc(SEGMENT, sizeof(h->segment[0][0]));
	return h->segment[segment] != NULL ? linear_hash_bucket(h, h->n_buckets++) : NULL;
}

void linear_hash_added(struct linear_hash *h)
{
	unsigned int number = h->n_buckets, half = power_below(number);
	struct linear_node **moved, **from, *node;

	if (++h->n_nodes <= h->n_buckets)
		return;
	moved = bucket_add(h);
	if (moved == NULL)
		return; // chains become longer
	for (from = linear_hash_bucket(h, number - half); (node = *from) != NULL;) {
		if ((node->hash & (2 * half - 1)) != number) {
			from = &node->next;
			continue;
		}
		*from = node->next;
		*moved = node;
		moved = &node->next;
	}
	*moved = NULL;
}

void linear_hash_removed(struct linear_hash *h)
{
	h->n_nodes--;
}

int linear_hash_shrink(struct linear_hash *h)
{
	unsigned int number = h->n_buckets - 1;
	struct linear_node **last, **to;

	if (h->n_buckets == SEGMENT || h->n_buckets / SPARSE < h->n_nodes)
		return 0;
	last = linear_hash_bucket(h, number);
	for (to = linear_hash_bucket(h, number - power_below(number)); *to != NULL;)
		to = &(*to)->next;
	*to = *last;
	*last = NULL;
	h->n_buckets--;
	if (number % SEGMENT == 0) {
		free(h->segment[number / SEGMENT]);
		h->segment[number / SEGMENT] = NULL;
	}
	return 1;
}
