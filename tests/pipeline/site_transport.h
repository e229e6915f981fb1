// SPDX-License-Identifier: BSD-3-Clause
// A network of both families whose SAs are in transport mode, as configurations of its gateways:
// the addresses are those of site_v6.h. Numbers of SAs, 1 to 4: of the hosts 10.N.0.5 and
// 2001:db8:N::5, for UDP, with IPv4 also GRE; and of the gateways' own addresses on WAN, 192.0.2.N
// and 2001:db8:f::N, for all protocols. "o1" sends and "i1" receives. All else bypasses.
#pragma once

#include "site.h"

// The gateway with the number 1 or 2. Of struct site, cipher, auth, mtu, sa and policies, each
// followed by a comma, may differ.
struct gateway *site_transport(unsigned int here, struct site s);
