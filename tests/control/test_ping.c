// SPDX-License-Identifier: BSD-3-Clause
// Pings of operators: the ends and sizes that they have, refusals, results, and the bounded number
// of them.
#include "desk.h"
#include "ping.h"
#include "role.h"
#include "tunnel_state.h"

static char why[512];

static uint32_t ping_to(const char *tunnel, const char *to, uint16_t size)
{
	struct ping_order order = {.size = size};

	if (to != NULL)
		order.to = addr_of(to);
	snprintf(order.tunnel, sizeof(order.tunnel), "%s", tunnel);
	why[0] = '\0';
	return ping_send(&desk, &order, why, sizeof(why), desk_now);
}

static const struct ping *sent(const char *tunnel, const char *to, uint16_t size)
{
	const struct ping *p = ping_find(&desk, ping_to(tunnel, to, size));

	assert_string_equal(why, "");
	assert_non_null(p);
	return p;
}

static void refused(const char *tunnel, const char *to, uint16_t size, const char *reason)
{
	assert_int_equal(ping_to(tunnel, to, size), 0);
	assert_string_equal(why, reason);
}

static uint64_t awaited(const struct ping *p)
{
	return atomic_load(&desk.snapshot->objects->pings.at[ping_place(p->request)]);
}

static void begin(void)
{
	desk_wait(3000); // addresses are assigned
	desk_forget();
}

static void test_sent(void **state)
{
	const struct ping *p;

	(void)state;
	begin();
	p = sent("four", "10.2.0.5", 0);
	assert_int_equal(p->state, PING_WAITING);
	assert_int_equal(awaited(p), p->request);
	assert_int_equal(desk_n_sent, 1);
	assert_int_equal(desk_sent[0].len, ETH_LEN + 140);
	assert_int_equal(be16(frame_packet(&desk_sent[0]) + 6), DF);
	assert_memory_equal(frame_packet(&desk_sent[0]) + IP_LEN, &p->spi, 4);
	assert_memory_equal(frame_packet(&desk_sent[0]) + IP_LEN + 4, &p->seq, 4);
	assert_int_equal(p->size_max, 1446);
	p = sent("four", "10.2.0.5", 1446);
	assert_int_equal(desk_sent[1].len, ETH_LEN + 1500);
	p = sent("six", NULL, 0); // to the address of its probe
	assert_int_equal(desk_sent[2].len, ETH_LEN + p->esp_len);
	assert_int_equal(p->request >> 16 & UINT16_MAX, 48 + PING_SIZE);
}

static void test_mistakes(void **state)
{
	(void)state;
	begin();
	refused("five", NULL, 0, "no tunnel has the name \"five\"");
	refused("four", NULL, 0,
		"tunnel \"four\": the configuration shows no address at its other end: name one, "
		"or set the address of its probe");
	refused("four", "10.3.0.5", 0,
		"tunnel \"four\" has no pings from 10.1.0.1 to 10.3.0.5: policy nat decides about "
		"them");
	refused("four", "10.9.0.5", 0,
		"tunnel \"four\" has no pings from 10.1.0.1 to 10.9.0.5: no policy decides about "
		"them");
	refused("four", "10.2.0.5", 27,
		"size must be from 28 to 1446 octets: port \"wan\" has an MTU of 1500, and pings "
		"are not fragmented");
	refused("four", "10.2.0.5", 1447,
		"size must be from 28 to 1446 octets: port \"wan\" has an MTU of 1500, and pings "
		"are not fragmented");
	refused("nat", "10.3.0.5", 0,
		"tunnel \"nat\" is down: peer_unknown: its peer has not sent yet");
	assert_int_equal(desk_n_sent, 0);
}

static void test_down(void **state)
{
	(void)state;
	begin();
	desk_link[WAN] = false;
	desk_wait(1100);
	refused("four", "10.2.0.5", 0, "tunnel \"four\" is down: link: port \"wan\" has no link");
	desk_link[WAN] = true;
	desk_wait(1100);
	sa_stop(&desk_sa_out("out-4")->sa, LIFETIME_PACKETS);
	refused("four", "10.2.0.5", 0,
		"tunnel \"four\" is stopped: sequence_end: culvertctl explain sequence_end");
	sa_local_set(&desk_sa_out("out-6")->sa, DROP_STANDBY);
	refused("six", NULL, 0, "tunnel \"six\" is standby: another gateway has it");
}

// A tunnel that routes lead into: the other address of its network; also while it is down by an
// order.
static void test_routed(void **state)
{
	const struct ping *p;
	const struct ip_addr other = addr_of("10.255.0.2");

	(void)state;
	desk_reload("tunnels = ( { name = \"cloud\"; if_id = 42; }, { name = \"hub\"; out = "
		    "\"out-hub\"; in = \"in-hub\"; addresses = [ \"10.255.0.1/30\" ]; } );",
		"cipher_key = \"000102030405060708090a0b0c0d0e0fa0a1a2b5\"; }, { name = "
		"\"out-hub\"; direction = \"out\"; spi = \"0x2003\"; cipher = "
		"\"aes-128-gcm\"; local = \"192.0.2.1\"; remote = \"192.0.2.2\"; cipher_key = "
		"\"000102030405060708090a0b0c0d0e0fa0a1a2b3\"; }, { name = \"in-hub\"; direction "
		"= \"in\"; spi = \"0x2004\"; cipher = \"aes-128-gcm\"; local = \"192.0.2.1\"; "
		"remote = \"192.0.2.2\"; cipher_key = "
		"\"000102030405060708090a0b0c0d0e0fa0a1a2b4\"; }, { name = \"other\"; direction = "
		"\"out\"; spi = \"0x2005\"; cipher = \"aes-128-gcm\"; local = \"192.0.2.1\"; "
		"remote = \"192.0.2.2\";");
	begin();
	assert_true(tunnel_state_order(&desk, "hub", true, desk_now));
	p = sent("hub", NULL, 0);
	assert_memory_equal(&p->to, &other, sizeof(other));
	sent("hub", "10.77.0.1", 0);
	refused("cloud", "10.77.0.1", 0, "tunnel \"cloud\" is down: no_sa: IKE has no SA for it");
}

static struct event answer(const struct ping *p)
{
	return (struct event){
		.kind = EVENT_PING, .ping = p->request, .addr = p->to, .tsc = p->sent_tsc + 5000};
}

static void test_answered(void **state)
{
	const struct ping *p;
	struct event e;

	(void)state;
	begin();
	p = sent("four", "10.2.0.5", 0);
	e = answer(p);
	e.ping ^= UINT64_C(1) << 32; // about another number
	desk_event(e);
	assert_int_equal(p->state, PING_WAITING);
	desk_event(answer(p));
	assert_int_equal(p->state, PING_ANSWERED);
	assert_int_equal(p->round_trip, 5000);
	e = answer(p);
	e.tsc += 5000; // once more
	desk_event(e);
	assert_int_equal(p->round_trip, 5000);
}

static void test_errors_after_the_peer(void **state)
{
	const struct ip_addr router = addr_of("10.2.0.1");
	const struct ping *p;
	struct event e;

	(void)state;
	begin();
	p = sent("four", "10.2.0.5", 1400);
	e = answer(p);
	e.has_icmp_type = true;
	e.icmp_type = 3;
	e.icmp_code = 4;
	e.mtu = 1300;
	e.addr = router;
	desk_event(e);
	assert_int_equal(p->state, PING_UNREACHABLE);
	assert_int_equal(p->fits, 1300);
	assert_memory_equal(&p->by, &router, sizeof(router));
	p = sent("four", "10.2.0.5", 1400);
	e.ping = p->request;
	e.icmp_code = 1;
	desk_event(e);
	assert_int_equal(p->fits, 0);
	assert_int_equal(p->icmp_code, 1);
}

static void test_errors_before_the_peer(void **state)
{
	const struct ping *p;
	struct event e = {.kind = EVENT_PMTU,
		.port = WAN,
		.addr = addr_of("192.0.2.2"),
		.peer = addr_of("192.0.2.254"),
		.mtu = 1400,
		.sa = &desk_sa_out("out-4")->sa};

	(void)state;
	begin();
	p = sent("four", "10.2.0.5", 1446);
	e.spi = p->spi;
	e.seq = p->seq ^ 1; // another packet
	desk_event(e);
	assert_int_equal(p->state, PING_WAITING);
	e.seq = p->seq;
	desk_event(e);
	assert_int_equal(p->state, PING_TOO_BIG);
	assert_int_equal(p->mtu, 1400);
	assert_int_equal(p->fits, 1346);
	assert_memory_equal(&p->by, &e.peer, sizeof(e.peer));
	p = sent("four", "10.2.0.5", 1446); // the quote lacks the SPI
	e.spi = 0;
	e.quoted_len = p->esp_len;
	e.quoted_id = p->esp_id ^ 1;
	desk_event(e);
	assert_int_equal(p->state, PING_WAITING);
	e.quoted_id = p->esp_id;
	desk_event(e);
	assert_int_equal(p->state, PING_TOO_BIG);
}

// The next hop is resolved later.
static void test_resolved_later(void **state)
{
	const struct ping *p;

	(void)state;
	desk_routes = ", { to = \"192.0.2.2/32\"; via = \"192.0.2.9\"; }";
	desk_reload("", "");
	desk_routes = "";
	begin();
	p = sent("four", "10.2.0.5", 0);
	assert_int_equal(p->state, PING_RESOLVING);
	assert_int_equal(awaited(p), 0);
	desk_event((struct event){.kind = EVENT_NEIGH_HEARD,
		.port = WAN,
		.addr = addr_of("192.0.2.9"),
		.mac = {{2, 0, 0, 0, 2, 9}},
		.for_us = true});
	desk_wait(200);
	assert_int_equal(p->state, PING_WAITING);
	assert_int_equal(awaited(p), p->request);
}

static void test_bounded(void **state)
{
	const struct ping *p;
	uint32_t number = 0;

	(void)state;
	begin();
	for (unsigned int i = 0; i < PINGS_MAX; i++) {
		number = ping_to("four", "10.2.0.5", 0);
		assert_int_equal(number, i + 1);
		desk_forget();
	}
	p = ping_find(&desk, number);
	refused("four", "10.2.0.5", 0,
		"256 pings have been sent in the last 10 seconds, try again later");
	desk_wait(PING_KEPT_MS - 100);
	assert_ptr_equal(ping_find(&desk, number), p);
	desk_forget();
	desk_wait(200);
	assert_null(ping_find(&desk, number));
	for (unsigned int i = 0; i < PINGS_MAX; i++)
		assert_int_equal(atomic_load(&desk.snapshot->objects->pings.at[i]), 0);
	desk_forget();
	sent("four", "10.2.0.5", 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		desk_test(test_sent),
		desk_test(test_mistakes),
		desk_test(test_down),
		desk_test(test_routed),
		desk_test(test_answered),
		desk_test(test_errors_after_the_peer),
		desk_test(test_errors_before_the_peer),
		desk_test(test_resolved_later),
		desk_test(test_bounded),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
