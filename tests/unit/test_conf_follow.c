// SPDX-License-Identifier: BSD-3-Clause
// Ports with addresses = [ "host" ]: which addresses of the kernel they have, and changes by a
// reload.
#include "conf_change.h"
#include "conf_dir.h"
#include "test.h"

#define WAN "addresses = [ \"host\" ]; host = \"wan0\"; side = \"unprotected\";"

static struct conf *load(const char *wan, const char *tunnels)
{
	char text[1024];
	int len = snprintf(text, sizeof(text),
		"ports = ( { name = \"lan\"; device = \"net_null0\";"
		"  addresses = [ \"10.1.0.1/24\", \"2001:db8:1::1/64\" ]; },"
		" { name = \"wan\"; device = \"net_null1\"; %s },"
		" { name = \"lte\"; device = \"net_null2\"; addresses = [ \"host\" ];"
		"   host = \"lte0\"; side = \"unprotected\"; } );%s",
		wan, tunnels);

	conf_dir_write("follow.conf", text, (size_t)len);
	return conf_dir_load_good("follow.conf");
}

static struct conf_followed followed(const char *const text[], unsigned int n)
{
	struct conf_followed f = {.n = n};

	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(ip_interface_parse(&f.addr[i].addr, &f.addr[i].net, text[i]), 0);
	return f;
}

// Returns the lines about addresses that are not used. The caller frees them.
static char *follow(struct conf *c, unsigned int port, const struct conf_followed *f)
{
	char *lines;
	size_t len;
	FILE *out = open_memstream(&lines, &len);

	conf_follow_host(c, port, f, out);
	fclose(out);
	return lines;
}

// Removes the name of the folder from each line, in its place.
static char *without_folder(char *lines)
{
	const size_t len = strlen(conf_dir()) + 1;

	for (char *at = lines; (at = strstr(at, conf_dir())) != NULL;)
		memmove(at, at + len, strlen(at + len) + 1);
	return lines;
}

static void expect_addr(const struct conf_port *p, unsigned int i, const char *text)
{
	char buf[IP_PREFIX_STRLEN];

	assert_in_range(i, 0, p->n_addrs - 1);
	assert_string_equal(ip_addr_format(buf, &p->addrs[i].addr), text);
}

static void test_none_before_the_host_has_any(void **state)
{
	struct conf *c = load(WAN, "");

	(void)state;
	assert_true(c->ports[1].follows_host);
	assert_false(c->ports[0].follows_host);
	assert_int_equal(c->ports[1].n_addrs, 0);
	assert_true(conf_port_has_addrs(&c->ports[1]));
	assert_true(c->ports[1].unprotected);
	conf_free(c);
}

static void test_addresses(void **state)
{
	static const char *const text[] = {"192.0.2.5/24", "2001:db8:f::5/128", "192.0.2.6/24"};
	const struct conf_followed f = followed(text, 3);
	struct conf *c = load(WAN, "");
	char *lines = follow(c, 1, &f);

	(void)state;
	assert_string_equal(lines, "");
	assert_int_equal(c->ports[1].n_addrs, 3);
	expect_addr(&c->ports[1], 0, "192.0.2.5");
	expect_addr(&c->ports[1], 1, "2001:db8:f::5");
	expect_addr(&c->ports[1], 2, "192.0.2.6");
	assert_int_equal(c->ports[1].addrs[0].net.len, 96 + 24);
	free(lines);
	lines = follow(c, 0, &f); // has those of the file
	assert_int_equal(c->ports[0].n_addrs, 2);
	expect_addr(&c->ports[0], 0, "10.1.0.1");
	free(lines);
	conf_free(c);
}

// They are refused as those of a file are, each with its reason, and the others are used.
static void test_unusable(void **state)
{
	static const char *const text[] = {"10.1.0.1/32", "10.1.0.9/24", "192.0.2.0/24",
		"127.0.0.1/8", "192.0.2.5/0", "10.8.0.1/32", "192.0.2.5/24"};
#define UNUSED(address, why)                                                                       \
	"follow.conf:1: port \"wan\": address " address " of the host is not used: " why "\n"
	static const char expected[] = UNUSED("10.1.0.1", "it is an address of \"lan\"")
		UNUSED("10.1.0.9", "its network is that of \"lan\"")
			UNUSED("192.0.2.0", "no host can have it with its prefix length") UNUSED(
				"127.0.0.1", "no host can have it with its prefix length")
				UNUSED("192.0.2.5", "no host can have it with its prefix length")
					UNUSED("10.8.0.1", "it is an address of \"t\"");
	const struct conf_followed f = followed(text, RTE_DIM(text));
	struct conf *c = load(WAN,
		" tunnels = ( { name = \"t\"; if_id = 1; addresses = [ \"10.8.0.1/30\" ]; } );");
	char *lines = follow(c, 1, &f);

	(void)state;
	assert_string_equal(without_folder(lines), expected);
	assert_int_equal(c->ports[1].n_addrs, 1);
	expect_addr(&c->ports[1], 0, "192.0.2.5");
	assert_int_equal(c->ports[1].followed.n, RTE_DIM(text));
	free(lines);
	conf_free(c);
}

// The first of two hosts has an address; link-local ones are of each link.
static void test_two_hosts(void **state)
{
	static const char *const text[] = {"192.0.2.5/24", "fe80::5/64"};
	const struct conf_followed f = followed(text, 2);
	struct conf *c = load(WAN, "");
	char *lines = follow(c, 1, &f);

	(void)state;
	assert_string_equal(lines, "");
	free(lines);
	lines = follow(c, 2, &f);
	assert_non_null(
		strstr(lines, "192.0.2.5 of the host is not used: it is an address of \"wan\""));
	assert_int_equal(c->ports[2].n_addrs, 1);
	expect_addr(&c->ports[2], 0, "fe80::5");
	free(lines);
	conf_free(c);
}

// A reload changes between addresses of the file and of the host, and present ones are no change.
static void test_reload(void **state)
{
	static const char *const text[] = {"192.0.2.5/24"};
	const struct conf_followed f = followed(text, 1);
	struct conf *running = load(WAN, ""), *same, *fixed;
	struct conf_changes *list;

	(void)state;
	free(follow(running, 1, &f));
	same = load(WAN, "");
	list = conf_diff(running, same);
	assert_int_equal(list->n, 0);
	conf_changes_free(list);
	fixed = load(
		"addresses = [ \"192.0.2.5/24\" ]; host = \"wan0\"; side = \"unprotected\";", "");
	list = conf_diff(running, fixed);
	assert_int_equal(list->n, 1);
	assert_string_equal(list->change[0].from, "\"host\"");
	assert_string_equal(list->change[0].to, "\"192.0.2.5/24\"");
	assert_false(list->change[0].restart);
	conf_changes_free(list);
	conf_free(running);
	conf_free(same);
	conf_free(fixed);
}

#define SA                                                                                         \
	" sas = ( { name = \"out\"; direction = \"out\"; spi = \"0x1001\"; local = \"wan\";"       \
	" remote = \"%s\"; cipher = \"null\"; auth = \"hmac-sha1-96\";"                            \
	" auth_key = \"000102030405060708090a0b0c0d0e0f10111213\"; } );"

static void expect_local(const char *remote, const char *expected, const char *none)
{
	static const char *const text[] = {"fe80::5/64", "192.0.2.5/24", "192.0.2.6/24",
		"2001:db8:f::5/64", "2001:db8:f::6/64"};
	const struct conf_followed f = followed(text, RTE_DIM(text)), no = {0};
	char sas[512], buf[IP_ADDR_STRLEN];
	struct conf *running, *same;
	struct conf_changes *list;

	snprintf(sas, sizeof(sas), SA, remote);
	running = load(WAN, sas);
	same = load(WAN, sas);
	assert_string_equal(ip_addr_format(buf, &running->sas[0].opt.local), none);
	free(follow(running, 1, &f));
	assert_string_equal(ip_addr_format(buf, &running->sas[0].opt.local), expected);
	free(follow(running, 2, &no)); // another port
	assert_string_equal(ip_addr_format(buf, &running->sas[0].opt.local), expected);
	list = conf_diff(running, same); // by the host, not by an operator
	assert_int_equal(list->n, 0);
	conf_changes_free(list);
	free(follow(running, 1, &no));
	assert_string_equal(ip_addr_format(buf, &running->sas[0].opt.local), none);
	conf_free(running);
	conf_free(same);
}

// The first of the family of the peer, and none that is link-local.
static void test_local_of_sas(void **state)
{
	(void)state;
	expect_local("198.51.100.2", "192.0.2.5", "0.0.0.0");
	expect_local("2001:db8:9::2", "2001:db8:f::5", "::");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none_before_the_host_has_any),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_unusable),
		cmocka_unit_test(test_two_hosts),
		cmocka_unit_test(test_reload),
		cmocka_unit_test(test_local_of_sas),
	};

	return cmocka_run_group_tests(tests, conf_dir_make, conf_dir_remove);
}
