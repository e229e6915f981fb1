// SPDX-License-Identifier: BSD-3-Clause
// Values of an SA in the configuration, the datapath and lists, and the words for them. Constant;
// any thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"
#include "key_id.h"

#define SA_NAME_MAX 32 // octets, NUL included

enum sa_direction { SA_IN, SA_OUT };

// Content that an SA protects (RFC 4301 3.2): IP packets, or the payload of IP packets.
enum sa_mode { SA_TUNNEL, SA_TRANSPORT };

// Flow label of an outer header of IPv6.
enum sa_flow_label {
	SA_FLOW_LABEL_ZERO,
	SA_FLOW_LABEL_COPY, // from an inner header of IPv6
};

// DF of the outer IPv4 header (RFC 4301 8.1). IPv6, which no router may fragment, counts as DF set.
enum sa_df { SA_DF_COPY, SA_DF_SET, SA_DF_CLEAR };

// DSCP, copied between the headers (RFC 2983). Outbound also a value up to SA_DSCP_MAX for the
// outer header, inbound SA_DSCP_KEEP: the inner header keeps its own.
#define SA_DSCP_MAX 63
enum { SA_DSCP_COPY = SA_DSCP_MAX + 1, SA_DSCP_KEEP };

#define SA_TFC_MTU UINT16_MAX // pads to the path MTU

// Words by these numbers; NULL after the last.
extern const char *const sa_direction_names[];
extern const char *const sa_mode_names[];
extern const char *const sa_flow_label_names[];
extern const char *const sa_df_names[];
extern const char *const sa_fragment_names[]; // before or after encapsulation
extern const char *const sa_tfc_pad_names[];  // SA_TFC_MTU, instead of a number

// The names of IANA's registry of DSCPs in lower case, and the two above; the last name is NULL.
extern const struct sa_dscp {
	const char *name;
	uint8_t number;
} sa_dscps[];

// The value of an option as the configuration has it: its word, or a number.
#define SA_WORD_MAX 16 // octets, NUL included
void sa_dscp_format(char text[SA_WORD_MAX], uint8_t dscp);
void sa_tfc_pad_format(char text[SA_WORD_MAX], uint16_t pad);

struct cipher_alg;
struct auth_alg;

typedef char sa_name[SA_NAME_MAX];

// Options that identify an SA: another value makes another SA. Enumerations are stored in an octet;
// numbers are in host byte order, tfc_pad in octets (0: none), tfc_dummies in packets a second,
// replay_window in packets.
struct sa_options {
#define SA_OPTION(type, field, ...) type field;
#include "sa_option.def"
	struct key_id cipher_key_id, auth_key_id;
	bool in_udp; // ESP in UDP (RFC 3948): the group udp is given
};

// Options that may change while it is in use.
struct sa_live {
#define SA_LIVE_OPTION(type, field, ...) type field;
#include "sa_option.def"
};

// SAs of IKE in the same group have the same policies, or are those of one tunnel: the group is a
// reqid, or the if_id of a tunnel.
#define SA_GROUP_IF_ID(if_id) (UINT64_C(1) << 32 | (if_id))

// 0: it is no SA of IKE.
static inline uint64_t sa_options_group(const struct sa_options *o)
{
	return o->if_id != 0 ? SA_GROUP_IF_ID(o->if_id) : o->reqid;
}

// Whether both describe the same SA.
bool sa_options_equal(const struct sa_options *a, const struct sa_options *b);
