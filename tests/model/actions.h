// SPDX-License-Identifier: BSD-3-Clause
// The model of actions.pml, beside model_scenarios() and model_setup() of explore.h.
#pragma once

#include "explore.h"

// Whether an action is possible; they are numbered from 0. Changes nothing.
bool model_may(unsigned int scenario, unsigned int action);

void model_act(unsigned int scenario, unsigned int action);
