// SPDX-License-Identifier: BSD-3-Clause
// Requests to etcd and its answers, as version 3.4.23 has written them, and damaged ones.
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "base64.h"
#include "etcd.h"
#include "etcd_answer.h"
#include "etcd_text.h"
#include "test.h"

#define HEADER                                                                                     \
	"\"header\":{\"cluster_id\":\"14841639068965178418\",\"member_id\":"                       \
	"\"10276657743932975437\","                                                                \
	"\"revision\":\"7\",\"raft_term\":\"2\"}"

static void octets_as_text(void **state)
{
	static const struct {
		const char *octets, *text;
	} known[] = {{"", ""}, {"f", "Zg=="}, {"foo", "Zm9v"}, // RFC 4648 10
		{"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}};

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(known); i++) {
		char *text = base64_write(known[i].octets, strlen(known[i].octets));
		size_t len;
		char *octets = base64_read(known[i].text, &len);

		assert_string_equal(text, known[i].text);
		assert_string_equal(octets, known[i].octets);
		assert_int_equal(len, strlen(known[i].octets));
		free(text);
		free(octets);
	}
}

static void texts_that_are_no_octets(void **state)
{
	static const char *const bad[] = {
		"Z", "Zg", "Zg=", "Z===", "Zm9v=", "Zm9v====", "Z!==", "=Zg="};
	size_t len;

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(bad); i++) {
		errno = 0;
		assert_null(base64_read(bad[i], &len));
		assert_int_equal(errno, EBADMSG);
	}
}

// The value at a place of a request, such as "compare 0 mod_revision"; coded: of octets.
static void check_at(const char *request, const char *path, bool coded, const char *expected)
{
	json_t *root = json_loads(request, 0, NULL);
	const json_t *at = root;
	char word[32], *octets;
	int n;
	size_t len;

	for (; sscanf(path, "%31s%n", word, &n) == 1; path += n)
		at = json_is_array(at) ? json_array_get(at, (size_t)atoi(word))
				       : json_object_get(at, word);
	assert_non_null(json_string_value(at));
	octets = coded ? base64_read(json_string_value(at), &len) : strdup(json_string_value(at));
	assert_string_equal(octets, expected);
	free(octets);
	json_decref(root);
}

static void a_key_is_replaced_by_its_revision(void **state)
{
	char *text = etcd_replace_text("/c/groups/g", "new\n", 41, "b2xkCg==", "/c/members/m", 99);

	(void)state;
	check_at(text, "compare 0 key", true, "/c/groups/g");
	check_at(text, "compare 0 target", false, "MOD");
	check_at(text, "compare 0 mod_revision", false, "41");
	check_at(text, "compare 1 key", true, "/c/groups/g");
	check_at(text, "compare 1 target", false, "VALUE");
	check_at(text, "compare 1 value", false, "b2xkCg==");
	check_at(text, "compare 2 key", true, "/c/members/m");
	check_at(text, "compare 2 target", false, "LEASE");
	check_at(text, "compare 2 lease", false, "99");
	check_at(text, "success 0 requestPut value", true, "new\n");
	check_at(text, "success 1 requestRange key", true, "/c/groups/g");
	check_at(text, "failure 0 requestRange key", true, "/c/groups/g");
	free(text);
}

static void a_key_that_does_not_exist_is_made(void **state)
{
	char *text = etcd_replace_text("/c/groups/g", "new\n", 0, NULL, "/c/members/m", 99);

	(void)state;
	check_at(text, "compare 0 mod_revision", false, "0");
	check_at(text, "compare 1 target", false, "LEASE");
	free(text);
}

static void a_key_is_made_once(void **state)
{
	char *text = etcd_make_text("/c/members/m", "v", 99);

	(void)state;
	check_at(text, "compare 0 target", false, "CREATE");
	check_at(text, "compare 0 create_revision", false, "0");
	check_at(text, "success 0 requestPut lease", false, "99");
	free(text);
}

static void keys_of_a_prefix_are_read(void **state)
{
	char *text = etcd_read_text("/c/members/", 5, "/c/groups/", 8);

	(void)state;
	check_at(text, "success 0 requestRange range_end", true, "/c/members0");
	check_at(text, "success 0 requestRange min_mod_revision", false, "5");
	check_at(text, "success 1 requestRange key", true, "/c/groups/");
	check_at(text, "success 1 requestRange min_mod_revision", false, "8");
	free(text);
}

static void the_revision_alone_is_asked_for(void **state)
{
	char *text = etcd_poll_text("/c/members/m");

	(void)state;
	check_at(text, "success 0 requestRange key", true, "/c/members/m");
	assert_non_null(strstr(text, "\"count_only\":true"));
	assert_null(strstr(text, "range_end"));
	free(text);
}

static void answers_are_read(void **state)
{
	struct etcd_result r;

	(void)state;
	assert_int_equal(
		etcd_result_read(&r,
			"{" HEADER ",\"succeeded\":true,\"responses\":[{\"response_range\":{" HEADER
			",\"kvs\":[{\"key\":\"L2MvYQ==\",\"create_revision\":\"3\",\"mod_"
			"revision\":\"6\","
			"\"version\":\"2\",\"value\":\"b25lCg==\",\"lease\":\"12\"}],\"count\":"
			"\"1\"}},"
			"{\"response_range\":{" HEADER ",\"count\":\"4\"}}]}"),
		0);
	assert_true(r.succeeded);
	assert_int_equal(r.revision, 7);
	assert_int_equal(r.n_keys, 1);
	assert_string_equal(r.keys[0].name, "/c/a");
	assert_string_equal(r.keys[0].value, "one\n");
	assert_string_equal(r.keys[0].coded, "b25lCg==");
	assert_int_equal(r.keys[0].revision, 6);
	assert_int_equal(r.keys[0].created, 3);
	assert_int_equal(r.keys[0].lease, 12);
	assert_int_equal(r.keys[0].range, 0);
	assert_int_equal(r.counts[0], 1);
	assert_int_equal(r.counts[1], 4);
	etcd_result_free(&r);
	assert_int_equal(etcd_result_read(&r, "{" HEADER "}"), 0);
	assert_false(r.succeeded);
	etcd_result_free(&r);
}

static void damaged_answers_are_refused(void **state)
{
	static const char *const bad[] = {"", "{}", "[1]", "{" HEADER,
		"{\"header\":{\"revision\":7}}", "{\"header\":{\"revision\":\"-7\"}}",
		"{\"header\":{\"revision\":\"7x\"}}",
		"{\"header\":{\"revision\":\"99999999999999999999\"}}",
		"{" HEADER ",\"responses\":[{\"response_range\":{\"kvs\":[{\"key\":\"!\"}]}}]}",
		"{" HEADER ",\"responses\":[{\"response_range\":{\"kvs\":[{\"key\":1}]}}]}",
		"{" HEADER ",\"responses\":[{\"response_range\":{}},{\"response_range\":{}},"
		"{\"response_range\":{}}]}"};
	struct etcd_result r;

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(bad); i++) {
		assert_int_equal(etcd_result_read(&r, bad[i]), -EBADMSG);
		etcd_result_free(&r);
	}
}

// Octets of a stranger make no other key unreadable.
static void a_value_that_is_no_text_is_empty(void **state)
{
	struct etcd_result r;

	(void)state;
	assert_int_equal(
		etcd_result_read(&r, "{" HEADER ",\"responses\":[{\"response_range\":{\"kvs\":["
				     "{\"key\":\"L2MvYQ==\",\"value\":\"b25lAA==\"},"
				     "{\"key\":\"AAEC\",\"value\":\"b25lCg==\"}]}}]}"),
		0);
	assert_int_equal(r.n_keys, 2);
	assert_string_equal(r.keys[0].name, "/c/a");
	assert_string_equal(r.keys[0].value, "");
	assert_string_equal(r.keys[1].name, "");
	assert_string_equal(r.keys[1].value, "one\n");
	etcd_result_free(&r);
}

// A reload frees the texts of the configuration.
static void parameters_are_copied(void **state)
{
	char endpoint[] = "http://127.0.0.1:1", ca[] = "nonsense", error[ETCD_ERROR_MAX], *text;
	char *const endpoints[] = {endpoint};
	struct etcd *e =
		etcd_new(&(struct etcd_params){.endpoints = endpoints, .n_endpoints = 1, .ca = ca});

	(void)state;
	assert_non_null(e);
	memset(endpoint, 'x', strlen(endpoint));
	memset(ca, 'x', strlen(ca));
	assert_int_equal(etcd_start(e, NULL, NULL), 0);
	etcd_ask(e, ETCD_LEASE_GRANT, strdup("{}"));
	while (!etcd_take(e, &text, error))
		usleep(1000);
	assert_null(text);
	assert_memory_equal(error, "http://127.0.0.1:1: ", strlen("http://127.0.0.1:1: "));
	etcd_free(e);
}

static void leases_are_read(void **state)
{
	int64_t lease, seconds;

	(void)state;
	assert_int_equal(
		etcd_lease_read(&lease, &seconds, "{" HEADER ",\"ID\":\"7587862\",\"TTL\":\"5\"}"),
		0);
	assert_int_equal(lease, 7587862);
	assert_int_equal(seconds, 5);
	assert_int_equal(etcd_lease_read(&lease, &seconds,
				 "{\"result\":{" HEADER ",\"ID\":\"7587862\",\"TTL\":\"4\"}}\n"),
		0);
	assert_int_equal(seconds, 4);
	assert_int_equal(
		etcd_lease_read(&lease, &seconds, "{\"result\":{" HEADER ",\"ID\":\"7587862\"}}"),
		0);
	assert_int_equal(seconds, 0); // it has ended
	assert_int_equal(etcd_lease_read(&lease, &seconds, "{" HEADER "}"), -EBADMSG);
	assert_int_equal(etcd_lease_read(&lease, &seconds, "no"), -EBADMSG);
}

static void refusals_are_read(void **state)
{
	char why[64];

	(void)state;
	assert_true(etcd_refusal_read(
		"{\"error\":\"etcdserver: mvcc: database space exceeded\",\"code\":8}", why,
		sizeof(why)));
	assert_string_equal(why, "etcdserver: mvcc: database space exceeded");
	assert_true(etcd_refusal_read(
		"{\"error\":{\"grpc_code\":14,\"message\":\"no leader\"}}", why, sizeof(why)));
	assert_string_equal(why, "no leader");
	assert_false(etcd_refusal_read("Not Found", why, sizeof(why)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(octets_as_text),
		cmocka_unit_test(texts_that_are_no_octets),
		cmocka_unit_test(a_key_is_replaced_by_its_revision),
		cmocka_unit_test(a_key_that_does_not_exist_is_made),
		cmocka_unit_test(a_key_is_made_once),
		cmocka_unit_test(keys_of_a_prefix_are_read),
		cmocka_unit_test(the_revision_alone_is_asked_for),
		cmocka_unit_test(answers_are_read),
		cmocka_unit_test(damaged_answers_are_refused),
		cmocka_unit_test(a_value_that_is_no_text_is_empty),
		cmocka_unit_test(parameters_are_copied),
		cmocka_unit_test(leases_are_read),
		cmocka_unit_test(refusals_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
