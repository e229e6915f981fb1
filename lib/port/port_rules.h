// SPDX-License-Identifier: BSD-3-Clause
// The rules of a port's card: rules that distribute ESP by its SPI where RSS alone does not, rules
// that take ESP from the kernel (isolated), and rules that give each inbound SA a queue (steer).
// docs/hardware.md lists the rules of a port. A rule is plain data, of which rte_flow is offered
// one form after the other, as drivers accept different forms: docs/decisions/0040-offloads.md. The
// thread that opens the device: the driver of mlx5 asks for CAP_NET_RAW whenever a rule is made.
// The control thread decides which rules SAs need.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_flow.h>

#include "conf.h"
#include "port_offload.h"
#include "snapshot.h"

#define PORT_RULES_MAX  1024 // of SAs: further SAs are distributed by the hash
#define PORT_RULES_STEP 16   // SAs that get a rule in one call: a card takes up to a millisecond

// Kind of a rule.
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

// Lets the device validate the rule and, if it accepts it in a form, create it. Returns the handle,
// or NULL with the device's reason for refusing the last form in why.
struct rte_flow *flow_rule_create(
	const struct flow_device *d, const struct flow_rule *r, char *why, size_t size);

void flow_rule_destroy(const struct flow_device *d, struct rte_flow *made);

// Needs of a port for rules.
struct port_rules_use {
	bool hash_esp; // ESP in IP: RSS lacks it
	bool isolated; // packets that match no rule are the kernel's
	bool steer;
	const uint16_t *udp_ports; // own ones of ESP in UDP, if isolated
	unsigned int n_udp_ports;
};

struct port_rules {
	struct flow_device device;
	bool esp_hashed, udp_hashed; // ESP in IP, in UDP is distributed by its SPI
	bool steer;
	// Rules that SAs need, sorted. Written by the control thread while it has the rules.
	struct flow_rule wanted[PORT_RULES_MAX];
	unsigned int n_wanted;
	// Rules that they have, sorted. n is read by other threads.
	struct port_rule {
		struct flow_rule rule;
		struct rte_flow *made;
	} of[PORT_RULES_MAX];
	_Atomic unsigned int n;
	bool full;      // the device has refused a rule of an SA, and none was removed since
	bool reported;  // the caller knows of a refusal since all SAs had their rules
	char why[128];  // the device's reason for refusing a rule
	char what[128]; // and which one: "ESP over IPv6"
};

// Makes the rules that the port has from its start, after that of the device. Returns NULL if there
// is no memory. If the device refuses one, the fields above have the reason and the rule: an
// isolated port must not run then.
struct port_rules *port_rules_new(const struct flow_device *d, const struct port_rules_use *use);

// With steer: notes which rules the inbound SAs of a snapshot need. Returns whether they differ
// from those there are, as far as the device has room. Control thread, while no other one changes
// them.
bool port_rules_plan(struct port_rules *r, const struct snapshot *s);

// Brings the rules of SAs up to date with that, by some in each call. Returns whether the device
// has refused one, for the first time since all SAs had theirs.
bool port_rules_change(struct port_rules *r);

// Removes all rules. The device is still open.
void port_rules_free(struct port_rules *r);

// When the device of a port is started: makes the rules that the port needs by its configuration
// and its RSS, and logs rules that the device refuses. The caller frees them while the device is
// still open; *made stays NULL for a port that needs none. Returns 0; -errno with *why, valid as
// long as *made, if there is no memory or an isolated port lacks a rule.
int port_rules_start(struct port_rules **made, const struct flow_device *d,
	const struct port_offloads *offloads, const struct conf *conf, const struct conf_port *c,
	const char **why);

// Gives some of the inbound SAs their queues, as port_rules_plan() wants it, and logs a refusal.
void port_rules_steer(struct port_rules *r, const struct conf_port *c);
