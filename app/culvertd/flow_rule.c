// SPDX-License-Identifier: BSD-3-Clause
#include "flow_rule.h"

#include <stdio.h>

#include <rte_errno.h>

#include "port_offload.h"

#define ITEMS_MAX  5 // Ethernet, IP, UDP, ESP, end
#define QUEUES_MAX 64

// What a rule matches. Items without a specification match any such header.
struct pattern {
	struct rte_flow_item item[ITEMS_MAX];
	struct rte_flow_item_udp udp, udp_mask;
	struct rte_flow_item_esp esp, esp_mask;
};

static void pattern_make(struct pattern *p, const struct flow_rule *r)
{
	struct rte_flow_item *item = p->item;

	*p = (struct pattern){
		.udp.hdr.dst_port = r->port,
		.udp_mask.hdr.dst_port = RTE_BE16(UINT16_MAX),
		.esp.hdr.spi = r->spi,
		.esp_mask.hdr.spi = RTE_BE32(UINT32_MAX),
	};
	item++->type = RTE_FLOW_ITEM_TYPE_ETH;
	item++->type = r->v4 ? RTE_FLOW_ITEM_TYPE_IPV4 : RTE_FLOW_ITEM_TYPE_IPV6;
	if (r->match == FLOW_UDP)
		*item++ = (struct rte_flow_item){
			.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &p->udp, .mask = &p->udp_mask};
	else if (r->match == FLOW_ESP_UDP)
		item++->type = RTE_FLOW_ITEM_TYPE_UDP;
	if (r->match != FLOW_UDP) {
		item->type = RTE_FLOW_ITEM_TYPE_ESP;
		if (r->spi != 0) {
			item->spec = &p->esp;
			item->mask = &p->esp_mask;
		}
		item++;
	}
	item->type = RTE_FLOW_ITEM_TYPE_END;
}

// Where the packets go: one queue, or those that a hash of some fields chooses. Without a list of
// queues, it is all of the port.
struct destination {
	struct rte_flow_action action[2];
	struct rte_flow_action_queue queue;
	struct rte_flow_action_rss rss;
	uint16_t queues[QUEUES_MAX];
};

static void destination_queue(struct destination *to, uint16_t queue)
{
	*to = (struct destination){.queue.index = queue};
	to->action[0] = (struct rte_flow_action){RTE_FLOW_ACTION_TYPE_QUEUE, &to->queue};
	to->action[1].type = RTE_FLOW_ACTION_TYPE_END;
}

static void destination_hash(struct destination *to, uint64_t fields)
{
	*to = (struct destination){.rss.types = fields};
	to->action[0] = (struct rte_flow_action){RTE_FLOW_ACTION_TYPE_RSS, &to->rss};
	to->action[1].type = RTE_FLOW_ACTION_TYPE_END;
}

static void destination_list(struct destination *to, uint64_t fields, const struct flow_device *d)
{
	destination_hash(to, fields);
	to->rss.queue_num = RTE_MIN(d->n_rx, QUEUES_MAX);
	to->rss.queue = to->queues;
	for (uint16_t q = 0; q < to->rss.queue_num; q++)
		to->queues[q] = q;
	to->rss.key = port_rss_key(d->rss_key_len);
	if (to->rss.key != NULL)
		to->rss.key_len = d->rss_key_len;
}

// A rule about all SAs gives way to those about one.
static struct rte_flow *offer(const struct flow_device *d, const struct pattern *p, bool about_all,
	const struct destination *to, char *why, size_t size)
{
	const struct rte_flow_attr attr = {.ingress = 1, .priority = about_all};
	struct rte_flow_error error = {0};
	struct rte_flow *made = NULL;

	if (rte_flow_validate(d->id, &attr, p->item, to->action, &error) == 0)
		made = rte_flow_create(d->id, &attr, p->item, to->action, &error);
	if (made == NULL)
		snprintf(why, size, "%s",
			error.message != NULL ? error.message : rte_strerror(rte_errno));
	return made;
}

// The drivers of Intel's cards take the fields to be hashed without a list of queues, mlx5 takes
// them with one. Cards that find the SPI of no packet hash the addresses, if the packet has to come
// here at all.
struct rte_flow *flow_rule_create(
	const struct flow_device *d, const struct flow_rule *r, char *why, size_t size)
{
	const uint64_t fields =
		r->match == FLOW_UDP ? RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP : RTE_ETH_RSS_ESP;
	struct rte_flow *made;
	struct destination to;
	struct pattern p;

	pattern_make(&p, r);
	if (r->action == FLOW_QUEUE) {
		destination_queue(&to, r->queue);
		return offer(d, &p, false, &to, why, size);
	}
	if (r->action == FLOW_HASH) {
		destination_hash(&to, fields);
		made = offer(d, &p, false, &to, why, size);
		if (made != NULL)
			return made;
	}
	destination_list(&to, fields, d);
	made = offer(d, &p, r->action == FLOW_TAKE, &to, why, size);
	if (made != NULL || r->action == FLOW_HASH)
		return made;
	destination_list(&to, RTE_ETH_RSS_IP, d);
	return offer(d, &p, true, &to, why, size);
}

void flow_rule_destroy(const struct flow_device *d, struct rte_flow *made)
{
	struct rte_flow_error error;

	rte_flow_destroy(d->id, made, &error);
}
