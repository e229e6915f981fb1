// SPDX-License-Identifier: BSD-3-Clause
// Packets that workers hand over to each other while the configuration is replaced, or an SA
// becomes standby. Proves that no worker looks up removed objects, and that a standby accepts
// nothing more.
#include "fanout.h"
#include "peer.h"
#include "site.h"

#define WORKERS   HARNESS_WORKERS
#define SITE(...) ((struct site){.more = "cpus = { workers = [ 0, 1, 2, 3 ]; };", __VA_ARGS__})

struct workers {
	struct gateway *g[WORKERS];
	struct worker *w[WORKERS];
};

static struct workers workers_new(void)
{
	struct workers s = {.g = {site_a(SITE())}};

	for (unsigned int i = 1; i < WORKERS; i++)
		s.g[i] = gateway_second(s.g[0], i);
	return s;
}

static void workers_free(struct workers *s)
{
	for (unsigned int i = WORKERS; i > 0; i--)
		gateway_free(s->g[i - 1]);
}

// Each worker takes bursts out of its lanes, and packets for tunnels into them.
static void all_keep(struct workers *s)
{
	for (unsigned int i = 0; i < WORKERS; i++)
		gateway_keep(s->g[i]);
}

// The same tunnels without the policy between B and C, and with a next hop to B that does not
// answer.
static void reload_without_transit(struct gateway *g)
{
	static const char route[] = "203.0.113.0/24\"; via = \"192.0.2.254\"";
	struct conf *conf;
	char text[8192];

	site_a_conf(text, sizeof(text), SITE());
	memcpy(strstr(text, route), "192.0.2.2/32\"; via = \"192.0.2.77\"   ", strlen(route));
	strcpy(strstr(text, ",\n  { name = \"b-to-c\""), "\n);");
	conf = harness_conf(text, strlen(text), stderr);
	assert_non_null(conf);
	gateway_reload(g, conf);
	conf_free(conf);
}

// The packet comes out of one tunnel and goes into another. The policy that has admitted it is
// removed while it waits to be numbered or sealed.
static void policy_removed(bool numbered)
{
	struct workers s = workers_new();
	struct peer c = peer_new(s.g[0], "from-c");
	struct frame f = peer_seal_ip(&c, 1, (struct ipv4)FROM_TO("10.3.0.5", "10.2.0.5"));
	unsigned int held = 0;

	gateways_share(s.g, s.w, WORKERS);
	gateway_receive(s.g[0], &f, 1);
	gateway_help(s.g[1]);
	all_keep(&s);
	for (unsigned int i = 0; i < WORKERS; i++)
		gateway_pass(s.g[i], NULL, 0);
	if (numbered)
		all_keep(&s);
	reload_without_transit(s.g[0]);
	all_keep(&s);
	gateway_help(s.g[1]);
	all_keep(&s);
	for (unsigned int i = 0; i < WORKERS; i++)
		for (unsigned int k = 0; k < s.w[i]->n_held; k++, held++)
			assert_int_equal(s.w[i]->held[k].p.in_by, 0);
	assert_int_equal(held, 1);
	peer_free(&c);
	workers_free(&s);
}

static void test_policy_removed(void **state)
{
	(void)state;
	policy_removed(false);
	policy_removed(true);
}

// The packet was opened, but is not in the window yet. The window is reported to the other gateway
// when the SA becomes standby.
static void test_standby(void **state)
{
	struct workers s = workers_new();
	struct peer b = peer_new(s.g[0], "from-b");
	struct frame f = peer_seal_ip(&b, 1, (struct ipv4)FROM_TO("10.2.0.5", "10.1.0.5"));
	struct sa *sa = &gateway_sa_in(s.g[0], "from-b")->sa;

	(void)state;
	gateways_share(s.g, s.w, WORKERS);
	gateway_receive(s.g[0], &f, 1);
	gateway_help(s.g[1]);
	sa_local_set(sa, DROP_STANDBY);
	all_keep(&s);
	assert_int_equal(replay_top(&sa->per_packet.replay), 0);
	assert_int_equal(s.w[0]->counters.drops[DROP_STANDBY], 1);
	peer_free(&b);
	workers_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_policy_removed),
		pipeline_test(test_standby),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
