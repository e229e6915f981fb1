// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rte_ip.h"
#define __rte_noinline
