// SPDX-License-Identifier: BSD-3-Clause
// The setting kernel_routes.
#include "conf_dir.h"
#include "route_model.h"
#include "test.h"

#define PORT                                                                                       \
	"ports = ( { name = \"a\"; device = \"net_null0\"; addresses = [ \"10.1.0.1/24\" ]; host " \
	"= \"a\"; } );"

static struct conf *load(const char *setting)
{
	char text[1024];
	int len = snprintf(text, sizeof(text), PORT "%s", setting);
	struct conf *c;

	conf_dir_write("kernel.conf", text, (size_t)len);
	c = conf_dir_load_good("kernel.conf");
	conf_dir_unlink("kernel.conf");
	return c;
}

static void no_routes_are_followed_without_it(void **state)
{
	struct conf *c = load("");

	(void)state;
	assert_int_equal(c->kernel_table, 0);
	conf_free(c);
}

static void a_table_is_enough(void **state)
{
	struct conf *c = load("kernel_routes = { table = \"main\"; };");

	(void)state;
	assert_int_equal(c->kernel_table, UINT32_MAX);
	assert_int_equal(c->n_kernel_protocols, 0);
	assert_int_equal(c->kernel_routes_max, 1500000);
	conf_free(c);
}

static void protocols_have_names_and_numbers(void **state)
{
	static const uint8_t numbers[] = {1, 2, 3, 4, 8, 9, 10, 11, 12, 16, 18, 42, 99, 186, 187,
		188, 189, 190, 191, 192, 193, 194, 195, 196, 201, 255};
	struct conf *c =
		load("kernel_routes = { table = \"4294967294\"; max = \"1.2M\"; protocols = [ "
		     "\"redirect\", "
		     "\"kernel\", \"boot\", \"static\", \"gated\", \"ra\", \"mrt\", \"zebra\", "
		     "\"bird\", "
		     "\"dhcp\", \"keepalived\", \"babel\", \"openr\", \"bgp\", \"isis\", \"ospf\", "
		     "\"rip\", \"ripng\", \"nhrp\", \"eigrp\", \"ldp\", \"sharp\", \"pbr\", "
		     "\"zstatic\", "
		     "\"201\", \"255\" ]; };");

	(void)state;
	assert_int_equal(c->kernel_table, UINT32_MAX - 1);
	assert_int_equal(c->kernel_routes_max, 1200000);
	assert_int_equal(c->n_kernel_protocols, COUNT_OF(numbers));
	assert_memory_equal(c->kernel_protocols, numbers, sizeof(numbers));
	conf_free(c);
}

static void protocols_are_shown_by_name(void **state)
{
	char text[ROUTE_PROTOCOL_TEXT_MAX];

	(void)state;
	assert_string_equal(route_protocol_format(text, 186), "bgp");
	assert_string_equal(route_protocol_format(text, 201), "201");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_routes_are_followed_without_it),
		cmocka_unit_test(a_table_is_enough),
		cmocka_unit_test(protocols_have_names_and_numbers),
		cmocka_unit_test(protocols_are_shown_by_name),
	};

	return cmocka_run_group_tests(tests, conf_dir_make, conf_dir_remove);
}
