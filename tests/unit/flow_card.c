// SPDX-License-Identifier: BSD-3-Clause
#include "flow_card.h"

#include <linux/capability.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_flow.h>

#define ITEMS_MAX 4

#define ESP_TYPES (RTE_ETH_RSS_ESP | RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_IPV6)
#define UDP_TYPES (RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP)

struct card card;

enum {
	ETH = RTE_FLOW_ITEM_TYPE_ETH,
	IP4 = RTE_FLOW_ITEM_TYPE_IPV4,
	IP6 = RTE_FLOW_ITEM_TYPE_IPV6,
	UDP = RTE_FLOW_ITEM_TYPE_UDP,
	ESP = RTE_FLOW_ITEM_TYPE_ESP
};

// Rules that a driver accepts: items in this order, of which the last alone may have a
// specification; rules to a queue only with one; and of rules that hash the fields, and whether
// there is a list of queues.
struct accepted {
	enum card_kind kind;
	int item[ITEMS_MAX];
	bool queue;      // a rule to a queue
	bool spec_hash;  // the specification with a hash
	uint64_t fields; // of a hash; 0: none
	bool list;       // its queues are listed
};

static const struct accepted table[] = {
	// ice_hash.c: ice_hash_pattern_list; ice_fdir_filter.c: ice_fdir_pattern_list
	{CARD_ICE, {ETH, IP4, ESP}, true, false, ESP_TYPES, false},
	{CARD_ICE, {ETH, IP6, ESP}, true, false, ESP_TYPES, false},
	{CARD_ICE, {ETH, IP4, UDP, ESP}, true, false, ESP_TYPES, false},
	{CARD_ICE, {ETH, IP6, UDP, ESP}, true, false, ESP_TYPES, false},
	{CARD_ICE, {ETH, IP4, UDP}, true, false, UDP_TYPES, false},
	{CARD_ICE, {ETH, IP6, UDP}, true, false, UDP_TYPES, false},
	// mlx5.rst: "match on SPI field in ESP header for group 0 is supported from ConnectX-7"
	{CARD_CONNECTX_7, {ETH, IP4, ESP}, true, true, ESP_TYPES | RTE_ETH_RSS_IP, true},
	{CARD_CONNECTX_7, {ETH, IP6, ESP}, true, true, ESP_TYPES | RTE_ETH_RSS_IP, true},
	{CARD_CONNECTX_7, {ETH, IP4, UDP}, true, true, UDP_TYPES, true},
	{CARD_CONNECTX_7, {ETH, IP6, UDP}, true, true, UDP_TYPES, true},
	{CARD_CONNECTX_5, {ETH, IP4, ESP}, false, false, RTE_ETH_RSS_IP, true},
	{CARD_CONNECTX_5, {ETH, IP6, ESP}, false, false, RTE_ETH_RSS_IP, true},
	{CARD_CONNECTX_5, {ETH, IP4, UDP}, true, true, UDP_TYPES, true},
	{CARD_CONNECTX_5, {ETH, IP6, UDP}, true, true, UDP_TYPES, true},
	// ixgbe_flow.c: ntuple and flow director filters
	{CARD_IXGBE, {ETH, IP4, UDP}, true, false, 0, false},
};

// A rule that the card has.
struct rte_flow {
	int item[ITEMS_MAX];
	uint32_t spi_mask, spi;
	uint16_t port_mask, port;
	uint32_t priority;
	int to;
	bool used;
};

static struct rte_flow rules[CARD_RULES_MAX];
static bool validated; // the rule that was validated last

void card_reset(enum card_kind kind, unsigned int room)
{
	memset(rules, 0, sizeof(rules));
	card = (struct card){.kind = kind, .room = room};
	validated = false;
}

static const char *item_read(struct rte_flow *r, const struct rte_flow_item *item)
{
	if (item->last != NULL || (item->spec == NULL) != (item->mask == NULL))
		return "ranges are not supported";
	if (item->spec == NULL)
		return NULL;
	if (item->type == RTE_FLOW_ITEM_TYPE_ESP) {
		r->spi_mask = ((const struct rte_flow_item_esp *)item->mask)->hdr.spi;
		r->spi = ((const struct rte_flow_item_esp *)item->spec)->hdr.spi;
		return NULL;
	}
	if (item->type == RTE_FLOW_ITEM_TYPE_UDP) {
		r->port_mask = ((const struct rte_flow_item_udp *)item->mask)->hdr.dst_port;
		r->port = ((const struct rte_flow_item_udp *)item->spec)->hdr.dst_port;
		return NULL;
	}
	return "specification is not supported";
}

static const struct accepted *accepted_find(const int item[ITEMS_MAX])
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].kind == card.kind &&
			memcmp(table[i].item, item, sizeof(table[i].item)) == 0)
			return &table[i];
	return NULL;
}

static const char *hash_read(struct rte_flow *r, const struct accepted *a,
	const struct rte_flow_action_rss *rss, bool specific)
{
	if (a->fields == 0 || (rss->types & ~a->fields) != 0 || rss->types == 0)
		return "these fields cannot be hashed";
	if ((rss->queue_num > 0) != a->list || (rss->queue_num > 0) != (rss->queue != NULL))
		return a->list ? "no queue is listed" : "a list of queues is not supported";
	if (!a->list && rss->key_len > 0)
		return "a key is not supported";
	if (specific && !a->spec_hash)
		return "a specification is not supported";
	r->to = (rss->types & RTE_ETH_RSS_ESP) != 0 ? CARD_HASH : CARD_HASH_IP;
	return NULL;
}

// Returns why the rule is not accepted, or NULL.
static const char *rule_read(struct rte_flow *r, const struct rte_flow_attr *attr,
	const struct rte_flow_item item[], const struct rte_flow_action action[])
{
	const struct accepted *a;
	const char *why = NULL;
	bool specific;
	int n = 0;

	*r = (struct rte_flow){.used = true, .priority = attr->priority};
	for (; item->type != RTE_FLOW_ITEM_TYPE_END && why == NULL; item++) {
		if (n == ITEMS_MAX)
			return "too many items";
		r->item[n++] = item->type;
		why = item_read(r, item);
	}
	a = accepted_find(r->item);
	if (why != NULL || a == NULL)
		return why != NULL ? why : "pattern is not supported";
	if (!attr->ingress || attr->egress || attr->transfer || attr->group != 0)
		return "attribute is not supported";
	if (attr->priority > 0 && card.kind != CARD_CONNECTX_7 && card.kind != CARD_CONNECTX_5)
		return "priority is not supported";
	specific = (r->spi_mask | r->port_mask) != 0;
	if (action[1].type != RTE_FLOW_ACTION_TYPE_END)
		return "only one action is supported";
	if (action[0].type == RTE_FLOW_ACTION_TYPE_RSS)
		return hash_read(r, a, action[0].conf, specific);
	if (action[0].type != RTE_FLOW_ACTION_TYPE_QUEUE || !a->queue || !specific)
		return "action is not supported";
	r->to = ((const struct rte_flow_action_queue *)action[0].conf)->index;
	return NULL;
}

static int refuse(struct rte_flow_error *error, int code, const char *why)
{
	*error = (struct rte_flow_error){.type = RTE_FLOW_ERROR_TYPE_UNSPECIFIED, .message = why};
	rte_errno = code;
	return -code;
}

int __wrap_rte_flow_validate(uint16_t port, const struct rte_flow_attr *attr,
	const struct rte_flow_item item[], const struct rte_flow_action action[],
	struct rte_flow_error *error);
struct rte_flow *__wrap_rte_flow_create(uint16_t port, const struct rte_flow_attr *attr,
	const struct rte_flow_item item[], const struct rte_flow_action action[],
	struct rte_flow_error *error);
int __wrap_rte_flow_destroy(uint16_t port, struct rte_flow *flow, struct rte_flow_error *error);
int __wrap_rte_flow_flush(uint16_t port, struct rte_flow_error *error);

int __wrap_rte_flow_validate(uint16_t port, const struct rte_flow_attr *attr,
	const struct rte_flow_item item[], const struct rte_flow_action action[],
	struct rte_flow_error *error)
{
	struct rte_flow r;
	const char *why = rule_read(&r, attr, item, action);

	(void)port;
	card.asked++;
	validated = why == NULL;
	return why == NULL ? 0 : refuse(error, ENOTSUP, why);
}

// Whether the calling thread may make rules.
static bool is_permitted(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct cap[_LINUX_CAPABILITY_U32S_3] = {0};

	return !card.guarded || (syscall(SYS_capget, &head, cap) == 0 &&
					(cap[0].effective & 1u << CAP_NET_RAW) != 0);
}

struct rte_flow *__wrap_rte_flow_create(uint16_t port, const struct rte_flow_attr *attr,
	const struct rte_flow_item item[], const struct rte_flow_action action[],
	struct rte_flow_error *error)
{
	unsigned int i = 0;
	struct rte_flow r;

	(void)port;
	card.asked++;
	if (!validated || rule_read(&r, attr, item, action) != NULL)
		card.n_wrong++;
	validated = false;
	if (!is_permitted()) {
		refuse(error, EPERM, "cannot create rdma flow");
		return NULL;
	}
	if (card.n == card.room) {
		refuse(error, ENOSPC, NULL); // some drivers have no words for it
		return NULL;
	}
	while (rules[i].used)
		i++;
	rules[i] = r;
	card.n++;
	return &rules[i];
}

int __wrap_rte_flow_destroy(uint16_t port, struct rte_flow *flow, struct rte_flow_error *error)
{
	(void)port;
	(void)error;
	if (!flow->used)
		card.n_wrong++;
	flow->used = false;
	card.n--;
	return 0;
}

int __wrap_rte_flow_flush(uint16_t port, struct rte_flow_error *error)
{
	(void)port;
	(void)error;
	memset(rules, 0, sizeof(rules));
	card.n = 0;
	return 0;
}

// --- frames ---

// Octets from the start of an Ethernet frame: plain headers only.
static bool rule_matches(const struct rte_flow *r, const uint8_t *frame, size_t len)
{
	bool v4 = frame[12] == 0x08 && frame[13] == 0x00;
	size_t l4 = v4 ? 34 : 54;
	uint8_t proto = v4 ? frame[23] : frame[20];
	bool udp = proto == IPPROTO_UDP;
	uint16_t port;
	uint32_t spi;

	if (r->item[1] != (v4 ? IP4 : IP6) || len < l4 + 16)
		return false;
	if (r->item[2] == UDP && !udp)
		return false;
	if (r->item[2] == ESP && proto != IPPROTO_ESP)
		return false;
	memcpy(&port, frame + l4 + 2, sizeof(port));
	memcpy(&spi, frame + l4 + (udp ? 8 : 0), sizeof(spi));
	if (r->item[3] == ESP && port != htons(4500)) // as cards find it
		return false;
	return ((port ^ r->port) & r->port_mask) == 0 && ((spi ^ r->spi) & r->spi_mask) == 0;
}

int card_queue(const uint8_t *frame, size_t len)
{
	const struct rte_flow *best = NULL;

	for (unsigned int i = 0; i < CARD_RULES_MAX; i++) {
		const struct rte_flow *r = &rules[i];

		// Flow director comes before RSS, and a smaller priority before a larger one.
		if (r->used && rule_matches(r, frame, len) &&
			(best == NULL || r->priority < best->priority || best->to < 0))
			best = r;
	}
	return best == NULL ? CARD_MISS : best->to;
}
