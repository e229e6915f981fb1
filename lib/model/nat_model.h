// SPDX-License-Identifier: BSD-3-Clause
// Values of a rule of network address translation in the configuration, the datapath and lists, and
// the words for them. Constant; any thread.
#pragma once

enum nat_action {
	NAT_ACCEPT,      // nothing is translated
	NAT_SOURCE,      // the source becomes one of some addresses, with one of some ports
	NAT_DESTINATION, // the destination becomes another, with another port
	NAT_NETMAP,      // the prefix of one of both is exchanged
};

// Which end of a packet a rule is about: destinations come first, before the route is looked up.
enum nat_end { NAT_TO, NAT_FROM, NAT_ENDS };

// By these numbers; NULL after the last.
extern const char *const nat_action_names[];
extern const char *const nat_end_names[];
