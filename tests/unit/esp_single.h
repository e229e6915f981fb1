// SPDX-License-Identifier: BSD-3-Clause
// Inbound ESP packets one by one: runs of a single packet, by worker 0.
#pragma once

#include "esp_in.h"

static inline enum drop single_check(
	struct crypto_op *op, struct sa_in *sa, struct rte_mbuf *m, uint16_t esp_off)
{
	const struct esp_in_checks run = esp_in_checks_of(&sa->per_worker[0].per_packet);

	return esp_in_check(op, &run, m, esp_off);
}

static inline enum drop single_finish(const struct crypto_op *op, struct sa_in *sa,
	struct rte_mbuf *m, const struct ip_layout *outer)
{
	const struct esp_in_run run = esp_in_run_of(sa, sa->sa.per_worker);
	struct ip_layout at = *outer;
	bool plain;
	enum drop d = esp_in_finish(op, &run, m, &at, &plain);

	if (d == DROP_NONE)
		esp_in_count(&run, 1, rte_pktmbuf_data_len(m));
	return d;
}
