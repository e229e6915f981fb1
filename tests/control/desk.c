// SPDX-License-Identifier: BSD-3-Clause
#include "desk.h"

#include "configure.h"
#include "control_parts.h"
#include "event_log.h"
#include "events.h"
#include "log.h"
#include "sas.h"

static const char form[] =
	"flows = { max = 1024; }; pmtu = { learn = true; };\n"
	"ports = (\n"
	"  { name = \"lan\"; device = \"net_null0\";\n"
	"    addresses = [ \"10.1.0.1/24\", \"2001:db8:1::1/64\" ]; },\n"
	"  { name = \"wan\"; members = [ \"net_tap1\", \"net_tap2\" ];\n"
	"    addresses = [ \"192.0.2.1/24\", \"2001:db8:f::1/64\" ]; } );\n"
	"routes = (\n"
	"  { to = \"0.0.0.0/0\"; via = \"192.0.2.254\"; },\n"
	"  { to = \"10.2.0.0/24\"; via = \"192.0.2.2\"; },\n"
	"  { to = \"2001:db8:2::/64\"; via = \"2001:db8:f::2\"; }%s );\n"
	"neighbours = (\n"
	"  { address = \"192.0.2.2\"; mac = \"02:00:00:00:02:01\"; },\n"
	"  { address = \"2001:db8:f::2\"; mac = \"02:00:00:00:02:03\"; },\n"
	"  { address = \"192.0.2.254\"; mac = \"02:00:00:00:02:02\"; } );\n"
	"sas = (\n"
	"  { name = \"out-6\"; direction = \"out\"; spi = \"0x1001\"; cipher = \"aes-128-gcm\";\n"
	"    local = \"2001:db8:f::1\"; remote = \"2001:db8:f::2\";\n"
	"    cipher_key = \"000102030405060708090a0b0c0d0e0fa0a1a2a1\"; },\n"
	"  { name = \"in-6\"; direction = \"in\"; spi = \"0x1002\"; cipher = \"aes-128-gcm\";\n"
	"    local = \"2001:db8:f::1\"; remote = \"2001:db8:f::2\";\n"
	"    cipher_key = \"000102030405060708090a0b0c0d0e0fa0a1a2a2\"; },\n"
	"  { name = \"out-4\"; direction = \"out\"; spi = \"0x1003\"; cipher = \"aes-128-gcm\";\n"
	"    local = \"192.0.2.1\"; remote = \"192.0.2.2\"; %s\n"
	"    cipher_key = \"000102030405060708090a0b0c0d0e0fa0a1a2a3\"; },\n"
	"  { name = \"in-4\"; direction = \"in\"; spi = \"0x1004\"; cipher = \"aes-128-gcm\";\n"
	"    local = \"192.0.2.1\"; remote = \"192.0.2.2\";\n"
	"    cipher_key = \"000102030405060708090a0b0c0d0e0fa0a1a2a4\"; },\n"
	"  { name = \"out-nat\"; direction = \"out\"; spi = \"0x1005\"; cipher = \"aes-128-gcm\";\n"
	"    local = \"192.0.2.1\"; remote = \"any\"; udp = { keepalive = 5; follow = true; };\n"
	"    cipher_key = \"000102030405060708090a0b0c0d0e0fa0a1a2a5\"; },\n"
	"  { name = \"in-nat\"; direction = \"in\"; spi = \"0x1006\"; cipher = \"aes-128-gcm\";\n"
	"    local = \"192.0.2.1\"; remote = \"any\"; udp = { };\n"
	"    cipher_key = \"000102030405060708090a0b0c0d0e0fa0a1a2a6\"; } );\n"
	"policies = (\n"
	"  { name = \"six\"; local = \"2001:db8:1::/64\"; remote = \"2001:db8:2::/64\";\n"
	"    action = \"protect\"; out = \"out-6\"; in = \"in-6\";\n"
	"    probe = { address = \"2001:db8:2::1\"; interval = 5; }; },\n"
	"  { name = \"four\"; local = \"10.1.0.0/24\"; remote = \"10.2.0.0/24\";\n"
	"    action = \"protect\"; out = \"out-4\"; in = \"in-4\"; },\n"
	"  { name = \"nat\"; local = \"10.1.0.0/24\"; remote = \"10.3.0.0/24\";\n"
	"    action = \"protect\"; out = \"out-nat\"; in = \"in-nat\"; } );\n"
	"%s\n";

const char *desk_routes = "";
struct control desk;
uint64_t desk_now, desk_boot;
bool desk_link[3], desk_link_told[3];
uint32_t desk_active[3];
struct counters desk_counters;
uint64_t desk_heartbeat;
unsigned int desk_watchdog;
int desk_collector;
unsigned int desk_messages;
char desk_announced[1024];
unsigned int desk_announcements;
void (*desk_at_announcement)(void);
struct frame desk_sent[64];
unsigned int desk_n_sent;

static uint64_t event_position;
static char lines[16384];

void __wrap_log_line(enum log_level level, const char *fmt, ...);

void __wrap_log_line(enum log_level level, const char *fmt, ...)
{
	size_t len = strlen(lines);
	va_list ap;

	(void)level;
	va_start(ap, fmt);
	vsnprintf(lines + len, sizeof(lines) - len, fmt, ap);
	va_end(ap);
	strncat(lines, "\n", sizeof(lines) - strlen(lines) - 1);
}

static bool io_send(void *arg, uint16_t port, struct rte_mbuf *m)
{
	struct frame *f = &desk_sent[desk_n_sent++];

	assert_ptr_equal(arg, &desk);
	assert_in_range(desk_n_sent, 1, COUNT_OF(desk_sent));
	*f = (struct frame){.port = port, .len = m->data_len};
	memcpy(f->b, rte_pktmbuf_mtod(m, void *), f->len);
	rte_pktmbuf_free(m);
	return true;
}

static void io_listen(void *arg, uint16_t port, const struct ip_addr group[], unsigned int n)
{
	(void)arg, (void)port, (void)group;
	assert_in_range(n, 1, LISTENER_GROUPS_MAX);
}

static bool io_has_link(void *arg, uint16_t port)
{
	(void)arg;
	return desk_link[port];
}

static uint32_t io_active(void *arg, uint16_t port)
{
	(void)arg;
	return desk_active[port];
}

static void io_link(void *arg, uint16_t port, bool up)
{
	(void)arg;
	desk_link_told[port] = up;
}

static struct counters io_counters(void *arg)
{
	(void)arg;
	return desk_counters;
}

static uint64_t io_now_ms(void)
{
	return desk_now;
}

static uint64_t io_boot_ms(void)
{
	return desk_boot;
}

static uint64_t io_heartbeat(void *arg, unsigned int worker)
{
	(void)arg;
	assert_int_equal(worker, 0);
	return desk_heartbeat;
}

static struct control_stall io_stall(void *arg, unsigned int worker)
{
	(void)arg, (void)worker;
	return (struct control_stall){.place = "idle", .state = "S", .thread = 7, .cpu = 3};
}

static void io_watchdog(void *arg)
{
	(void)arg;
	desk_watchdog++;
}

static int io_export_send(
	void *arg, const struct ip_addr *to, uint16_t port, const void *message, size_t len)
{
	(void)arg, (void)message;
	assert_int_equal(ip_addr_v4(to), RTE_BE32(RTE_IPV4(127, 0, 0, 1)));
	assert_int_equal(port, 4739);
	assert_in_range(len, 17, 1232);
	desk_messages++;
	return desk_collector;
}

static void io_announce(void *arg, const struct ip_prefix to[], unsigned int n)
{
	char text[IP_PREFIX_STRLEN];

	(void)arg;
	desk_announced[0] = '\0';
	for (unsigned int i = 0; i < n; i++)
		snprintf(desk_announced + strlen(desk_announced),
			sizeof(desk_announced) - strlen(desk_announced), "%s\n",
			ip_prefix_format(text, &to[i]));
	desk_announcements++;
	if (desk_at_announcement != NULL)
		desk_at_announcement();
}

static const struct control_io io = {io_send, io_listen, io_has_link, io_active, io_link,
	io_counters, io_now_ms, io_boot_ms, io_heartbeat, io_stall, io_watchdog, NULL, NULL,
	io_export_send, io_announce};

void desk_conf_write(FILE *f, const char *more, const char *sa)
{
	fprintf(f, form, desk_routes, sa, more);
}

struct conf *desk_conf(const char *more, const char *sa)
{
	char text[8192];
	struct conf *conf;

	snprintf(text, sizeof(text), form, desk_routes, sa, more);
	conf = harness_conf(text, strlen(text), stderr);
	assert_non_null(conf);
	return conf;
}

int desk_begin(void **state)
{
	(void)state;
	desk_now += 100000; // the log of a test before does not limit that of this one
	desk_link[LAN] = desk_link[WAN] = true;
	desk_link_told[LAN] = desk_link_told[WAN] = false;
	desk_active[LAN] = desk_active[WAN] = 0;
	desk_announced[0] = '\0';
	desk_announcements = 0;
	desk_at_announcement = NULL;
	desk_counters = (struct counters){0};
	desk = (struct control){.io = &io,
		.io_arg = &desk,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.pool = harness_pool};
	desk.conf = desk_conf("", "");
	for (uint16_t i = 0; i < 2; i++)
		memcpy(&desk.ports[i].mac, mac_of_port(i), sizeof(desk.ports[i].mac));
	control_parts_start(&desk);
	desk_forget();
	return 0;
}

int desk_end(void **state)
{
	(void)state;
	control_parts_stop(&desk);
	conf_free(desk.conf);
	return rte_mempool_in_use_count(harness_pool) == 0 ? 0 : -1;
}

void desk_reload(const char *more, const char *sa)
{
	desk_replace(desk_conf(more, sa));
}

void desk_replace(struct conf *conf)
{
	struct conf *old = desk.conf;

	// The daemon waits for this before it loads another configuration.
	if (desk.retired != NULL) {
		assert_true(configure_grace_over(&desk));
		configure_retire(&desk);
	}
	assert_int_equal(
		configure_replace(&desk, conf, control_parts_snapshot(&desk, conf), desk_now), 0);
	conf_free(old);
}

void desk_forget(void)
{
	desk_n_sent = 0;
	event_position = event_log_end();
	lines[0] = '\0';
}

void desk_wait(unsigned int ms)
{
	for (unsigned int passed = 0; passed < ms; passed += 100) {
		desk_now += 100;
		events_tick(&desk, desk_now);
	}
}

void desk_worker_begins(void)
{
	rte_rcu_qsbr_thread_register(desk.qsbr, 0);
	rte_rcu_qsbr_thread_online(desk.qsbr, 0);
}

void desk_worker_passes(void)
{
	rte_rcu_qsbr_quiescent(desk.qsbr, 0);
}

void desk_event(struct event e)
{
	bool by_number = e.kind == EVENT_RULE || e.kind == EVENT_SA_NEEDED;

	e.generation = by_number ? desk_flow_generation() : desk_generation();
	event_handle(&desk, &e, desk_now);
}

void desk_expect_event(const char *event)
{
	char line[EVENT_LINE_MAX];

	assert_true(event_log_read(&event_position, line));
	assert_string_equal(strchr(line, '\t') + 1, event);
}

void desk_expect_no_event(void)
{
	char line[EVENT_LINE_MAX] = "";

	event_log_read(&event_position, line);
	assert_string_equal(line, "");
}

void desk_expect_log(const char *part)
{
	if (strstr(lines, part) == NULL)
		fail_msg("no \"%s\" in the log:\n%s", part, lines);
}

void desk_expect_no_log(void)
{
	assert_string_equal(lines, "");
}

struct sa_out *desk_sa_out(const char *name)
{
	return running_sa_out(desk.snapshot, name);
}

struct sa_in *desk_sa_in(const char *name)
{
	return running_sa_in(desk.snapshot, name);
}

struct sa_per_worker *desk_sa_counted(const char *name)
{
	return sas_counted(running_sa(desk.snapshot, name), 0);
}

const struct tunnel *desk_tunnel(const char *policy)
{
	uint32_t place = spd_place(desk.snapshot->spd, running_policy(desk.snapshot, policy));

	for (unsigned int i = 0; i < desk.tunnels.n; i++)
		if (desk.tunnels.item[i].policy == place)
			return &desk.tunnels.item[i];
	fail_msg("no tunnel of %s", policy);
	return NULL;
}

struct sa_in *desk_sa_by_spi(uint32_t spi)
{
	return snapshot_find_in(desk.snapshot, rte_cpu_to_be_32(spi));
}

const struct nexthop *desk_route(const struct ip_addr *to)
{
	return running_route(desk.snapshot, to);
}

uint32_t desk_generation(void)
{
	return desk.snapshot->generation;
}

void desk_generation_set(uint32_t generation)
{
	desk.snapshot->generation = generation;
}

uint32_t desk_flow_generation(void)
{
	return desk.snapshot->flow_generation;
}

void desk_loading(bool loading)
{
	desk.loading = loading;
}

bool desk_waits(void)
{
	return desk.retired_memory != NULL;
}
