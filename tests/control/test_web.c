// SPDX-License-Identifier: BSD-3-Clause
// Documents of the page: names cannot end a string or an element, requests of operators stay
// private, rates come from the history, and lists of tunnels have pages.
#include "collect.h"
#include "desk.h"
#include "web_json.h"
#include "web_text.h"

static struct web_history *history;
static struct device_counts counted; // of the only port

static bool collect_port(void *view, const struct control *c, unsigned int i)
{
	struct ports_view *v = view;

	*v = (struct ports_view){.side = "protected",
		.link = "up",
		.conf = &c->conf->ports[i],
		.port = &c->snapshot->port[i],
		.dad = c->dad,
		.number = (uint16_t)i,
		.counts = counted};
	strcpy(v->name, "lan");
	return i == 0;
}

static const struct view_list lists[] = {
	{"ports", "", sizeof(struct ports_view), collect_port},
	{"groups", "", sizeof(struct groups_view), collect_groups},
	{"sas", "", sizeof(struct sas_view), collect_sas},
};

static int begin(void **state)
{
	counted = (struct device_counts){0};
	history = calloc(1, sizeof(*history));
	if (history == NULL || desk_begin(state) != 0)
		return -1;
	desk.version = "1.0";
	return 0;
}

static int end(void **state)
{
	free(history);
	return desk_end(state);
}

// Lets time pass as the control thread does, with as much traffic in every sample.
static void samples_pass(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		web_history_tick(history, &desk, &lists[0], desk_now);
		desk_now += WEB_SAMPLE_MS;
		counted.rx_bytes += 1000;
		desk.counters.drops[DROP_TTL] += 50;
	}
}

static char *status(void)
{
	size_t len;
	char *text = web_status_new(&desk, lists, COUNT_OF(lists), history, &len);

	assert_non_null(text);
	assert_int_equal(strlen(text), len);
	return text;
}

static void expect_status(const char *part, bool wanted)
{
	char *text = status();

	if ((strstr(text, part) != NULL) != wanted)
		fail_msg("%s is %s in %s", part, wanted ? "missing" : "present", text);
	free(text);
}

static void test_strings(void **state)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	assert_non_null(out);
	web_name(out, "</script><b>&\"\\\n\x7f");
	fclose(out);
	assert_string_equal(text,
		"\"\\u003c/script\\u003e\\u003cb\\u003e\\u0026\\u0022\\u005c\\u000a\\u007f\":");
	free(text);
}

static void test_rates(void **state)
{
	(void)state;
	expect_status("\"rates\":{\"received\":[],\"sent\":[]},\"drop_rates\":{}", true);
	samples_pass(3);
	expect_status("\"lan\":{\"received\":[1600,1600],\"sent\":[0,0]}", true);
	expect_status("\"drop_rates\":{\"ttl\":[10,10]}", true);
	counted.rx_bytes = 0; // of a device that returned
	samples_pass(1);
	expect_status("\"lan\":{\"received\":[1600,1600,0],\"sent\":[0,0,0]}", true);
}

// The history has its size after an hour as well.
static void test_bound(void **state)
{
	char *text, *from, *until;
	unsigned int numbers = 1;

	(void)state;
	samples_pass(720);
	text = status();
	from = strstr(text, "\"ttl\":[");
	assert_non_null(from);
	until = strchr(from, ']');
	for (; from < until; from++)
		numbers += *from == ',';
	assert_int_equal(numbers, WEB_SAMPLES - 1);
	free(text);
}

// A sample is taken every 5 seconds, however often the control thread calls.
static void test_interval(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 100; i++, desk_now += 100)
		web_history_tick(history, &desk, &lists[0], desk_now);
	assert_int_equal(history->n, 2);
}

static void test_lists(void **state)
{
	(void)state;
	desk.counters.drops[DROP_TTL] = 3;
	expect_status("\"ports\":[{\"name\":\"lan\"", true);
	expect_status("\"addresses\":[\"10.1.0.1/24\"", true);
	expect_status("\"groups\":[]", true);
	expect_status("\"packets\":3,\"name\":\"ttl\",\"help\":\"", true);
	expect_status("\"name\":\"replay\",", false);
	expect_status("\"sas\":", false); // may be thousands
}

static void test_events(void **state)
{
	(void)state;
	event_post(RELOAD_REFUSED, EVENT_TEXT("secret reason"));
	event_post(REQUEST_DONE, EVENT_TEXT("secret request"), EVENT_NUMBER(1), EVENT_NUMBER(0),
		EVENT_NUMBER(1));
	event_post(NAT_PORTS, EVENT_TEXT("masquerade"), EVENT_TEXT("secret source"),
		EVENT_TEXT("secret destination"), EVENT_TEXT("tcp"), EVENT_NUMBER(80));
	event_post(LINK_UP, EVENT_TEXT("<img src=x onerror=alert(1)>"));
	samples_pass(1);
	expect_status("\"event\":\"link_up\",\"severity\":\"info\",\"port\":\"\\u003cimg src=x "
		      "onerror=alert(1)\\u003e\"}",
		true);
	expect_status("\"event\":\"reload_refused\",\"severity\":\"error\"}", true);
	expect_status("\"event\":\"request_done\",\"severity\":\"info\"}", true);
	expect_status("\"event\":\"nat_ports\",\"severity\":\"warning\"}", true);
	expect_status("secret", false);
}

static void expect_tunnels(uint32_t from, const char *filter, const char *part)
{
	size_t len;
	char *text = web_tunnels_new(&desk, from, filter, &len);

	assert_non_null(text);
	if (strstr(text, part) == NULL)
		fail_msg("no %s in %s", part, text);
	free(text);
}

static void test_tunnels(void **state)
{
	(void)state;
	expect_tunnels(0, "", "{\"tunnels\":[{\"tunnel\":\"");
	expect_tunnels(0, "peer=192.0.2.2", "\"peer\":\"192.0.2.2\"");
	expect_tunnels(0, "peer=198.51.100.9", "{\"tunnels\":[],\"next\":null}");
	expect_tunnels(1000, "", "{\"tunnels\":[],\"next\":null}");
	expect_tunnels(0, "nothing=1", "{\"error\":\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strings),
		cmocka_unit_test_setup_teardown(test_rates, begin, end),
		cmocka_unit_test_setup_teardown(test_bound, begin, end),
		cmocka_unit_test_setup_teardown(test_interval, begin, end),
		cmocka_unit_test_setup_teardown(test_lists, begin, end),
		cmocka_unit_test_setup_teardown(test_events, begin, end),
		cmocka_unit_test_setup_teardown(test_tunnels, begin, end),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
