// SPDX-License-Identifier: BSD-3-Clause
// Any text as a configuration. Proves that it is refused with reasons, or can be applied. It is a
// file in a folder of others, which it can include or use as key files: those below, and "rest",
// which has the input after the line "#rest".
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"
#include "harness.h"

#define REST "\n#rest\n"

const char *__lsan_default_suppressions(void);

// The state of libconfig's scanner is lost when a file has an error.
const char *__lsan_default_suppressions(void)
{
	return "leak:libconfig_yylex\nleak:strbuf_append\n";
}

// The first two as the configurations of the unit tests include them.
static const struct {
	const char *name, *text;
	mode_t mode;
} files[] = {
	{"ports.inc",
		"ports = ( { name = \"lan\"; device = \"net_tap0,iface=t0\";\n"
		"            addresses = [ \"10.1.0.1/24\" ]; },\n"
		"          { name = \"wan\"; device = \"net_tap1,iface=t1\";\n"
		"            addresses = [ \"192.0.2.1/24\" ]; } );\n",
		0600},
	{"tunnel.inc",
		"@include \"ports.inc\"\n"
		"sas = ( { name = \"to-b\"; direction = \"out\"; spi = \"0x1001\";\n"
		"          local = \"192.0.2.1\"; remote = \"192.0.2.2\"; cipher = \"null\";\n"
		"          auth = \"hmac-sha1-96\";\n"
		"          auth_key = \"00112233445566778899aabbccddeeff00112233\"; },\n"
		"        { name = \"from-b\"; direction = \"in\"; spi = \"0x1002\";\n"
		"          local = \"192.0.2.1\"; remote = \"192.0.2.2\"; cipher = \"null\";\n"
		"          auth = \"hmac-sha1-96\";\n"
		"          auth_key = \"ffeeddccbbaa99887766554433221100ffeeddcc\"; } );\n",
		0600},
	{"open.key", "", 0644}, {"large.key", "", 0600},
	{"other.key", "", 0600}, // owned by another user
};

static char folder[] = "/dev/shm/culvert-fuzz-XXXXXX";
static struct conf *running;

static const char *path_of(const char *name)
{
	static char path[sizeof(folder) + 32];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void file_write(const char *name, const void *octets, size_t len, mode_t mode)
{
	int fd = open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	if (fd < 0 || fchmod(fd, mode) < 0 || write(fd, octets, len) != (ssize_t)len)
		abort();
	close(fd);
}

static void stop(void)
{
	for (unsigned int i = 0; i < COUNT_OF(files); i++)
		unlink(path_of(files[i].name));
	unlink(path_of("rest"));
	unlink(path_of("fuzz.conf"));
	rmdir(folder);
	conf_free(running);
	harness_stop(NULL);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	if (harness_start(NULL) < 0 || mkdtemp(folder) == NULL)
		exit(2);
	atexit(stop);
	for (unsigned int i = 0; i < COUNT_OF(files); i++)
		file_write(files[i].name, files[i].text, strlen(files[i].text), files[i].mode);
	if (truncate(path_of("large.key"), (64 << 20) + 1) < 0 ||
		(geteuid() == 0 && chown(path_of("other.key"), 1, 1) < 0))
		exit(2);
	running = conf_load(path_of("ports.inc"), NULL, stderr);
	return running != NULL ? 0 : -1;
}

static void files_write(const uint8_t *input, size_t len)
{
	const uint8_t *rest = memmem(input, len, REST, strlen(REST));
	size_t main_len = rest != NULL ? (size_t)(rest + 1 - input) : len;

	rest = rest != NULL ? rest + strlen(REST) : input + len;
	file_write("fuzz.conf", input, main_len, 0600);
	file_write("rest", rest, (size_t)(input + len - rest), 0600);
}

// The result is either a configuration, or reasons.
static struct conf *load(const struct conf *instead_of)
{
	char *text = NULL;
	size_t text_len = 0;
	FILE *errors = open_memstream(&text, &text_len);
	struct conf *conf;

	if (errors == NULL)
		abort();
	conf = conf_load(path_of("fuzz.conf"), instead_of, errors);
	fclose(errors);
	assert_int_equal(conf == NULL, text_len > 0);
	free(text);
	return conf;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	const struct build_port ports[CONF_PORTS_MAX] = {0};
	char why[256];
	struct conf *conf;

	files_write(input, len);
	conf = load(NULL);
	if (conf == NULL)
		return 0;

	struct snapshot *s = build_snapshot(conf, ports, NULL, why, sizeof(why));

	assert_non_null(s);
	build_snapshot_free(s);
	conf_free(conf);
	conf_free(load(running));
	return 0;
}
