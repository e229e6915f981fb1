// SPDX-License-Identifier: BSD-3-Clause
// DPDK's librte_ipsec on a cryptodev as the other end of our SAs: what we seal it opens, and what
// it seals we open, in both modes and families, of all algorithms, packets of up to 9000 octets,
// without and with ESN, across 2^32 too. It has its own framing, sequence numbers and window; its
// cryptography is that of the PMD aesni_mb (intel-ipsec-mb) or, what that lacks, openssl.
#include <netinet/in.h>

#include <rte_cryptodev.h>
#include <rte_dev.h>
#include <rte_ip.h>
#include <rte_ipsec.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "eal.h"
#include "esp_in.h"
#include "esp_out.h"
#include "ip_view.h"
#include "ipv4.h"
#include "test.h"

#define INNER_MAX 9000
#define HEADROOM  128
#define IV_OFFSET (sizeof(struct rte_crypto_op) + sizeof(struct rte_crypto_sym_op))
#define WINDOW    64

// What is in what.
struct mix {
	const char *name;
	enum sa_mode mode;
	bool v6, inner_v6;
};

static const struct mix mixes[] = {
	{"IPv4 in IPv4", SA_TUNNEL, false, false},
	{"IPv6 in IPv4", SA_TUNNEL, false, true},
	{"IPv4 in IPv6", SA_TUNNEL, true, false},
	{"IPv6 in IPv6", SA_TUNNEL, true, true},
	{"IPv4 transport", SA_TRANSPORT, false, false},
	{"IPv6 transport", SA_TRANSPORT, true, true},
};

static const char *const vdevs[] = {"crypto_aesni_mb", "crypto_openssl"};

static struct rte_mempool *mbufs, *ops, *sessions[COUNT_OF(vdevs)];
static unsigned int compared;

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

static int group_setup(void **state)
{
	(void)state;
	eal_start();
	mbufs = rte_pktmbuf_pool_create(
		"mbufs", 63, 0, 0, HEADROOM + INNER_MAX + 256, SOCKET_ID_ANY);
	ops = rte_crypto_op_pool_create(
		"ops", RTE_CRYPTO_OP_TYPE_SYMMETRIC, 63, 0, 64, SOCKET_ID_ANY);
	if (mbufs == NULL || ops == NULL)
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

static int group_teardown(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(vdevs); i++)
		rte_cryptodev_stop((uint8_t)rte_cryptodev_get_dev_id(vdevs[i]));
	eal_stop();
	return 0;
}

// One direction of an SA at the other end.
struct peer {
	struct rte_ipsec_sa *sa;
	struct rte_ipsec_session ipsec;
	struct rte_crypto_sym_xform xform[2];
	uint8_t dev;
};

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
	prm->tun.hdr_len = (uint8_t)like->path->outer_len;
	prm->tun.next_proto = family;
	prm->tun.hdr = like->path->outer;
}

// False if no device has the algorithms. first: the number that it seals with next, or the highest
// that it has opened.
static bool peer_init(struct peer *p, const struct crypto_key *key, const struct sa_out *like,
	const struct mix *mix, bool seal, uint64_t first)
{
	struct rte_ipsec_sa_prm prm = {
		.ipsec_xform = {.spi = rte_be_to_cpu_32(like->sa.spi),
			.options = {.esn = key->esn},
			.direction = seal ? RTE_SECURITY_IPSEC_SA_DIR_EGRESS
					  : RTE_SECURITY_IPSEC_SA_DIR_INGRESS,
			.proto = RTE_SECURITY_IPSEC_SA_PROTO_ESP,
			.replay_win_sz = WINDOW,
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

static void peer_fini(struct peer *p)
{
	rte_ipsec_sa_fini(p->sa);
	rte_free(p->sa);
	rte_cryptodev_sym_session_free(p->dev, p->ipsec.crypto.ses);
}

// Seals or opens a packet in place, whatever its direction. It leaves IPv4's checksum to the port.
static bool peer_process(struct peer *p, struct rte_mbuf *m)
{
	struct rte_crypto_op *op = rte_crypto_op_alloc(ops, RTE_CRYPTO_OP_TYPE_SYMMETRIC), *done;
	bool ok = false;

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
		ok = rte_ipsec_pkt_process(&p->ipsec, &m, 1) == 1;
	}
	rte_crypto_op_free(op);
	return ok;
}

static void headers_write(uint8_t *to, uint16_t len, bool v6)
{
	struct rte_ipv4_hdr ip = {
		.version_ihl = RTE_IPV4_VHL_DEF,
		.total_length = rte_cpu_to_be_16(len),
		.time_to_live = 9,
		.next_proto_id = 253,
		.src_addr = RTE_BE32(0x0a010005),
		.dst_addr = RTE_BE32(0x0a020005),
	};
	struct rte_ipv6_hdr ip6 = {
		.vtc_flow = RTE_BE32(0x60012345),
		.payload_len = rte_cpu_to_be_16((uint16_t)(len - sizeof(ip6))),
		.proto = 253,
		.hop_limits = 9,
		.src_addr = {0x20, 1, 0xd, 0xb8, [15] = 1},
		.dst_addr = {0x20, 1, 0xd, 0xb8, [15] = 2},
	};

	ipv4_checksum_set(&ip);
	if (v6)
		memcpy(to, &ip6, sizeof(ip6));
	else
		memcpy(to, &ip, sizeof(ip));
}

static struct rte_mbuf *inner_packet(uint16_t len, bool v6)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(mbufs);
	static uint64_t seed = 4303;

	assert_non_null(m);

	uint8_t *b = (uint8_t *)rte_pktmbuf_append(m, len);

	for (uint16_t i = 0; i < len; i++)
		b[i] = (uint8_t)random_u64(&seed);
	headers_write(b, len, v6);
	return m;
}

static void expect_inner(const struct rte_mbuf *m, const uint8_t *inner, uint16_t len)
{
	assert_int_equal(rte_pktmbuf_data_len(m), len);
	assert_memory_equal(rte_pktmbuf_mtod(m, void *), inner, len);
}

static void check_ours_out(struct sa_out *out, struct peer *p, uint16_t len, const struct mix *mix)
{
	struct rte_mbuf *m = inner_packet(len, mix->inner_v6);
	uint8_t inner[INNER_MAX];
	struct crypto_op op;

	memcpy(inner, rte_pktmbuf_mtod(m, void *), len);
	assert_int_equal(esp_out_fns[sa_out_path(out)->framing](
				 &op, out, sa_out_path(out), m, sa_out_take_seq(out, 1), 0),
		DROP_NONE);
	crypto_seal(&op, 1, 0);
	assert_true(op.ok);
	if (!peer_process(p, m))
		fail_msg("%s: number %lu of %u octets is not opened", mix->name, op.seq, len);
	if (mix->mode == SA_TRANSPORT && !mix->v6)
		ipv4_checksum_set(rte_pktmbuf_mtod(m, struct rte_ipv4_hdr *));
	expect_inner(m, inner, len);
	rte_pktmbuf_free(m);
}

static void check_theirs_in(struct sa_in *in, struct peer *p, uint16_t len, const struct mix *mix)
{
	struct rte_mbuf *m = inner_packet(len, mix->inner_v6);
	uint8_t inner[INNER_MAX];
	struct crypto_op op;

	memcpy(inner, rte_pktmbuf_mtod(m, void *), len);
	assert_true(peer_process(p, m));
	assert_int_equal(
		esp_in_check(&op, in, m,
			mix->v6 ? sizeof(struct rte_ipv6_hdr) : sizeof(struct rte_ipv4_hdr)),
		DROP_NONE);
	crypto_open(&op, 1, 0);
	if (!op.ok)
		fail_msg("%s: number %lu of %u octets is not opened", mix->name, op.seq, len);
	assert_int_equal(esp_in_finish(&op, in, m, 0), DROP_NONE);
	expect_inner(m, inner, len);
	rte_pktmbuf_free(m);
}

// All small sizes, and some of the larger ones, or all if the test is to search longer.
static void check_sizes(struct sa_out *out, struct sa_in *in, struct peer *opens,
	struct peer *seals, const struct mix *mix)
{
	unsigned int least =
		mix->inner_v6 ? sizeof(struct rte_ipv6_hdr) : sizeof(struct rte_ipv4_hdr);
	unsigned int step = rounds(1) > 1 ? 1 : 37;

	for (unsigned int len = least; len <= INNER_MAX; len += len < 160 ? 1 : step) {
		check_ours_out(out, opens, (uint16_t)len, mix);
		check_theirs_in(in, seals, (uint16_t)len, mix);
	}
}

static const char nexthop; // nobody looks at it

static void check_pair(
	const struct cipher_alg *c, const struct auth_alg *a, bool esn, const struct mix *mix)
{
	static const uint8_t octets[CRYPTO_AUTH_KEY_MAX + 3] = {
		1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
	// With ESN, 200 packets before 2^32.
	uint64_t before = esn ? UINT32_MAX - 200 : 0;
	struct sa_params params = {.name = "a",
		.spi = 0x1001,
		.mode = mix->mode,
		.key = {c, a, octets, octets + 3, esn},
		.engine = "auto",
		.replay_window = WINDOW,
		.tos_copied = 0xff,
		.ttl = 64,
		.nexthop = (const void *)&nexthop,
		.n_workers = 1};
	struct sa_out *out;
	struct sa_in *in;
	struct peer opens, seals;

	assert_int_equal(ip_addr_parse(&params.local, mix->v6 ? "2001:db8::1" : "192.0.2.1"), 0);
	assert_int_equal(ip_addr_parse(&params.remote, mix->v6 ? "2001:db8::2" : "192.0.2.2"), 0);
	out = sa_out_new(&params);
	in = sa_in_new(&params);
	assert_non_null(out);
	assert_non_null(in);
	out->seq = before;
	in->replay.top = before;
	assert_true(peer_init(&opens, &params.key, out, mix, false, before));
	assert_true(peer_init(&seals, &params.key, out, mix, true, before + 1));
	check_sizes(out, in, &opens, &seals, mix);
	compared++;
	peer_fini(&opens);
	peer_fini(&seals);
	sa_out_free(out);
	sa_in_free(in);
}

// Not GMAC with ESN: librte_ipsec 22.11 has the upper half of the number behind the text, as of
// HMAC, where RFC 4543 3.3 has it behind the SPI, as of GCM.
static void check_every_algorithm(const struct mix *mix)
{
	print_message("%s\n", mix->name);
	for (const struct cipher_alg *c = cipher_algs; c->name != NULL; c++)
		for (const struct auth_alg *a = auth_algs; a->name != NULL; a++) {
			if (!alg_pair_ok(c, a))
				continue;
			check_pair(c, a, false, mix);
			if (c->mode != CIPHER_GMAC)
				check_pair(c, a, true, mix);
		}
}

static void test_every_mix(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(mixes); i++)
		check_every_algorithm(&mixes[i]);
	assert_int_equal(compared, COUNT_OF(mixes) * (2 * (7 * 4 + 13) - 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_mix),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
