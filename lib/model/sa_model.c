// SPDX-License-Identifier: BSD-3-Clause
#include "sa_model.h"

#include <stddef.h>

const char *const sa_mode_names[] = {[SA_TUNNEL] = "tunnel", [SA_TRANSPORT] = "transport", NULL};
const char *const sa_flow_label_names[] = {
	[SA_FLOW_LABEL_ZERO] = "zero", [SA_FLOW_LABEL_COPY] = "copy", NULL};
const char *const sa_df_names[] = {
	[SA_DF_COPY] = "copy", [SA_DF_SET] = "set", [SA_DF_CLEAR] = "clear", NULL};
