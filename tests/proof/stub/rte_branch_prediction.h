// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#define likely(x)   (x)
#define unlikely(x) (x)
