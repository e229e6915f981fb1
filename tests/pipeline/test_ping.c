// SPDX-License-Identifier: BSD-3-Clause
// Replies to pings of operators through tunnels, and ICMP errors about them: which are posted, and
// that each request has one reply, by the SAs of its tunnel alone.
#include "icmp.h"
#include "peer.h"
#include "ping_request.h"
#include "site.h"

#define ECHO 0x1234abcdu // identifier and number of the request
#define SIZE 84

struct lab {
	struct gateway *g;
	struct peer in;
	uint64_t seq, request;
	_Alignas(8) uint8_t packet[FRAME_MAX]; // the request, or a reply to it
};

static uint16_t policy_number(const struct gateway *g, const char *name)
{
	const struct spd_policy *p;

	for (unsigned int i = 0; (p = snapshot_policy_at(g->snapshot, i)) != NULL; i++)
		if (strcmp(p->name, name) == 0)
			return p->number;
	fail_msg("no policy %s", name);
	return 0;
}

// Writes the request from 10.1.0.1 to 10.2.0.5.
static void request_write(struct lab *l, uint32_t echo, uint16_t size)
{
	const struct ip_addr from = ip_addr_from_v4(rte_cpu_to_be_32(ip_number("10.1.0.1"))),
			     to = ip_addr_from_v4(rte_cpu_to_be_32(ip_number("10.2.0.5")));

	icmp_echo_build(l->packet, &from, &to, echo, (uint16_t)(size - IP_LEN - 8));
}

// The request has been sent.
static void await(struct lab *l)
{
	struct ping_requests *r = &l->g->snapshot->objects->pings;

	l->request = ping_request(ECHO, SIZE, policy_number(l->g, "b"));
	atomic_store(&r->at[ping_place(l->request)], l->request);
}

static struct lab lab_new(void)
{
	struct lab l = {.g = site_a((struct site){0})};

	l.in = peer_new(l.g, "from-b");
	await(&l);
	return l;
}

static void lab_free(struct lab *l)
{
	peer_free(&l->in);
	gateway_free(l->g);
}

static void reply_write(struct lab *l, uint32_t echo, uint16_t size)
{
	request_write(l, echo, size);
	icmp_echo_reply((struct rte_ipv4_hdr *)l->packet);
}

// The packet arrives by B's SA, and is consumed.
static void arrives(struct lab *l)
{
	struct frame f = peer_seal_packet(&l->in, ++l->seq, l->packet, be16(l->packet + 2));

	gateway_pass(l->g, &f, 1);
	expect_drops(l->g, DROP_NONE, 0);
	assert_int_equal(l->g->last.local, 1);
	assert_int_equal(l->g->n_sent, 0);
}

static struct event expect_posted(struct lab *l)
{
	struct event e;

	if (!worker_event_dequeue(l->g->w, &e))
		fail_msg("no event");
	assert_int_equal(e.kind, EVENT_PING);
	assert_int_equal(e.ping, l->request);
	assert_int_equal(e.tsc, l->g->w->now);
	expect_no_event(l->g);
	return e;
}

static void test_one_reply(void **state)
{
	struct lab l = lab_new();
	struct event e;

	(void)state;
	reply_write(&l, ECHO, SIZE);
	arrives(&l);
	e = expect_posted(&l);
	assert_int_equal(rte_be_to_cpu_32(ip_addr_v4(&e.addr)), ip_number("10.2.0.5"));
	assert_false(e.has_icmp_type);
	arrives(&l); // a second one
	expect_no_event(l.g);
	await(&l);
	arrives(&l);
	expect_posted(&l);
	lab_free(&l);
}

// As replies to probes they are consumed.
static void test_other_replies(void **state)
{
	static const struct {
		uint32_t echo;
		uint16_t size;
	} rows[] = {{ECHO ^ 1, SIZE}, {ECHO ^ 0x10000, SIZE}, {ECHO ^ 0x1000000, SIZE},
		{ECHO, SIZE - 1}, {ECHO, SIZE + 1}, {ECHO, IP_LEN + 8}};
	struct lab l = lab_new();

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		reply_write(&l, rows[i].echo, rows[i].size);
		arrives(&l);
		expect_no_event(l.g);
	}
	reply_write(&l, ECHO, SIZE);
	l.packet[SIZE - 1] ^= 1; // its checksum is wrong
	arrives(&l);
	expect_no_event(l.g);
	l.packet[SIZE - 1] ^= 1;
	arrives(&l);
	expect_posted(&l);
	lab_free(&l);
}

// Drops may have been audited.
static void expect_no_ping(struct gateway *g)
{
	struct event e;

	while (worker_event_dequeue(g->w, &e))
		assert_int_not_equal(e.kind, EVENT_PING);
}

// By the SA of C, and in clear.
static void test_not_by_its_tunnel(void **state)
{
	struct lab l = lab_new();
	struct peer c = peer_new(l.g, "from-c");
	struct frame f;

	(void)state;
	reply_write(&l, ECHO, SIZE);
	f = peer_seal_packet(&c, 1, l.packet, SIZE);
	gateway_expect_drop(l.g, &f, DROP_SELECTOR);
	f = frame_raw(WAN, l.packet, SIZE);
	gateway_expect_drop(l.g, &f, DROP_CLEAR_TEXT);
	put32(l.packet + 12, ip_number("10.3.0.5")); // an address of C
	ip_checksum_update(l.packet);
	f = peer_seal_packet(&c, 2, l.packet, SIZE);
	gateway_pass(l.g, &f, 1);
	assert_int_equal(l.g->last.local, 1);
	expect_no_ping(l.g);
	put32(l.packet + 12, ip_number("10.2.0.5"));
	ip_checksum_update(l.packet);
	arrives(&l);
	expect_posted(&l);
	peer_free(&c);
	lab_free(&l);
}

// An error of B, or of a router after it, about the request.
static void error_arrives(struct lab *l, uint8_t code, uint16_t mtu)
{
	uint8_t error[FRAME_MAX];
	struct frame f;
	uint16_t len = error_write(error, "10.2.0.1", "10.1.0.1", 3, code, l->packet);

	put16(error + IP_LEN + 2, 0);
	put16(error + IP_LEN + 6, mtu);
	put16(error + IP_LEN + 2, checksum(error + IP_LEN, len - IP_LEN));
	f = peer_seal_packet(&l->in, ++l->seq, error, len);
	gateway_pass(l->g, &f, 1);
}

static void test_errors(void **state)
{
	struct lab l = lab_new();
	struct event e;

	(void)state;
	request_write(&l, ECHO ^ 1, SIZE); // about another request
	error_arrives(&l, 1, 0);
	expect_drops(l.g, DROP_LOCAL_UNSERVED, 1);
	request_write(&l, ECHO, SIZE);
	l.packet[IP_LEN] = 0; // about a reply
	error_arrives(&l, 1, 0);
	expect_drops(l.g, DROP_LOCAL_UNSERVED, 1);
	request_write(&l, ECHO, SIZE);
	l.packet[9] = IPPROTO_UDP;
	error_arrives(&l, 1, 0);
	expect_drops(l.g, DROP_LOCAL_UNSERVED, 1);
	expect_no_event(l.g);
	request_write(&l, ECHO, SIZE);
	error_arrives(&l, 4, 1300);
	expect_drops(l.g, DROP_NONE, 0);
	e = expect_posted(&l);
	assert_true(e.has_icmp_type);
	assert_int_equal(e.icmp_type, 3);
	assert_int_equal(e.icmp_code, 4);
	assert_int_equal(e.mtu, 1300);
	assert_int_equal(rte_be_to_cpu_32(ip_addr_v4(&e.addr)), ip_number("10.2.0.1"));
	error_arrives(&l, 4, 1300); // once more
	expect_drops(l.g, DROP_LOCAL_UNSERVED, 1);
	expect_no_event(l.g);
	lab_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_one_reply),
		pipeline_test(test_other_replies),
		pipeline_test(test_not_by_its_tunnel),
		pipeline_test(test_errors),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
