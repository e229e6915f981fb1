// SPDX-License-Identifier: BSD-3-Clause
// Every engine against ESP packets sealed by other implementations: the files of tests/vectors.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <rte_byteorder.h>

#include "crypto_oracle.h"
#include "hex.h"

struct vector {
	char name[64];
	const struct cipher_alg *cipher;
	const struct auth_alg *auth;
	uint8_t cipher_key[CRYPTO_CIPHER_KEY_MAX];
	uint8_t auth_key[CRYPTO_AUTH_KEY_MAX];
	int cipher_key_len, auth_key_len;
	bool esn;
	uint64_t seq;
	uint8_t text[PACKET_MAX], packet[PACKET_MAX];
	int text_len, packet_len;
};

static void vector_set(struct vector *v, const char *field, const char *value)
{
	if (strcmp(field, "name") == 0)
		snprintf(v->name, sizeof(v->name), "%s", value);
	else if (strcmp(field, "cipher") == 0)
		v->cipher = cipher_alg_find(value);
	else if (strcmp(field, "auth") == 0)
		v->auth = auth_alg_find(value);
	else if (strcmp(field, "cipher_key") == 0)
		v->cipher_key_len = hex_parse(v->cipher_key, sizeof(v->cipher_key), value);
	else if (strcmp(field, "auth_key") == 0)
		v->auth_key_len = hex_parse(v->auth_key, sizeof(v->auth_key), value);
	else if (strcmp(field, "esn") == 0)
		v->esn = strcmp(value, "true") == 0;
	else if (strcmp(field, "seq") == 0)
		v->seq = strtoull(value, NULL, 0);
	else if (strcmp(field, "text") == 0)
		v->text_len = hex_parse(v->text, sizeof(v->text), value);
	else if (strcmp(field, "packet") == 0)
		v->packet_len = hex_parse(v->packet, sizeof(v->packet), value);
	else
		fail_msg("unknown field %s", field);
}

// Lengths are those of the algorithms.
static void vector_check(const struct vector *v)
{
	assert_non_null(v->cipher);
	assert_non_null(v->auth);
	assert_int_equal(v->cipher_key_len, v->cipher->key_len + v->cipher->salt_len);
	assert_int_equal(v->auth_key_len, v->auth->key_len);
	assert_int_equal(v->packet_len,
		8 + v->cipher->iv_len + v->text_len + alg_pair_icv_len(v->cipher, v->auth));
	assert_in_range(v->packet_len, 1, PACKET_MAX);
}

// Reads lines up to a blank one. False at the end of the file.
static bool vector_read(struct vector *v, FILE *f)
{
	char line[2 * PACKET_MAX + 16];
	bool any = false;

	*v = (struct vector){0};
	while (fgets(line, sizeof(line), f) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0] == '#')
			continue;
		if (line[0] == '\0' && any)
			break;
		if (line[0] == '\0')
			continue;

		char *value = strchr(line, ' ');

		assert_non_null(value);
		*value++ = '\0';
		vector_set(v, line, value);
		any = true;
	}
	if (any)
		vector_check(v);
	return any;
}

// The value that makes the IV of the packet out of the sequence number.
static uint64_t iv_mask(const struct vector *v)
{
	rte_be64_t iv;

	memcpy(&iv, v->packet + 8, sizeof(iv));
	return rte_be_to_cpu_64(iv) ^ v->seq;
}

static struct crypto_session *session_new(
	const struct vector *v, enum crypto_dir dir, const char *engine)
{
	const struct crypto_key key = {
		v->cipher, v->auth, v->cipher_key, v->auth_key, v->esn, iv_mask(v)};
	struct crypto_session *s = crypto_session_new(&key, dir, engine, 1);

	assert_non_null(s);
	return s;
}

static void check_open(const struct vector *v, const char *engine)
{
	uint8_t packet[PACKET_MAX];
	struct crypto_op op = {
		.session = session_new(v, CRYPTO_OPEN, engine),
		.esp = packet,
		.seq = v->seq,
		.text_len = (uint16_t)v->text_len,
	};

	memcpy(packet, v->packet, v->packet_len);
	crypto_open(&op, 1, 0);
	crypto_session_free(op.session);
	if (!op.ok || memcmp(packet + 8 + v->cipher->iv_len, v->text, v->text_len) != 0)
		fail_msg("%s: %s: %s", engine, v->name, op.ok ? "wrong text" : "wrong ICV");
}

static void check_seal(const struct vector *v, const char *engine)
{
	uint8_t packet[PACKET_MAX] = {0};
	struct crypto_op op = {
		.session = session_new(v, CRYPTO_SEAL, engine),
		.esp = packet,
		.seq = v->seq,
		.text_len = (uint16_t)v->text_len,
	};

	memcpy(packet, v->packet, 8);
	memcpy(packet + 8 + v->cipher->iv_len, v->text, v->text_len);
	crypto_seal(&op, 1, 0);
	crypto_session_free(op.session);
	if (!op.ok || memcmp(packet, v->packet, v->packet_len) != 0)
		fail_msg("%s: %s: sealed differently", engine, v->name);
}

// Whether sealing makes the same packet: there is no IV, or the test can choose it.
static bool is_reproducible(const struct vector *v)
{
	return v->cipher->iv_len == 0 || cipher_alg_counts(v->cipher);
}

// Opens every packet of the file, and seals its text if sealing is deterministic.
static void check_file(const char *path, unsigned int packets)
{
	FILE *f = fopen(path, "r");
	unsigned int n = 0;
	struct vector v;

	assert_non_null(f);
	while (vector_read(&v, f)) {
		n++;
		for (const char *const *e = crypto_engine_names; *e != NULL; e++) {
			if (!crypto_engine_built_in(*e) || !engine_has(*e, v.cipher, v.auth, v.esn))
				continue;
			check_open(&v, *e);
			if (is_reproducible(&v))
				check_seal(&v, *e);
		}
	}
	assert_int_equal(n, packets);
	fclose(f);
}

static void test_published(void **state)
{
	(void)state;
	check_file(VECTORS_DIR "/published.txt", 58);
}

static void test_esp_packets(void **state)
{
	(void)state;
	check_file(VECTORS_DIR "/esp_packets.txt", 492);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_published),
		cmocka_unit_test(test_esp_packets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
