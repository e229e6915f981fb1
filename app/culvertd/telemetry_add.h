// SPDX-License-Identifier: BSD-3-Clause
// Writes values in the form in which all lists of telemetry show them. A name is not copied.
// Called by those who write items, on threads of librte_telemetry.
#pragma once

#include <stdint.h>

#include <rte_telemetry.h>

#include "addr.h"

// A new item of a list, or NULL if memory is short.
struct rte_tel_data *item_new(void);

// Hands the item to the answer, under its number.
void add_item(struct rte_tel_data *d, unsigned int number, struct rte_tel_data *item);

void add_string(struct rte_tel_data *d, const char *name, const char *value);
void add_u64(struct rte_tel_data *d, const char *name, uint64_t value);
void add_addr(struct rte_tel_data *d, const char *name, const struct ip_addr *a);

void add_prefix(struct rte_tel_data *d, const char *name, const struct ip_prefix *p);

// "tcp", "99", or "any" for what is no protocol.
void add_proto(struct rte_tel_data *d, const char *name, uint16_t proto);
