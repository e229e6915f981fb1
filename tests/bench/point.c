// SPDX-License-Identifier: BSD-3-Clause
#include "point.h"

#include <stdio.h>

#include <rte_common.h>
#include <rte_esp.h>
#include <rte_ether.h>
#include <rte_ip.h>

#define PREAMBLE_AND_GAP 20 // octets

const char *const dir_names[DIRS] = {[DIR_OUT] = "out", [DIR_IN] = "in", [DIR_LOOP] = "loop"};

// Frames of 64, 570 and 1518 octets, 7 : 4 : 1, without Ethernet header and FCS.
static const struct mix imix = {12, {46, 46, 46, 46, 46, 46, 46, 552, 552, 552, 552, 1500}};

const char *point_alg(char text[POINT_ALG_MAX], const struct point *p)
{
	bool alone = p->auth->mode == AUTH_NONE;

	snprintf(text, POINT_ALG_MAX, "%s%s%s", p->cipher->name, alone ? "" : "+",
		alone ? "" : p->auth->name);
	return text;
}

const char *point_size(char text[POINT_SIZE_TEXT], const struct point *p)
{
	if (p->size == POINT_IMIX)
		return "imix";
	snprintf(text, POINT_SIZE_TEXT, "%u", p->size);
	return text;
}

struct mix point_mix(const struct point *p)
{
	return p->size == POINT_IMIX ? imix : (struct mix){1, {(uint16_t)p->size}};
}

uint16_t point_text_len(const struct point *p, uint16_t inner_len)
{
	return (uint16_t)RTE_ALIGN_CEIL(inner_len + sizeof(struct rte_esp_tail), p->cipher->block);
}

double point_octets_clear(const struct point *p)
{
	struct mix mix = point_mix(p);
	double sum = 0;

	for (unsigned int i = 0; i < mix.n; i++)
		sum += mix.len[i];
	return sum / mix.n;
}

double point_octets_wire(const struct point *p)
{
	struct mix mix = point_mix(p);
	double sum = 0;

	for (unsigned int i = 0; i < mix.n; i++)
		sum += point_text_len(p, mix.len[i]);
	return sum / mix.n + PREAMBLE_AND_GAP + RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN +
	       sizeof(struct rte_ipv4_hdr) + sizeof(struct rte_esp_hdr) + p->cipher->iv_len +
	       alg_pair_icv_len(p->cipher, p->auth);
}
