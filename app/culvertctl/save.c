// SPDX-License-Identifier: BSD-3-Clause
#include "save.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "conf_rewrite.h"
#include "control.h"
#include "difference.h"
#include "hex.h"
#include "key_id.h"
#include "replace.h"

#define FILES_MAX  256
#define DIGEST_LEN (2 * sizeof(struct key_id))

// The answer of the daemon, of conf_rewrite().
struct edits {
	const char *next, *end; // octets that are not read yet
	char config[PATH_MAX];
	struct replacement file[FILES_MAX];
	size_t n;
	json_t *differences;
};

// --- files with their patches ---

// A file while its patches are applied.
struct patching {
	char *old;
	size_t old_len, at; // octets that are done
	char after[DIGEST_LEN + 1];
	FILE *out;
};

static bool malformed(void)
{
	warnx("save: malformed answer: is this a culvertd of the same version?");
	return false;
}

// To be freed; NULL with errno.
static char *file_read(const char *path, size_t *len)
{
	FILE *f = fopen(path, "re"), *out;
	char part[4096], *text = NULL;
	size_t n;

	if (f == NULL)
		return NULL;
	out = open_memstream(&text, len);
	while (out != NULL && (n = fread(part, 1, sizeof(part), f)) > 0)
		fwrite(part, 1, n, out);
	if (out == NULL || ferror(f) || fclose(out) != 0) {
		free(text);
		text = NULL;
	}
	fclose(f);
	explicit_bzero(part, sizeof(part)); // keys
	return text;
}

static bool has_digest(const char *octets, size_t len, const char *digest)
{
	struct key_id id = key_id_of((const uint8_t *)octets, len);
	char digits[DIGEST_LEN + 1];

	hex_format(digits, id.octets, sizeof(id.octets));
	return strcmp(digits, digest) == 0;
}

static bool file_open(struct patching *p, const char *path, struct replacement *r)
{
	r->path = strdup(path);
	p->old = file_read(path, &p->old_len);
	p->out = open_memstream(&r->text, &r->len);
	p->at = 0;
	if (p->old == NULL)
		warn("%s", path);
	if (r->path == NULL || p->out == NULL)
		err(EXIT_FAILED, NULL);
	return p->old != NULL;
}

static bool file_begin(struct edits *e, struct patching *p)
{
	char before[DIGEST_LEN + 1], path[PATH_MAX];

	if (e->n == FILES_MAX ||
		sscanf(e->next, "file %64s %64s %4095[^\n]", before, p->after, path) != 3)
		return malformed();
	e->next += strcspn(e->next, "\n");
	e->next += *e->next == '\n';
	if (!file_open(p, path, &e->file[e->n++]))
		return false;
	if (has_digest(p->old, p->old_len, before))
		return true;
	warnx("%s was edited just now, or by another save --write: nothing has changed", path);
	return false;
}

static bool patch_apply(struct edits *e, struct patching *p)
{
	size_t at, removed, len;
	int line = 0;

	if (sscanf(e->next, "patch %zu %zu %zu%n", &at, &removed, &len, &line) != 3 || at < p->at ||
		at > p->old_len || removed > p->old_len - at ||
		(size_t)(e->end - e->next) < (size_t)line + 2 ||
		(size_t)(e->end - e->next) - (size_t)line - 2 < len)
		return malformed();
	fwrite(p->old + p->at, 1, at - p->at, p->out);
	fwrite(e->next + line + 1, 1, len, p->out);
	p->at = at + removed;
	e->next += (size_t)line + len + 2;
	return true;
}

static bool file_patch(struct edits *e, struct patching *p)
{
	bool ok = file_begin(e, p);

	while (ok && strncmp(e->next, "patch ", 6) == 0)
		ok = patch_apply(e, p);
	if (ok)
		fwrite(p->old + p->at, 1, p->old_len - p->at, p->out);
	return ok;
}

static bool file_take(struct edits *e)
{
	struct patching p = {.out = NULL};
	bool ok = file_patch(e, &p);

	if (p.old != NULL)
		explicit_bzero(p.old, p.old_len);
	free(p.old);
	if (p.out != NULL && fclose(p.out) != 0)
		err(EXIT_FAILED, NULL);
	return ok &&
	       (has_digest(e->file[e->n - 1].text, e->file[e->n - 1].len, p.after) || malformed());
}

static bool config_take(struct edits *e)
{
	int n = 0;

	if (sscanf(e->next, "config %4095[^\n]%n", e->config, &n) != 1)
		return malformed();
	e->next += n + (e->next[n] == '\n');
	return true;
}

static bool files_take(struct edits *e)
{
	bool ok = true;

	while (ok && strncmp(e->next, "file ", 5) == 0)
		ok = file_take(e);
	if (ok && strncmp(e->next, "changes\n", 8) == 0)
		e->differences = json_loads(e->next + 8, 0, NULL);
	return ok && (e->differences != NULL || malformed());
}

// --- the daemon ---

static bool is_good(const struct edits *e)
{
	struct conf_text text[FILES_MAX];
	struct conf_texts after = {text, (unsigned int)e->n};

	for (size_t i = 0; i < e->n; i++)
		text[i] = (struct conf_text){e->file[i].path, e->file[i].text, e->file[i].len};
	return conf_rewrite_check(e->config, &after, stderr);
}

// The lock of the folder ends with the program. False after a message: another one has it.
static bool lock(const char *config)
{
	char *folder = strdup(config);
	int fd = folder != NULL ? open(dirname(folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	free(folder);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		return true;
	if (errno == EWOULDBLOCK)
		warnx("another culvertctl save --write is at work: nothing has changed");
	else
		warn("the folder of %s", config);
	return false;
}

static enum exit_code result_print(const struct options *options, const struct edits *e)
{
	json_t *files = json_array(), *d;
	size_t i;

	for (i = 0; i < e->n; i++)
		json_array_append_new(files, json_pack("{s:s, s:s}", "file", e->file[i].path,
						     "former", e->file[i].former));
	if (options->json)
		return output_json(json_pack("{s:s, s:o, s:O}", "result", "saved", "files", files,
			"differences", e->differences));
	json_array_foreach(e->differences, i, d)
	{
		difference_print(d, false);
	}
	for (i = 0; i < e->n; i++)
		printf("saved in %s, the former file is %s\n", e->file[i].path, e->file[i].former);
	json_decref(files);
	return EXIT_OK;
}

// From then on the daemon has nothing that the file lacks. If it refuses the file, it has changed
// meanwhile.
static enum exit_code reload(const struct options *options, struct edits *e)
{
	enum exit_code code = EXIT_OK;
	struct answer answer;

	if (!control_try(&answer, options->instance, "reload")) {
		warnx("the files are written, but not reloaded");
		return EXIT_FAILED;
	}
	if (strcmp(answer.status, "ok") != 0) {
		code = answer_print(options, &answer, "");
		replace_undo(e->file, e->n);
	}
	answer_fini(&answer);
	return code;
}

// A signal must not end it between two files.
static enum exit_code files_replace(const struct options *options, struct edits *e)
{
	enum exit_code code = EXIT_FAILED;
	sigset_t all, before;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	if (replace_all(e->file, e->n))
		code = reload(options, e);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return code == EXIT_OK ? result_print(options, e) : code;
}

static enum exit_code edits_make(const struct options *options, const char *text)
{
	static struct edits e;
	enum exit_code code = EXIT_FAILED;

	e = (struct edits){.next = text, .end = text + strlen(text)};
	if (config_take(&e) && lock(e.config) && files_take(&e) && is_good(&e))
		code = files_replace(options, &e);
	json_decref(e.differences);
	replace_free(e.file, e.n);
	return code;
}

enum exit_code save_write(const struct options *options)
{
	struct answer answer;
	enum exit_code code;

	control_request(&answer, options->instance, "rewrite", EXIT_FAILED);
	if (strcmp(answer.status, "text") != 0) {
		code = answer_print(options, &answer, "");
	} else if (answer.text[0] == '\0') {
		puts(options->json ? "{\"result\": \"same\"}" : "nothing to save");
		code = EXIT_OK;
	} else {
		code = edits_make(options, answer.text);
	}
	answer_fini(&answer);
	return code;
}
