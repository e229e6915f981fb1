// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <stdint.h>

struct rte_esp_tail {
	uint8_t pad_len;
	uint8_t next_proto;
} __attribute__((__packed__));
