// SPDX-License-Identifier: BSD-3-Clause
#include "port_rules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_errno.h>

#include "eal_log.h"
#include "port_log.h"
#include "port_offload.h"
#include "sa.h"

#define ITEMS_MAX  5  // Ethernet, IP, UDP, ESP, end
#define QUEUES_MAX 64 // to which a rule distributes, or that SAs are given

// --- one rule ---

// Pattern of a rule. Items without a specification match any such header.
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

// Where the packets go: one queue, or several, chosen by a hash of some fields. Without a list of
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

// A rule about all SAs has a lower priority than rules about one.
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

// --- rules that a port has from its start ---

static bool start_rule(struct port_rules *r, const struct flow_rule *rule)
{
	static const char *const matches[] = {
		[FLOW_ESP] = "ESP", [FLOW_ESP_UDP] = "ESP in UDP", [FLOW_UDP] = "UDP"};

	if (flow_rule_create(&r->device, rule, r->why, sizeof(r->why)) != NULL)
		return true;
	snprintf(r->what, sizeof(r->what), "%s over %s", matches[rule->match],
		rule->v4 ? "IPv4" : "IPv6");
	return false;
}

// Over both families.
static bool start_rules(struct port_rules *r, struct flow_rule rule)
{
	rule.v4 = true;
	if (!start_rule(r, &rule))
		return false;
	rule.v4 = false;
	return start_rule(r, &rule);
}

static void take_from_kernel(struct port_rules *r, const struct port_rules_use *use)
{
	bool taken = start_rules(r, (struct flow_rule){.match = FLOW_ESP, .action = FLOW_TAKE});

	for (unsigned int i = 0; i < use->n_udp_ports && taken; i++)
		taken = start_rules(r, (struct flow_rule){.match = FLOW_UDP,
					       .port = rte_cpu_to_be_16(use->udp_ports[i]),
					       .action = FLOW_TAKE});
	if (taken)
		r->what[0] = '\0';
}

struct port_rules *port_rules_new(const struct flow_device *d, const struct port_rules_use *use)
{
	const struct flow_rule esp = {.match = FLOW_ESP, .action = FLOW_HASH};
	const struct flow_rule udp = {.match = FLOW_ESP_UDP, .action = FLOW_HASH};
	struct port_rules *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->device = *d;
	r->steer = use->steer && d->n_rx > 1;
	if (use->isolated) {
		take_from_kernel(r, use);
	} else if (d->n_rx > 1) {
		r->udp_hashed = start_rules(r, udp);
		r->what[0] = '\0'; // few devices find ESP in UDP
		r->esp_hashed = !use->hash_esp || start_rules(r, esp);
	}
	return r;
}

void port_rules_free(struct port_rules *r)
{
	struct rte_flow_error error;

	if (r == NULL)
		return;
	rte_flow_flush(r->device.id, &error);
	free(r);
}

// --- rules of SAs ---

static uint64_t key(const struct flow_rule *r)
{
	return (uint64_t)r->match << 33 | (uint64_t)r->v4 << 32 | r->spi;
}

static int compare(const void *a, const void *b)
{
	const uint64_t x = key(a), y = key(b);

	return (x > y) - (x < y);
}

// The rules that there should be, sorted. Two SAs of the same SPI are one. Returns how many.
static unsigned int rules_wanted(struct flow_rule to[PORT_RULES_MAX], const struct snapshot *s)
{
	const struct sa_list *sas = &s->objects->sas;
	unsigned int n = RTE_MIN(sas->n_in, (unsigned int)PORT_RULES_MAX), kept = 0;

	for (unsigned int i = 0; i < n; i++) {
		const struct sa *sa = &sas->in[i]->sa;

		to[i] = (struct flow_rule){
			.match = sa->udp_port != 0 ? FLOW_ESP_UDP : FLOW_ESP,
			.v4 = ip_addr_is_v4(&sa->opt.local),
			.spi = sa->spi,
			.action = FLOW_QUEUE,
		};
	}
	qsort(to, n, sizeof(to[0]), compare);
	for (unsigned int i = 0; i < n; i++)
		if (kept == 0 || compare(&to[i], &to[kept - 1]) != 0)
			to[kept++] = to[i];
	return kept;
}

static bool is_wanted(const struct port_rules *r, const struct flow_rule *rule)
{
	return bsearch(rule, r->wanted, r->n_wanted, sizeof(r->wanted[0]), compare) != NULL;
}

bool port_rules_plan(struct port_rules *r, const struct snapshot *s)
{
	unsigned int n = r->n;

	if (!r->steer)
		return false;
	r->n_wanted = rules_wanted(r->wanted, s);
	for (unsigned int i = 0; i < n; i++)
		if (!is_wanted(r, &r->of[i].rule))
			return true;
	return n < r->n_wanted && !r->full;
}

// Returns whether all were removed: a device may take a millisecond for each.
static bool remove_others(struct port_rules *r)
{
	unsigned int kept = 0, removed = 0;

	for (unsigned int i = 0; i < r->n; i++) {
		if (is_wanted(r, &r->of[i].rule) || removed == PORT_RULES_STEP) {
			r->of[kept++] = r->of[i];
			continue;
		}
		flow_rule_destroy(&r->device, r->of[i].made);
		r->full = false;
		removed++;
	}
	r->n = kept;
	return removed < PORT_RULES_STEP;
}

// The queue with the fewest SAs.
static uint16_t queue_choose(const struct port_rules *r)
{
	unsigned int used[QUEUES_MAX] = {0};
	uint16_t n = (uint16_t)RTE_MIN(r->device.n_rx, QUEUES_MAX), least = 0;

	for (unsigned int i = 0; i < r->n; i++)
		used[r->of[i].rule.queue]++;
	for (uint16_t q = 1; q < n; q++)
		if (used[q] < used[least])
			least = q;
	return least;
}

// Adds the rule at a place in the order. False if the device refuses it.
static bool rule_add(struct port_rules *r, unsigned int place, const struct flow_rule *wanted)
{
	struct port_rule added = {.rule = *wanted};

	added.rule.queue = queue_choose(r);
	added.made = flow_rule_create(&r->device, &added.rule, r->why, sizeof(r->why));
	if (added.made == NULL)
		return false;
	memmove(&r->of[place + 1], &r->of[place], (r->n - place) * sizeof(added));
	r->of[place] = added;
	r->n++;
	return true;
}

// After remove_others(), all rules there are are wanted. Returns whether all SAs have a rule.
static bool add_missing(struct port_rules *r)
{
	unsigned int added = 0;

	for (unsigned int i = 0; i < r->n_wanted && added < PORT_RULES_STEP && !r->full; i++) {
		if (i < r->n && compare(&r->wanted[i], &r->of[i].rule) == 0)
			continue;
		r->full = !rule_add(r, i, &r->wanted[i]);
		added++;
	}
	return !r->full && added < PORT_RULES_STEP;
}

bool port_rules_change(struct port_rules *r)
{
	if (!remove_others(r) || r->full)
		return false;
	if (add_missing(r))
		r->reported = false;
	if (!r->full || r->reported)
		return false;
	r->reported = true;
	return true;
}

// --- of a port ---

static void report(const struct conf_port *c, const struct port_rules *r)
{
	if (r->what[0] != '\0')
		log_info("port \"%s\": ESP is distributed by addresses alone, so that all SAs of a "
			 "peer share a queue; the device refuses a rule for %s: %s",
			c->name, r->what, r->why);
}

int port_rules_start(struct port_rules **made, const struct flow_device *d,
	const struct port_offloads *offloads, const struct conf *conf, const struct conf_port *c,
	const char **why)
{
	uint16_t port[CONF_ISOLATED_UDP_MAX];
	const struct port_rules_use use = {
		.hash_esp = !port_offloads_spread_esp(offloads),
		.isolated = c->isolated,
		.steer = c->steer,
		.udp_ports = port,
		.n_udp_ports = conf_isolated_udp_ports(conf, port),
	};

	*why = "out of memory";
	if (!c->unprotected)
		return 0;
	*made = port_rules_new(d, &use);
	if (*made == NULL)
		return -ENOMEM;
	*why = (*made)->why;
	if (c->isolated && (*made)->what[0] != '\0')
		return -ENOTSUP;
	report(c, *made);
	return 0;
}

void port_rules_steer(struct port_rules *r, const struct conf_port *c)
{
	eal_log_begin();
	if (port_rules_change(r))
		log_warn("port \"%s\": the device takes no rule for a further SA, has %u: %s",
			c->name, r->n, r->why);
	eal_log_end(false);
}
