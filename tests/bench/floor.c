// SPDX-License-Identifier: BSD-3-Clause
#include "floor.h"

#include <stdlib.h>

#include <rte_byteorder.h>
#include <rte_esp.h>
#include <rte_ether.h>
#include <rte_ip.h>

#include "die.h"
#include "gateway_pair.h"

#define SEALED_OFF (RTE_ETHER_HDR_LEN + sizeof(struct rte_ipv4_hdr))

static struct crypto_session **sessions_new(const struct point *p, enum crypto_dir dir)
{
	struct crypto_session **s = calloc(p->sas, sizeof(s[0]));

	if (s == NULL)
		die("no memory");
	for (unsigned int i = 0; i < p->sas; i++) {
		uint8_t octets[CRYPTO_CIPHER_KEY_MAX];
		struct crypto_key key = {p->cipher, p->auth, octets, octets, point_esn(p), 0};

		gateway_pair_key(octets, i);
		s[i] = crypto_session_new(&key, dir, p->engine, p->workers);
		if (s[i] == NULL)
			die("no crypto session");
	}
	return s;
}

static void sessions_free(struct crypto_session *s[], unsigned int n)
{
	for (unsigned int i = 0; s != NULL && i < n; i++)
		crypto_session_free(s[i]);
	free(s);
}

struct floor *floor_new(const struct point *p, unsigned int worker)
{
	struct floor *f = calloc(1, sizeof(*f));

	if (f == NULL)
		die("no memory");
	f->point = p;
	f->worker = worker;
	// The inner packet is not moved; headers are prepended to it.
	f->seal_off = RTE_ETHER_HDR_LEN - (int)sizeof(struct rte_esp_hdr) - p->cipher->iv_len;
	f->open_off = p->dir == DIR_LOOP ? f->seal_off : (int)SEALED_OFF;
	if (p->dir != DIR_IN)
		f->seal = sessions_new(p, CRYPTO_SEAL);
	if (p->dir != DIR_OUT)
		f->open = sessions_new(p, CRYPTO_OPEN);
	return f;
}

void floor_free(struct floor *f)
{
	sessions_free(f->seal, f->point->sas);
	sessions_free(f->open, f->point->sas);
	free(f);
}

void floor_prepare_clear(struct floor *f, const struct batch *b)
{
	for (unsigned int i = 0; i < b->n; i++) {
		struct crypto_op op = {
			.seq = b->mark[i],
			.text_len =
				point_text_len(f->point, (uint16_t)(b->len[i] - RTE_ETHER_HDR_LEN)),
		};

		f->to_seal[i] = f->to_open[i] = op;
		if (f->seal != NULL)
			f->to_seal[i].session = f->seal[b->sa[i]];
		if (f->open != NULL)
			f->to_open[i].session = f->open[b->sa[i]];
	}
}

void floor_prepare_sealed(struct floor *f, const struct batch *b)
{
	size_t around = SEALED_OFF + sizeof(struct rte_esp_hdr) + f->point->cipher->iv_len +
			alg_pair_icv_len(f->point->cipher, f->point->auth);

	for (unsigned int i = 0; i < b->n; i++) {
		const struct rte_esp_hdr *esp =
			(const struct rte_esp_hdr *)(batch_frame(b, i) + SEALED_OFF);

		f->to_open[i] = (struct crypto_op){
			.session = f->open[b->sa[i]],
			.seq = rte_be_to_cpu_32(esp->seq),
			.text_len = (uint16_t)(b->len[i] - around),
		};
	}
}

static bool all_ok(const struct crypto_op op[], unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (!op[i].ok)
			return false;
	return true;
}

bool floor_ok(const struct floor *f, const struct batch *b)
{
	return (f->seal == NULL || all_ok(f->to_seal, b->n)) &&
	       (f->open == NULL || all_ok(f->to_open, b->n));
}
