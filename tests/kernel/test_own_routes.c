// SPDX-License-Identifier: BSD-3-Clause
// Routes that the gateway gives the kernel, as `ip route` shows them in a network namespace of the
// test: routes that are announced, beside routes for hosts. Needs root.
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <linux/netlink.h>

#include "announced_route.h"
#include "conf_dir.h"
#include "host_route.h"
#include "log.h"
#include "test.h"

#define CONF                                                                                       \
	"ports = ( { name = \"wan\"; device = \"net_null0\"; host = \"wan0\";"                     \
	"  addresses = [ \"192.0.2.1/24\", \"2001:db8:f::1/64\" ]; } );"                           \
	"announce = { metric = 100; };"
#define ROUTES                                                                                     \
	"routes = ( { to = \"10.2.0.0/24\"; via = \"192.0.2.2\"; },"                               \
	"  { to = \"2001:db8:2::/64\"; via = \"2001:db8:f::2\"; } );"
#define NETWORKS                                                                                   \
	"10.2.0.0/24", "10.3.0.0/24", "192.0.2.1/32", "2001:db8:2::/64", "2001:db8:3::/64",        \
		"2001:db8:f::1/128"

unsigned int if_nametoindex(const char *name); // net/if.h and linux/if.h exclude each other
unsigned int __wrap_host_iface_index(const char *name);
void __wrap_log_line(enum log_level level, const char *fmt, ...);

unsigned int __wrap_host_iface_index(const char *name)
{
	return if_nametoindex(name);
}

static char logged[1024];

void __wrap_log_line(enum log_level level, const char *fmt, ...)
{
	size_t len = strlen(logged);
	va_list ap;

	(void)level;
	va_start(ap, fmt);
	vsnprintf(logged + len, sizeof(logged) - len, fmt, ap);
	va_end(ap);
}

// How dumps go wrong, and how many messages of them.
static enum { FAILS, IS_INTERRUPTED, STOPS } wrong;
static unsigned int n_wrong;

ssize_t __real_recv(int fd, void *buffer, size_t size, int flags);
ssize_t __wrap_recv(int fd, void *buffer, size_t size, int flags);

ssize_t __wrap_recv(int fd, void *buffer, size_t size, int flags)
{
	ssize_t n = __real_recv(fd, buffer, size, flags);
	struct nlmsghdr *m = buffer;

	if (n_wrong == 0 || size < 32768) // no dump
		return n;
	n_wrong--;
	if (wrong == FAILS) {
		errno = ENOBUFS;
		return -1;
	}
	*m = (struct nlmsghdr){.nlmsg_len = NLMSG_LENGTH(sizeof(int)), // without its routes
		.nlmsg_type = NLMSG_DONE,
		.nlmsg_flags = wrong == IS_INTERRUPTED ? NLM_F_DUMP_INTR : 0};
	*(int *)NLMSG_DATA(m) = wrong == STOPS ? -EBUSY : 0;
	return m->nlmsg_len;
}

// The same with _FORTIFY_SOURCE, where the compiler does not know the size of the buffer.
ssize_t __wrap___recv_chk(int fd, void *buffer, size_t size, size_t buffer_size, int flags);

ssize_t __wrap___recv_chk(int fd, void *buffer, size_t size, size_t buffer_size, int flags)
{
	assert_true(size <= buffer_size);
	return __wrap_recv(fd, buffer, size, flags);
}

static void run(const char *command)
{
	assert_int_equal(system(command), 0);
}

// The output of a command, with single spaces.
static const char *output(const char *command)
{
	static char text[64 * 1024];
	FILE *f = popen(command, "re");
	size_t n = 0;

	assert_non_null(f);
	for (int c = fgetc(f); c != EOF && n < sizeof(text) - 1; c = fgetc(f)) {
		if (c == ' ' && n > 0 && text[n - 1] == ' ')
			continue;
		if (c == '\n' && n > 0 && text[n - 1] == ' ')
			n--;
		text[n++] = (char)c;
	}
	pclose(f);
	text[n] = '\0';
	return text;
}

static void expect_kernel(const char *expected)
{
	assert_string_equal(
		output("ip -4 route show proto 68; ip -6 route show proto 68"), expected);
}

static void want(const char *const networks[], unsigned int n)
{
	struct ip_prefix to[16];

	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(ip_prefix_parse(&to[i], networks[i]), 0);
	announced_routes_want(to, n);
	announced_routes_take();
}

#define WANT(...)                                                                                  \
	want((const char *const[]){__VA_ARGS__},                                                   \
		sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static struct conf *load(const char *settings)
{
	char text[32 * 1024];
	int len = snprintf(text, sizeof(text), CONF "%s", settings);
	struct conf *c;

	conf_dir_write("own.conf", text, (size_t)len);
	c = conf_dir_load_good("own.conf");
	conf_dir_unlink("own.conf");
	return c;
}

static int begin(void **state)
{
	(void)state;
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	run("ip link set lo up; ip link add wan0 type veth peer name other; ip link set other up; "
	    "ip link set wan0 up; "
	    "ip addr add 192.0.2.1/24 dev wan0; ip addr add 2001:db8:f::1/64 dev wan0 nodad");
	logged[0] = '\0';
	return 0;
}

// In the place of a daemon that ends.
static int end(void **state)
{
	struct conf *c = load("");

	(void)state;
	host_routes_set(c);
	announced_routes_want(NULL, 0);
	announced_routes_take();
	announced_routes_give(c);
	expect_kernel("");
	conf_free(c);
	return 0;
}

#define own_test(f) cmocka_unit_test_setup_teardown(f, begin, end)

#define BLACKHOLES                                                                                 \
	"blackhole 10.2.0.0/24 metric 100\nblackhole 10.3.0.0/24 metric 100\n"                     \
	"blackhole 192.0.2.1 metric 100\n"                                                         \
	"blackhole 2001:db8:2::/64 dev lo metric 100 pref medium\n"                                \
	"blackhole 2001:db8:3::/64 dev lo metric 100 pref medium\n"                                \
	"blackhole 2001:db8:f::1 dev lo metric 100 pref medium\n"

#define LENT                                                                                       \
	"10.2.0.0/24 via 192.0.2.2 dev wan0 metric 100 onlink\n"                                   \
	"blackhole 10.3.0.0/24 metric 100\nblackhole 192.0.2.1 metric 100\n"                       \
	"2001:db8:2::/64 via 2001:db8:f::2 dev wan0 metric 100 onlink pref medium\n"               \
	"blackhole 2001:db8:3::/64 dev lo metric 100 pref medium\n"                                \
	"blackhole 2001:db8:f::1 dev lo metric 100 pref medium\n"

static void test_given_and_taken(void **state)
{
	struct conf *c = load("");

	(void)state;
	WANT(NETWORKS);
	announced_routes_give(c);
	expect_kernel(BLACKHOLES);
	WANT("10.3.0.0/24", "2001:db8:2::/64"); // no configuration is needed for that
	expect_kernel("blackhole 10.3.0.0/24 metric 100\n"
		      "blackhole 2001:db8:2::/64 dev lo metric 100 pref medium\n");
	assert_string_equal(logged, "");
	conf_free(c);
}

static void test_deleted_by_somebody(void **state)
{
	struct conf *c = load("");

	(void)state;
	WANT(NETWORKS);
	announced_routes_give(c);
	run("ip -4 route flush proto 68; ip -6 route del 2001:db8:3::/64 proto 68");
	announced_routes_give(c);
	expect_kernel(BLACKHOLES);
	conf_free(c);
}

// Leftovers that are wanted stay; other daemons have another metric.
static void test_leftovers(void **state)
{
	struct conf *c = load("");

	(void)state;
	run("ip route add blackhole 10.7.0.0/24 metric 100 proto 68;"
	    "ip route add blackhole 10.2.0.0/24 metric 100 proto 68;"
	    "ip route add blackhole 10.7.0.0/24 metric 101 proto 68;"
	    "ip route add blackhole 10.8.0.0/24 metric 100 proto 99;"
	    "ip route add blackhole 2001:db8:7::/64 metric 100 proto 68");
	WANT("10.2.0.0/24");
	announced_routes_give(c);
	expect_kernel("blackhole 10.2.0.0/24 metric 100\nblackhole 10.7.0.0/24 metric 101\n");
	assert_string_equal(output("ip route show proto 99"), "blackhole 10.8.0.0/24 metric 100\n");
	assert_string_equal(logged, "");
	run("ip route del blackhole 10.7.0.0/24 metric 101");
	conf_free(c);
}

// A route for the host to the same destination lends its next hop, as long as there is one.
static void test_lent_next_hop(void **state)
{
	struct conf *hosts = load(ROUTES), *none = load("");

	(void)state;
	WANT(NETWORKS);
	announced_routes_give(none);
	for (unsigned int i = 0; i < 2; i++) {
		host_routes_set(hosts);
		announced_routes_give(hosts);
		expect_kernel(LENT);
		run("ip link set wan0 down; ip link set wan0 up"); // takes routes away
		run("ip addr replace 2001:db8:f::1/64 dev wan0 nodad");
	}
	host_routes_set(none);
	announced_routes_give(none);
	expect_kernel(BLACKHOLES);
	assert_string_equal(logged, "");
	conf_free(hosts);
	conf_free(none);
}

// It is announced all the same, and with the next hop as soon as that is there.
static void test_refused_next_hop(void **state)
{
	struct conf *hosts = load(ROUTES);

	(void)state;
	host_routes_set(hosts);
	WANT(NETWORKS);
	for (unsigned int i = 0; i < 3; i++) {
		run("ip link set wan0 down");
		announced_routes_give(hosts);
		announced_routes_give(hosts);
		expect_kernel(BLACKHOLES);
		run("ip link set wan0 up; ip addr replace 2001:db8:f::1/64 dev wan0 nodad");
		announced_routes_give(hosts);
		expect_kernel(LENT);
	}
	assert_string_equal(logged, "");
	conf_free(hosts);
}

// Routers would withdraw a route that is deleted and given again.
static void test_replaced_in_place(void **state)
{
	struct conf *hosts = load(ROUTES), *none = load("");

	(void)state;
	WANT("10.2.0.0/24", "2001:db8:2::/64");
	announced_routes_give(none);
	host_routes_set(hosts);
	run("ip monitor route >monitor & echo $! >monitor.pid; sleep .3");
	announced_routes_give(hosts);
	announced_routes_give(hosts);
	host_routes_set(none);
	announced_routes_give(none);
	run("sleep .3; kill $(cat monitor.pid)");
	assert_string_equal(output("grep 'metric 100' monitor; rm monitor monitor.pid"),
		"10.2.0.0/24 via 192.0.2.2 dev wan0 proto 68 metric 100 onlink\n"
		"2001:db8:2::/64 via 2001:db8:f::2 dev wan0 proto 68 metric 100 onlink pref "
		"medium\n"
		"blackhole 10.2.0.0/24 proto 68 metric 100\n"
		"blackhole 2001:db8:2::/64 dev lo proto 68 metric 100 pref medium\n");
	conf_free(hosts);
	conf_free(none);
}

// A route that was not read is not missing.
static void test_incomplete_dumps(void **state)
{
	struct conf *c = load("");

	(void)state;
	WANT(NETWORKS);
	announced_routes_give(c);
	for (wrong = FAILS; wrong <= STOPS; wrong++) {
		run("ip route del blackhole 10.3.0.0/24 metric 100");
		n_wrong = 1;
		announced_routes_give(c);
		assert_int_equal(n_wrong, 0);
		expect_kernel(BLACKHOLES);
		assert_string_equal(logged, "");
	}
	for (wrong = FAILS; wrong <= STOPS; wrong++) {
		n_wrong = 100;
		announced_routes_give(c);
		n_wrong = 0;
		expect_kernel(BLACKHOLES);
		assert_non_null(strstr(logged, "cannot compare the kernel's routes"));
		logged[0] = '\0';
	}
	conf_free(c);
}

static void test_refusal_is_logged_once(void **state)
{
	struct conf *c = load("");

	(void)state;
	run("ip route add blackhole 10.3.0.0/24 metric 100 proto 99");
	for (unsigned int i = 0; i < 3; i++) {
		WANT("10.2.0.0/24", "10.3.0.0/24");
		announced_routes_give(c);
		expect_kernel("blackhole 10.2.0.0/24 metric 100\n");
	}
	assert_non_null(strstr(logged, "own.conf:1: the kernel does not accept the route to "
				       "10.3.0.0/24 that is to be announced: File exists"));
	assert_null(strstr(strstr(logged, "File exists") + 1, "File exists"));
	WANT("10.2.0.0/24"); // the other one is not ours
	assert_string_equal(output("ip route show proto 99"), "blackhole 10.3.0.0/24 metric 100\n");
	WANT("10.2.0.0/24", "10.3.0.0/24");
	run("ip route del blackhole 10.3.0.0/24 metric 100");
	announced_routes_give(c);
	expect_kernel("blackhole 10.2.0.0/24 metric 100\nblackhole 10.3.0.0/24 metric 100\n");
	conf_free(c);
}

// More routes for hosts than there are routes and policies.
static void test_many_networks_of_a_policy(void **state)
{
	char text[16 * 1024] =
		"routes = ( { to = \"0.0.0.0/0\"; via = \"192.0.2.254\"; } );"
		"sas = ( { name = \"to\"; direction = \"out\"; spi = \"0x1001\"; "
		"  local = \"192.0.2.1\"; remote = \"192.0.2.2\"; cipher = \"null\"; "
		"  auth = \"hmac-sha1-96\"; auth_key = "
		"\"00112233445566778899aabbccddeeff00112233\"; },"
		"  { name = \"from\"; direction = \"in\"; spi = \"0x1002\"; "
		"  local = \"192.0.2.1\"; remote = \"192.0.2.2\"; cipher = \"null\"; "
		"  auth = \"hmac-sha1-96\"; auth_key = "
		"\"00112233445566778899aabbccddeeff00112234\"; } );"
		"policies = ( { name = \"p\"; action = \"protect\"; out = \"to\"; in = \"from\"; "
		"  local = \"192.0.2.1\"; remote = [ \"10.0.0.0/24\"";
	struct conf *c;

	(void)state;
	for (unsigned int i = 1; i < 250; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), ", \"10.%u.0.0/24\"", i);
	strcat(text, " ]; } );");
	c = load(text);
	host_routes_set(c);
	assert_string_equal(output("ip route show proto 67 | wc -l"), "251\n");
	conf_free(c);
	c = load("");
	host_routes_set(c);
	assert_string_equal(output("ip route show proto 67"), "");
	conf_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		own_test(test_given_and_taken),
		own_test(test_deleted_by_somebody),
		own_test(test_leftovers),
		own_test(test_lent_next_hop),
		own_test(test_refused_next_hop),
		own_test(test_replaced_in_place),
		own_test(test_incomplete_dumps),
		own_test(test_refusal_is_logged_once),
		own_test(test_many_networks_of_a_policy),
	};

	return cmocka_run_group_tests(tests, conf_dir_make, conf_dir_remove);
}
