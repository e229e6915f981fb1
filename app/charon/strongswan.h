// SPDX-License-Identifier: BSD-3-Clause
// The interface to strongSwan: its headers, and the differences between its versions.
// STRONGSWAN_VERSION is that of the headers, 50908 for 5.9.8; meson.build lists the versions that
// were compared.
#pragma once

#include "config.h"

#include <collections/hashtable.h>
#include <daemon.h>
#include <kernel/kernel_ipsec.h>
#include <library.h>
#include <threading/mutex.h>
#include <utils/debug.h>

// The first option of an SA that we do not carry, NULL if there is none.
static inline const char *sa_unknown(
	const kernel_ipsec_sa_id_t *id, const kernel_ipsec_add_sa_t *sa)
{
	if (id->proto != IPPROTO_ESP)
		return "a protocol other than ESP";
	if (sa->mode != MODE_TUNNEL && sa->mode != MODE_TRANSPORT)
		return "a mode other than tunnel and transport";
	if (sa->ipcomp != IPCOMP_NONE)
		return "ipcomp";
	if (id->mark.value != 0 || id->mark.mask != 0)
		return "mark_in or mark_out";
	if (sa->mark.value != 0 || sa->mark.mask != 0)
		return "set_mark_in or set_mark_out";
	if (id->if_id != 0 && sa->mode != MODE_TUNNEL)
		return "if_id_in or if_id_out in transport mode";
	if (sa->interface != NULL)
		return "interface";
	if (sa->label != NULL)
		return "label";
	if (sa->hw_offload != HW_OFFLOAD_NO && sa->hw_offload != HW_OFFLOAD_AUTO)
		return "hw_offload";
	return NULL;
}

// The first option of a policy that we do not carry, NULL if there is none.
static inline const char *policy_unknown(
	const kernel_ipsec_policy_id_t *id, const kernel_ipsec_manage_policy_t *policy)
{
	if (id->mark.value != 0 || id->mark.mask != 0)
		return "mark_in or mark_out";
	if (id->if_id != 0 && policy->type != POLICY_IPSEC)
		return "if_id_in or if_id_out of a shunt";
	if (id->interface != NULL)
		return "interface";
	if (id->label != NULL)
		return "label";
#if STRONGSWAN_VERSION >= 50914
	if (policy->hw_offload != HW_OFFLOAD_NO && policy->hw_offload != HW_OFFLOAD_AUTO)
		return "hw_offload";
#endif
	return NULL;
}
