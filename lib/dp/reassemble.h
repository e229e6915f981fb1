// SPDX-License-Identifier: BSD-3-Clause
// Reassembly of fragments (RFC 791 3.2, RFC 8200 4.5), before anything looks at ports or opens ESP.
// Each worker has a table for each side, so that nobody outside can fill that of the hosts inside;
// fragments out of tunnels are kept apart by policy. Workers.
#pragma once

#include <stdbool.h>

#include "worker.h"

// Takes the fragment in p. True: it was the last one missing, and p->m is the whole packet,
// contiguous. False: it waits, another worker has it, or it is counted as dropped.
bool reassemble_v4(struct worker *w, struct pkt *p);

// The same for IPv6. upper is what ipv6_upper_find() has found in the fragment.
bool reassemble_v6(struct worker *w, struct pkt *p, const struct ipv6_upper *upper);

// A first fragment of IPv6 that does not show all headers (RFC 7112): its sender is told.
void reassemble_report_first(struct worker *w, struct pkt *p);

// Drops what has waited too long. Every millisecond.
void reassembly_expire(struct worker *w);

// Drops all that waits, when the worker stops.
void reassembly_stop(struct worker *w);
