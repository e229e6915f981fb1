// SPDX-License-Identifier: BSD-3-Clause
// Prints messages of IPFIX for test_ipfix.py: a line of JSON for each record that is added, and for
// each message one with its octets. Argument: the seed of the records.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipfix.h"

static struct ipfix_message m;
static uint32_t sequence;

static void message_print(void)
{
	ipfix_end(&m, UINT64_C(1800000000123), sequence, 7);
	printf("{\"message\": \"");
	for (unsigned int i = 0; i < m.len; i++)
		printf("%02x", m.data[i]);
	printf("\"}\n");
	sequence += m.records;
	ipfix_begin(&m);
}

static uint64_t number(unsigned int bits)
{
	uint64_t r = 0;

	for (unsigned int i = 0; i < 8; i++)
		r = r << 8 | (uint64_t)(rand() & 0xff);
	return bits == 64 ? r : r & ((UINT64_C(1) << bits) - 1);
}

static void octets_random(uint8_t *to, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		to[i] = (uint8_t)number(8);
}

static void octets_print(const char *name, const uint8_t *octets, unsigned int n)
{
	printf(", \"%s\": \"", name);
	for (unsigned int i = 0; i < n; i++)
		printf("%02x", octets[i]);
	printf("\"");
}

static struct ipfix_flow flow_random(void)
{
	struct ipfix_flow f = {.v4 = number(1),
		.translated = number(1),
		.proto = (uint8_t)number(8),
		.direction = (uint8_t)number(1),
		.end = (uint8_t)number(3),
		.source_port = (uint16_t)number(16),
		.destination_port = (uint16_t)number(16),
		.to_source_port = (uint16_t)number(16),
		.to_destination_port = (uint16_t)number(16),
		.icmp = (uint16_t)number(16),
		.ingress = (uint32_t)number(32),
		.egress = (uint32_t)number(32),
		.packets = number(64),
		.octets = number(64),
		.dropped = (uint32_t)number(32),
		.start_ms = number(64),
		.end_ms = number(64)};

	octets_random(f.source, sizeof(f.source));
	octets_random(f.destination, sizeof(f.destination));
	octets_random(f.to_source, sizeof(f.to_source));
	octets_random(f.to_destination, sizeof(f.to_destination));
	snprintf(f.policy, sizeof(f.policy), "%.*s", (int)number(5),
		"a-policy.with.a_name_31-octets");
	return f;
}

static void flow_print(const struct ipfix_flow *f)
{
	const unsigned int len = f->v4 ? 4 : 16;

	printf("{\"protocolIdentifier\": %u, \"flowDirection\": %u, \"flowEndReason\": %u, "
	       "\"sourceTransportPort\": %u, \"destinationTransportPort\": %u, \"icmp\": %u, "
	       "\"ingressInterface\": %u, \"egressInterface\": %u, \"packetDeltaCount\": %" PRIu64
	       ", \"octetDeltaCount\": %" PRIu64 ", \"droppedPacketDeltaCount\": %u, "
	       "\"flowStartMilliseconds\": %" PRIu64 ", \"flowEndMilliseconds\": %" PRIu64
	       ", \"selectorName\": \"%s\"",
		f->proto, f->direction, f->end, f->source_port, f->destination_port, f->icmp,
		f->ingress, f->egress, f->packets, f->octets, f->dropped, f->start_ms, f->end_ms,
		f->policy);
	octets_print("source", f->source, len);
	octets_print("destination", f->destination, len);
	if (f->translated) {
		octets_print("to_source", f->to_source, len);
		octets_print("to_destination", f->to_destination, len);
		printf(", \"postNAPTSourceTransportPort\": %u, "
		       "\"postNAPTDestinationTransportPort\": %u",
			f->to_source_port, f->to_destination_port);
	}
	printf("}\n");
}

static void flow_add(void)
{
	const struct ipfix_flow f = flow_random();

	if (!ipfix_add_flow(&m, &f)) {
		message_print();
		if (!ipfix_add_flow(&m, &f))
			abort();
	}
	flow_print(&f);
}

static void name_add(void)
{
	const uint32_t interface = (uint32_t)number(32);
	const char *name = "an-interface.with-31-octets-123";

	if (!ipfix_add_name(&m, interface, name)) {
		message_print();
		if (!ipfix_add_name(&m, interface, name))
			abort();
	}
	printf("{\"ingressInterface\": %u, \"interfaceDescription\": \"%s\"}\n", interface, name);
}

int main(int argc, char **argv)
{
	const struct ipfix_statistics statistics = {7, 1, UINT64_MAX, 3, 4, 5};

	srand(argc > 1 ? (unsigned int)atoi(argv[1]) : 0);
	ipfix_begin(&m);
	if (!ipfix_is_empty(&m) || !ipfix_add_templates(&m) ||
		!ipfix_add_statistics(&m, &statistics) || ipfix_is_empty(&m))
		abort();
	printf("{\"observationDomainId\": 7, \"exportedMessageTotalCount\": 1, "
	       "\"exportedFlowRecordTotalCount\": %" PRIu64 ", \"exportedOctetTotalCount\": 3}\n",
		UINT64_MAX);
	printf("{\"exportingProcessId\": 4, \"notSentFlowTotalCount\": 5}\n");
	message_print();
	for (unsigned int i = 0; i < 1000; i++) {
		if (number(3) == 0)
			name_add();
		flow_add();
	}
	message_print();
	return 0;
}
