// SPDX-License-Identifier: BSD-3-Clause
// The other gateway of a pair, as events and lists show it: a channel in this process is that one.
#include <unistd.h>

#include "collect.h"
#include "conf_digest.h"
#include "desk.h"
#include "group.h"
#include "member.h"
#include "member_changes.h"
#include "member_lines.h"
#include "role.h"
#include "pair_site.h"

static struct channel *other;

// Both have the same configuration at first.
static void pair_up(void)
{
	uint16_t port = site_port();
	struct channel_params pa = site_params(true, port), pb = site_params(false, port);
	char text[CONF_DIGESTS_MAX];

	desk_reload("pair = { member = 1; };", "");
	desk_forget();
	assert_int_equal(channel_new(&desk.member.channel, &pa), 0);
	assert_int_equal(channel_new(&other, &pb), 0);
	desk.member.changes = member_changes_new();
	assert_non_null(desk.member.changes);
	assert_int_equal(conf_digests_write(text, desk.conf), 0);
	channel_config_set(other, text);
	member_tick(&desk, desk_now);
	assert_int_equal(member_connect(&desk, NULL, NULL), 0);
	assert_int_equal(channel_start(other, NULL, NULL), 0);
}

static bool is_connected(void *arg)
{
	(void)arg;
	member_tick(&desk, desk_now);
	return desk.member.epoch != 0;
}

static bool is_not_connected(void *arg)
{
	return !is_connected(arg);
}

static bool differs(void *arg)
{
	struct members_view v;

	desk_now += 1000; // not every change is compared at once
	member_tick(&desk, desk_now);
	return collect_members(&v, &desk, 1) && strcmp(v.differs, arg) == 0;
}

static void events_follow_the_connection(void **state)
{
	struct members_view v;

	(void)state;
	assert_false(collect_members(&v, &desk, 0));
	member_tick(&desk, desk_now);
	pair_up();
	assert_true(site_wait(is_connected, NULL));
	desk_expect_event("event=member_up\tseverity=info\tmember=2\tname=gw-b\tversion=0.1\t"
			  "differs=nothing");
	channel_free(other);
	assert_true(site_wait(is_not_connected, NULL));
	desk_expect_event("event=member_down\tseverity=warning\tmember=2\tname=gw-b\t"
			  "reason=the other gateway: it was stopped");
	assert_true(collect_members(&v, &desk, 1));
	assert_string_equal(v.state, "connecting");
	assert_string_equal(v.error, "the other gateway: it was stopped");
	member_stop(&desk);
}

static void the_list_has_a_row_for_each(void **state)
{
	struct members_view v;

	(void)state;
	pair_up();
	assert_true(site_wait(is_connected, NULL));
	assert_true(collect_members(&v, &desk, 0));
	assert_true(v.this && v.member == 1 && v.in_sync == 1);
	assert_string_equal(v.name, desk.conf->instance);
	assert_true(collect_members(&v, &desk, 1));
	assert_true(!v.this && v.member == 2 && v.silent_ms < 10000);
	assert_string_equal(v.name, "gw-b");
	assert_string_equal(v.state, "in sync");
	assert_string_equal(v.error, "");
	assert_false(collect_members(&v, &desk, 2));
	desk_reload("pair = { member = 1; };"
		    "groups = ( { name = \"g\"; addresses = [ \"192.0.2.1\" ]; } );",
		"");
	assert_true(site_wait(differs, "groups"));
	desk_reload("pair = { member = 1; };", "");
	assert_true(site_wait(differs, ""));
	channel_free(other);
	member_stop(&desk);
}

static bool is_standby(void *arg)
{
	member_lines_tick(&desk, desk_now);
	return member_silent_ms(&desk, arg, desk_now) == 0;
}

static bool other_connected(void *arg)
{
	(void)arg;
	return channel_epoch(other) != 0;
}

// It may have become active since, without a line about it that arrives.
static void an_old_report_of_a_role_is_none(void **state)
{
	static const char line[] = "group g standby 0 0";
	struct owned_group *g;

	(void)state;
	pair_up();
	desk_reload("pair = { member = 1; };"
		    "groups = ( { name = \"g\"; addresses = [ \"192.0.2.1\" ]; } );",
		"");
	g = group_find(&desk, "g");
	assert_non_null(g);
	assert_true(site_wait(other_connected, NULL));
	assert_true(site_wait(is_connected, NULL));
	member_lines_tick(&desk, desk_now);
	assert_true(channel_send(other, line, strlen(line)));
	assert_false(role_drain(&desk, "x", desk_now));
	assert_true(site_wait(is_standby, g));
	desk_forget();
	assert_true(role_drain(&desk, "g", desk_now));
	assert_string_equal(g->drain, role_drained);
	desk_expect_event("event=group_drained\tseverity=info\tgroup=g");
	desk_now += 1000;
	roles_tick(&desk, desk_now);
	assert_string_equal(g->drain, "the other gateway does not have it as standby");
	assert_in_range(member_silent_ms(&desk, g, desk_now), 1000, 1001);
	channel_free(other);
	member_stop(&desk);
}

static int start(void **state)
{
	return site_make(state) < 0 ? -1 : harness_start(state);
}

static int stop(void **state)
{
	return harness_stop(state) | site_remove(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		desk_test(events_follow_the_connection),
		desk_test(the_list_has_a_row_for_each),
		desk_test(an_old_report_of_a_role_is_none),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
