// SPDX-License-Identifier: BSD-3-Clause
// Any text as a request to change a configuration. Proves that it is refused with reasons, or that
// the result can be applied and compared with the configuration before.
#include "conf_change.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf_diff.h"
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

static void look(void *n, const struct conf_difference *d)
{
	assert_true(d->noun != NULL ? d->name != NULL : d->kind == CONF_CHANGED);
	assert_true(!d->secret || (d->from == NULL && d->to == NULL));
	++*(unsigned int *)n;
}

static void apply(const struct conf *conf)
{
	const struct build_port ports[CONF_PORTS_MAX] = {0};
	unsigned int n, seen = 0;
	char why[256];
	struct snapshot *s = build_snapshot(conf, ports, NULL, why, sizeof(why));

	assert_non_null(s);
	build_snapshot_free(s);
	n = conf_diff(running, conf, look, &seen);
	assert_int_equal(n, seen);
	assert_int_equal(conf_diff(conf, conf, look, &seen), 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	char *request = calloc(1, len + 1), *errors = NULL; // may have a NUL as well
	size_t errors_len = 0;
	FILE *out = open_memstream(&errors, &errors_len);

	if (request == NULL || out == NULL)
		abort();
	memcpy(request, input, len);

	struct conf *conf = conf_change(running, "fuzz", request, len, out);

	fclose(out);
	assert_int_equal(conf == NULL, errors_len > 0);
	if (conf != NULL)
		apply(conf);
	conf_free(conf);
	free(errors);
	free(request);
	return 0;
}
