// SPDX-License-Identifier: BSD-3-Clause
// What an SA may be, in the configuration, in the datapath and where it is shown, and the words for
// it. Constant; any thread.
#pragma once

// What an SA protects (RFC 4301 3.2): IP packets, or what is in them behind the IP header.
enum sa_mode { SA_TUNNEL, SA_TRANSPORT };

// Of an outer header of IPv6.
enum sa_flow_label {
	SA_FLOW_LABEL_ZERO,
	SA_FLOW_LABEL_COPY, // from an inner header of IPv6
};

// DF of the outer IPv4 header (RFC 4301 8.1). IPv6, which no router may fragment, counts as DF set.
enum sa_df { SA_DF_COPY, SA_DF_SET, SA_DF_CLEAR };

// By these numbers; NULL behind the last.
extern const char *const sa_mode_names[];
extern const char *const sa_flow_label_names[];
extern const char *const sa_df_names[];
