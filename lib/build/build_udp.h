// SPDX-License-Identifier: BSD-3-Clause
// The local ends of ESP in UDP (RFC 3948). Control thread.
#pragma once

#include "conf.h"
#include "snapshot.h"

// Makes s->udp_ports and s->udp_ends, if any SA is in UDP. Returns 0 or -ENOMEM.
int build_udp(struct snapshot *s, const struct conf *conf);
