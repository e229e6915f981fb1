// SPDX-License-Identifier: BSD-3-Clause
#include "sa_model.h"

#include <string.h>

const char *const sa_direction_names[] = {[SA_IN] = "in", [SA_OUT] = "out", NULL};
const char *const sa_mode_names[] = {[SA_TUNNEL] = "tunnel", [SA_TRANSPORT] = "transport", NULL};
const char *const sa_flow_label_names[] = {
	[SA_FLOW_LABEL_ZERO] = "zero", [SA_FLOW_LABEL_COPY] = "copy", NULL};
const char *const sa_df_names[] = {
	[SA_DF_COPY] = "copy", [SA_DF_SET] = "set", [SA_DF_CLEAR] = "clear", NULL};
const char *const sa_fragment_names[] = {"before", "after", NULL};
const char *const sa_tfc_pad_names[] = {"mtu", NULL};

bool sa_options_equal(const struct sa_options *a, const struct sa_options *b)
{
#define SA_OPTION(type, field, ...)                                                                \
	if (memcmp(&a->field, &b->field, sizeof(a->field)) != 0)                                   \
		return false;
#include "sa_option.def"
	return a->in_udp == b->in_udp && key_id_equal(&a->cipher_key_id, &b->cipher_key_id) &&
	       key_id_equal(&a->auth_key_id, &b->auth_key_id);
}
