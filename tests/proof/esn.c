// SPDX-License-Identifier: BSD-3-Clause
// replay_guess_seq() of lib/sa/replay.h (RFC 4303 appendix A2.2), for every window and every
// number. Proves that the result has the lower half that the packet has, is not below the window,
// and is the nearest such number. 0 means that there is none.
#include "wrap.h"

#include "replay.h"

// Workers advance the window while the function runs: it reads the right edge once.
/*@ axiomatic edge { logic uint64_t edge; axiom edge_real: 0 <= edge < 0xffffffff00000000; } */

/*@ assigns \nothing;
    ensures \result == edge; */
uint64_t replay_top(const struct replay *r);

/*@ requires \valid_read(r) && 32 <= r->size <= 65536;
    assigns \nothing;
    ensures lower: \result == 0 || (uint32_t)\result == lower;
    ensures not_left: \result != 0 ==> \result + r->size > edge;
    ensures nearest: \result != 0 ==> \result + r->size <= edge + 0x100000000;
    ensures none: \result == 0 ==> lower == 0 || edge < r->size - 1; */
static inline uint64_t replay_guess_seq(const struct replay *r, uint32_t lower);
