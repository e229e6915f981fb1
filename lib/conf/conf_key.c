// SPDX-License-Identifier: BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "conf_check.h"
#include "conf_schema.h"
#include "hex.h"

// A key as its algorithm wants it.
struct wanted {
	const char *name; // of the setting
	const char *alg;
	uint8_t *octets; // goes here
	struct key_id *id;
	size_t size; // of octets
	unsigned int key_len, salt_len;
};

static const char *length_text(const struct wanted *w)
{
	if (w->salt_len == 0)
		return conf_format("%u octets", w->key_len);
	return conf_format("%u octets (%u and a salt of %u)", w->key_len + w->salt_len, w->key_len,
		w->salt_len);
}

// Reads one key from a group, which is the SA's own or a key file's. Messages name the SA.
static bool read_key(struct conf_reader *r, config_setting_t *item, config_setting_t *from,
	const struct wanted *w)
{
	config_setting_t *s = conf_member(from, w->name);
	struct conf_where where = conf_where(s != NULL ? s : from);
	unsigned int need = w->key_len + w->salt_len;

	if (conf_rejected(from, w->name))
		return false;
	if (need == 0 && s != NULL)
		conf_err_at(
			r, where, item, "%s: %s takes no key, must be left out", w->name, w->alg);
	if (need == 0)
		return s == NULL;
	if (s == NULL) {
		conf_err_at(r, where, item, "%s is missing, %s needs %s%s", w->name, w->alg,
			length_text(w), from == item ? ", here or in a key_file" : "");
		return false;
	}

	int n = hex_parse(w->octets, w->size, config_setting_get_string(s));

	if (n == (int)need) {
		*w->id = key_id_of(w->octets, need);
		return true;
	}
	if (n < 0)
		conf_err_at(r, where, item, "%s: must be pairs of hexadecimal digits", w->name);
	else
		conf_err_at(r, where, item, "%s: key is %d octet%s, %s needs %s", w->name, n,
			n == 1 ? "" : "s", w->alg, length_text(w));
	return false;
}

static bool read_cipher_key(
	struct conf_reader *r, config_setting_t *item, config_setting_t *from, struct conf_sa *sa)
{
	const struct cipher_alg *cipher = sa->opt.cipher;

	if (conf_given(item, "cipher") == NULL)
		return false;
	return read_key(r, item, from,
		&(struct wanted){"cipher_key", cipher->name, sa->cipher_key, &sa->opt.cipher_key_id,
			sizeof(sa->cipher_key), cipher->key_len, cipher->salt_len});
}

static void read_auth_key(
	struct conf_reader *r, config_setting_t *item, config_setting_t *from, struct conf_sa *sa)
{
	const struct auth_alg *auth = sa->opt.auth;

	if (!conf_rejected(item, "auth"))
		read_key(r, item, from,
			&(struct wanted){"auth_key",
				auth->mode == AUTH_NONE ? "auth none" : auth->name, sa->auth_key,
				&sa->opt.auth_key_id, sizeof(sa->auth_key), auth->key_len, 0});
}

// Both keys in a row, the cipher's with its salt first.
static bool split_key(
	struct conf_reader *r, config_setting_t *item, config_setting_t *s, struct conf_sa *sa)
{
	uint8_t octets[CRYPTO_CIPHER_KEY_MAX + CRYPTO_AUTH_KEY_MAX];
	unsigned int cipher = sa->opt.cipher->key_len + sa->opt.cipher->salt_len;
	unsigned int auth = sa->opt.auth->key_len;
	int n = hex_parse(octets, sizeof(octets), config_setting_get_string(s));

	if (n == (int)(cipher + auth)) {
		memcpy(sa->cipher_key, octets, cipher);
		memcpy(sa->auth_key, octets + cipher, auth);
		sa->opt.cipher_key_id = key_id_of(sa->cipher_key, cipher);
		// As where keys are apart, a key that there is not has none: the SA is the same.
		if (auth > 0)
			sa->opt.auth_key_id = key_id_of(sa->auth_key, auth);
	} else if (n < 0) {
		conf_err_at(r, conf_where(s), item, "key: must be pairs of hexadecimal digits");
	} else {
		conf_err_at(r, conf_where(s), item,
			"key: is %d octet%s, %s with auth %s needs %u (%u for the cipher, then %u)",
			n, n == 1 ? "" : "s", sa->opt.cipher->name,
			auth > 0 ? sa->opt.auth->name : "none", cipher + auth, cipher, auth);
	}
	explicit_bzero(octets, sizeof(octets));
	return n == (int)(cipher + auth);
}

static bool read_joined_key(struct conf_reader *r, config_setting_t *item,
	const config_setting_t *root, struct conf_sa *sa)
{
	config_setting_t *s = conf_member(root, "key");

	if (conf_rejected(root, "key") || conf_rejected(item, "auth") ||
		conf_given(item, "cipher") == NULL)
		return false;
	if (config_setting_length(root) == 1)
		return split_key(r, item, s, sa);
	conf_err_at(r, conf_where(s), item, "key: must be the only setting of its file");
	return false;
}

static bool read_key_file(
	struct conf_reader *r, config_setting_t *item, config_setting_t *s, struct conf_sa *sa)
{
	const char *name = config_setting_get_string(s);
	const char *dir = name[0] == '/' ? "" : r->dir;
	config_t file;
	bool ok = conf_file_read(r, &file, conf_format("%s%s", dir, name),
		conf_format("%s%s", dir, conf_show(name)), conf_where(s), s);

	if (ok) {
		config_setting_t *root = config_root_setting(&file);

		conf_read_group(r, conf_key_file_options, root, sa);
		if (conf_member(root, "key") != NULL) {
			ok = read_joined_key(r, item, root, sa);
		} else {
			read_auth_key(r, item, root, sa);
			ok = read_cipher_key(r, item, root, sa);
		}
	}
	config_destroy(&file);
	return ok;
}

bool conf_key_read(struct conf_reader *r, config_setting_t *item, struct conf_sa *sa)
{
	config_setting_t *file = conf_member(item, "key_file");
	bool inline_key =
		conf_member(item, "cipher_key") != NULL || conf_member(item, "auth_key") != NULL;

	if (file == NULL) {
		read_auth_key(r, item, item, sa);
		return read_cipher_key(r, item, item, sa);
	}
	if (inline_key)
		conf_err(r, file, "keys are in the SA as well, must be in one place");
	if (conf_rejected(item, "key_file"))
		return false;
	return read_key_file(r, item, file, sa);
}

static void key_setting_add(config_setting_t *item, struct conf_where where, const char *name,
	const uint8_t *octets, unsigned int len)
{
	char digits[2 * (CRYPTO_CIPHER_KEY_MAX + CRYPTO_AUTH_KEY_MAX) + 1];
	config_setting_t *s;

	if (len == 0)
		return;
	for (unsigned int i = 0; i < len; i++)
		sprintf(digits + 2 * i, "%02x", octets[i]);
	s = config_setting_add(item, name, CONFIG_TYPE_STRING);
	config_setting_set_string(s, digits);
	s->file = where.file;
	s->line = where.line;
	explicit_bzero(digits, sizeof(digits));
}

static void key_keep(config_setting_t *item, const struct conf_sa *sa)
{
	const config_setting_t *file = conf_member(item, "key_file");
	struct conf_where where;

	if (file == NULL)
		return;
	where = conf_where(file);
	config_setting_remove(item, "key_file");
	key_setting_add(item, where, "cipher_key", sa->cipher_key,
		sa->opt.cipher->key_len + sa->opt.cipher->salt_len);
	key_setting_add(item, where, "auth_key", sa->auth_key, sa->opt.auth->key_len);
}

static int compare_ids(const void *a, const void *b)
{
	const struct conf_sa *const *x = a, *const *y = b;
	int by_cipher =
		memcmp(&(*x)->opt.cipher_key_id, &(*y)->opt.cipher_key_id, sizeof(struct key_id));

	return by_cipher != 0 ? by_cipher
			      : memcmp(&(*x)->opt.auth_key_id, &(*y)->opt.auth_key_id,
					sizeof(struct key_id));
}

// The SAs of a configuration in the order of their keys.
static const struct conf_sa **sorted(const struct conf *c)
{
	const struct conf_sa **sas = conf_alloc(c->n_sas + 1, sizeof(sas[0]));

	for (unsigned int i = 0; i < c->n_sas; i++)
		sas[i] = &c->sas[i];
	qsort(sas, c->n_sas, sizeof(sas[0]), compare_ids);
	return sas;
}

// The file that the same keys were read from before a change; NULL if there was none.
static const char *file_before(
	const struct conf_reader *r, const struct conf_sa **before, const struct conf_sa *sa)
{
	const struct conf *c = r->running;
	const struct conf_sa **found =
		c == NULL ? NULL : bsearch(&sa, before, c->n_sas, sizeof(before[0]), compare_ids);
	const char *name = found != NULL ? c->tree->key_files[*found - c->sas] : NULL;

	return name != NULL ? conf_strdup(name) : NULL;
}

void conf_keys_keep(struct conf_reader *r)
{
	const struct conf_sa **before = r->running != NULL ? sorted(r->running) : NULL;
	struct conf *c = r->c;

	c->tree->key_files = conf_alloc(c->n_sas + 1, sizeof(c->tree->key_files[0]));
	for (unsigned int i = 0; i < c->n_sas; i++) {
		config_setting_t *item = conf_item(r, CONF_SA, i);
		const config_setting_t *file = conf_member(item, "key_file");

		c->tree->key_files[i] = file != NULL ? conf_strdup(config_setting_get_string(file))
						     : file_before(r, before, &c->sas[i]);
		key_keep(item, &c->sas[i]);
	}
}
