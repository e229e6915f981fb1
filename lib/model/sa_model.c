// SPDX-License-Identifier: BSD-3-Clause
#include "sa_model.h"

#include <stdio.h>
#include <string.h>

const char *const sa_direction_names[] = {[SA_IN] = "in", [SA_OUT] = "out", NULL};
const char *const sa_mode_names[] = {[SA_TUNNEL] = "tunnel", [SA_TRANSPORT] = "transport", NULL};
const char *const sa_flow_label_names[] = {
	[SA_FLOW_LABEL_ZERO] = "zero", [SA_FLOW_LABEL_COPY] = "copy", NULL};
const char *const sa_df_names[] = {
	[SA_DF_COPY] = "copy", [SA_DF_SET] = "set", [SA_DF_CLEAR] = "clear", NULL};
const char *const sa_fragment_names[] = {"before", "after", NULL};
const char *const sa_tfc_pad_names[] = {"mtu", NULL};
const struct sa_dscp sa_dscps[] = {
	{"copy", SA_DSCP_COPY},
	{"keep", SA_DSCP_KEEP},
	{"cs0", 0},
	{"le", 1},
	{"cs1", 8},
	{"af11", 10},
	{"af12", 12},
	{"af13", 14},
	{"cs2", 16},
	{"af21", 18},
	{"af22", 20},
	{"af23", 22},
	{"cs3", 24},
	{"af31", 26},
	{"af32", 28},
	{"af33", 30},
	{"cs4", 32},
	{"af41", 34},
	{"af42", 36},
	{"af43", 38},
	{"cs5", 40},
	{"voice-admit", 44},
	{"ef", 46},
	{"cs6", 48},
	{"cs7", 56},
	{NULL, 0},
};

void sa_dscp_format(char text[SA_WORD_MAX], uint8_t dscp)
{
	const struct sa_dscp *d = sa_dscps;

	while (d->name != NULL && d->number != dscp)
		d++;
	if (d->name != NULL)
		snprintf(text, SA_WORD_MAX, "%s", d->name);
	else
		snprintf(text, SA_WORD_MAX, "%u", dscp);
}

void sa_tfc_pad_format(char text[SA_WORD_MAX], uint16_t pad)
{
	if (pad == SA_TFC_MTU)
		snprintf(text, SA_WORD_MAX, "%s", sa_tfc_pad_names[0]);
	else
		snprintf(text, SA_WORD_MAX, "%u", pad);
}

bool sa_options_equal(const struct sa_options *a, const struct sa_options *b)
{
#define SA_OPTION(type, field, ...)                                                                \
	if (memcmp(&a->field, &b->field, sizeof(a->field)) != 0)                                   \
		return false;
#include "sa_option.def"
	return a->in_udp == b->in_udp && key_id_equal(&a->cipher_key_id, &b->cipher_key_id) &&
	       key_id_equal(&a->auth_key_id, &b->auth_key_id);
}
