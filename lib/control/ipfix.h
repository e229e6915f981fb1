// SPDX-License-Identifier: BSD-3-Clause
// Messages of IPFIX (RFC 7011): templates, records of flows, options. All fields have a fixed
// length, and all are standard information elements (RFC 7012, IANA). Pure functions.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Octets of a message: with its UDP and IPv6 headers it fits the smallest MTU of IPv6, so that no
// path fragments it (RFC 7011 10.3.3).
#define IPFIX_MESSAGE_MAX 1232

#define IPFIX_NAME_MAX 32 // octets of a name, padded with zeros

enum ipfix_direction { IPFIX_INGRESS, IPFIX_EGRESS }; // flowDirection

// The packets of one direction of a flow. Numbers are in host byte order.
struct ipfix_flow {
	bool v4;         // addresses have 4 octets, else 16
	bool translated; // to_* are set
	uint8_t proto, direction, end;
	uint8_t source[16], destination[16];
	uint8_t to_source[16], to_destination[16]; // after translation
	uint16_t source_port, destination_port;
	uint16_t to_source_port, to_destination_port;
	uint16_t icmp; // type << 8 | code
	uint32_t ingress, egress;
	uint64_t packets, octets;
	uint32_t dropped;
	uint64_t start_ms, end_ms; // since 1970
	char policy[IPFIX_NAME_MAX];
};

struct ipfix_statistics {
	uint32_t domain;
	uint64_t messages, flows, octets; // sent
	uint32_t process;                 // number of the exporting process
	uint64_t flows_not_sent;
};

struct ipfix_message {
	uint8_t data[IPFIX_MESSAGE_MAX];
	uint16_t len;
	uint16_t set;     // place of the set that is open; 0: none is
	uint16_t records; // in it, without templates
};

// Begins a message that has no record.
void ipfix_begin(struct ipfix_message *m);

static inline bool ipfix_is_empty(const struct ipfix_message *m)
{
	return m->set == 0;
}

// Add all templates, or a record. False: there is no room left. In an empty message there is for
// each of them.
bool ipfix_add_templates(struct ipfix_message *m);
bool ipfix_add_flow(struct ipfix_message *m, const struct ipfix_flow *flow);
bool ipfix_add_statistics(struct ipfix_message *m, const struct ipfix_statistics *statistics);
// The name of an interface, at most IPFIX_NAME_MAX - 1 octets of UTF-8.
bool ipfix_add_name(struct ipfix_message *m, uint32_t interface, const char *name);

// Ends the message: it has m->len octets. sequence: the records of all messages before it.
void ipfix_end(struct ipfix_message *m, uint64_t wall_ms, uint32_t sequence, uint32_t domain);
