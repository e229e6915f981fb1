// SPDX-License-Identifier: BSD-3-Clause
#include "ipfix.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_common.h>

#define VERSION     10
#define HEADER      16 // octets of a message's header (RFC 7011 3.1)
#define SET_HEADER  4  // 3.3.2
#define SET_FLOWS   2  // identifiers of sets: of templates,
#define SET_OPTIONS 3  // and of options templates
#define SCOPES      1  // fields of an options template, the first ones

static_assert(RTE_BYTE_ORDER == RTE_LITTLE_ENDIAN, "numbers are reversed");

// A field of a struct, by family: numbers in host byte order, or octets as they are.
struct field {
	uint16_t id[2], size[2];
	size_t offset;
	bool octets;
};

#define ADDRESS(id_v4, id_v6, member)                                                              \
	{                                                                                          \
		{id_v4, id_v6}, {4, 16}, offsetof(struct ipfix_flow, member), true                 \
	}
#define FIELD(element, type, member, is_octets)                                                    \
	{                                                                                          \
		{element, element},                                                                \
			{sizeof(((struct type *)0)->member), sizeof(((struct type *)0)->member)},  \
			offsetof(struct type, member), is_octets                                   \
	}
#define NUMBER(element, member) FIELD(element, ipfix_flow, member, false)
#define TEXT(element, member)   FIELD(element, ipfix_flow, member, true)

static const struct field flow_fields[] = {
	ADDRESS(8, 27, source),       // sourceIPv4Address, sourceIPv6Address
	ADDRESS(12, 28, destination), // destinationIPv4Address, destinationIPv6Address
	NUMBER(7, source_port),       // sourceTransportPort
	NUMBER(11, destination_port), // destinationTransportPort
	{{32, 139}, {2, 2}, offsetof(struct ipfix_flow, icmp), false}, // icmpTypeCodeIPv4, ...IPv6
	NUMBER(4, proto),                                              // protocolIdentifier
	NUMBER(61, direction),                                         // flowDirection
	NUMBER(136, end),                                              // flowEndReason
	NUMBER(10, ingress),                                           // ingressInterface
	NUMBER(14, egress),                                            // egressInterface
	NUMBER(2, packets),                                            // packetDeltaCount
	NUMBER(1, octets),                                             // octetDeltaCount
	NUMBER(133, dropped),                                          // droppedPacketDeltaCount
	NUMBER(152, start_ms),                                         // flowStartMilliseconds
	NUMBER(153, end_ms),                                           // flowEndMilliseconds
	TEXT(335, policy),                                             // selectorName
	// Of translated flows alone.
	ADDRESS(225, 281, to_source),      // postNATSourceIPv4Address, ...IPv6Address
	ADDRESS(226, 282, to_destination), // postNATDestinationIPv4Address, ...IPv6Address
	NUMBER(227, to_source_port),       // postNAPTSourceTransportPort
	NUMBER(228, to_destination_port),  // postNAPTDestinationTransportPort
};

#define TRANSLATED_FIELDS 4

struct name {
	uint32_t interface, number; // the same: collectors read it as a field or as the scope
	char text[IPFIX_NAME_MAX];
};

static const struct field name_fields[] = {
	FIELD(10, name, interface, false),                           // ingressInterface
	FIELD(10, name, number, false), FIELD(83, name, text, true), // interfaceDescription
};

// RFC 7011 4.1
static const struct field sent_fields[] = {
	FIELD(149, ipfix_statistics, domain, false),  // observationDomainId
	FIELD(41, ipfix_statistics, messages, false), // exportedMessageTotalCount
	FIELD(42, ipfix_statistics, flows, false),    // exportedFlowRecordTotalCount
	FIELD(40, ipfix_statistics, octets, false),   // exportedOctetTotalCount
};

// RFC 7011 4.3
static const struct field unsent_fields[] = {
	FIELD(144, ipfix_statistics, process, false),        // exportingProcessId
	FIELD(166, ipfix_statistics, flows_not_sent, false), // notSentFlowTotalCount
};

struct set_template {
	uint16_t id;
	uint8_t n;
	const struct field *field;
	bool v6, options;
};

// Of flows at FLOW_TEMPLATE(v4, translated).
static const struct set_template templates[] = {
	{256, RTE_DIM(flow_fields) - TRANSLATED_FIELDS, flow_fields, false, false},
	{257, RTE_DIM(flow_fields) - TRANSLATED_FIELDS, flow_fields, true, false},
	{258, RTE_DIM(flow_fields), flow_fields, false, false},
	{259, RTE_DIM(flow_fields), flow_fields, true, false},
	{260, RTE_DIM(name_fields), name_fields, false, true},
	{261, RTE_DIM(sent_fields), sent_fields, false, true},
	{262, RTE_DIM(unsent_fields), unsent_fields, false, true},
};

#define FLOW_TEMPLATE(v4, translated) (&templates[2 * (translated) + !(v4)])
#define NAMES                         (&templates[4])
#define SENT                          (&templates[5])
#define UNSENT                        (&templates[6])

static void put(struct ipfix_message *m, uint64_t value, unsigned int octets)
{
	for (unsigned int i = octets; i-- > 0;)
		m->data[m->len++] = (uint8_t)(value >> 8 * i);
}

static void put_at(struct ipfix_message *m, uint16_t at, uint64_t value, unsigned int octets)
{
	const uint16_t len = m->len;

	m->len = at;
	put(m, value, octets);
	m->len = len;
}

static uint16_t set_id(const struct ipfix_message *m)
{
	return (uint16_t)(m->data[m->set] << 8 | m->data[m->set + 1]);
}

static void set_end(struct ipfix_message *m)
{
	if (m->set != 0)
		put_at(m, (uint16_t)(m->set + 2), (uint64_t)(m->len - m->set), 2);
}

// Makes room for that many octets in a set with the identifier: in the last one, or in another.
static bool set_reserve(struct ipfix_message *m, uint16_t id, unsigned int octets)
{
	const bool same = m->set != 0 && set_id(m) == id;

	if (m->len + octets + (same ? 0 : SET_HEADER) > sizeof(m->data))
		return false;
	if (same)
		return true;
	set_end(m);
	m->set = m->len;
	put(m, id, 2);
	put(m, 0, 2);
	return true;
}

void ipfix_begin(struct ipfix_message *m)
{
	m->len = HEADER;
	m->set = 0;
	m->records = 0;
}

void ipfix_end(struct ipfix_message *m, uint64_t wall_ms, uint32_t sequence, uint32_t domain)
{
	set_end(m);
	put_at(m, 0, VERSION, 2);
	put_at(m, 2, m->len, 2);
	put_at(m, 4, wall_ms / 1000, 4);
	put_at(m, 8, sequence, 4);
	put_at(m, 12, domain, 4);
}

static bool template_add(struct ipfix_message *m, const struct set_template *t)
{
	const unsigned int header = t->options ? 6 : 4;

	if (!set_reserve(m, t->options ? SET_OPTIONS : SET_FLOWS, header + 4u * t->n))
		return false;
	put(m, t->id, 2);
	put(m, t->n, 2);
	if (t->options)
		put(m, SCOPES, 2);
	for (unsigned int i = 0; i < t->n; i++) {
		put(m, t->field[i].id[t->v6], 2);
		put(m, t->field[i].size[t->v6], 2);
	}
	return true;
}

bool ipfix_add_templates(struct ipfix_message *m)
{
	bool ok = true;

	for (unsigned int i = 0; i < RTE_DIM(templates) && ok; i++)
		ok = template_add(m, &templates[i]);
	return ok;
}

static void field_put(struct ipfix_message *m, const struct field *f, bool v6, const void *from)
{
	const uint8_t *value = (const uint8_t *)from + f->offset;

	for (unsigned int i = 0; i < f->size[v6]; i++)
		m->data[m->len++] = f->octets ? value[i] : value[f->size[v6] - 1 - i];
}

static unsigned int record_len(const struct set_template *t)
{
	unsigned int len = 0;

	for (unsigned int i = 0; i < t->n; i++)
		len += t->field[i].size[t->v6];
	return len;
}

static bool record_add(struct ipfix_message *m, const struct set_template *t, const void *from)
{
	if (!set_reserve(m, t->id, record_len(t)))
		return false;
	for (unsigned int i = 0; i < t->n; i++)
		field_put(m, &t->field[i], t->v6, from);
	m->records++;
	return true;
}

bool ipfix_add_flow(struct ipfix_message *m, const struct ipfix_flow *flow)
{
	return record_add(m, FLOW_TEMPLATE(flow->v4, flow->translated), flow);
}

bool ipfix_add_statistics(struct ipfix_message *m, const struct ipfix_statistics *statistics)
{
	return record_add(m, SENT, statistics) && record_add(m, UNSENT, statistics);
}

bool ipfix_add_name(struct ipfix_message *m, uint32_t interface, const char *name)
{
	struct name n = {.interface = interface, .number = interface};

	memcpy(n.text, name, strnlen(name, sizeof(n.text) - 1));
	return record_add(m, NAMES, &n);
}
