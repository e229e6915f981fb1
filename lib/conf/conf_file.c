// SPDX-License-Identifier: BSD-3-Clause
// Files are taken only from people who may change the keys anyway, and only if others cannot read
// them.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf_reader.h"
#include "hex.h"
#include "libconfig_compat.h"

#define FILE_SIZE_MAX (64 << 20)
#define BASE64_MIN    20 // digits that could be a key

struct text {
	char *octets; // with room for two more, a newline and a NUL
	size_t len;
	dev_t dev; // of the file
	ino_t ino;
};

// Where a message about opening a file goes.
struct asker {
	struct conf_where where;
	config_setting_t *s; // may be NULL
	const char *file;    // the file's name as it may be shown
	bool is_public;      // everybody may read it
};

// False if the file cannot be read at all.
static bool check_stat(struct conf_reader *r, const struct stat *st, const struct asker *a)
{
	unsigned int forbidden = a->is_public ? 022 : 027;

	if (!S_ISREG(st->st_mode)) {
		conf_err_at(r, a->where, a->s, "%s is not a regular file", a->file);
		return false;
	}
	if (st->st_size > FILE_SIZE_MAX) {
		conf_err_at(r, a->where, a->s, "%s is too large, must be at most 64 MB", a->file);
		return false;
	}
	if (st->st_uid != 0 && st->st_uid != geteuid())
		conf_err_at(r, a->where, a->s,
			"%s belongs to user %u, must belong to root or to the reading user: chown "
			"%u "
			"%s",
			a->file, st->st_uid, geteuid(), a->file);
	if ((st->st_mode & forbidden) != 0)
		conf_err_at(r, a->where, a->s,
			"%s has mode %04o, others must not %s it nor the group write it: "
			"chmod %s %s",
			a->file, st->st_mode & 07777, a->is_public ? "write" : "read",
			a->is_public ? "644" : "640", a->file);
	return true;
}

// Reads at most size octets. False with errno if that fails.
static bool read_all(struct text *t, int fd, size_t size)
{
	t->octets = conf_alloc(1, size + 2);
	while (t->len < size) {
		ssize_t n = read(fd, t->octets + t->len, size - t->len);

		if (n < 0)
			return false;
		if (n == 0)
			break;
		t->len += (size_t)n;
	}
	return true;
}

static bool text_init(
	struct text *t, struct conf_reader *r, const char *path, const struct asker *a)
{
	// Non-blocking: to open a pipe would wait for a writer.
	FILE *f = conf_stream_open(path, O_NOCTTY | O_NONBLOCK);
	struct stat st;
	bool ok = false;

	*t = (struct text){0};
	if (f == NULL || fstat(fileno(f), &st) < 0) {
		conf_err_at(r, a->where, a->s, "%s cannot be opened: %s", a->file, strerror(errno));
	} else if (check_stat(r, &st, a)) {
		t->dev = st.st_dev;
		t->ino = st.st_ino;
		ok = read_all(t, fileno(f), (size_t)st.st_size);
		if (!ok)
			conf_err_at(r, a->where, a->s, "%s cannot be read: %s", a->file,
				strerror(errno));
	}
	if (f != NULL)
		conf_stream_close(f);
	return ok;
}

// Twice is rejected: a file that includes itself would go on forever.
static bool is_new(struct conf_reader *r, const struct text *t, const char *path)
{
	for (const struct conf_seen *seen = r->seen; seen != NULL; seen = seen->next)
		if (seen->dev == t->dev && seen->ino == t->ino)
			return false;

	struct conf_seen *seen = conf_alloc(1, sizeof(*seen));

	*seen = (struct conf_seen){
		.next = r->seen,
		.dev = t->dev,
		.ino = t->ino,
		.path = conf_strdup(path),
		.digest = key_id_of((const uint8_t *)t->octets, t->len),
	};
	r->seen = seen;
	return true;
}

// The folder of all included files, also of names that begin with a slash.
static const char *include_dir(const struct conf_reader *r)
{
	return r->dir[0] != '\0' ? r->dir : ".";
}

static bool file_include(struct conf_reader *r, const char *name, struct conf_where where)
{
	struct asker a = {.where = where, .file = conf_format("%s%s", r->dir, conf_show(name))};
	const char *path = conf_format("%s/%s", include_dir(r), name);
	struct text t;
	bool ok = text_init(&t, r, path, &a);

	if (ok && !is_new(r, &t, path)) {
		conf_err_at(r, where, NULL, "%s is already included, must be included only once",
			a.file);
		ok = false;
	}
	ok = ok && conf_scan(r, (struct conf_where){a.file, 1}, t.octets, t.len, file_include);
	conf_dealloc(t.octets);
	return ok;
}

// Whether a text could be a key in base64, which programs print as well, rather than settings.
static bool could_be_base64(const struct text *t)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t n = strspn(t->octets, digits), end = n + strspn(t->octets + n, "=");

	return n >= BASE64_MIN && end - n <= 2 &&
	       t->octets[end + strspn(t->octets + end, " \t\r\n")] == '\0';
}

// Digits alone, as programs that make keys print them, are the setting key.
static void digits_wrap(struct text *t)
{
	struct text wrapped = {.dev = t->dev, .ino = t->ino};

	if (strlen(t->octets) != t->len || hex_parse(NULL, 0, t->octets) <= 0)
		return;
	wrapped.octets = conf_alloc(1, t->len + sizeof("key = \"\";\n\n"));
	wrapped.len = (size_t)sprintf(wrapped.octets, "key = \"%s\";\n", t->octets);
	conf_dealloc(t->octets);
	*t = wrapped;
}

struct names {
	const char *main;          // of the file that settings without a name come from
	const char *theirs, *ours; // the name seen last
	unsigned int line;         // of the first line
};

static const char *our_name(struct conf_reader *r, struct names *n, const char *theirs)
{
	if (theirs == NULL)
		return n->main;
	if (theirs != n->theirs) {
		n->theirs = theirs;
		n->ours = conf_format(
			"%s%s", r->dir, conf_show(libconfig_include_name(theirs, include_dir(r))));
	}
	return n->ours;
}

// Gives the settings names of files as messages show them, in memory that outlives libconfig's.
static void name_files(struct conf_reader *r, config_setting_t *s, struct names *n)
{
	if (s->file == NULL)
		s->line += n->line - 1;
	s->file = our_name(r, n, s->file);
	for (int i = 0; i < config_setting_length(s); i++)
		name_files(r, config_setting_get_elem(s, (unsigned int)i), n);
}

// A text of a file of that name that begins on that line. There is room for two more octets.
static bool text_parse(struct conf_reader *r, config_t *file, struct text *t,
	struct conf_where where,
	bool (*use)(struct conf_reader *r, const char *name, struct conf_where where))
{
	struct names names = {.main = where.file, .line = where.line};

	// libconfig wants one after a comment.
	if (t->len > 0 && t->octets[t->len - 1] != '\n')
		t->octets[t->len++] = '\n';
	if (!conf_scan(r, where, t->octets, t->len, use))
		return false;
	if (!config_read_string(file, t->octets)) {
		bool ours = config_error_file(file) == NULL;

		where.file = our_name(r, &names, config_error_file(file));
		where.line = (unsigned int)config_error_line(file) + (ours ? where.line - 1 : 0);
		conf_err_at(r, where, NULL, "%s", config_error_text(file));
		return false;
	}
	name_files(r, config_root_setting(file), &names);
	return true;
}

bool conf_file_read(struct conf_reader *r, config_t *file, const char *path, const char *shown,
	struct conf_where where, config_setting_t *s)
{
	const struct conf_where start = {.file = shown, .line = 1};
	struct asker a = {.where = where, .s = s, .file = shown};
	struct text t;

	config_init(file);
	libconfig_include_from(file, include_dir(r));
	r->seen = NULL;

	bool ok = text_init(&t, r, path, &a) && is_new(r, &t, path);

	if (ok)
		digits_wrap(&t);
	if (ok && could_be_base64(&t)) {
		conf_err_at(r, start, s,
			"this could be a key in base64, must be pairs of hexadecimal digits: "
			"base64 -d %s | od -An -v -tx1",
			shown);
		ok = false;
	}
	ok = ok && text_parse(r, file, &t, start, file_include);
	conf_dealloc(t.octets);
	return ok;
}

const char *conf_seen_read(struct conf_reader *r, const struct conf_seen *seen, size_t *len)
{
	const struct asker a = {.where = {seen->path, 1}, .file = seen->path};
	struct key_id digest;
	struct text t;

	if (!text_init(&t, r, seen->path, &a))
		return NULL;
	digest = key_id_of((const uint8_t *)t.octets, t.len);
	if (!key_id_equal(&digest, &seen->digest)) {
		conf_err_at(r, a.where, NULL, "the file was edited just now");
		return NULL;
	}
	t.octets[t.len] = '\0';
	*len = t.len;
	return t.octets;
}

const char *conf_pem_read(
	struct conf_reader *r, config_setting_t *s, const char *name, bool is_public)
{
	const char *dir = name[0] == '/' ? "" : r->dir;
	struct asker a = {.where = conf_where(s),
		.s = s,
		.file = conf_format("%s%s", dir, conf_show(name)),
		.is_public = is_public};
	struct text t;

	if (!text_init(&t, r, conf_format("%s%s", dir, name), &a))
		return NULL;
	t.octets[t.len] = '\0';
	return t.octets;
}

static bool include_nothing(struct conf_reader *r, const char *name, struct conf_where where)
{
	conf_err_at(r, where, NULL, "%s cannot be included here, must be in the file",
		conf_quote(name));
	return false;
}

bool conf_text_read(struct conf_reader *r, config_t *file, const char *octets, size_t len,
	struct conf_where where)
{
	struct text t = {.octets = conf_alloc(1, len + 2), .len = len};

	memcpy(t.octets, octets, len);
	config_init(file);

	bool ok = text_parse(r, file, &t, where, include_nothing);

	conf_dealloc(t.octets);
	return ok;
}
