// SPDX-License-Identifier: BSD-3-Clause
// A text is processed in groups of eight blocks in four registers, and the rest in as many as it
// needs. GHASH adds all products of a group with powers of the hash key before it reduces the sum.
// Blocks are reversed for it, and the hash key is multiplied by x before, so that products of
// reversed blocks need no shift (Gueron and Kounavis, "Intel Carry-Less Multiplication Instruction
// and its Usage for Computing the GCM Mode").
#include "vaes_gcm.h"

#define BLOCK  16
#define PAIR   32 // octets of two blocks, in one register
#define PAIRS  4
#define GROUP  (PAIRS * PAIR)
#define BLOCKS (GROUP / BLOCK)

#define ROUNDS(key_len) ((key_len) / 4 + 6)

// By the name of this section, tests/bench/step.c tells cryptography from other work.
#define SECTION     __attribute__((section("aes_gcm")))
#define VAES        __attribute__((target("aes,vaes,pclmul,vpclmulqdq,avx2")))
#define VAES_INLINE static inline __attribute__((always_inline)) VAES

// The polynomial of GHASH, reversed: x^128 + x^127 + x^126 + x^121 + 1 without its first term.
#define POLY_HIGH INT64_C(-0x3e00000000000000)

// A sum of products, of both halves of a register: its 256 bits are low, middle and high 128 bits,
// which overlap by 64.
struct product {
	__m256i low, middle, high;
};

// --- the hash key ---

// Power n of the hash key. The lower ones follow it, then zeros: n blocks of a text, one after the
// other, are multiplied with these.
VAES_INLINE const uint8_t *power_at(const struct gcm_key_data *key, size_t n)
{
	return (const uint8_t *)(key + 1) - (n + 1) * BLOCK;
}

VAES_INLINE __m256i two_powers(const struct gcm_key_data *key, size_t n)
{
	return _mm256_loadu_si256((const __m256i *)power_at(key, n));
}

VAES_INLINE __m256i key_of_round(const struct gcm_key_data *key, unsigned int round)
{
	return _mm256_broadcastsi128_si256(((const __m128i *)key->expanded_keys)[round]);
}

// --- GHASH ---

VAES_INLINE __m128i last_to_first(void)
{
	return _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

VAES_INLINE __m128i reverse(__m128i x)
{
	return _mm_shuffle_epi8(x, last_to_first());
}

VAES_INLINE __m256i reverse_both(__m256i x)
{
	return _mm256_shuffle_epi8(x, _mm256_broadcastsi128_si256(last_to_first()));
}

VAES_INLINE void product_add(struct product *p, __m256i x, __m256i y)
{
	p->low ^= _mm256_clmulepi64_epi128(x, y, 0x00);
	p->middle ^= _mm256_clmulepi64_epi128(x, y, 0x01) ^ _mm256_clmulepi64_epi128(x, y, 0x10);
	p->high ^= _mm256_clmulepi64_epi128(x, y, 0x11);
}

// Adds xa * ya and xb * yb with six multiplications in the place of eight (Karatsuba).
VAES_INLINE void two_products_add(struct product *p, __m256i xa, __m256i ya, __m256i xb, __m256i yb)
{
	const __m256i x = _mm256_unpacklo_epi64(xa, xb) ^ _mm256_unpackhi_epi64(xa, xb);
	const __m256i y = _mm256_unpacklo_epi64(ya, yb) ^ _mm256_unpackhi_epi64(ya, yb);
	const __m256i low =
		_mm256_clmulepi64_epi128(xa, ya, 0x00) ^ _mm256_clmulepi64_epi128(xb, yb, 0x00);
	const __m256i high =
		_mm256_clmulepi64_epi128(xa, ya, 0x11) ^ _mm256_clmulepi64_epi128(xb, yb, 0x11);

	p->low ^= low;
	p->high ^= high;
	p->middle ^= _mm256_clmulepi64_epi128(x, y, 0x00) ^ _mm256_clmulepi64_epi128(x, y, 0x11) ^
		     low ^ high;
}

VAES_INLINE __m128i both_halves(__m256i x)
{
	return _mm256_castsi256_si128(x) ^ _mm256_extracti128_si256(x, 1);
}

// The sum modulo the polynomial; it is 0 after that.
VAES_INLINE __m128i product_reduce(struct product *p)
{
	const __m128i poly = _mm_set_epi64x(POLY_HIGH, 1);
	const __m128i low = both_halves(p->low);
	__m128i middle = both_halves(p->middle), high = both_halves(p->high);

	middle ^= _mm_shuffle_epi32(low, 0x4e) ^ _mm_clmulepi64_si128(poly, low, 0x01);
	high ^= _mm_shuffle_epi32(middle, 0x4e) ^ _mm_clmulepi64_si128(poly, middle, 0x01);
	*p = (struct product){0};
	return high;
}

// Half a group, from that pair of blocks on; the sum before it is added to the first block.
VAES_INLINE void hash_half(struct product *p, const struct gcm_key_data *key, const uint8_t *text,
	unsigned int pair, __m128i sum)
{
	const __m256i *at = (const __m256i *)(text + pair * PAIR);
	__m256i a = reverse_both(_mm256_loadu_si256(at));
	const __m256i b = reverse_both(_mm256_loadu_si256(at + 1));

	if (pair == 0)
		a ^= _mm256_zextsi128_si256(sum);
	two_products_add(p, a, two_powers(key, BLOCKS - 2 * pair), b,
		two_powers(key, BLOCKS - 2 * pair - 2));
}

// --- AES in counter mode ---

// A counter block whose last word, the counter, is in host byte order.
VAES_INLINE __m128i counter_block(__m128i nonce, int counter)
{
	return _mm_insert_epi32(nonce, counter, 3);
}

VAES_INLINE __m256i counter_add(__m256i counters, int n)
{
	return _mm256_add_epi32(counters, _mm256_set_epi32(n, 0, 0, 0, n, 0, 0, 0));
}

VAES_INLINE void stream_begin(
	__m256i stream[], unsigned int n, const struct gcm_key_data *key, __m256i counters)
{
	const __m256i order = _mm256_broadcastsi128_si256(
		_mm_set_epi8(12, 13, 14, 15, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));

	for (unsigned int i = 0; i < n; i++)
		stream[i] = _mm256_shuffle_epi8(counter_add(counters, 2 * (int)i), order) ^
			    key_of_round(key, 0);
}

VAES_INLINE void stream_round(__m256i stream[], unsigned int n, __m256i round_key)
{
	for (unsigned int i = 0; i < n; i++)
		stream[i] = _mm256_aesenc_epi128(stream[i], round_key);
}

VAES_INLINE void stream_end(__m256i stream[], unsigned int n, __m256i round_key)
{
	for (unsigned int i = 0; i < n; i++)
		stream[i] = _mm256_aesenclast_epi128(stream[i], round_key);
}

// The octets that encrypt n pairs of blocks of text, from these counters on.
VAES_INLINE void stream_make(__m256i stream[], unsigned int n, const struct gcm_key_data *key,
	unsigned int rounds, __m256i counters)
{
	stream_begin(stream, n, key, counters);
	for (unsigned int round = 1; round < rounds; round++)
		stream_round(stream, n, key_of_round(key, round));
	stream_end(stream, n, key_of_round(key, rounds));
}

// The same for a group, while another one is hashed.
VAES_INLINE void stream_make_and_hash(__m256i stream[], const struct gcm_key_data *key,
	unsigned int rounds, __m256i counters, struct product *p, const uint8_t *hashed,
	__m128i sum)
{
	stream_begin(stream, PAIRS, key, counters);
#pragma GCC unroll 14
	for (unsigned int round = 1; round < rounds; round++) {
		stream_round(stream, PAIRS, key_of_round(key, round));
		if (round == 3)
			hash_half(p, key, hashed, PAIRS / 2, sum);
		if (round == 7)
			hash_half(p, key, hashed, 0, sum);
	}
	stream_end(stream, PAIRS, key_of_round(key, rounds));
}

VAES_INLINE __m128i encrypt_block(
	const struct gcm_key_data *key, unsigned int rounds, __m128i block)
{
	const __m128i *round_key = (const __m128i *)key->expanded_keys;

	block ^= round_key[0];
	for (unsigned int round = 1; round < rounds; round++)
		block = _mm_aesenc_si128(block, round_key[round]);
	return _mm_aesenclast_si128(block, round_key[rounds]);
}

VAES_INLINE void group_xor(uint8_t *out, const uint8_t *in, const __m256i stream[])
{
	for (unsigned int i = 0; i < PAIRS; i++)
		_mm256_storeu_si256((__m256i *)(out + i * PAIR),
			stream[i] ^ _mm256_loadu_si256((const __m256i *)(in + i * PAIR)));
}

// --- parts of blocks: n is 0 to 16 octets, a multiple of 4 ---

// With zeros after them.
VAES_INLINE __m128i part_load(const uint8_t *at, size_t n)
{
	__m128i x = _mm_setzero_si128();
	int word;

	if (n == BLOCK)
		return _mm_loadu_si128((const __m128i *)at);
	if ((n & 8) != 0)
		x = _mm_loadl_epi64((const __m128i *)at);
	if ((n & 4) == 0)
		return x;
	memcpy(&word, at + (n & 8), sizeof(word));
	return (n & 8) != 0 ? _mm_insert_epi32(x, word, 2) : _mm_cvtsi32_si128(word);
}

VAES_INLINE void part_store(uint8_t *at, __m128i x, size_t n)
{
	int word;

	if (n == BLOCK) {
		_mm_storeu_si128((__m128i *)at, x);
		return;
	}
	if ((n & 8) != 0) {
		_mm_storel_epi64((__m128i *)at, x);
		x = _mm_unpackhi_epi64(x, x);
	}
	if ((n & 4) == 0)
		return;
	word = _mm_cvtsi128_si32(x);
	memcpy(at + (n & 8), &word, sizeof(word));
}

// Zeros after the part.
VAES_INLINE __m128i part_of(__m128i x, size_t n)
{
	const __m128i place = _mm_set_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);

	return x & _mm_cmpgt_epi8(_mm_set1_epi8((char)n), place);
}

// --- a packet ---

// Less than a register. Returns its ciphertext.
VAES_INLINE __m256i last_xor(uint8_t *out, const uint8_t *in, size_t n, __m256i stream, bool seal)
{
	const size_t n_low = RTE_MIN(n, (size_t)BLOCK), n_high = n - n_low;
	const __m128i low = part_load(in, n_low), high = part_load(in + BLOCK, n_high);
	const __m128i low_out = low ^ _mm256_castsi256_si128(stream);
	const __m128i high_out = high ^ _mm256_extracti128_si256(stream, 1);

	part_store(out, low_out, n_low);
	part_store(out + BLOCK, high_out, n_high);
	return seal ? _mm256_set_m128i(part_of(high_out, n_high), part_of(low_out, n_low))
		    : _mm256_set_m128i(high, low);
}

VAES_INLINE __m256i pair_xor(uint8_t *out, const uint8_t *in, __m256i stream, bool seal)
{
	const __m256i before = _mm256_loadu_si256((const __m256i *)in), after = before ^ stream;

	_mm256_storeu_si256((__m256i *)out, after);
	return seal ? after : before;
}

// The last len octets of a text, less than a group. The block of lengths follows them.
VAES_INLINE void rest_crypt(struct product *p, const struct gcm_key_data *key, uint8_t *out,
	const uint8_t *in, size_t len, const __m256i stream[], __m128i sum, bool seal)
{
	size_t power = (len + BLOCK - 1) / BLOCK + 1;

#pragma GCC unroll 4
	for (unsigned int i = 0; i < PAIRS; i++, power -= 2) {
		const size_t at = i * PAIR;
		__m256i x;

		if (at >= len)
			break;
		x = len - at >= PAIR ? pair_xor(out + at, in + at, stream[i], seal)
				     : last_xor(out + at, in + at, len - at, stream[i], seal);
		x = reverse_both(x);
		if (i == 0)
			x ^= _mm256_zextsi128_si256(sum);
		product_add(p, x, two_powers(key, power));
	}
}

// The rest of a text, from the next group on.
struct text {
	uint8_t *out;
	const uint8_t *in;
	size_t left;
	__m256i counters; // of the next two blocks
	__m128i sum;      // GHASH of the blocks before
};

VAES_INLINE void group_end(struct text *t, const __m256i stream[])
{
	group_xor(t->out, t->in, stream);
	t->counters = counter_add(t->counters, BLOCKS);
	t->out += GROUP;
	t->in += GROUP;
	t->left -= GROUP;
}

// All whole groups. Each is hashed while the next one is encrypted.
VAES_INLINE void groups_seal(
	struct text *t, struct product *p, const struct gcm_key_data *key, unsigned int rounds)
{
	__m256i stream[PAIRS];

	if (t->left < GROUP)
		return;
	stream_make(stream, PAIRS, key, rounds, t->counters);
	group_end(t, stream);
	while (t->left >= GROUP) {
		stream_make_and_hash(stream, key, rounds, t->counters, p, t->out - GROUP, t->sum);
		t->sum = product_reduce(p);
		group_end(t, stream);
	}
	hash_half(p, key, t->out - GROUP, PAIRS / 2, t->sum);
	hash_half(p, key, t->out - GROUP, 0, t->sum);
	t->sum = product_reduce(p);
}

VAES_INLINE void groups_open(
	struct text *t, struct product *p, const struct gcm_key_data *key, unsigned int rounds)
{
	__m256i stream[PAIRS];

	while (t->left >= GROUP) {
		stream_make_and_hash(stream, key, rounds, t->counters, p, t->in, t->sum);
		t->sum = product_reduce(p);
		group_end(t, stream);
	}
}

VAES_INLINE void gcm_crypt(const struct gcm_key_data *key, unsigned int rounds, bool seal,
	uint8_t *out, const uint8_t *in, size_t len, const uint8_t *iv, const uint8_t *aad,
	size_t aad_len, uint8_t *icv, size_t icv_len)
{
	const __m128i nonce = _mm_loadu_si128((const __m128i *)iv);
	const __m128i mask =
		encrypt_block(key, rounds, counter_block(nonce, (int)rte_cpu_to_be_32(1)));
	const __m128i lens = _mm_set_epi64x((int64_t)aad_len * 8, (int64_t)len * 8);
	// The AAD is the block before the text, of which the first group or the rest is next.
	const size_t blocks = len >= GROUP ? BLOCKS : (len + BLOCK - 1) / BLOCK + 1;
	struct text t = {out, in, len,
		_mm256_set_m128i(counter_block(nonce, 3), counter_block(nonce, 2)),
		_mm_setzero_si128()};
	struct product p = {0};
	__m256i stream[PAIRS];

	product_add(&p, _mm256_zextsi128_si256(reverse(part_load(aad, aad_len))),
		two_powers(key, blocks + 1));
	if (seal)
		groups_seal(&t, &p, key, rounds);
	else
		groups_open(&t, &p, key, rounds);
	if (t.left > 0) {
		if (t.left > GROUP / 2)
			stream_make(stream, PAIRS, key, rounds, t.counters);
		else
			stream_make(stream, PAIRS / 2, key, rounds, t.counters);
		rest_crypt(&p, key, t.out, t.in, t.left, stream, t.sum, seal);
		t.sum = _mm_setzero_si128();
	}
	product_add(&p, _mm256_zextsi128_si256(t.sum ^ lens), two_powers(key, 1));
	part_store(icv, reverse(product_reduce(&p)) ^ mask, icv_len);
}

#define CRYPT(name, rounds, seal)                                                                  \
	SECTION VAES static void name(const struct gcm_key_data *key,                              \
		struct gcm_context_data *unused, uint8_t *out, const uint8_t *in, uint64_t len,    \
		const uint8_t *iv, const uint8_t *aad, uint64_t aad_len, uint8_t *icv,             \
		uint64_t icv_len)                                                                  \
	{                                                                                          \
		(void)unused;                                                                      \
		gcm_crypt(key, rounds, seal, out, in, len, iv, aad, aad_len, icv, icv_len);        \
	}

CRYPT(seal_128, ROUNDS(16), true)
CRYPT(seal_192, ROUNDS(24), true)
CRYPT(seal_256, ROUNDS(32), true)
CRYPT(open_128, ROUNDS(16), false)
CRYPT(open_192, ROUNDS(24), false)
CRYPT(open_256, ROUNDS(32), false)

aes_gcm_enc_dec_t vaes_gcm_seal(uint32_t key_len)
{
	return key_len == 16 ? seal_128 : key_len == 24 ? seal_192 : seal_256;
}

aes_gcm_enc_dec_t vaes_gcm_open(uint32_t key_len)
{
	return key_len == 16 ? open_128 : key_len == 24 ? open_192 : open_256;
}

VAES void vaes_gcm_key(struct gcm_key_data *key, uint32_t key_len)
{
	const __m128i zero = _mm_setzero_si128();
	__m128i h = reverse(encrypt_block(key, ROUNDS(key_len), zero));
	const __m128i first = _mm_shuffle_epi32(_mm_srai_epi32(h, 31), 0xff); // all its first bit
	const __m128i carry = _mm_slli_si128(_mm_srli_epi64(h, 63), 8);
	__m128i *at = (__m128i *)(key + 1) - 1, power;
	struct product p = {0};

	h = (_mm_slli_epi64(h, 1) | carry) ^ (first & _mm_set_epi64x(POLY_HIGH, 1)); // times x
	*at = zero; // is read, and multiplied with zeros
	power = h;
	for (unsigned int i = 0; i < VAES_GCM_POWERS; i++) {
		*--at = power;
		product_add(&p, _mm256_zextsi128_si256(power), _mm256_zextsi128_si256(h));
		power = product_reduce(&p);
	}
}

static bool has(uint64_t features, uint64_t needed)
{
	return (features & needed) == needed;
}

// Whether the library has functions by VAES for the processor, and chooses them.
static bool library_fits(uint64_t features)
{
	if (has(features, IMB_CPUFLAGS_AVX512_T2))
		return true;
#if IMB_VERSION_NUM >= IMB_VERSION(2, 0, 0) // type 3 has none
	if (has(features, IMB_CPUFLAGS_AVX2_T3))
		return has(features, IMB_CPUFLAGS_AVX2_T4);
	return has(features, IMB_CPUFLAGS_AVX2_T2);
#else
	return false;
#endif
}

bool vaes_gcm_fits(uint64_t features)
{
	return has(features, IMB_CPUFLAGS_AVX2 | IMB_FEATURE_VAES | IMB_FEATURE_VPCLMULQDQ) &&
	       !library_fits(features);
}
