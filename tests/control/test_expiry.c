// SPDX-License-Identifier: BSD-3-Clause
// Lifetimes: the soft one is an event, the hard one stops the SA; and the state of tunnels.
#include "desk.h"
#include "expiry.h"
#include "tunnel.h"

static void sends(const char *sa, unsigned int packets)
{
	atomic_fetch_add(&desk_sa_out(sa)->seq, packets);
	desk_sa_counted(sa)->packets += packets;
	desk_sa_counted(sa)->bytes += packets * UINT64_C(100);
}

static void receives(const char *sa)
{
	desk_sa_counted(sa)->packets++;
	desk_sa_counted(sa)->bytes += 100;
}

static void test_packets(void **state)
{
	struct sa_out *sa;

	(void)state;
	desk_reload("", "lifetime = { soft_packets = 10; hard_packets = 20; };");
	sa = desk_sa_out("out-4");
	desk_wait(1000);
	desk_forget();
	sends("out-4", 9);
	desk_wait(100);
	desk_expect_no_event();
	sends("out-4", 2);
	desk_wait(100);
	desk_expect_event("event=soft_expiry\tseverity=warning\tsa=out-4\tdirection=out\t"
			  "spi=0x00001003\tunit=packets\tused=11\tsoft=10\thard=20");
	desk_wait(1000);
	assert_int_equal(sa->sa.per_packet.stop, DROP_NONE);
	desk_forget();
	sends("out-4", 9);
	desk_wait(100);
	desk_expect_event("event=hard_expiry\tseverity=warning\tsa=out-4\tdirection=out\t"
			  "spi=0x00001003\tunit=packets\tused=20\tsoft=10\thard=20");
	assert_int_equal(sa->sa.per_packet.stop, DROP_LIFETIME);
	desk_wait(1000);
	desk_reload("", "lifetime = { soft_packets = 30; hard_packets = 40; };");
	assert_int_equal(sa->sa.per_packet.stop, DROP_NONE); // a longer one
}

static void test_octets(void **state)
{
	(void)state;
	desk_reload("", "lifetime = { soft_bytes = 1000; hard_bytes = 2000; };");
	desk_forget();
	sends("out-4", 20);
	desk_wait(100);
	desk_expect_event("event=hard_expiry\tseverity=warning\tsa=out-4\tdirection=out\t"
			  "spi=0x00001003\tunit=bytes\tused=2000\tsoft=1000\thard=2000");
	assert_int_equal(desk_sa_out("out-4")->sa.per_packet.stop, DROP_LIFETIME);
}

static void test_seconds(void **state)
{
	(void)state;
	desk_reload("", "lifetime = { soft_seconds = 60; hard_seconds = 120; };");
	desk_wait(2000);
	sends("out-4", 1);
	receives("in-4");
	desk_wait(100);
	desk_forget();
	desk_wait(130000);
	desk_expect_event("event=soft_expiry\tseverity=warning\tsa=out-4\tdirection=out\t"
			  "spi=0x00001003\tunit=seconds\tused=60\tsoft=60\thard=120");
	desk_expect_event("event=hard_expiry\tseverity=warning\tsa=out-4\tdirection=out\t"
			  "spi=0x00001003\tunit=seconds\tused=120\tsoft=60\thard=120");
	assert_int_equal(desk_sa_out("out-4")->sa.per_packet.stop, DROP_LIFETIME);
}

// When traffic was last seen, and how much there is.
static void test_traffic(void **state)
{
	struct sa_out *sa = desk_sa_out("out-4");

	(void)state;
	desk_wait(1000);
	assert_int_equal(sa->sa.seen_ms, 0);
	for (unsigned int i = 0; i < 50; i++) {
		sends("out-4", 10);
		desk_wait(100);
	}
	assert_int_equal(sa->sa.seen_ms, desk_now);
	assert_in_range(sa->sa.rate, 9500, 10500);
	desk_wait(10000);
	assert_int_equal(sa->sa.seen_ms, desk_now - 10000);
	assert_int_equal(sa->sa.rate, 0);
}

// Of the tunnel of policy "four".
static enum tunnel_state tunnel_state(void)
{
	return desk_tunnel("four")->state;
}

static void test_tunnel(void **state)
{
	(void)state;
	desk_wait(2000);
	desk_forget();
	assert_int_equal(tunnel_state(), TUNNEL_NEVER);
	receives("in-4");
	desk_wait(200);
	desk_expect_event("event=tunnel_up\tseverity=info\ttunnel=four\tsa=out-4\t"
			  "peer=192.0.2.2");
	for (unsigned int i = 0; i < 101; i++) {
		sends("out-4", 1);
		desk_wait(100);
	}
	desk_expect_event("event=tunnel_silent\tseverity=warning\ttunnel=four\tsa=out-4\t"
			  "peer=192.0.2.2\tms=10000");
	assert_int_equal(tunnel_state(), TUNNEL_SILENT);
	desk_reload("", ""); // does not change it
	assert_int_equal(tunnel_state(), TUNNEL_SILENT);
	receives("in-4");
	desk_wait(200);
	assert_int_equal(tunnel_state(), TUNNEL_UP);
}

// Packets of the peer that its SA drops; packets that policy drops were authentic, and are counted
// as received before.
static void drops(const char *sa, enum drop reason)
{
	if (reason == DROP_SELECTOR)
		receives(sa);
	desk_sa_counted(sa)->drops[drop_info[reason].of_sa]++;
}

static void test_failing_tunnel(void **state)
{
	static const enum drop reasons[] = {DROP_AUTH, DROP_REPLAY, DROP_SELECTOR};

	(void)state;
	for (unsigned int r = 0; r < RTE_DIM(reasons); r++) {
		receives("in-4");
		desk_wait(3000);
		assert_int_equal(tunnel_state(), TUNNEL_UP);
		desk_forget();
		for (unsigned int i = 0; i < 12; i++) {
			drops("in-4", reasons[r]);
			desk_wait(1000);
		}
		assert_int_equal(tunnel_state(), TUNNEL_FAILING);
		assert_int_equal(desk_tunnel("four")->reason, reasons[r]);
		desk_reload("", ""); // does not change it
		assert_int_equal(tunnel_state(), TUNNEL_FAILING);
	}
	receives("in-4");
	desk_forget();
	desk_wait(2000);
	desk_expect_event("event=tunnel_up\tseverity=info\ttunnel=four\tsa=out-4\t"
			  "peer=192.0.2.2");
	assert_int_equal(tunnel_state(), TUNNEL_UP);
	for (unsigned int i = 0; i < 30; i++) {
		drops("in-4", DROP_DUMMY);
		desk_wait(1000);
	}
	assert_int_equal(tunnel_state(), TUNNEL_UP);
}

// So does an outbound SA that must not send any more.
static void test_failing_to_send(void **state)
{
	(void)state;
	desk_wait(2000);
	desk_forget();
	for (unsigned int i = 0; i < 12; i++) {
		desk_sa_counted("out-4")->drops[DROP_OF_SA_SEQUENCE_UNSAVED]++;
		desk_wait(1000);
	}
	desk_expect_event("event=tunnel_failing\tseverity=warning\ttunnel=four\tsa=out-4\t"
			  "peer=192.0.2.2\treason=sequence_unsaved");
	assert_int_equal(tunnel_state(), TUNNEL_FAILING);
}

// Packets that an SA received before a policy had it are no sign of the policy's peer.
static void test_new_tunnel(void **state)
{
	struct tunnels tunnels;

	(void)state;
	receives("in-4");
	desk_wait(200);
	assert_int_equal(tunnel_state(), TUNNEL_UP);
	assert_true(tunnels_new(&tunnels, desk.snapshot));
	tunnels_set(&desk, &tunnels, desk.snapshot, NULL); // as of policies with other names
	desk_forget();
	desk_wait(1000);
	assert_int_equal(tunnel_state(), TUNNEL_NEVER);
	desk_expect_no_event();
	receives("in-4");
	desk_wait(200);
	assert_int_equal(tunnel_state(), TUNNEL_UP);
}

static void test_stopped_tunnel(void **state)
{
	(void)state;
	desk_reload("", "lifetime = { hard_packets = 20; };");
	receives("in-4");
	desk_wait(200);
	assert_int_equal(tunnel_state(), TUNNEL_UP);
	desk_forget();
	sends("out-4", 20);
	desk_wait(100);
	desk_expect_event("event=hard_expiry\tseverity=warning\tsa=out-4\tdirection=out\t"
			  "spi=0x00001003\tunit=packets\tused=20\tsoft=18\thard=20");
	desk_expect_event("event=tunnel_stopped\tseverity=warning\ttunnel=four\tsa=out-4\t"
			  "peer=192.0.2.2");
	receives("in-4");
	desk_wait(1000);
	desk_expect_no_event();
	assert_int_equal(tunnel_state(), TUNNEL_STOPPED);
	desk_reload("", "lifetime = { hard_packets = 40; };");
	desk_wait(200);
	desk_expect_event("event=tunnel_up\tseverity=info\ttunnel=four\tsa=out-4\t"
			  "peer=192.0.2.2");
	assert_int_equal(tunnel_state(), TUNNEL_UP);
}

// A probe every 5 seconds while nothing is received.
static void test_probe(void **state)
{
	unsigned int sent = 0;

	(void)state;
	desk_wait(20000);
	for (unsigned int i = 0; i < desk_n_sent; i++)
		sent += desk_sent[i].b[12] == 0x86 && frame_packet(&desk_sent[i])[6] == 50; // ESP
	assert_in_range(sent, 3, 5);
	assert_int_equal(desk_tunnel("six")->probes, sent);
	desk_forget();
	for (unsigned int i = 0; i < 20; i++) {
		receives("in-6");
		desk_wait(1000);
	}
	assert_int_equal(desk_tunnel("six")->probes, sent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		desk_test(test_packets),
		desk_test(test_octets),
		desk_test(test_seconds),
		desk_test(test_traffic),
		desk_test(test_tunnel),
		desk_test(test_new_tunnel),
		desk_test(test_failing_tunnel),
		desk_test(test_failing_to_send),
		desk_test(test_stopped_tunnel),
		desk_test(test_probe),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
