// SPDX-License-Identifier: BSD-3-Clause
#include "librte_peer.h"

#include <netinet/in.h>

#include <rte_cryptodev.h>
#include <rte_dev.h>
#include <rte_ip.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "ip_view.h"
#include "test.h"

#define IV_OFFSET (sizeof(struct rte_crypto_op) + sizeof(struct rte_crypto_sym_op))

static const char *const vdevs[] = {"crypto_aesni_mb", "crypto_openssl"};

static struct rte_mempool *ops, *sessions[COUNT_OF(vdevs)];

static int device_start(uint8_t id, struct rte_mempool **pool)
{
	struct rte_cryptodev_config conf = {.nb_queue_pairs = 1, .socket_id = SOCKET_ID_ANY};
	struct rte_cryptodev_qp_conf qp = {.nb_descriptors = 64};
	char name[32];

	snprintf(name, sizeof(name), "sessions-%u", id);
	*pool = rte_cryptodev_sym_session_pool_create(
		name, 16, rte_cryptodev_sym_get_private_session_size(id), 0, 0, SOCKET_ID_ANY);
	qp.mp_session = *pool;
	return *pool == NULL || rte_cryptodev_configure(id, &conf) < 0 ||
			       rte_cryptodev_queue_pair_setup(id, 0, &qp, SOCKET_ID_ANY) < 0
		       ? -1
		       : rte_cryptodev_start(id);
}

int peer_devices_start(void)
{
	ops = rte_crypto_op_pool_create(
		"ops", RTE_CRYPTO_OP_TYPE_SYMMETRIC, 63, 0, 64, SOCKET_ID_ANY);
	if (ops == NULL)
		return -1;
	for (size_t i = 0; i < COUNT_OF(vdevs); i++) {
		int rc = rte_eal_hotplug_add("vdev", vdevs[i], "");

		if (rc < 0 || device_start((uint8_t)rte_cryptodev_get_dev_id(vdevs[i]),
				      &sessions[i]) < 0) {
			print_error("%s does not start: %d\n", vdevs[i], rc);
			return -1;
		}
	}
	return 0;
}

void peer_devices_stop(void)
{
	for (size_t i = 0; i < COUNT_OF(vdevs); i++)
		rte_cryptodev_stop((uint8_t)rte_cryptodev_get_dev_id(vdevs[i]));
}

static enum rte_crypto_auth_algorithm hash_of(const struct auth_alg *auth)
{
	switch (auth->mode) {
	case AUTH_HMAC_SHA1:
		return RTE_CRYPTO_AUTH_SHA1_HMAC;
	case AUTH_HMAC_SHA256:
		return RTE_CRYPTO_AUTH_SHA256_HMAC;
	case AUTH_HMAC_SHA384:
		return RTE_CRYPTO_AUTH_SHA384_HMAC;
	default:
		return RTE_CRYPTO_AUTH_SHA512_HMAC;
	}
}

static struct rte_crypto_sym_xform aead_xform(const struct crypto_key *key, bool seal)
{
	return (struct rte_crypto_sym_xform){
		.type = RTE_CRYPTO_SYM_XFORM_AEAD,
		.aead = {.op = seal ? RTE_CRYPTO_AEAD_OP_ENCRYPT : RTE_CRYPTO_AEAD_OP_DECRYPT,
			.algo = key->cipher->mode == CIPHER_GCM ? RTE_CRYPTO_AEAD_AES_GCM
								: RTE_CRYPTO_AEAD_CHACHA20_POLY1305,
			.key = {key->cipher_key, key->cipher->key_len},
			.iv = {IV_OFFSET, 12},
			.digest_length = key->cipher->icv_len,
			.aad_length = key->esn ? 12 : 8},
	};
}

static struct rte_crypto_sym_xform gmac_xform(const struct crypto_key *key, bool seal)
{
	return (struct rte_crypto_sym_xform){
		.type = RTE_CRYPTO_SYM_XFORM_AUTH,
		.auth = {.op = seal ? RTE_CRYPTO_AUTH_OP_GENERATE : RTE_CRYPTO_AUTH_OP_VERIFY,
			.algo = RTE_CRYPTO_AUTH_AES_GMAC,
			.key = {key->cipher_key, key->cipher->key_len},
			.iv = {IV_OFFSET, 12},
			.digest_length = key->cipher->icv_len},
	};
}

static struct rte_crypto_sym_xform cipher_xform(const struct crypto_key *key, bool seal)
{
	static const enum rte_crypto_cipher_algorithm algs[] = {
		[CIPHER_NULL] = RTE_CRYPTO_CIPHER_NULL,
		[CIPHER_CBC] = RTE_CRYPTO_CIPHER_AES_CBC,
		[CIPHER_CTR] = RTE_CRYPTO_CIPHER_AES_CTR};

	return (struct rte_crypto_sym_xform){
		.type = RTE_CRYPTO_SYM_XFORM_CIPHER,
		.cipher = {.op = seal ? RTE_CRYPTO_CIPHER_OP_ENCRYPT : RTE_CRYPTO_CIPHER_OP_DECRYPT,
			.algo = algs[key->cipher->mode],
			.key = {key->cipher_key, key->cipher->key_len},
			.iv = {IV_OFFSET, key->cipher->mode == CIPHER_NULL ? 0 : 16}},
	};
}

static struct rte_crypto_sym_xform auth_xform(const struct crypto_key *key, bool seal)
{
	return (struct rte_crypto_sym_xform){
		.type = RTE_CRYPTO_SYM_XFORM_AUTH,
		.auth = {.op = seal ? RTE_CRYPTO_AUTH_OP_GENERATE : RTE_CRYPTO_AUTH_OP_VERIFY,
			.algo = hash_of(key->auth),
			.key = {key->auth_key, key->auth->key_len},
			.digest_length = key->auth->icv_len},
	};
}

static void xforms_init(struct peer *p, const struct crypto_key *key, bool seal)
{
	switch (key->cipher->mode) {
	case CIPHER_GCM:
	case CIPHER_CHACHA20:
		p->xform[0] = aead_xform(key, seal);
		return;
	case CIPHER_GMAC:
		p->xform[0] = gmac_xform(key, seal);
		return;
	default:
		p->xform[!seal] = cipher_xform(key, seal);
		p->xform[seal] = auth_xform(key, seal);
		p->xform[0].next = &p->xform[1];
	}
}

static void mode_init(
	struct rte_ipsec_sa_prm *prm, const struct sa_out *like, const struct mix *mix)
{
	uint8_t family = mix->inner_v6 ? IPPROTO_IPV6 : IPPROTO_IPIP;

	if (mix->mode == SA_TRANSPORT) {
		prm->ipsec_xform.mode = RTE_SECURITY_IPSEC_SA_MODE_TRANSPORT;
		prm->trs.proto = family;
		return;
	}
	prm->ipsec_xform.mode = RTE_SECURITY_IPSEC_SA_MODE_TUNNEL;
	prm->ipsec_xform.tunnel.type =
		mix->v6 ? RTE_SECURITY_IPSEC_TUNNEL_IPV6 : RTE_SECURITY_IPSEC_TUNNEL_IPV4;
	prm->tun.hdr_len = (uint8_t)sa_out_path(like)->outer_len;
	prm->tun.next_proto = family;
	prm->tun.hdr = sa_out_path(like)->outer;
}

bool peer_init(struct peer *p, const struct crypto_key *key, const struct sa_out *like,
	const struct mix *mix, uint32_t window, bool seal, uint64_t first)
{
	struct rte_ipsec_sa_prm prm = {
		.ipsec_xform = {.spi = rte_be_to_cpu_32(like->sa.spi),
			.options = {.esn = key->esn},
			.direction = seal ? RTE_SECURITY_IPSEC_SA_DIR_EGRESS
					  : RTE_SECURITY_IPSEC_SA_DIR_INGRESS,
			.proto = RTE_SECURITY_IPSEC_SA_PROTO_ESP,
			.replay_win_sz = window,
			.esn = {.value = first}},
		.crypto_xform = p->xform,
	};
	void *session = NULL;
	int size;

	*p = (struct peer){0};
	xforms_init(p, key, seal);
	mode_init(&prm, like, mix);
	if (key->cipher->salt_len > 0)
		memcpy(&prm.ipsec_xform.salt, key->cipher_key + key->cipher->key_len, 4);
	for (size_t i = 0; session == NULL && i < COUNT_OF(vdevs); i++) {
		p->dev = (uint8_t)rte_cryptodev_get_dev_id(vdevs[i]);
		session = rte_cryptodev_sym_session_create(p->dev, p->xform, sessions[i]);
	}
	if (session == NULL)
		return false;
	size = rte_ipsec_sa_size(&prm);
	assert_true(size > 0);
	p->sa = rte_zmalloc(NULL, (size_t)size, RTE_CACHE_LINE_SIZE);
	assert_non_null(p->sa);
	assert_true(rte_ipsec_sa_init(p->sa, &prm, (uint32_t)size) > 0);
	p->ipsec = (struct rte_ipsec_session){.sa = p->sa,
		.type = RTE_SECURITY_ACTION_TYPE_NONE,
		.crypto = {.ses = session, .dev_id = p->dev}};
	assert_int_equal(rte_ipsec_session_prepare(&p->ipsec), 0);
	return true;
}

void peer_fini(struct peer *p)
{
	rte_ipsec_sa_fini(p->sa);
	rte_free(p->sa);
	rte_cryptodev_sym_session_free(p->dev, p->ipsec.crypto.ses);
}

enum verdict peer_process(struct peer *p, struct rte_mbuf *m)
{
	struct rte_crypto_op *op = rte_crypto_op_alloc(ops, RTE_CRYPTO_OP_TYPE_SYMMETRIC), *done;
	enum verdict verdict = PACKET_REPLAYED;

	assert_non_null(op);
	m->l2_len = 0;
	m->l3_len = ip_is_v4(rte_pktmbuf_mtod(m, void *)) ? sizeof(struct rte_ipv4_hdr)
							  : sizeof(struct rte_ipv6_hdr);
	if (rte_ipsec_pkt_crypto_prepare(&p->ipsec, &m, &op, 1) == 1) {
		assert_int_equal(rte_cryptodev_enqueue_burst(p->dev, 0, &op, 1), 1);
		while (rte_cryptodev_dequeue_burst(p->dev, 0, &done, 1) == 0)
			;
		if (op->status != RTE_CRYPTO_OP_STATUS_SUCCESS)
			m->ol_flags |= RTE_MBUF_F_RX_SEC_OFFLOAD_FAILED;
		verdict =
			rte_ipsec_pkt_process(&p->ipsec, &m, 1) == 1 ? PACKET_GOOD : PACKET_FORGED;
	}
	rte_crypto_op_free(op);
	return verdict;
}
