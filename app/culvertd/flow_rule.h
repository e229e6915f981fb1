// SPDX-License-Identifier: BSD-3-Clause
// One rule of a network card about the packets that it receives: plain data, and what rte_flow
// makes of it. Drivers differ in what they accept, so that a rule is offered in one form after the
// other: docs/decisions/0040-offloads.md. Control thread; the port is started, or being started.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_byteorder.h>
#include <rte_flow.h>

// What a rule is about.
enum flow_match {
	FLOW_ESP,     // in IP
	FLOW_ESP_UDP, // in UDP, as the card finds it (RFC 3948)
	FLOW_UDP,     // to a port
};

// Where the packets go.
enum flow_action {
	FLOW_HASH,  // distributed over the queues by its SPI; without the rule, by addresses alone
	FLOW_TAKE,  // the same; without the rule, it is the kernel's (FLOW_UDP: by addresses and
		    // ports)
	FLOW_QUEUE, // to one queue
};

struct flow_rule {
	enum flow_match match;
	bool v4;         // family of the IP header in front
	rte_be32_t spi;  // of FLOW_ESP and FLOW_ESP_UDP; 0: of any SA
	rte_be16_t port; // destination of FLOW_UDP
	enum flow_action action;
	uint16_t queue; // of FLOW_QUEUE
};

struct flow_device {
	uint16_t id;   // ethdev's number
	uint16_t n_rx; // queues
	uint8_t rss_key_len;
};

// Has the device validate the rule and, if it accepts it in a form, create it. Returns the handle,
// or NULL with the device's reason for refusing the last form in why.
struct rte_flow *flow_rule_create(
	const struct flow_device *d, const struct flow_rule *r, char *why, size_t size);

void flow_rule_destroy(const struct flow_device *d, struct rte_flow *made);
