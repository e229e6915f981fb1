// SPDX-License-Identifier: BSD-3-Clause
#include "conf_dir.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf_print.h"
#include "pem.h"
#include "test.h"

struct conf *conf_sample;

static char dir[] = "/tmp/culvert-test-conf-XXXXXX";

const char *conf_dir(void)
{
	return dir;
}

char *conf_dir_read(const char *path)
{
	FILE *f = fopen(path, "r");
	size_t size;
	char *text;

	if (f == NULL)
		fail_msg("cannot open %s", path);
	fseek(f, 0, SEEK_END);
	size = (size_t)ftell(f);
	rewind(f);
	text = calloc(1, size + 1);
	assert_int_equal(fread(text, 1, size, f), size);
	fclose(f);
	return text;
}

const char *conf_dir_path(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

void conf_dir_write(const char *name, const char *text, size_t len)
{
	FILE *f = fopen(conf_dir_path(name), "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	fclose(f);
	chmod(conf_dir_path(name), 0600);
}

bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), k = strlen(end);

	return n >= k && strcmp(text + n - k, end) == 0;
}

unsigned int conf_dir_each(const char *path, const char *end, void (*use)(const char *name))
{
	DIR *d = opendir(path);
	struct dirent *e;
	unsigned int n = 0;

	assert_non_null(d);
	while ((e = readdir(d)) != NULL) {
		if (e->d_name[0] == '.' || !ends_with(e->d_name, end))
			continue;
		use(e->d_name);
		n++;
	}
	closedir(d);
	return n;
}

static void copy_file(const char *folder, const char *name)
{
	char path[512];
	char *text;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	text = conf_dir_read(path);
	conf_dir_write(name, text, strlen(text));
	free(text);
}

static void copy_test_file(const char *name)
{
	copy_file(CONF_DIR, name);
}

static void copy_sample(const char *name)
{
	copy_file(SOURCE_DIR "/conf", name);
}

int conf_dir_make(void **state)
{
	(void)state;
	if (mkdtemp(dir) == NULL)
		return -1;
	conf_dir_each(CONF_DIR, "", copy_test_file);
	conf_dir_each(SOURCE_DIR "/conf", ".conf", copy_sample);
	return 0;
}

void conf_dir_unlink(const char *name)
{
	unlink(conf_dir_path(name));
}

int conf_dir_remove(void **state)
{
	(void)state;
	conf_dir_each(dir, "", conf_dir_unlink);
	return rmdir(dir);
}

// Removes "DIR/" from text.
static void strip_dir(char *text)
{
	size_t n = strlen(dir) + 1;
	char *p;

	while ((p = strstr(text, dir)) != NULL)
		memmove(p, p + n, strlen(p + n) + 1);
}

struct conf *conf_dir_load(char **errors, const char *name)
{
	size_t size;
	FILE *out = open_memstream(errors, &size);
	struct conf *c = conf_load(conf_dir_path(name), NULL, out);

	fclose(out);
	strip_dir(*errors);
	return c;
}

struct conf *conf_dir_load_good(const char *name)
{
	char *errors;
	struct conf *c = conf_dir_load(&errors, name);

	assert_string_equal(errors, "");
	assert_non_null(c);
	free(errors);
	return c;
}

void conf_dir_load_bad(const char *name, const char *expected)
{
	char *errors;

	assert_null(conf_dir_load(&errors, name));
	assert_string_equal(errors, expected);
	free(errors);
}

void conf_dir_check_mistakes(const char *err_name)
{
	char name[256], path[512];
	char *expected;

	snprintf(name, sizeof(name), "%.*s.conf", (int)(strlen(err_name) - 4), err_name);
	snprintf(path, sizeof(path), "%s/%s", CONF_DIR, err_name);
	expected = conf_dir_read(path);
	conf_dir_load_bad(name, expected);
	free(expected);
}

int conf_sample_start(void **state)
{
	int rc = conf_dir_make(state);

	if (rc == 0)
		conf_sample = conf_dir_load_good("gateway-a.conf");
	return rc;
}

int conf_sample_stop(void **state)
{
	conf_free(conf_sample);
	return conf_dir_remove(state);
}

struct conf *conf_sample_edited(const char *old, const char *new)
{
	char *text = conf_dir_read(conf_dir_path("gateway-a.conf"));
	char *at = strstr(text, old), *out = NULL;
	size_t size;
	FILE *f = open_memstream(&out, &size);
	struct conf *c;

	assert_non_null(at);
	fprintf(f, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
	fclose(f);
	conf_dir_write("edited.conf", out, size);
	c = conf_dir_load_good("edited.conf");
	conf_dir_unlink("edited.conf");
	free(out);
	free(text);
	return c;
}

bool in_heap(const uint8_t *octets, size_t len)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	bool found = false;

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps) != NULL) {
		unsigned long start, end;

		if (strstr(line, "[heap]") != NULL && sscanf(line, "%lx-%lx", &start, &end) == 2)
			found = found || memmem((void *)start, end - start, octets, len) != NULL;
	}
	fclose(maps);
	return found;
}

void check_addr(const struct ip_addr *a, const char *expected)
{
	char buf[IP_ADDR_STRLEN];

	assert_string_equal(ip_addr_format(buf, a), expected);
}

void check_prefix(const struct ip_prefix *p, const char *expected)
{
	char buf[IP_PREFIX_STRLEN];

	assert_string_equal(ip_prefix_format(buf, p), expected);
}

char *conf_dir_printed(const struct conf *c)
{
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	conf_print(c, out);
	fclose(out);
	return text;
}

void conf_dir_pem_make(const char *name)
{
	char path[2][64];
	FILE *f[2];

	for (unsigned int i = 0; i < 2; i++) {
		snprintf(path[i], sizeof(path[i]), "%s%s", name, i == 0 ? ".key" : ".crt");
		f[i] = fopen(conf_dir_path(path[i]), "w");
		assert_non_null(f[i]);
	}
	assert_true(pem_make(f[0], f[1], name));
	for (unsigned int i = 0; i < 2; i++) {
		fclose(f[i]);
		chmod(conf_dir_path(path[i]), i == 0 ? 0600 : 0644);
	}
}

int conf_dir_pems_make(void **state)
{
	if (conf_dir_make(state) < 0)
		return -1;
	conf_dir_pem_make("a");
	conf_dir_pem_make("b");
	return 0;
}
