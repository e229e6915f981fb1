// SPDX-License-Identifier: BSD-3-Clause
// Any text as a request to change a configuration, and as one of an IKE daemon. Proves that it is
// refused with reasons, or that the result can be applied and compared with the configuration
// before.
#include "conf_apply.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf_ike.h"
#include "fuzz.h"
#include "harness.h"

const char *__lsan_default_suppressions(void);

// The state of libconfig's scanner is lost when a text has an error.
const char *__lsan_default_suppressions(void)
{
	return "leak:libconfig_yylex\nleak:strbuf_append\n";
}

// The configurations are file descriptors, in the folder of these: key_file = "100" is another one.
#define KEY_FD 100

static const char key_text[] = "cipher_key = \"000102030405060708090a0b0c0d0e0fa0a1a2a3\";\n";

static const char running_text[] =
	"memory = { size = 512; };\n"
	"ports = ( { name = \"lan\"; device = \"net_null0\";\n"
	"            addresses = [ \"10.1.0.1/24\", \"2001:db8:1::1/64\" ]; },\n"
	"          { name = \"wan\"; device = \"net_null1\"; addresses = [ \"192.0.2.1/24\" ]; } "
	");\n"
	"routes = ( { to = \"10.2.0.0/24\"; via = \"192.0.2.2\"; } );\n"
	"neighbours = ( { address = \"192.0.2.2\"; mac = \"02:00:00:00:00:02\"; },\n"
	"               { address = \"fe80::1\"; port = \"lan\"; mac = \"02:00:00:00:00:03\"; } "
	");\n"
	"sas = ( { name = \"out\"; direction = \"out\"; spi = \"0x1001\"; local = \"192.0.2.1\";\n"
	"          remote = \"192.0.2.2\"; cipher = \"aes-128-gcm\";\n"
	"          key_file = \"100\"; },\n"
	"        { name = \"in\"; direction = \"in\"; spi = \"0x1002\"; local = \"192.0.2.1\";\n"
	"          remote = \"192.0.2.2\"; cipher = \"null\"; auth = \"hmac-sha1-96\";\n"
	"          auth_key = \"000102030405060708090a0b0c0d0e0f10111213\"; } );\n"
	"policies = ( { name = \"a\"; remote = \"10.2.0.0/24\"; action = \"protect\"; out = "
	"\"out\";\n"
	"               in = \"in\"; }, { name = \"b\"; action = \"discard\"; } );\n"
	"rules = ( { name = \"r\"; proto = \"tcp\"; action = \"accept\"; } );\n";

static struct conf *running;

static void key_file_open(void)
{
	int fd = memfd_create("key", MFD_CLOEXEC);

	if (fd < 0 || write(fd, key_text, strlen(key_text)) != (ssize_t)strlen(key_text) ||
		fchmod(fd, 0600) < 0 || dup2(fd, KEY_FD) < 0)
		exit(2);
	close(fd);
}

static void stop(void)
{
	close(KEY_FD);
	conf_free(running);
	harness_stop(NULL);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	if (harness_start(NULL) < 0)
		exit(2);
	atexit(stop);
	key_file_open();
	running = harness_conf(running_text, strlen(running_text), stderr);
	assert_non_null(running);
	return 0;
}

static unsigned int n_different(const struct conf *from, const struct conf *to)
{
	struct conf_changes *list = conf_diff(from, to);
	unsigned int n;

	assert_non_null(list);
	for (n = 0; n < list->n; n++) {
		const struct conf_change *d = &list->change[n];

		assert_true(d->kind != CONF_KINDS ? d->name != NULL : d->verb == CONF_SET);
		assert_true(!d->secret || (d->from == NULL && d->to == NULL));
	}
	conf_changes_free(list);
	return n;
}

static void apply(const struct conf *conf)
{
	const struct build_port ports[CONF_PORTS_MAX] = {0};
	char why[256];
	struct snapshot *s = build_snapshot(conf, ports, NULL, why, sizeof(why));

	assert_non_null(s);
	build_snapshot_free(s);
	n_different(running, conf);
	assert_int_equal(n_different(conf, conf), 0);
}

static void change(const char *request, size_t len, FILE *out)
{
	struct conf *conf = conf_change(running, "fuzz", request, len, out);

	fflush(out);
	assert_int_equal(conf == NULL, ftell(out) > 0);
	if (conf != NULL)
		apply(conf);
	conf_free(conf);
}

static void ike_check(const struct conf_ike *ike)
{
	unsigned int n_added[CONF_KINDS] = {0};

	for (unsigned int i = 0; i < ike->n; i++) {
		const struct conf_change *c = &ike->changes[i].c;

		assert_int_equal(
			c->name == NULL, c->verb == CONF_FLUSH || ike->changes[i].spi != 0);
		if (c->name != NULL)
			assert_memory_equal(c->name, CONF_IKE_PREFIX, strlen(CONF_IKE_PREFIX));
		if (c->verb == CONF_ADD && c->name != NULL)
			assert_int_equal(ike->changes[i].index, n_added[c->kind]++);
	}
	assert_int_equal(n_added[CONF_SA], ike->conf->n_sas);
	assert_int_equal(n_added[CONF_POLICY], ike->conf->n_policies);
	for (unsigned int i = 0; i < ike->conf->n_sas; i++)
		assert_int_not_equal(ike->conf->sas[i].opt.reqid, 0);
	for (unsigned int i = 0; i < ike->conf->n_policies; i++) {
		const struct conf_policy *p = &ike->conf->policies[i];

		assert_int_not_equal(p->family, IP_ANY);
		assert_int_equal(p->action == SPD_PROTECT, p->reqid != 0);
	}
}

static void ike(const char *request, size_t len, FILE *out)
{
	struct conf_ike *read = conf_ike_read(running, "fuzz", request, len, out);

	fflush(out);
	assert_int_equal(read == NULL, ftell(out) > 0);
	if (read != NULL)
		ike_check(read);
	conf_ike_free(read);
}

static void with_errors(
	void (*use)(const char *request, size_t len, FILE *out), const char *request, size_t len)
{
	char *errors = NULL;
	size_t errors_len;
	FILE *out = open_memstream(&errors, &errors_len);

	if (out == NULL)
		abort();
	use(request, len, out);
	fclose(out);
	free(errors);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	char *request = calloc(1, len + 1); // may have a NUL as well

	if (request == NULL)
		abort();
	memcpy(request, input, len);
	with_errors(change, request, len);
	with_errors(ike, request, len);
	free(request);
	return 0;
}
