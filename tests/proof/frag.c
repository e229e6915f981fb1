// SPDX-License-Identifier: BSD-3-Clause
// lib/frag/frag_map.c and frag_map_is_complete() (RFC 791 3.2, RFC 8200 4.5): which units of 8
// octets of a datagram have been received. Proves for every map made by these functions, and every
// fragment: one that overlaps or contradicts received ones is never new, a rejected one changes
// nothing, and a datagram is complete exactly when its end is known and no unit before it is
// missing.
#include "wrap.h"

#include <stdbool.h>

#include "frag_map.h"

// Definition of the operators for bit k of a word of 64 bits.
// clang-format off
/*@ axiomatic bits {
	predicate bit(integer word, integer k);
	axiom bit_zero: \forall integer k; !bit(0, k);
	axiom bit_all: \forall integer k; 0 <= k < 64 ==> bit(0xffffffffffffffff, k);
	axiom bit_one: \forall integer n, k; 0 <= n < 64 && 0 <= k < 64 ==>
		(bit((uint64_t)(1 << n), k) <==> k == n);
	axiom bit_below: \forall integer n, k; 0 <= n < 64 && 0 <= k < 64 ==>
		(bit((uint64_t)((uint64_t)(1 << n) - 1), k) <==> k < n);
	axiom bit_above: \forall integer n, k; 0 <= n < 64 && 0 <= k < 64 ==>
		(bit((uint64_t)(0xffffffffffffffff << n), k) <==> k >= n);
	axiom bit_and: \forall integer x, y, k; 0 <= k < 64 ==>
		(bit(x & y, k) <==> bit(x, k) && bit(y, k));
	axiom bit_or: \forall integer x, y, k; 0 <= k < 64 ==>
		(bit(x | y, k) <==> bit(x, k) || bit(y, k));
	axiom bit_test: \forall integer x, k; 0 <= k < 64 ==> ((x >> k & 1) != 0 <==> bit(x, k));
} */

// A set of units: their bits are 1 in the first n words.
/*@ predicate in{L}(uint64_t *w, integer n, integer u) =
		0 <= u < 64 * n && bit(w[u / 64], u % 64);
    predicate none{L}(uint64_t *w, integer n, integer a, integer b) =
		\forall integer u; a <= u < b ==> !in(w, n, u);
    predicate all{L}(uint64_t *w, integer n, integer a, integer b) =
		\forall integer u; a <= u < b ==> in(w, n, u);
    predicate mask(integer m, integer i, integer a, integer b) =
		\forall integer k; 0 <= k < 64 ==> (bit(m, k) <==> a <= 64 * i + k < b);
*/

// Definition of counting: ones() is the number of bits of a word, card() the number of units from a
// up to b, before() the number of those in words before word i.
/*@ axiomatic card {
	logic integer ones(integer word);
	logic integer card{L}(uint64_t *w, integer n, integer a, integer b) reads w[0 .. n - 1];
	logic integer before{L}(uint64_t *w, integer n, integer a, integer b, integer i)
		reads w[0 .. n - 1];
	axiom before_start{L}: \forall uint64_t *w, integer n, a, b, i;
		64 * i <= a ==> before(w, n, a, b, i) == 0;
	axiom before_next{L}: \forall uint64_t *w, integer n, a, b, i, part;
		0 <= i < n && (\forall integer k; 0 <= k < 64 ==>
			(bit(part, k) <==> bit(w[i], k) && a <= 64 * i + k < b)) ==>
		before(w, n, a, b, i + 1) == before(w, n, a, b, i) + ones(part);
	axiom before_end{L}: \forall uint64_t *w, integer n, a, b, i;
		i >= n || 64 * i >= b ==> before(w, n, a, b, i) == card(w, n, a, b);
	axiom before_range{L}: \forall uint64_t *w, integer n, a, b, i;
		0 <= i ==> 0 <= before(w, n, a, b, i) <= 64 * i;
	axiom card_range{L}: \forall uint64_t *w, integer n; 0 <= card(w, n, 0, 8192) <= 8192;
	axiom card_none{L}: \forall uint64_t *w, integer n, a, b;
		a <= b ==> (card(w, n, a, b) == 0 <==> none(w, n, a, b));
	axiom card_all{L}: \forall uint64_t *w, integer n, a, b;
		a <= b ==> (card(w, n, a, b) == b - a <==> all(w, n, a, b));
	axiom card_within{L}: \forall uint64_t *w, integer n, b;
		0 <= b <= 8192 && none(w, n, b, 8192) ==>
		(card(w, n, 0, 8192) == b <==> all(w, n, 0, b));
	axiom card_same{L1, L2}: \forall uint64_t *w, integer n1, n2;
		(\forall integer u; 0 <= u < 8192 ==> (in{L2}(w, n2, u) <==> in{L1}(w, n1, u))) ==>
		card{L2}(w, n2, 0, 8192) == card{L1}(w, n1, 0, 8192);
	axiom card_join{L1, L2}: \forall uint64_t *w, integer n1, n2, a, b;
		0 <= a <= b <= 8192 && none{L1}(w, n1, a, b) &&
		(\forall integer u; 0 <= u < 8192 ==>
			(in{L2}(w, n2, u) <==> in{L1}(w, n1, u) || a <= u < b)) ==>
		card{L2}(w, n2, 0, 8192) == card{L1}(w, n1, 0, 8192) + b - a;
} */

/*@ predicate alone(struct frag_map *map, integer from, integer to) =
		all(&map->came[0], map->n_words, from, to) &&
		in(&map->begins[0], map->n_words, from) &&
		none(&map->begins[0], map->n_words, from + 1, to) &&
		(to == 8192 || !in(&map->came[0], map->n_words, to) ||
			in(&map->begins[0], map->n_words, to));
    predicate fits(struct frag_map *map, integer end, boolean more) =
		map->len == 0 ? more || none(&map->came[0], map->n_words, (end + 7) / 8, 8192) :
		more ? end < map->len : end == map->len;
    predicate counted(struct frag_map *map) =
		map->n_came == card(&map->came[0], map->n_words, 0, 8192);
    predicate right(struct frag_map *map) =
		map->n_words <= 128 && map->len <= 65535 && counted(map) && (map->len != 0 ==>
		none(&map->came[0], map->n_words, (map->len + 7) / 8, 8192));
*/
// clang-format on

/*@ assigns \nothing;
    ensures \result == ones(word) && 0 <= \result <= 64; */
int __builtin_popcountll(unsigned long long word);

/*@ requires from / 64 <= i && i * 64 < to && from <= to <= 8192;
    assigns \nothing;
    ensures bits: mask(\result, i, from, to); */
static uint64_t mask_of(uint32_t i, uint32_t from, uint32_t to);

/*@ requires \valid_read(map) && map->n_words <= 128 && \valid_read(word + (0 .. 127));
    requires from <= to <= 8192;
    assigns \nothing;
    ensures card: \result == card(word, map->n_words, from, to); */
static uint32_t units_count(
	const struct frag_map *map, const uint64_t word[], uint32_t from, uint32_t to);

/*@ requires \valid_read(map) && map->n_words <= 128 && \valid_read(word + (0 .. 127));
    requires bit < 8192;
    assigns \nothing;
    ensures is: \result != 0 <==> in(word, map->n_words, bit); */
static bool is_set(const struct frag_map *map, const uint64_t word[], uint32_t bit);

/*@ requires \valid_read(map) && map->n_words <= 128 && from < to <= 8192;
    assigns \nothing;
    ensures alone: \result != 0 <==> alone(map, from, to); */
static bool came_alone(const struct frag_map *map, uint32_t from, uint32_t to);

/*@ requires \valid_read(map) && map->n_words <= 128 && 0 < end <= 65535;
    assigns \nothing;
    ensures fits: \result != 0 <==> fits(map, end, more != 0); */
static bool end_agrees(const struct frag_map *map, uint32_t end, bool more);

/*@ requires \valid(map) && map->n_words <= 128 && to <= 8192;
    assigns map->n_words, map->came[0 .. 127], map->begins[0 .. 127];
    ensures words: \old(map->n_words) <= map->n_words <= 128 && to <= 64 * map->n_words;
    ensures came: \forall integer u; in(&map->came[0], map->n_words, u) <==>
	\old(in(&map->came[0], map->n_words, u));
    ensures card: card(&map->came[0], map->n_words, 0, 8192) ==
	\old(card(&map->came[0], map->n_words, 0, 8192));
    ensures begins: \forall integer u; in(&map->begins[0], map->n_words, u) <==>
	\old(in(&map->begins[0], map->n_words, u)); */
static void words_extend(struct frag_map *map, uint32_t to);

/*@ requires \valid(map) && map->n_words <= 128 && from < to <= 64 * map->n_words;
    requires none(&map->came[0], map->n_words, from, to) && counted(map);
    assigns map->n_came, map->came[0 .. 127], map->begins[0 .. 127];
    ensures came: \forall integer u; in(&map->came[0], map->n_words, u) <==>
	\old(in(&map->came[0], map->n_words, u)) || from <= u < to;
    ensures begins: \forall integer u; in(&map->begins[0], map->n_words, u) <==>
	\old(in(&map->begins[0], map->n_words, u)) || u == from;
    ensures card: counted(map); */
static void units_set(struct frag_map *map, uint32_t from, uint32_t to);

/*@ requires \valid(map);
    assigns *map;
    ensures empty: map->len == 0 && none(&map->came[0], map->n_words, 0, 8192);
    ensures right: right(map); */
void frag_map_clear(struct frag_map *map);

/*@ requires \valid(map) && right(map);
    requires off % 8 == 0 && 0 < len && off + len <= 65535 && (more ==> len % 8 == 0);
    assigns *map;
    ensures new: \result == FRAG_NEW <==> \old(fits(map, off + len, more != 0) &&
	none(&map->came[0], map->n_words, off / 8, (off + len + 7) / 8));
    ensures duplicate: \result == FRAG_DUPLICATE <==> \old(fits(map, off + len, more != 0) &&
	(more || map->len != 0) && alone(map, off / 8, (off + len + 7) / 8));
    ensures came: \forall integer u; in(&map->came[0], map->n_words, u) <==>
	\old(in(&map->came[0], map->n_words, u)) ||
	\result == FRAG_NEW && off / 8 <= u < (off + len + 7) / 8;
    ensures begins: \forall integer u; in(&map->begins[0], map->n_words, u) <==>
	\old(in(&map->begins[0], map->n_words, u)) || \result == FRAG_NEW && u == off / 8;
    ensures end: map->len == (\result == FRAG_NEW && !more ? off + len : \old(map->len));
    ensures words: map->n_words <= 128;
    ensures length: map->len <= 65535;
    ensures card: counted(map);
    ensures behind: map->len != 0 ==>
	none(&map->came[0], map->n_words, (map->len + 7) / 8, 8192); */
enum frag_verdict frag_map_add(struct frag_map *map, uint32_t off, uint32_t len, bool more);

/*@ requires \valid_read(map) && right(map);
    assigns \nothing;
    ensures complete: \result != 0 <==>
	map->len != 0 && all(&map->came[0], map->n_words, 0, (map->len + 7) / 8); */
static inline bool frag_map_is_complete(const struct frag_map *map);

#include "frag_map.c"
