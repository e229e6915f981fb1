// SPDX-License-Identifier: BSD-3-Clause
#include "rewritten.h"

#include <stdlib.h>
#include <string.h>

#include "conf_dir.h"
#include "hex.h"
#include "key_id.h"
#include "test.h"

// A file while its patches are applied.
struct file {
	char path[512], after[65];
	char *old, *new;
	size_t at, len; // octets of old that are done, and of new
	FILE *out;
};

static void check_digest(const char *octets, size_t len, const char *digest)
{
	struct key_id id = key_id_of((const uint8_t *)octets, len);
	char digits[2 * sizeof(id.octets) + 1];

	hex_format(digits, id.octets, sizeof(id.octets));
	assert_string_equal(digits, digest);
}

static void file_end(struct file *f)
{
	if (f->out == NULL)
		return;
	fputs(f->old + f->at, f->out);
	fclose(f->out);
	check_digest(f->new, f->len, f->after);
	conf_dir_write(strrchr(f->path, '/') + 1, f->new, f->len);
	free(f->old);
	free(f->new);
	f->out = NULL;
}

static void file_begin(struct file *f, const char *line)
{
	char before[65];

	file_end(f);
	assert_int_equal(sscanf(line, "file %64s %64s %511[^\n]", before, f->after, f->path), 3);
	f->old = conf_dir_read(f->path);
	f->at = 0;
	f->out = open_memstream(&f->new, &f->len);
	check_digest(f->old, strlen(f->old), before);
}

// Returns the line after the patch.
static const char *patch_apply(struct file *f, const char *line)
{
	size_t at, removed, len;

	assert_int_equal(sscanf(line, "patch %zu %zu %zu", &at, &removed, &len), 3);
	assert_true(at >= f->at);
	line = strchr(line, '\n') + 1;
	fwrite(f->old + f->at, 1, at - f->at, f->out);
	fwrite(line, 1, len, f->out);
	f->at = at + removed;
	return line + len + 1;
}

unsigned int rewritten_apply(const char *result)
{
	struct file f = {.out = NULL};
	unsigned int n = 0;

	if (*result != '\0')
		result = strchr(result, '\n') + 1;
	while (*result != '\0' && strncmp(result, "changes\n", 8) != 0) {
		if (strncmp(result, "patch ", 6) == 0) {
			result = patch_apply(&f, result);
			continue;
		}
		file_begin(&f, result);
		n++;
		result = strchr(result, '\n') + 1;
	}
	file_end(&f);
	return n;
}
