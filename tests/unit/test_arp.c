// SPDX-License-Identifier: BSD-3-Clause
// ARP against frames written out octet by octet (RFC 826).
#include "arp.h"
#include "test.h"

// 02:..:05, 10.1.0.5, broadcasts a request for 10.1.0.1.
static const uint8_t request[ARP_FRAME_LEN] = {
	0xff,
	0xff,
	0xff,
	0xff,
	0xff,
	0xff,
	2,
	0,
	0,
	0,
	0,
	5,
	0x08,
	0x06,
	0,
	1,
	0x08,
	0x00,
	6,
	4,
	0,
	1,
	2,
	0,
	0,
	0,
	0,
	5,
	10,
	1,
	0,
	5,
	0,
	0,
	0,
	0,
	0,
	0,
	10,
	1,
	0,
	1,
};

// 02:..:01 answers.
static const uint8_t reply[ARP_FRAME_LEN] = {
	2,
	0,
	0,
	0,
	0,
	5,
	2,
	0,
	0,
	0,
	0,
	1,
	0x08,
	0x06,
	0,
	1,
	0x08,
	0x00,
	6,
	4,
	0,
	2,
	2,
	0,
	0,
	0,
	0,
	1,
	10,
	1,
	0,
	1,
	2,
	0,
	0,
	0,
	0,
	5,
	10,
	1,
	0,
	5,
};

static const struct rte_ether_addr own = {{2, 0, 0, 0, 0, 1}}, host = {{2, 0, 0, 0, 0, 5}};

static bool check(const uint8_t *frame, uint32_t len)
{
	return arp_check((const struct rte_arp_hdr *)(frame + sizeof(struct rte_ether_hdr)), len);
}

static void test_check(void **state)
{
	// Octets whose change makes the frame invalid, and their new values.
	static const struct {
		const char *name;
		uint8_t at, value;
	} rows[] = {
		{"hardware", 15, 6},
		{"hardware", 14, 1},
		{"protocol", 16, 0x86},
		{"hardware length", 18, 8},
		{"protocol length", 19, 16},
		{"operation 0", 21, 0},
		{"operation 3", 21, 3},
		{"sender is a group", 22, 3},
	};

	(void)state;
	assert_true(check(request, 28));
	assert_true(check(request, 46)); // padded
	assert_true(check(reply, 28));
	for (uint32_t len = 0; len < 28; len++)
		assert_false(check(request, len));
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint8_t frame[ARP_FRAME_LEN];

		memcpy(frame, request, sizeof(frame));
		frame[rows[i].at] = rows[i].value;
		if (check(frame, 28))
			fail_msg("%s", rows[i].name);
	}
}

static void test_check_zero_sender(void **state)
{
	uint8_t frame[ARP_FRAME_LEN];

	(void)state;
	memcpy(frame, request, sizeof(frame));
	memset(frame + 22, 0, 6);
	assert_false(check(frame, 28));
}

static void test_request(void **state)
{
	uint8_t frame[ARP_FRAME_LEN], direct[ARP_FRAME_LEN];

	(void)state;
	memset(frame, 0xa5, sizeof(frame));
	arp_request_build(frame, &host, RTE_BE32(0x0a010005), RTE_BE32(0x0a010001), NULL);
	assert_memory_equal(frame, request, sizeof(frame));
	memcpy(direct, request, sizeof(direct));
	memcpy(direct, &own, sizeof(own));
	arp_request_build(frame, &host, RTE_BE32(0x0a010005), RTE_BE32(0x0a010001), &own);
	assert_memory_equal(frame, direct, sizeof(frame));
}

static void test_reply(void **state)
{
	uint8_t frame[ARP_FRAME_LEN];

	(void)state;
	memcpy(frame, request, sizeof(frame));
	arp_reply_build((struct rte_ether_hdr *)frame, &own);
	assert_memory_equal(frame, reply, sizeof(frame));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_check_zero_sender),
		cmocka_unit_test(test_request),
		cmocka_unit_test(test_reply),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
