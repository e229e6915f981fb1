// SPDX-License-Identifier: BSD-3-Clause
// culvertctl keygen: writes a key file with new random keys, or a key and a certificate for the
// channel between the gateways of a pair.
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "alg.h"
#include "command.h"
#include "hex.h"
#include "pem.h"

#define NAME_LEN_MAX 64 // of a common name (RFC 5280 A.1)

struct algs {
	const struct cipher_alg *cipher;
	const struct auth_alg *auth;
};

static void names_print(const struct algs *algs)
{
	if (algs->cipher == NULL)
		for (const struct cipher_alg *c = cipher_algs; c->name != NULL; c++)
			fprintf(stderr, " %s", c->name);
	else
		for (const struct auth_alg *a = auth_algs; a->name != NULL; a++)
			fprintf(stderr, " %s", a->name);
	putc('\n', stderr);
}

// words: perhaps a cipher and an authenticator, by default the one that the cipher needs.
static void algs_read(struct algs *algs, char **words)
{
	const char *cipher = words[0] != NULL ? words[0] : "aes-256-gcm";
	const char *auth = words[0] != NULL ? words[1] : NULL;

	algs->cipher = cipher_alg_find(cipher);
	if (algs->cipher != NULL && auth == NULL)
		auth = algs->cipher->icv_len != 0 ? "none" : "hmac-sha2-256-128";
	algs->auth = auth != NULL ? auth_alg_find(auth) : NULL;
	if (algs->cipher == NULL || algs->auth == NULL) {
		fprintf(stderr, "%s: keygen: unknown %s \"%s\", must be one of:",
			program_invocation_short_name, algs->cipher == NULL ? "cipher" : "auth",
			algs->cipher == NULL ? cipher : auth);
		names_print(algs);
		exit(EXIT_USAGE);
	}
	if (!alg_pair_ok(algs->cipher, algs->auth))
		errx(EXIT_USAGE, "keygen: %s %s auth, must be %s", algs->cipher->name,
			algs->cipher->icv_len != 0 ? "takes no" : "needs an",
			algs->cipher->icv_len != 0 ? "none"
						   : "one of hmac-sha2-256-128 and the like");
}

// Writes the line of a key of len octets, of none no line. False with errno if there is no random.
static bool key_write(FILE *f, const char *name, size_t len)
{
	uint8_t key[CRYPTO_CIPHER_KEY_MAX + CRYPTO_AUTH_KEY_MAX];
	char digits[2 * sizeof(key) + 1];
	bool ok = getrandom(key, len, 0) == (ssize_t)len;

	hex_format(digits, key, len);
	if (ok && len > 0)
		fprintf(f, "%s = \"%s\";\n", name, digits);
	explicit_bzero(key, sizeof(key));
	explicit_bzero(digits, sizeof(digits));
	return ok;
}

static bool keys_write(FILE *f, const struct algs *algs)
{
	fprintf(f, "# %s %s: for both ends of one SA, and for no other SA\n", algs->cipher->name,
		algs->auth->name);
	return key_write(f, "cipher_key", (size_t)algs->cipher->key_len + algs->cipher->salt_len) &&
	       key_write(f, "auth_key", algs->auth->key_len);
}

// A file that exists stays as it is: it may hold a key in use. NULL after a message.
static FILE *file_create(const char *path, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;

	if (fd < 0 && errno == EEXIST)
		warnx("%s exists: choose another name, or remove it", path);
	else if (f == NULL)
		warn("%s", path);
	return f;
}

// Returns whether all is on the disk, and closes it.
static bool file_finish(FILE *f, bool ok)
{
	ok = ok && fflush(f) == 0 && !ferror(f) && fsync(fileno(f)) == 0;
	return fclose(f) == 0 && ok;
}

static enum exit_code file_write(const char *path, const struct algs *algs)
{
	FILE *f = file_create(path, 0600);

	if (f == NULL)
		return EXIT_FAILED;
	if (file_finish(f, keys_write(f, algs)))
		return EXIT_OK;
	warn("%s", path);
	unlink(path);
	return EXIT_FAILED;
}

// PREFIX.key and PREFIX.crt.
static enum exit_code pair_write(const char *prefix)
{
	const char *slash = strrchr(prefix, '/'), *name = slash != NULL ? slash + 1 : prefix;
	char key_path[PATH_MAX], crt_path[PATH_MAX];
	FILE *key, *crt;
	bool ok;

	if (name[0] == '\0' || strlen(name) > NAME_LEN_MAX)
		errx(EXIT_USAGE, "keygen pair: expected a name of 1 to %d octets", NAME_LEN_MAX);
	snprintf(key_path, sizeof(key_path), "%s.key", prefix);
	snprintf(crt_path, sizeof(crt_path), "%s.crt", prefix);
	key = file_create(key_path, 0600);
	if (key == NULL)
		return EXIT_FAILED;
	crt = file_create(crt_path, 0644);
	ok = crt != NULL && pem_make(key, crt, name);
	if (crt != NULL && !ok)
		warnx("keygen pair: cannot make a key");
	ok = file_finish(key, ok);
	if (crt != NULL) {
		ok = file_finish(crt, ok) && ok;
		if (!ok)
			unlink(crt_path);
	}
	if (!ok)
		unlink(key_path);
	return ok ? EXIT_OK : EXIT_FAILED;
}

enum exit_code command_keygen(const struct options *options, char **words)
{
	struct algs algs;

	(void)options;
	if (words[0] == NULL)
		errx(EXIT_USAGE, "keygen: expected the name of the file to write");
	if (words[1] != NULL && words[2] != NULL && words[3] != NULL)
		errx(EXIT_USAGE, "keygen: unexpected argument \"%s\"", words[3]);
	if (strcmp(words[0], "pair") == 0) {
		if (words[1] == NULL || words[2] != NULL)
			errx(EXIT_USAGE, "keygen pair: expected one name, of the files to write");
		return pair_write(words[1]);
	}
	algs_read(&algs, words + 1);
	return file_write(words[0], &algs);
}
