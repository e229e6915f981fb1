// SPDX-License-Identifier: BSD-3-Clause
#include "port_rules.h"

#include <stdio.h>
#include <stdlib.h>

#include "sa.h"

#define QUEUES_MAX 64 // that SAs are given

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
	unsigned int n = RTE_MIN(s->n_sa_in, (unsigned int)PORT_RULES_MAX), kept = 0;

	for (unsigned int i = 0; i < n; i++) {
		const struct sa *sa = &s->sa_in[i]->sa;

		to[i] = (struct flow_rule){
			.match = sa->udp_port != 0 ? FLOW_ESP_UDP : FLOW_ESP,
			.v4 = ip_addr_is_v4(&sa->local),
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
