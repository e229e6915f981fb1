// SPDX-License-Identifier: BSD-3-Clause
// The IPsec boundary (RFC 4301 5): what may come in, what may go out, and how. Workers.
#pragma once

#include "worker.h"

// Lets in what policy allows of w->inbound (RFC 4301 5.2): to w->local, w->outbound or w->forward.
void policy_inbound(struct worker *w);

// Lets out what policy allows of w->outbound (RFC 4301 5.1): to w->protect or w->forward.
void policy_outbound(struct worker *w);
