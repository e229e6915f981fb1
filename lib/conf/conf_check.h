// SPDX-License-Identifier: BSD-3-Clause
// Checks of what was read against each other, and the defaults that follow from other settings.
// Only settings that were accepted are looked at, so that one mistake gives one message. Private
// to lib/conf, control thread only.
#pragma once

#include "conf_reader.h"

// The order matters: each relies on those before.
void conf_check(struct conf_reader *r);
void conf_check_ports(struct conf_reader *r);
void conf_check_routes(struct conf_reader *r);
void conf_check_sas(struct conf_reader *r);
void conf_check_policies(struct conf_reader *r);

// The i-th element of a list at the top of the file.
config_setting_t *conf_item(const struct conf_reader *r, const char *list, unsigned int i);

// The setting of this name in a group if it is there and was not refused, else NULL.
config_setting_t *conf_given(const config_setting_t *group, const char *name);

// Whether there is a setting of this name in a group that was refused.
bool conf_refused(const config_setting_t *group, const char *name);

// Where a message about a setting goes: to the setting, or to its group if it is not there.
config_setting_t *conf_at(config_setting_t *group, const char *name);

// Numbers of elements of a list.
struct conf_set {
	unsigned int *index;
	unsigned int n;
};

// Those of n elements whose settings of these names (the last one is NULL) are all given.
struct conf_set conf_set_given(
	const struct conf_reader *r, const char *list, unsigned int n, const char *const names[]);

typedef int (*conf_compare)(const struct conf *c, unsigned int a, unsigned int b);

void conf_set_sort(const struct conf_reader *r, struct conf_set *set, conf_compare compare);

// Sorts, and reports every element that is equal to one before it in the file: the problem, at the
// setting of this name, followed by a reference to the earlier one.
void conf_refuse_equal(struct conf_reader *r, const char *list, struct conf_set *set,
	conf_compare compare, const char *name, const char *problem);

// Index of the port that has this address, or has a network that it is in. -1 if there is none.
int conf_own_port(const struct conf *c, const struct ip_addr *a);
int conf_link_port(const struct conf *c, const struct ip_addr *a);

// Whether it is the network or broadcast address of a port's network.
bool conf_is_broadcast(const struct conf *c, const struct ip_addr *a);
