// SPDX-License-Identifier: BSD-3-Clause
// Audited drops (RFC 4303 2.1, 3.3.3, 3.4; RFC 4301 5.1, 5.2; RFC 6040 4.2): the first for each SA
// and reason in a second is posted to the control thread, with the number of all. Workers, when
// they drop a packet.
#pragma once

#include "worker.h"

// Whether drops for the reason are audited at all.
bool audit_wants(enum audit audit, enum drop reason);

// sa: the one that the packet is counted on; NULL: none is known. The packet's data still starts at
// the IP header that it had when the reason was found.
void audit_drop(struct worker *w, const struct pkt *p, const struct sa *sa, enum drop reason);
