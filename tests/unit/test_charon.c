// SPDX-License-Identifier: BSD-3-Clause
// The plugin for charon: SAs and policies of peers that choose SPIs and selectors with bad intent,
// of peers that authenticate themselves again, and of a gateway that is started again.
// Requests to the gateway end here; lists, hosts and selectors are strongSwan's own.
#include "kernel.h"

#include <arpa/inet.h>
#include <encoding/payloads/delete_payload.h>
#include <fcntl.h>

#include "test.h"

static struct kernel *k;
static char changes[65536]; // since kernel_changed() was called last

bool kernel_change(struct kernel *kernel, const char *text)
{
	assert_ptr_equal(kernel, k);
	snprintf(changes, sizeof(changes), "%s", text);
	return true;
}

void kernel_unclaim(struct kernel *kernel)
{
}

void kernel_connection(char name[NAME_SIZE])
{
	strcpy(name, "road");
}

uint32_t kernel_peer(void)
{
	return 0x70;
}

void kernel_address(char text[ADDRESS_SIZE], host_t *host)
{
	snprintf(text, ADDRESS_SIZE, "address");
}

static json_t *known_sa; // the gateway's answer about one; NULL: it does not answer

json_t *gateway_sa(const char *instance, const char *name)
{
	return json_incref(known_sa);
}

double gateway_number(const json_t *object, const char *name)
{
	return json_number_value(json_object_get(object, name));
}

static char next_event[GATEWAY_EVENT_MAX];

int gateway_subscribe(const char *instance)
{
	return 0;
}

bool gateway_event(int fd, char event[GATEWAY_EVENT_MAX])
{
	strcpy(event, next_event);
	return event[0] != '\0';
}

bool gateway_event_has(const char *event, const char *name, const char *value)
{
	const char *text = strstr(event, name);

	return text != NULL && strncmp(text + strlen(name), value, strlen(value)) == 0;
}

void gateway_event_value(const char *event, const char *name, char *value, size_t size)
{
	const char *text = strstr(event, name);

	snprintf(value, size, "%s", text != NULL ? text + strlen(name) : "");
}

json_t *gateway_groups(const char *instance)
{
	return NULL;
}

static bool in_pair;

static bool has_ha(plugin_loader_t *this, plugin_feature_t feature)
{
	return in_pair;
}

const char *child_unknown(void)
{
	return NULL;
}

static void log_nothing(bus_t *this, debug_t group, level_t level, char *format, ...)
{
}

static unsigned int n_soft, n_hard;

static void note_expiry(
	kernel_interface_t *this, uint8_t protocol, uint32_t spi, host_t *dst, bool hard)
{
	n_soft += !hard;
	n_hard += hard;
}

static watcher_cb_t feed;

static void note_watch(
	watcher_t *this, int fd, watcher_event_t events, watcher_cb_t callback, void *data)
{
	feed = callback;
}

static job_t *last_job; // NULL: none was scheduled

static void note_job(scheduler_t *this, job_t *job, uint32_t s)
{
	DESTROY_IF(last_job);
	last_job = job;
}

static bool responder; // of the exchange that makes SAs

static linked_list_t *networks(const char *format, unsigned int n)
{
	linked_list_t *list = linked_list_create();
	char text[64];

	for (unsigned int i = 0; i < n; i++) {
		snprintf(text, sizeof(text), format, i);
		list->insert_last(list, traffic_selector_create_from_cidr(text, 0, 0, UINT16_MAX));
	}
	return list;
}

static void networks_free(linked_list_t *list)
{
	list->destroy_offset(list, offsetof(traffic_selector_t, destroy));
}

// An SA for pairs of that many networks, with an SPI that the peer chose.
static status_t add_many(
	const char *peer, uint16_t port, uint32_t spi, unsigned int n, bool inbound)
{
	lifetime_cfg_t none = {0};
	linked_list_t *local = networks("10.1.%u.0/24", n), *remote = networks("10.2.%u.0/24", n);
	host_t *src = host_create_from_string("192.0.2.1", 4500);
	host_t *dst = host_create_from_string((char *)peer, port);
	kernel_ipsec_sa_id_t id = {.src = src, .dst = dst, .spi = htonl(spi), .proto = IPPROTO_ESP};
	kernel_ipsec_add_sa_t sa = {.reqid = port,
		.mode = MODE_TUNNEL,
		.src_ts = local,
		.dst_ts = remote,
		.lifetime = &none,
		.enc_alg = ENCR_AES_GCM_ICV16,
		.enc_key = chunk_from_chars(
			1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 1, 2, 3, 4),
		.int_alg = AUTH_UNDEFINED,
		.initiator = !responder,
		.inbound = inbound};
	status_t status = sa_add(k, &id, &sa);

	networks_free(local);
	networks_free(remote);
	src->destroy(src);
	dst->destroy(dst);
	return status;
}

static status_t add(const char *peer, uint16_t port, uint32_t spi)
{
	return add_many(peer, port, spi, 1, false);
}

static status_t del(const char *peer, uint16_t port, uint32_t spi)
{
	host_t *dst = host_create_from_string((char *)peer, port);
	kernel_ipsec_sa_id_t id = {.dst = dst, .spi = htonl(spi), .proto = IPPROTO_ESP};
	status_t status = sa_del(k, &id);

	dst->destroy(dst);
	return status;
}

static status_t query(const char *peer, uint16_t port, uint32_t spi, uint64_t *packets)
{
	host_t *dst = host_create_from_string((char *)peer, port);
	kernel_ipsec_sa_id_t id = {.dst = dst, .spi = htonl(spi), .proto = IPPROTO_ESP};
	status_t status = sa_query(k, &id, NULL, packets, NULL);

	dst->destroy(dst);
	return status;
}

static int setup(void **state)
{
	k = calloc(1, sizeof(*k));
	k->sas = sas_create();
	k->policies = linked_list_create();
	k->groups = linked_list_create();
	return 0;
}

static int teardown(void **state)
{
	sas_forget(k);
	policies_forget(k);
	k->sas->destroy(k->sas);
	k->policies->destroy(k->policies);
	k->groups->destroy(k->groups);
	free(k);
	DESTROY_IF(last_job);
	last_job = NULL;
	return 0;
}

// Two peers behind one NAT, whose SPIs are the same.
static void test_same_spi_of_two(void **state)
{
	assert_int_equal(add("198.51.100.9", 1024, 0x1000), SUCCESS);
	assert_int_equal(add("198.51.100.9", 1025, 0x1000), SUCCESS);
	assert_non_null(strstr(changes, " peer_id = 0x70;"));
	assert_int_equal(del("198.51.100.9", 1024, 0x1000), SUCCESS);
	assert_string_equal(changes, "sa del ike.road.out.00001000\n");
	assert_int_equal(del("198.51.100.9", 1025, 0x1000), SUCCESS);
	assert_string_equal(changes, "sa del ike.road.out.00001000.2\n");
	assert_int_equal(k->groups->get_count(k->groups), 0);
}

// A peer that uses an SPI again: the objects of the gateway for it must not be forgotten.
static void test_same_spi_of_one(void **state)
{
	assert_int_equal(add("198.51.100.9", 1024, 0x1000), SUCCESS);
	assert_int_equal(add("198.51.100.9", 1024, 0x1000), FAILED);
	assert_int_equal(del("198.51.100.9", 1024, 0x1000), SUCCESS);
	assert_string_equal(changes, "sa del ike.road.out.00001000\n");
	assert_int_equal(del("198.51.100.9", 1024, 0x1000), NOT_FOUND);
	assert_int_equal(add("198.51.100.9", 1024, 0x1000), SUCCESS);
}

// Without an answer of the gateway the query fails: the SA may have carried packets.
static void test_query(void **state)
{
	uint64_t packets;

	assert_int_equal(add("198.51.100.9", 1024, 0x1000), SUCCESS);
	assert_int_equal(query("198.51.100.9", 1024, 0x1000, &packets), FAILED);
	known_sa = json_pack("{s:i}", "packets", 7);
	assert_int_equal(query("198.51.100.9", 1024, 0x1000, &packets), SUCCESS);
	assert_int_equal(packets, 7);
	assert_int_equal(query("198.51.100.9", 1024, 0x1001, &packets), NOT_FOUND);
	json_decref(known_sa);
	known_sa = NULL;
}

static void test_too_many_selectors(void **state)
{
	assert_int_equal(add_many("198.51.100.9", 1024, 0x1000, 22, false), SUCCESS);
	assert_int_equal(add_many("198.51.100.9", 1025, 0x1001, 23, false), NOT_SUPPORTED);
	assert_int_equal(add_many("198.51.100.9", 1026, 0x1002, 255, false), NOT_SUPPORTED);
	assert_int_equal(k->groups->get_count(k->groups), 1);
}

// Events that were not read in time may have been about any SA.
static void test_events_lost(void **state)
{
	static const char *const event[] = {
		"event=soft_expiry\tsa=ike.road.in.00001000", "event=lost\tlost=7"};

	k->mutex = mutex_create(MUTEX_TYPE_DEFAULT);
	events_start(k);
	n_soft = n_hard = 0;
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(add_many("192.0.2.1", 4500, 0x1000 + i, 1, true), SUCCESS);
		assert_int_equal(add("198.51.100.9", 4500, 0x2000 + i), SUCCESS);
	}
	for (unsigned int i = 0; i < 2; i++) {
		strcpy(next_event, event[i]);
		assert_true(feed(k, 0, WATCHER_READ));
		assert_int_equal(n_soft, i == 0 ? 1 : 4);
	}
	assert_int_equal(n_hard, 0);
	k->mutex->destroy(k->mutex);
}

// The gateway is started again: SAs end, but not at the peer if another gateway may use them; they
// are renewed instead. One that was added meanwhile stays.
static void test_gateway_lost(void **state)
{
	host_t *own = host_create_from_string("192.0.2.1", 4500);

	k->mutex = mutex_create(MUTEX_TYPE_DEFAULT);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(add_many("192.0.2.1", 4500, 0x1000 + i, 1, true), SUCCESS);
		n_soft = n_hard = 0;
		in_pair = i > 0;
		events_start(k);
		next_event[0] = '\0';
		assert_false(feed(k, open("/dev/null", O_RDONLY), WATCHER_READ));
		assert_int_equal(add_many("192.0.2.1", 4500, 0x2000 + i, 1, true), SUCCESS);
		events_start(k);
		assert_false(sa_find(k, 0x2000 + i, true, own)->renew);
		assert_int_equal(n_soft, 0);
		assert_int_equal(n_hard, in_pair ? 0 : 1);
		assert_int_equal(sa_find(k, 0x1000 + i, true, own)->renew, in_pair);
	}
	in_pair = false;
	own->destroy(own);
	k->mutex->destroy(k->mutex);
}

static host_t *other_end;

static host_t *peer_host(ike_sa_t *this)
{
	return other_end;
}

static uint32_t child_spi(child_sa_t *this, bool inbound)
{
	return htonl(inbound ? 0x3000 : 0x1000);
}

static enumerator_t *children(ike_sa_t *this)
{
	static child_sa_t child = {.get_spi = child_spi};

	return enumerator_create_single(&child, NULL);
}

static delete_payload_t *deleted;

static payload_t *deletion(message_t *this, payload_type_t type)
{
	return (payload_t *)deleted;
}

static exchange_type_t informational(message_t *this)
{
	return INFORMATIONAL;
}

static bool is_request(message_t *this)
{
	return true;
}

static void ike_sa_deleted(void)
{
	message_t message = {.get_exchange_type = informational,
		.get_request = is_request,
		.get_payload = deletion};
	ike_sa_t ike_sa = {.create_child_sa_enumerator = children, .get_other_host = peer_host};

	other_end = host_create_from_string("198.51.100.9", 1024);
	deleted = delete_payload_create(PLV2_DELETE, PROTO_IKE);
	reauth_message(k, &ike_sa, &message);
	deleted->destroy(deleted);
	other_end->destroy(other_end);
}

// An SA that the peer has made sends after a while, but not if the peer deletes it before: the next
// one sends then.
static void test_reauthenticated_twice(void **state)
{
	k->mutex = mutex_create(MUTEX_TYPE_DEFAULT);
	for (unsigned int i = 0; i < 2; i++) {
		responder = true;
		assert_int_equal(add("198.51.100.9", 1024, 0x1000), SUCCESS);
		responder = false;
		assert_non_null(strstr(changes, " late = true;"));
		if (i == 1) {
			ike_sa_deleted();
			assert_string_equal(
				changes, "sa set ike.road.out.00001000 { late = true; }\n");
		}
		changes[0] = '\0';
		assert_int_equal(last_job->execute(last_job).type, JOB_REQUEUE_TYPE_NONE);
		assert_string_equal(
			changes, i == 0 ? "sa set ike.road.out.00001000 { late = false; }\n" : "");
		assert_int_equal(del("198.51.100.9", 1024, 0x1000), SUCCESS);
	}
	k->mutex->destroy(k->mutex);
}

static status_t policy_make(uint32_t reqid, uint32_t net, bool delete)
{
	host_t *host = host_create_from_string("192.0.2.1", 4500);
	ipsec_sa_cfg_t sa = {.mode = MODE_TUNNEL, .reqid = reqid};
	char text[64];

	snprintf(text, sizeof(text), "10.%u.%u.0/24", net >> 8, net & 0xff);

	traffic_selector_t *ts = traffic_selector_create_from_cidr(text, 0, 0, UINT16_MAX);
	kernel_ipsec_policy_id_t id = {.dir = POLICY_OUT, .src_ts = ts, .dst_ts = ts};
	kernel_ipsec_manage_policy_t data = {
		.type = POLICY_IPSEC, .prio = 1, .src = host, .dst = host, .sa = &sa};
	status_t status = delete ? policy_del(k, &id, &data) : policy_add(k, &id, &data);

	ts->destroy(ts);
	host->destroy(host);
	return status;
}

static void expect_named(const char *name)
{
	char start[64];

	snprintf(start, sizeof(start), "policy add { name = \"%s\";", name);
	assert_memory_equal(changes, start, strlen(start));
}

// A number that was given up is used again; the time for one policy grows with their number alone.
static void test_names(void **state)
{
	for (uint32_t net = 0; net < 4000; net++)
		assert_int_equal(policy_make(7, net, false), SUCCESS);
	expect_named("ike.road.7.4000");
	assert_int_equal(policy_make(70, 0, false), SUCCESS);
	expect_named("ike.road.70");
	assert_non_null(strstr(changes, " peer_id = 0x70;"));
	assert_int_equal(policy_make(7, 2, true), SUCCESS);
	assert_string_equal(changes, "policy del ike.road.7.3\n");
	assert_int_equal(policy_make(7, 4000, false), SUCCESS);
	expect_named("ike.road.7.3");
	assert_int_equal(policy_make(7, 0, true), SUCCESS);
	assert_int_equal(policy_make(7, 4001, false), SUCCESS);
	expect_named("ike.road.7");
}

// The gateway holds packets with an SPI that charon has given out, until it has the SA or none is
// to come.
static void test_spi_awaited(void **state)
{
	host_t *peer = host_create_from_string("192.0.2.2", 4500);
	host_t *own = host_create_from_string("192.0.2.1", 4500);
	kernel_ipsec_sa_id_t id = {.src = peer, .dst = own, .proto = IPPROTO_ESP};
	char expected[64];

	assert_int_equal(sa_get_spi(k, peer, own, &id.spi), SUCCESS);
	snprintf(expected, sizeof(expected), "spi add 0x%08x\n", ntohl(id.spi));
	assert_string_equal(changes, expected);
	assert_int_equal(sa_del(k, &id), SUCCESS);
	snprintf(expected, sizeof(expected), "spi del 0x%08x\n", ntohl(id.spi));
	assert_string_equal(changes, expected);
	peer->destroy(peer);
	own->destroy(own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_same_spi_of_two, setup, teardown),
		cmocka_unit_test_setup_teardown(test_same_spi_of_one, setup, teardown),
		cmocka_unit_test_setup_teardown(test_query, setup, teardown),
		cmocka_unit_test_setup_teardown(test_too_many_selectors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_events_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gateway_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reauthenticated_twice, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_spi_awaited, setup, teardown),
	};

	charon = &(daemon_t){.bus = &(bus_t){.log = log_nothing},
		.kernel = &(kernel_interface_t){.expire = note_expiry}};
	lib = &(library_t){.watcher = &(watcher_t){.add = note_watch},
		.scheduler = &(scheduler_t){.schedule_job = note_job},
		.plugins = &(plugin_loader_t){.has_feature = has_ha}};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
