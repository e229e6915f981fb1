// SPDX-License-Identifier: BSD-3-Clause
// Packets for or of a group that is about to become active here (DAD_EXPECTED): stations send them
// to this gateway already, and the former one is silent. A worker holds them in place of dropping
// them as DROP_STANDBY, in order, a limited number of buffers. Whenever roles have changed, it
// evaluates them again before it takes other packets: then they continue, are held again because
// their group is still expected, or are dropped. In the middle of a change, of which it may see
// parts, it does so once in a millisecond, and meanwhile holds all packets between the same ends:
// so a packet that may pass already does not overtake held ones, which would leave the window of
// their SA.
//
// Of the buffers, packets in clear from unprotected ports, which anybody can send, take at most
// half. A packet that was held may wait for its next hop beyond the limits of that (output.c):
// nothing was sent there before, and many come at once.
//
// Held are whole packets that nothing has changed yet, and that have used no number, token or flow:
// ESP packets of an SA, before its replay window; packets that are looked up in policies, before
// they are translated; fragments, and datagrams that were reassembled. Of TCP segments to be cut
// (segment.h) all buffers count.
//
// Not held, and dropped as before: ESP packets that no SA decapsulates, ICMP messages of unknown
// types, packets of the gateway or of a host of it, IPv6 datagrams of more than 65535 octets, and
// packets that were translated, numbered or opened when their group became standby. A packet that a
// worker is evaluating in the moment when a change begins may overtake held ones. Workers.
#pragma once

#include "worker.h"

// Packet buffers that each of n workers may use: together an eighth of all, and at most half of a
// ring between workers, since all may release their packets to one worker.
uint32_t hold_max_of(uint32_t packet_buffers, unsigned int n_workers);

// Holds a packet that was evaluated, if reason is DROP_STANDBY, its group is expected or roles are
// changing, and there is room: returns DROP_NONE then, else the reason. p is any packet of a pass
// whose headers are parsed.
enum drop hold_instead(struct worker *w, struct pkt *p, enum drop reason);

// The same for an ESP packet whose SA, p->sa_in, has refused it, not yet opened.
enum drop hold_instead_esp(struct worker *w, struct pkt *p, enum drop reason);

// Takes back that policies have counted a packet, which counts when it is evaluated again.
void hold_uncount(struct worker *w, const struct pkt *p);

// Whether packets that are held may pass now, before they are evaluated again.
bool hold_may_pass(const struct worker *w);

// Whether the held packets are to be evaluated again. A pass begins, and is not one of these; now:
// TSC.
bool hold_is_due(struct worker *w, uint64_t now);

// Begins that: all passes until w->hold.left is 0 take held packets, and no others.
void hold_begin(struct worker *w, uint64_t now);

// Ends it before its time: the packets that are left are still held, and due.
void hold_pause(struct worker *w);

// While w->hold.changing: holds the packets of a burst, of which nothing but headers was looked at,
// that may follow held ones. Without room ESP packets are dropped, as they would move the window of
// their SA past the held ones, and others pass. spi: of w->esp, w->spi; else NULL.
void hold_followers(struct worker *w, struct burst *b, rte_be32_t spi[]);

// Dequeues the next of them, as many as a pass takes, into packets of the pass, and returns how
// many. The caller owns them.
uint16_t hold_dequeue(struct worker *w, struct pkt *p[]);

// Drops the packets that are held, when the worker stops.
void hold_stop(struct worker *w);
