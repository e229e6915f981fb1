// SPDX-License-Identifier: BSD-3-Clause
// Memory is exhausted at every allocation of a request of an IKE daemon, once and permanently.
// Proves that it is done entirely or refused, that nothing has changed then, and nothing is leaked.
#include "ike_desk.h"
#include "failing_alloc.h"
#include "ike.h"

#define SA(name, direction, spi, reqid)                                                            \
	"sa add { name = \"ike." name "\"; direction = \"" direction "\"; spi = \"0x" spi          \
	"\"; reqid = " reqid "; peer_id = " reqid                                                  \
	"; local = \"192.0.2.1\"; remote = \"192.0.2.2\"; udp = { }; "                             \
	"cipher = \"aes-128-gcm\"; cipher_key = \"" spi                                            \
	"101112131415161718191a1b1c1d1e1f00\"; }\n"
#define POLICY(name, action)                                                                       \
	"policy add { name = \"ike." name "\"; local = \"10.1.0.0/24\"; "                          \
	"remote = \"10.4.0.0/24\"; peer_id = 20; action = " action "; }\n"

struct change {
	const char *text, *undo;
};

static const char before[] = SA("in", "in", "300001", "7") SA("out", "out", "300002", "7")
	POLICY("p", "\"protect\"; reqid = 7");

static const struct change changes[] = {
	{SA("i", "in", "400001", "7") SA("o", "out", "400002", "7"), "sa del ike.i\nsa del ike.o"},
	{SA("i", "in", "400003", "8") SA("o", "out", "400004", "8")
			POLICY("q", "\"protect\"; reqid = 8") POLICY("r", "\"discard\""),
		"sa del ike.i\nsa del ike.o\npolicy del ike.q\npolicy del ike.r"},
	{POLICY("q", "\"protect\"; reqid = 9") SA("i", "in", "400005", "9"),
		"sa del ike.i\npolicy del ike.q"},
	{"sa set ike.out { remote = \"192.0.2.254\"; }",
		"sa set ike.out { remote = \"192.0.2.2\"; }"},
	{"sa del ike.in\nsa del ike.out\npolicy del ike.p", before},
	{"flush", before},
};

// Written while memory is short.
static char messages[4096];

static bool ask(const char *text)
{
	FILE *f = fmemopen(messages, sizeof(messages), "w");
	bool done = ike_request(&desk, "ike", text, strlen(text), f);

	fclose(f);
	return done;
}

static bool ask_without(const char *text, unsigned int n, bool for_good, bool *failed)
{
	FILE *f = fmemopen(messages, sizeof(messages), "w");
	bool done;

	setvbuf(f, NULL, _IONBF, 0);
	alloc_fail(n, for_good);
	done = ike_request(&desk, "ike", text, strlen(text), f);
	*failed = alloc_fail_end();
	fclose(f);
	return done;
}

// Everything that a request can change.
struct state {
	unsigned int n_sas, n_policies, n_tunnels;
	struct sa *sa[16];
	const struct spd_policy *policy[8];
	struct sa_out *sender;
	struct ip_addr peer;
	uint32_t ingress;
};

static struct state state_of(void)
{
	struct state x = {.n_sas = running_sas(desk.snapshot),
		.n_policies = running_policies(desk.snapshot),
		.n_tunnels = ike_tunnels()};

	for (unsigned int i = 0; i < x.n_sas; i++)
		x.sa[i] = running_sa_at(desk.snapshot, i);
	for (unsigned int i = 0; i < x.n_policies; i++)
		x.policy[i] = snapshot_policy_at(desk.snapshot, i);
	x.sender = listed_policy("ike.p")->out;
	x.peer = x.sender->peer.addr;
	return x;
}

static void check(const struct change *c)
{
	bool failed = true;

	for (unsigned int n = 1; failed; n++) {
		struct state was;
		long live;
		bool done, for_good = n % 2 == 0;

		desk_settle();
		was = state_of();
		live = alloc_live();
		done = ask_without(c->text, n, for_good, &failed);
		desk_settle();
		if (done) {
			assert_true(ask(c->undo));
			desk_settle();
			continue;
		}
		assert_true(failed);
		if (strstr(messages, "memory") == NULL)
			fail_msg("allocation %u: %s", n, messages);
		assert_memory_equal(&was, &(struct state[]){state_of()}, sizeof(was));
		if (alloc_live() != live)
			fail_msg("allocation %u: %ld blocks more", n, alloc_live() - live);
	}
}

static void test_request_without_memory_has_no_effect(void **state)
{
	(void)state;
	if (!ask(before))
		fail_msg("%s", messages);
	for (unsigned int i = 0; i < COUNT_OF(changes); i++) {
		// Memory that is allocated once and kept.
		assert_true(ask(changes[i].text));
		desk_settle();
		assert_true(ask(changes[i].undo));
		desk_settle();
		check(&changes[i]);
	}
}

// Lists and tables that have to grow.
static void test_tables_grow_without_memory(void **state)
{
	char text[1024];
	unsigned int n = 0;
	bool failed;

	(void)state;
	for (unsigned int i = 0; i < 300; i++) {
		snprintf(text, sizeof(text),
			"sa add { name = \"ike.i%u\"; direction = \"%s\"; spi = \"0x%x\"; reqid = "
			"7; "
			"local = \"192.0.2.1\"; remote = \"192.0.2.2\"; cipher = \"aes-128-gcm\"; "
			"cipher_key = \"%08x101112131415161718191a1b1c1d1e1f\"; }\n"
			"policy add { name = \"ike.i%u\"; local = \"10.1.0.0/24\"; remote = "
			"\"20.0.%u.0/24\"; action = \"protect\"; reqid = 7; }",
			i, i % 2 == 0 ? "in" : "out", 0x50000 + i, i, i, i % 200);
		n = 1;
		if (i % 64 < 3 || i % 128 > 125) // around their ends
			while (!ask_without(text, n, false, &failed)) {
				n++;
				desk_settle();
				if (!failed)
					fail_msg("%s", messages);
				assert_int_equal(listed_policies(), CONFIGURED_POLICIES + i);
			}
		else
			assert_true(ask(text));
		desk_settle();
		assert_int_equal(listed_policies(), CONFIGURED_POLICIES + i + 1);
		assert_int_equal(listed_sas(), CONFIGURED_SAS + i + 1);
	}
	ask_without("flush", 20, true, &failed);
	ask("flush");
	desk_settle();
	assert_int_equal(listed_policies(), CONFIGURED_POLICIES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		desk_test(test_request_without_memory_has_no_effect),
		desk_test(test_tables_grow_without_memory),
	};

	return cmocka_run_group_tests_name("ike_memory", tests, harness_start, harness_stop);
}
