// SPDX-License-Identifier: BSD-3-Clause
// The group fleet: its mistakes, and the roles of groups, which it decides.
#include "conf_dir.h"
#include "number_block.h"
#include "pem.h"
#include "test.h"

#define PORTS                                                                                      \
	"ports = ( { name = \"a\"; device = \"net_null0\"; addresses = [ \"10.1.0.1/24\" ]; } "    \
	");\n"
#define GROUP "groups = ( { name = \"g\"; addresses = [ \"10.1.0.1\" ]; } );\n"

// Its settings are in line 3.
#define FLEET(more) PORTS GROUP "fleet = { " more " };\n"
#define HTTP        "member = 3; endpoints = [ \"http://10.9.0.1:2379\" ]; "
#define HTTPS                                                                                      \
	"member = 3; endpoints = [ \"https://10.9.0.1:2379\", \"https://[2001:db8::1]:2379\" ]; "
#define BOTH "member = 3; endpoints = [ \"https://10.9.0.1:2379\", \"http://10.9.0.2:2379\" ]; "
#define SA(more)                                                                                   \
	"sas = ( { name = \"o\"; direction = \"out\"; spi = \"0x1001\"; cipher = "                 \
	"\"aes-128-gcm\"; local = \"10.1.0.1\"; remote = \"10.1.0.2\"; cipher_key = "              \
	"\"000102030405060708090a0b0c0d0e0fa0a1a2a1\"; " more " } );\n"
#define SA_IN                                                                                      \
	"sas = ( { name = \"i\"; direction = \"in\"; spi = \"0x1001\"; cipher = "                  \
	"\"aes-128-gcm\"; local = \"10.1.0.1\"; remote = \"10.1.0.2\"; cipher_key = "              \
	"\"000102030405060708090a0b0c0d0e0fa0a1a2a1\"; } );\n"
#define PAIR "pair = { member = 1; };\n"

static void file_write(const char *text)
{
	conf_dir_write("fleet.conf", text, strlen(text));
}

static void check_bad(const char *text, const char *expected)
{
	file_write(text);
	conf_dir_load_bad("fleet.conf", expected);
}

static void it_is_read(void **state)
{
	struct conf *c;

	(void)state;
	file_write(FLEET(HTTPS "ca = \"a.crt\"; certificate = \"b.crt\"; private_key = \"b.key\"; "
			       "lease = \"7s\";"));
	c = conf_dir_load_good("fleet.conf");
	assert_int_equal(c->n_fleet_endpoints, 2);
	assert_string_equal(c->fleet_endpoints[1], "https://[2001:db8::1]:2379");
	assert_string_equal(c->fleet_prefix, "/culvert/");
	assert_int_equal(c->fleet_lease_s, 7);
	assert_true(pem_key_fits(c->fleet_key, c->fleet_certificate));
	assert_true(pem_same_certificate(c->fleet_ca, c->fleet_ca));
	assert_int_equal(c->groups[0].role, CONF_STANDBY); // until etcd has decided
	conf_free(c);
}

static void each_member_has_blocks(void **state)
{
	struct conf *c;

	(void)state;
	file_write(FLEET("member = 64; endpoints = [ \"http://10.9.0.1:2379\" ];"));
	c = conf_dir_load_good("fleet.conf");
	assert_int_equal(c->fleet_member, NUMBER_FLEET_MEMBERS);
	conf_free(c);
}

static void mistakes_are_reported(void **state)
{
	(void)state;
	check_bad(FLEET("lease = 5;"), "fleet.conf:3: fleet: needs endpoints\n");
	check_bad(FLEET("endpoints = [ \"http://10.9.0.1:2379\" ];"),
		"fleet.conf:3: fleet: needs member\n");
	check_bad(FLEET("member = 65; endpoints = [ \"http://10.9.0.1:2379\" ];"),
		"fleet.conf:3: fleet.member: 65 is out of range, must be an integer from 1 to "
		"64\n");
	check_bad(FLEET(HTTPS),
		"fleet.conf:3: fleet.endpoints: has https, which needs the setting ca\n");
	check_bad(FLEET(HTTP "ca = \"a.crt\";"),
		"fleet.conf:3: fleet.ca: is for https, which an endpoint does not have\n");
	check_bad(FLEET(BOTH "ca = \"a.crt\"; certificate = \"b.crt\"; private_key = \"b.key\";"),
		"fleet.conf:3: fleet.ca: is for https, which an endpoint does not have\n"
		"fleet.conf:3: fleet.certificate: is for https, which an endpoint does not have\n");
	check_bad(FLEET(HTTP "certificate = \"b.crt\"; private_key = \"b.key\";"),
		"fleet.conf:3: fleet.certificate: is for https, which an endpoint does not have\n");
	check_bad(FLEET(HTTPS "ca = \"a.crt\"; certificate = \"b.crt\";"),
		"fleet.conf:3: fleet.certificate: needs private_key\n");
	check_bad(FLEET(HTTPS "ca = \"a.crt\"; private_key = \"b.key\";"),
		"fleet.conf:3: fleet.private_key: needs certificate\n");
	check_bad(FLEET(HTTPS "ca = \"a.crt\"; certificate = \"b.crt\"; private_key = \"a.key\";"),
		"fleet.conf:3: fleet.private_key: is not the key of certificate\n");
	check_bad(FLEET(HTTP) PAIR, "fleet.conf:3: fleet: is not for a gateway of a pair, as the "
				    "setting pair makes it\n");
	check_bad(FLEET(HTTP) "state_dir = \"none\";\n",
		"fleet.conf:3: fleet: needs state_dir, which is \"none\"\n");
	check_bad(PORTS
		"groups = ( { name = \"g\"; role = \"active\"; addresses = [ \"10.1.0.1\" ]; } );\n"
		"fleet = { " HTTP "};\n",
		"fleet.conf:2: group \"g\": role: is decided by the fleet, must be left out\n");
}

// Each member sends with a part of the numbers.
static void sas_are_checked(void **state)
{
	(void)state;
	check_bad(FLEET(HTTP) SA(""),
		"fleet.conf:4: sa \"o\": is of a fleet, and needs esn = true\n");
	check_bad(
		FLEET(HTTP) SA_IN, "fleet.conf:4: sa \"i\": is of a fleet, and needs esn = true\n");
	check_bad(FLEET(HTTP) SA("esn = true; lifetime = { hard_packets = 2147483647; };"),
		"fleet.conf:4: sa \"o\": lifetime.hard_packets: is less than 2147483648, of which "
		"the members of a fleet have a part each, must be at least that\n");
}

static void sas_write(FILE *f, unsigned int n)
{
	fputs(FLEET(HTTP) "sas = (", f);
	for (unsigned int i = 0; i < n; i++)
		fprintf(f,
			"%s{ name = \"s%u\"; direction = \"out\"; spi = \"0x%x\"; esn = true; "
			"cipher = \"aes-128-gcm\"; local = \"10.1.0.1\"; remote = \"10.1.0.2\"; "
			"cipher_key = \"%040x\"; }",
			i > 0 ? ", " : "", i, 0x1000 + i, i + 1);
	fputs(");\n", f);
}

// etcd would take the first value of a group, and no other one.
static void groups_are_small_enough_for_etcd(void **state)
{
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	sas_write(f, 8193);
	fclose(f);
	check_bad(text,
		"fleet.conf:2: group \"g\": has 8193 SAs, must have at most 8192, as etcd takes "
		"no larger value\n");
	free(text);
}

static void endpoints_are_checked(void **state)
{
	static const char *const bad[] = {"10.9.0.1:2379", "ftp://10.9.0.1:2379", "http://10.9.0.1",
		"http://10.9.0.1:0", "http://10.9.0.1:65536", "http://etcd:2379",
		"http://2001:db8::1:2379", "http://[10.9.0.1]:2379", "http://[2001:db8::1:2379",
		"http://10.9.0.1:2379/"};
	char text[512], *errors;

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(bad); i++) {
		snprintf(text, sizeof(text),
			PORTS "fleet = { member = 1; endpoints = [ \"%s\" ]; };\n", bad[i]);
		file_write(text);
		assert_null(conf_dir_load(&errors, "fleet.conf"));
		assert_non_null(strstr(errors, "fleet.conf:2: fleet.endpoints"));
		free(errors);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_read),
		cmocka_unit_test(each_member_has_blocks),
		cmocka_unit_test(mistakes_are_reported),
		cmocka_unit_test(sas_are_checked),
		cmocka_unit_test(groups_are_small_enough_for_etcd),
		cmocka_unit_test(endpoints_are_checked),
	};

	return cmocka_run_group_tests(tests, conf_dir_pems_make, conf_dir_remove);
}
