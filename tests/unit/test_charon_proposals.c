// SPDX-License-Identifier: BSD-3-Clause
// Proposals of charon and of any peer lose the algorithms that the gateway lacks.
#include "kernel.h"

#include <encoding/payloads/sa_payload.h>

#include "test.h"

static void log_nothing(bus_t *this, debug_t group, level_t level, char *format, ...)
{
}

struct transform {
	transform_type_t type;
	uint16_t alg;
};

static proposal_t *proposal_of(
	protocol_id_t protocol, uint8_t number, const struct transform *t, size_t n)
{
	proposal_t *proposal = proposal_create(protocol, number);

	for (size_t i = 0; i < n; i++)
		proposal->add_algorithm(proposal, t[i].type, t[i].alg, 0);
	proposal->set_spi(proposal, 0xc0000001);
	return proposal;
}

#define PROPOSAL(protocol, number, ...)                                                            \
	proposal_of(protocol, number, (struct transform[]){__VA_ARGS__},                           \
		sizeof((struct transform[]){__VA_ARGS__}) / sizeof(struct transform))

// Returns the proposals of a message after the filter, to be freed, and frees the list.
static linked_list_t *filtered(linked_list_t *proposals, bool request, bool incoming)
{
	message_t *message = message_create(IKEV2_MAJOR_VERSION, IKEV2_MINOR_VERSION);
	sa_payload_t *sa = sa_payload_create_from_proposals_v2(proposals);
	linked_list_t *left;

	message->set_request(message, request);
	message->add_payload(message, &sa->payload_interface);
	proposals_filter(message, incoming);
	sa = (sa_payload_t *)message->get_payload(message, PLV2_SECURITY_ASSOCIATION);
	left = sa->get_proposals(sa);
	message->destroy(message);
	proposals->destroy_offset(proposals, offsetof(proposal_t, destroy));
	return left;
}

// Checks the next proposal and frees it.
static void expect_proposal(linked_list_t *list, proposal_t *expected)
{
	proposal_t *got;

	assert_int_equal(list->remove_first(list, (void **)&got), SUCCESS);
	assert_true(got->equals(got, expected));
	assert_int_equal(got->get_number(got), expected->get_number(expected));
	assert_int_equal(got->get_spi(got), expected->get_spi(expected));
	got->destroy(got);
	expected->destroy(expected);
}

static void expect_end(linked_list_t *list)
{
	assert_int_equal(list->get_count(list), 0);
	list->destroy(list);
}

#define CAMELLIA                                                                                   \
	{                                                                                          \
		ENCRYPTION_ALGORITHM, ENCR_CAMELLIA_CBC                                            \
	}
#define AES_CBC                                                                                    \
	{                                                                                          \
		ENCRYPTION_ALGORITHM, ENCR_AES_CBC                                                 \
	}
#define AES_GCM                                                                                    \
	{                                                                                          \
		ENCRYPTION_ALGORITHM, ENCR_AES_GCM_ICV16                                           \
	}
#define XCBC                                                                                       \
	{                                                                                          \
		INTEGRITY_ALGORITHM, AUTH_AES_XCBC_96                                              \
	}
#define SHA2_256                                                                                   \
	{                                                                                          \
		INTEGRITY_ALGORITHM, AUTH_HMAC_SHA2_256_128                                        \
	}
#define INTEG_NONE                                                                                 \
	{                                                                                          \
		INTEGRITY_ALGORITHM, 0                                                             \
	}
#define GROUP_14                                                                                   \
	{                                                                                          \
		KEY_EXCHANGE_METHOD, 14                                                            \
	}
#define ESN_NONE                                                                                   \
	{                                                                                          \
		EXTENDED_SEQUENCE_NUMBERS, NO_EXT_SEQ_NUMBERS                                      \
	}

// A peer's proposals lose algorithms that the gateway lacks, and keep their numbers, which the
// response names.
static void test_proposals_of_peer(void **state)
{
	linked_list_t *list = linked_list_create_with_items(
		PROPOSAL(PROTO_AH, 1, SHA2_256, ESN_NONE),
		PROPOSAL(PROTO_ESP, 2, AES_CBC, XCBC, ESN_NONE),
		PROPOSAL(PROTO_ESP, 3, CAMELLIA, AES_CBC, XCBC, SHA2_256, GROUP_14, ESN_NONE),
		PROPOSAL(PROTO_ESP, 4, AES_GCM, INTEG_NONE, ESN_NONE), NULL);

	list = filtered(list, true, true);
	expect_proposal(list, PROPOSAL(PROTO_ESP, 3, AES_CBC, SHA2_256, GROUP_14, ESN_NONE));
	expect_proposal(list, PROPOSAL(PROTO_ESP, 4, AES_GCM, INTEG_NONE, ESN_NONE));
	expect_end(list);
}

// charon's own have consecutive numbers from 1 (RFC 7296 3.3.1).
static void test_proposals_of_charon(void **state)
{
	linked_list_t *list =
		linked_list_create_with_items(PROPOSAL(PROTO_ESP, 0, CAMELLIA, SHA2_256, ESN_NONE),
			PROPOSAL(PROTO_ESP, 0, AES_GCM, ESN_NONE), NULL);

	list = filtered(list, true, false);
	expect_proposal(list, PROPOSAL(PROTO_ESP, 1, AES_GCM, ESN_NONE));
	expect_end(list);
}

// Proposals for IKE, responses, and a list of which nothing would be left stay as they are.
static void test_proposals_kept(void **state)
{
	linked_list_t *list = linked_list_create_with_items(
		PROPOSAL(PROTO_IKE, 1, CAMELLIA, XCBC, GROUP_14), NULL);

	list = filtered(list, true, true);
	expect_proposal(list, PROPOSAL(PROTO_IKE, 1, CAMELLIA, XCBC, GROUP_14));
	expect_end(list);
	for (unsigned int request = 0; request < 2; request++) {
		list = linked_list_create_with_items(
			PROPOSAL(PROTO_ESP, 1, CAMELLIA, SHA2_256, ESN_NONE), NULL);
		list = filtered(list, request, !request);
		expect_proposal(list, PROPOSAL(PROTO_ESP, 1, CAMELLIA, SHA2_256, ESN_NONE));
		expect_end(list);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_proposals_of_peer),
		cmocka_unit_test(test_proposals_of_charon),
		cmocka_unit_test(test_proposals_kept),
	};

	charon = &(daemon_t){.bus = &(bus_t){.log = log_nothing}};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
