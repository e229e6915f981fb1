// SPDX-License-Identifier: BSD-3-Clause
// ESP algorithms of the gateway. charon does not ask its kernel for them: it proposes and accepts
// the algorithms of its configuration, `default` included. So requests of both ends lose the
// algorithms that the gateway lacks, and the ends agree on one of the others (RFC 7296 2.7).
#include "kernel.h"

#include <encoding/payloads/sa_payload.h>

#define TRANSFORM_LAST 12 // ADDITIONAL_KEY_EXCHANGE_7, which strongSwan 5 lacks

// Ciphers, by strongSwan's number of the algorithm; %u: bits of the key, without salt.
static const struct cipher {
	uint16_t alg;
	uint8_t salt;
	const char *name;
} ciphers[] = {
	{ENCR_NULL, 0, "null"},
	{ENCR_AES_CBC, 0, "aes-%u-cbc"},
	{ENCR_AES_CTR, 4, "aes-%u-ctr"},
	{ENCR_AES_GCM_ICV16, 4, "aes-%u-gcm"},
	{ENCR_AES_GCM_ICV12, 4, "aes-%u-gcm-12"},
	{ENCR_AES_GCM_ICV8, 4, "aes-%u-gcm-8"},
	{ENCR_NULL_AUTH_AES_GMAC, 4, "aes-%u-gmac"},
	{ENCR_CHACHA20_POLY1305, 4, "chacha20-poly1305"},
};

static const struct auth {
	uint16_t alg;
	const char *name;
} auths[] = {
	{AUTH_UNDEFINED, "none"},
	{AUTH_HMAC_SHA1_96, "hmac-sha1-96"},
	{AUTH_HMAC_SHA2_256_128, "hmac-sha2-256-128"},
	{AUTH_HMAC_SHA2_384_192, "hmac-sha2-384-192"},
	{AUTH_HMAC_SHA2_512_256, "hmac-sha2-512-256"},
};

static const struct cipher *cipher_find(uint16_t alg)
{
	for (size_t i = 0; i < countof(ciphers); i++)
		if (ciphers[i].alg == alg)
			return &ciphers[i];
	return NULL;
}

static const struct auth *auth_find(uint16_t alg)
{
	for (size_t i = 0; i < countof(auths); i++)
		if (auths[i].alg == alg)
			return &auths[i];
	return NULL;
}

static void key_write(FILE *f, const char *name, chunk_t key)
{
	if (key.len == 0)
		return;
	fprintf(f, " %s = \"", name);
	for (size_t i = 0; i < key.len; i++)
		fprintf(f, "%02x", key.ptr[i]);
	fprintf(f, "\";");
}

bool algorithms_write(FILE *f, const kernel_ipsec_add_sa_t *data)
{
	const struct cipher *cipher = cipher_find(data->enc_alg);
	const struct auth *auth = auth_find(data->int_alg);

	if (cipher == NULL || auth == NULL) {
		DBG1(DBG_KNL, "culvert: the gateway has no ESP with encryption %N and integrity %N",
			encryption_algorithm_names, data->enc_alg, integrity_algorithm_names,
			data->int_alg);
		return false;
	}
	fprintf(f, " cipher = \"");
	fprintf(f, cipher->name, (unsigned int)(data->enc_key.len - cipher->salt) * 8);
	fprintf(f, "\"; auth = \"%s\";", auth->name);
	key_write(f, "cipher_key", data->enc_key);
	key_write(f, "auth_key", data->int_key);
	return true;
}

// Only these two types concern the gateway. Number 0 is NONE, which some peers send beside AEAD.
static bool has_algorithm(transform_type_t type, uint16_t alg)
{
	if (type == ENCRYPTION_ALGORITHM)
		return cipher_find(alg) != NULL;
	return type != INTEGRITY_ALGORITHM || alg == 0 || auth_find(alg) != NULL;
}

// Copies the transforms of a type that the gateway has. False: the proposal has others only.
static bool transforms_copy(
	proposal_t *copy, proposal_t *from, transform_type_t type, unsigned int *left_out)
{
	enumerator_t *e = from->create_enumerator(from, type);
	unsigned int copied = 0, lacking = 0;
	uint16_t alg, bits;

	while (e->enumerate(e, &alg, &bits)) {
		if (has_algorithm(type, alg)) {
			copy->add_algorithm(copy, type, alg, bits);
			copied++;
		} else {
			DBG2(DBG_KNL, "culvert: the gateway has no ESP with %N: not negotiated",
				transform_get_enum_names(type), alg);
			lacking++;
		}
	}
	e->destroy(e);
	*left_out += lacking;
	return copied > 0 || lacking == 0;
}

// A copy without algorithms that the gateway lacks; NULL: no algorithm is left.
static proposal_t *proposal_copy(proposal_t *from, uint8_t number, unsigned int *left_out)
{
	proposal_t *copy = proposal_create(PROTO_ESP, number);
	bool useful = from->get_protocol(from) == PROTO_ESP;

	for (unsigned int type = 1; useful && type <= TRANSFORM_LAST; type++)
		useful = transforms_copy(copy, from, type, left_out);
	if (useful) {
		copy->set_spi(copy, from->get_spi(from));
		return copy;
	}
	(*left_out)++;
	copy->destroy(copy);
	return NULL;
}

// The response names the number of a peer's proposal; charon numbers its own from 1.
static linked_list_t *proposals_copy(linked_list_t *from, bool incoming, unsigned int *left_out)
{
	enumerator_t *e = from->create_enumerator(from);
	linked_list_t *list = linked_list_create();
	proposal_t *each, *copy;

	while (e->enumerate(e, &each)) {
		copy = proposal_copy(each, incoming ? each->get_number(each) : 0, left_out);
		if (copy != NULL)
			list->insert_last(list, copy);
	}
	e->destroy(e);
	return list;
}

static void payload_replace(message_t *message, sa_payload_t *old, sa_payload_t *new)
{
	enumerator_t *e = message->create_payload_enumerator(message);
	payload_t *each;

	while (e->enumerate(e, &each))
		if (each == &old->payload_interface)
			message->remove_payload_at(message, e);
	e->destroy(e);
	old->destroy(old);
	message->add_payload(message, &new->payload_interface);
}

static bool are_of_ike(linked_list_t *proposals)
{
	proposal_t *first;

	return proposals->get_first(proposals, (void **)&first) == SUCCESS &&
	       first->get_protocol(first) == PROTO_IKE;
}

void proposals_filter(message_t *message, bool incoming)
{
	sa_payload_t *sa = (sa_payload_t *)message->get_payload(message, PLV2_SECURITY_ASSOCIATION);
	linked_list_t *all, *left;
	unsigned int left_out = 0;

	if (sa == NULL || !message->get_request(message))
		return;
	all = sa->get_proposals(sa);
	if (!are_of_ike(all)) {
		left = proposals_copy(all, incoming, &left_out);
		// With nothing left the SA is refused, by the names of the algorithms chosen.
		if (left_out > 0 && left->get_count(left) > 0)
			payload_replace(message, sa, sa_payload_create_from_proposals_v2(left));
		left->destroy_offset(left, offsetof(proposal_t, destroy));
	}
	all->destroy_offset(all, offsetof(proposal_t, destroy));
}
