// SPDX-License-Identifier: BSD-3-Clause
// ICMP for IPv4 (RFC 792, RFC 1122 3.2.2, RFC 1812 4.3). Pure functions, any thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_icmp.h>
#include <rte_ip.h>

#define ICMP_ECHO_REPLY         0
#define ICMP_ECHO_REQUEST       8
#define ICMP_UNREACHABLE        3
#define ICMP_UNREACH_HOST       1
#define ICMP_UNREACH_PROTOCOL   2
#define ICMP_UNREACH_PORT       3
#define ICMP_UNREACH_NEEDFRAG   4
#define ICMP_UNREACH_PROHIBITED 13
#define ICMP_UNREACH_NET        0
#define ICMP_TIME_EXCEEDED      11
#define ICMP_PARAMETER_PROBLEM  12

#define ICMP_TIME_EXCEEDED_REASSEMBLY 1

// An error message is at most this long, IP header included (RFC 1812 4.3.2.3).
#define ICMP_ERROR_MAX 576

struct icmp_error {
	uint8_t type, code;
	uint16_t mtu; // of ICMP_UNREACH_NEEDFRAG, else 0
};

// Whether an error may be sent about this checked packet (RFC 1812 4.3.2.7): not about errors,
// not about later fragments, not to or from what is not one host.
bool icmp_error_allowed(const struct rte_ipv4_hdr *about);

// Writes the whole IP packet of the error to out, which holds ICMP_ERROR_MAX octets: from source to
// the sender of about, quoting as much of it as fits. It may be fragmented, so id has to be another
// for each (RFC 6864 4.1). Returns its length.
uint16_t icmp_error_build(uint8_t *out, struct icmp_error error, rte_be32_t source, rte_be16_t id,
	const struct rte_ipv4_hdr *about);

// Turns an echo request into its reply in place, IP header and checksums included.
void icmp_echo_reply(struct rte_ipv4_hdr *ip);
