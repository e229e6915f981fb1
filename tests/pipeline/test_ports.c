// SPDX-License-Identifier: BSD-3-Clause
// Ports that a configuration adds to the running one and removes from it. Proves that frames of a
// removed port that are in flight are dropped, and that its flows end.
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"
#include "test.h"

enum { LAN, VLAN, OTHER };

// As many workers as the harness has.
#define BEGIN "cpus = { workers = [ 1, 1 ]; };\nflows = { max = 1024; };\nports = ( "
#define LAN_PORT                                                                                   \
	"{ name = \"lan\"; device = \"net_null0\"; side = \"protected\"; "                         \
	"addresses = [ \"10.1.0.1/24\" ]; }"
#define VLAN_PORT(name, id)                                                                        \
	"{ name = \"" name "\"; parent = \"lan\"; vlan = " id "; side = \"protected\"; "           \
	"addresses = [ \"10." id ".0.1/24\" ]; }"
#define NEIGHBOURS " );\nneighbours = ( { address = \"10.1.0.5\"; mac = \"02:00:00:00:02:00\"; }"
#define END        " );\npolicies = ( { name = \"all\"; action = \"bypass\"; } );\n"
#define WITH                                                                                       \
	BEGIN LAN_PORT ", " VLAN_PORT("v30", "30") ", " VLAN_PORT("v40", "40") NEIGHBOURS          \
		", { address = \"10.30.0.5\"; mac = \"02:00:00:00:02:01\"; }"                      \
		", { address = \"10.40.0.5\"; mac = \"02:00:00:00:02:02\"; }" END
#define WITHOUT                                                                                    \
	BEGIN VLAN_PORT(                                                                           \
		"v40", "40") ", " LAN_PORT NEIGHBOURS                                              \
			     ", { address = \"10.40.0.5\"; mac = \"02:00:00:00:02:02\"; }" END

static struct frame question(uint16_t port, const char *from, const char *to, uint16_t sport)
{
	return frame_ip(port, (struct ipv4)FROM_TO(from, to, .sport = sport, .dport = 80));
}

static void reload(struct gateway *g, const struct conf **running, const char *text)
{
	int fd = memfd_create("test.conf", MFD_CLOEXEC);
	struct conf *conf;
	char path[32];

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, 0600), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	conf = conf_load(path, *running, stderr);
	close(fd);
	assert_non_null(conf);
	gateway_reload(g, conf);
	*running = conf;
}

static void flush(struct gateway *g, uint16_t port)
{
	const struct flow_filter filter = {.iface = {1u + port, 1u + IFACE_HOST(port)}};

	assert_int_equal(flow_flush(g->flows, &filter), 0);
	assert_false(flow_flush_is_over(g->flows));
	for (unsigned int i = 0; i < 2048; i++)
		for (unsigned int w = 0; w < g->conf->n_workers; w++)
			flow_tick(g->flows, w, 0, 16);
	assert_true(flow_flush_is_over(g->flows));
}

static void test_removed(void **state)
{
	struct gateway *g = gateway_new(0, WITH);
	const struct conf *with = g->conf, *without = with;
	struct frame in = question(VLAN, "10.30.0.5", "10.1.0.5", 1000);
	struct frame out = question(LAN, "10.1.0.5", "10.30.0.5", 2000);
	struct frame other = question(OTHER, "10.40.0.5", "10.1.0.5", 3000);

	(void)state;
	gateway_expect_sent(g, &in, LAN);
	gateway_expect_sent(g, &out, VLAN);
	gateway_expect_sent(g, &other, LAN);
	assert_int_equal(flow_count(g->flows), 3);
	reload(g, &without, WITHOUT);
	gateway_expect_drop(g, &in, DROP_MAC_OTHER); // received before
	gateway_expect_drop(g, &out, DROP_NO_ROUTE);
	gateway_expect_sent(g, &other, LAN);
	assert_int_equal(flow_count(g->flows), 3);
	flush(g, VLAN);
	assert_int_equal(flow_count(g->flows), 2); // that towards the port has come by another
	gateway_expect_sent(g, &other, LAN);
	flush(g, OTHER);
	assert_int_equal(flow_count(g->flows), 1);
	flush(g, LAN);
	assert_int_equal(flow_count(g->flows), 0);
	conf_free((struct conf *)(uintptr_t)without);
	gateway_free(g);
}

// The same VLAN has another number as long as the first one is not free.
static void test_added_again(void **state)
{
	struct gateway *g = gateway_new(0, WITH);
	const struct conf *without = g->conf, *again;
	struct frame in = question(VLAN, "10.30.0.5", "10.1.0.5", 1000);

	(void)state;
	gateway_expect_sent(g, &in, LAN);
	reload(g, &without, WITHOUT);
	again = without;
	reload(g, &again, WITH);
	gateway_expect_drop(g, &in, DROP_MAC_OTHER);
	in = question(3, "10.30.0.5", "10.1.0.5", 1000);
	gateway_expect_sent(g, &in, LAN);
	conf_free((struct conf *)(uintptr_t)without);
	conf_free((struct conf *)(uintptr_t)again);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_removed),
		pipeline_test(test_added_again),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
