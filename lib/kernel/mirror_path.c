// SPDX-License-Identifier: BSD-3-Clause
#include "mirror_path.h"

#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

// The words of one hop that are hashed at a time.
_Static_assert(sizeof(struct mirror_hop) == 32 && sizeof(struct mirror_path_head) == 16,
	"both are compared octet by octet");

int mirror_paths_open(struct mirror_paths *p)
{
	int rc = hash_key_draw(&p->key);

	p->n_hops = 0;
	return rc == 0 ? linear_hash_open(&p->table) : rc;
}

void mirror_paths_close(struct mirror_paths *p)
{
	linear_hash_close(&p->table);
}

static int hop_compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct mirror_hop));
}

static uint32_t path_hash(const struct mirror_paths *p, const struct mirror_path_head *head,
	const struct mirror_hop hop[])
{
	uint64_t word[5];
	uint64_t hash;

	memcpy(word, head, sizeof(*head));
	hash = keyed_hash(&p->key, word, 2);
	for (uint32_t i = 0; i < head->n_hops; i++) {
		memcpy(word, &hop[i], sizeof(hop[i]));
		word[4] = hash;
		hash = keyed_hash(&p->key, word, RTE_DIM(word));
	}
	return (uint32_t)hash;
}

static struct mirror_path *path_of(struct linear_node *node)
{
	return container_of(node, struct mirror_path, node);
}

static bool is_same(const struct mirror_path *path, const struct mirror_path_head *head,
	const struct mirror_hop hop[])
{
	return memcmp(&path->head, head, sizeof(*head)) == 0 &&
	       memcmp(path->hop, hop, head->n_hops * sizeof(hop[0])) == 0;
}

static struct mirror_path *path_add(struct mirror_paths *p, struct linear_node **bucket,
	const struct mirror_path_head *head, const struct mirror_hop hop[])
{
	struct mirror_path *path;

	if (p->n_hops + head->n_hops > p->max)
		return NULL;
	path = calloc(1, sizeof(*path) + head->n_hops * sizeof(hop[0]));
	if (path == NULL)
		return NULL;
	path->head = *head;
	memcpy(path->hop, hop, head->n_hops * sizeof(hop[0]));
	path->refs = 1;
	path->node.hash = path_hash(p, head, hop);
	path->node.next = *bucket;
	*bucket = &path->node;
	p->n_hops += head->n_hops;
	linear_hash_added(&p->table);
	return path;
}

struct mirror_path *mirror_path_get(
	struct mirror_paths *p, const struct mirror_path_head *head, struct mirror_hop hop[])
{
	struct linear_node **bucket;
	uint32_t hash;

	qsort(hop, head->n_hops, sizeof(hop[0]), hop_compare);
	hash = path_hash(p, head, hop);
	bucket = linear_hash_find(&p->table, hash);
	for (struct linear_node *n = *bucket; n != NULL; n = n->next)
		if (n->hash == hash && is_same(path_of(n), head, hop))
			return mirror_path_hold(path_of(n));
	return path_add(p, bucket, head, hop);
}

struct mirror_path *mirror_path_hold(struct mirror_path *path)
{
	path->refs++;
	return path;
}

void mirror_path_release(struct mirror_paths *p, struct mirror_path *path)
{
	struct linear_node **at;

	if (path == NULL || --path->refs > 0)
		return;
	for (at = linear_hash_find(&p->table, path->node.hash); *at != &path->node;)
		at = &(*at)->next;
	*at = path->node.next;
	linear_hash_removed(&p->table);
	p->n_hops -= path->head.n_hops;
	if (path->resolved != path)
		mirror_path_release(p, path->resolved);
	free(path);
	linear_hash_shrink(&p->table);
}

// A message about one of several IPv6 next hops lacks its weight.
static bool is_like(const struct mirror_hop *a, const struct mirror_hop *b)
{
	return ip_addr_equal(&a->gateway, &b->gateway) && a->link == b->link;
}

bool mirror_hops_include(const struct mirror_hop hop[], uint32_t n, const struct mirror_hop other[],
	uint32_t n_other)
{
	for (uint32_t i = 0; i < n_other; i++) {
		uint32_t k = 0;

		while (k < n && !is_like(&hop[k], &other[i]))
			k++;
		if (k == n)
			return false;
	}
	return true;
}

bool mirror_path_is_like(const struct mirror_path *path, const struct mirror_path_head *head,
	const struct mirror_hop hop[])
{
	return path->head.kind == head->kind && path->head.unused == head->unused &&
	       path->head.tos == head->tos && path->head.object == head->object &&
	       path->head.n_hops == head->n_hops &&
	       mirror_hops_include(path->hop, path->head.n_hops, hop, head->n_hops);
}
