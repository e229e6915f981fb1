// SPDX-License-Identifier: BSD-3-Clause
#include "peer.h"

#include <netinet/in.h>

#include "packet_v6.h"
#include "site.h"

#define ESP_LEN     8
#define OPTIONS_MAX 64

struct peer peer_new(const struct gateway *g, const char *name)
{
	for (unsigned int i = 0; i < g->conf->n_sas; i++) {
		const struct conf_sa *sa = &g->conf->sas[i];
		const struct crypto_key key = {
			sa->opt.cipher, sa->opt.auth, sa->cipher_key, sa->auth_key, sa->opt.esn, 0};
		enum crypto_dir dir = sa->opt.direction == SA_IN ? CRYPTO_SEAL : CRYPTO_OPEN;

		if (strcmp(sa->live.name, name) == 0)
			return (struct peer){crypto_session_new(&key, dir, "openssl", 1), sa, 0};
	}
	abort();
}

void peer_free(struct peer *p)
{
	crypto_session_free(p->session);
}

uint16_t peer_trailer(const struct peer *p, uint8_t *text, uint16_t len, uint8_t next_header)
{
	uint8_t pad_len = 0;

	while ((len + 2) % p->sa->opt.cipher->block != 0) {
		text[len++] = ++pad_len;
	}
	text[len++] = pad_len;
	text[len++] = next_header;
	return len;
}

// Destination options of len octets, all of them padding.
static void padding_options(uint8_t *out, uint8_t len)
{
	memset(out, 0, len);
	out[0] = IPPROTO_ESP;
	out[1] = (uint8_t)(len / 8 - 1);
}

static void outer_write(uint8_t *out, const struct peer *p, const struct esp *esp, uint16_t len)
{
	char src[IP_ADDR_STRLEN], local[IP_ADDR_STRLEN];
	const char *dst = esp->dst != NULL ? esp->dst : ip_addr_format(local, &p->sa->opt.local);
	uint8_t options[OPTIONS_MAX];

	ip_addr_format(src, &p->sa->opt.remote);
	if (ip_addr_is_v4(&p->sa->opt.local)) {
		ip_write(out, (struct ipv4)FROM_TO(src, dst, .proto = IPPROTO_ESP, .tos = esp->tos,
				      .options = esp->options, .len = len));
		return;
	}
	assert_in_range(esp->options, 0, OPTIONS_MAX);
	if (esp->options > 0)
		padding_options(options, esp->options);
	ip6_write(out, (struct ipv6)FROM_TO(src, dst, .proto = IPPROTO_ESP, .tos = esp->tos,
			       .ext = options, .ext_len = esp->options,
			       .ext_proto = IPPROTO_DSTOPTS, .len = len));
}

struct frame peer_seal(const struct peer *p, struct esp esp)
{
	uint8_t icv_len = alg_pair_icv_len(p->sa->opt.cipher, p->sa->opt.auth);
	bool v4 = ip_addr_is_v4(&p->sa->opt.local);
	uint8_t packet[FRAME_MAX] = {0};
	uint16_t esp_off = (uint16_t)((v4 ? IP_LEN : IP6_LEN) + esp.options);
	uint16_t text_off = (uint16_t)(esp_off + ESP_LEN + p->sa->opt.cipher->iv_len);
	uint16_t len = (uint16_t)(text_off + esp.text_len + icv_len);
	struct crypto_op op = {
		.session = p->session,
		.esp = packet + esp_off,
		.seq = esp.seq,
		.text_len = esp.text_len,
	};

	outer_write(packet, p, &esp, len);
	put32(packet + esp_off, esp.spi != 0 ? esp.spi : p->sa->opt.spi);
	put32(packet + esp_off + 4, (uint32_t)esp.seq);
	memcpy(packet + text_off, esp.text, esp.text_len);
	crypto_seal(&op, 1, 0);
	if (!op.ok)
		abort();
	return (v4 ? frame_raw : frame_raw6)(WAN, packet, len);
}

struct frame peer_seal_packet(
	const struct peer *p, uint64_t seq, const uint8_t *packet, uint16_t len)
{
	uint8_t text[FRAME_MAX];

	memcpy(text, packet, len);
	len = peer_trailer(p, text, len, packet[0] >> 4 == 4 ? IPPROTO_IPIP : IPPROTO_IPV6);
	return peer_seal(p, (struct esp){.seq = seq, .text = text, .text_len = len});
}

struct frame peer_seal_ip(const struct peer *p, uint64_t seq, struct ipv4 inner)
{
	uint8_t packet[FRAME_MAX];

	return peer_seal_packet(p, seq, packet, ip_write(packet, inner));
}

void peer_expect_once(struct gateway *g, const char *sa, uint64_t seq)
{
	struct peer p = peer_new(g, sa);
	struct frame f = peer_seal_ip(&p, seq, (struct ipv4)FROM_TO("10.2.0.5", "10.1.0.5"));

	gateway_expect_sent(g, &f, LAN);
	gateway_expect_drop(g, &f, DROP_REPLAY);
	peer_free(&p);
}

uint16_t peer_open(const struct peer *p, const struct frame *f, uint8_t *inner)
{
	struct frame copy = *f;
	uint8_t *ip = copy.b + ETH_LEN, *esp = ip + IP_LEN;
	uint8_t *text = esp + ESP_LEN + p->sa->opt.cipher->iv_len;
	uint16_t around = (uint16_t)(ETH_LEN + IP_LEN + ESP_LEN + p->sa->opt.cipher->iv_len +
				     alg_pair_icv_len(p->sa->opt.cipher, p->sa->opt.auth));
	struct crypto_op op = {
		.session = p->session,
		.esp = esp,
		.seq = (uint64_t)p->upper << 32 | be32(esp + 4),
		.text_len = (uint16_t)(f->len - around),
	};

	assert_in_range(f->len, around + 4, FRAME_MAX);
	assert_int_equal(ip[0], 0x45);
	assert_int_equal(be16(ip + 2), frame_packet_len(f));
	assert_int_equal(ip[8], 64);
	assert_int_equal(ip[9], IPPROTO_ESP);
	assert_int_equal(checksum(ip, IP_LEN), 0);
	assert_int_equal(be32(ip + 12), rte_be_to_cpu_32(ip_addr_v4(&p->sa->opt.local)));
	assert_int_equal(be32(ip + 16), rte_be_to_cpu_32(ip_addr_v4(&p->sa->opt.remote)));
	assert_int_equal(be32(esp), p->sa->opt.spi);
	assert_int_equal(op.text_len % p->sa->opt.cipher->block, 0);
	crypto_open(&op, 1, 0);
	assert_true(op.ok);

	uint8_t pad_len = text[op.text_len - 2];
	uint16_t inner_len = (uint16_t)(op.text_len - 2 - pad_len);

	bool v4 = text[0] >> 4 == 4;

	assert_int_equal(text[op.text_len - 1], v4 ? IPPROTO_IPIP : IPPROTO_IPV6);
	for (uint8_t i = 0; i < pad_len; i++)
		assert_int_equal(text[inner_len + i], i + 1);
	assert_int_equal(v4 ? be16(text + 2) : be16(text + 4) + 40, inner_len);
	memcpy(inner, text, inner_len);
	return inner_len;
}

uint32_t esp_seq(const struct frame *f)
{
	return be32(frame_packet(f) + IP_LEN + 4);
}
