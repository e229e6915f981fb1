// SPDX-License-Identifier: BSD-3-Clause
// C code, the functions of lib/ themselves, that is called in every order: at any time any action
// that is possible then is done as a whole. The state is the memory of the model, so a state that
// was reached before is recognised, and the search ends. The actions and the conditions that must
// hold are in the model_*.c that is linked with this; see actions.h.
c_decl {
	\#include "actions.h"
	// spin refuses calls in expressions: they could change the state.
	\#define POSSIBLE model_may(now.scenario, Paction->_pid - 1)
};
c_track "&explore" "sizeof(explore)" "Matched";

int scenario, scenarios;
bool begun;

active proctype choose()
{
	c_code { now.scenarios = model_scenarios(); };
	do // every scenario is searched
	:: scenario + 1 < scenarios -> scenario++
	:: break
	od;
	atomic {
		c_code { explore_begin(now.scenario); };
		begun = true
	}
}

active [ACTIONS] proctype action()
{
end:	do
	:: atomic {
		begun && c_expr { POSSIBLE } ->
		c_code { model_act(now.scenario, Paction->_pid - 1); };
		assert(c_expr { !explore.wrong })
	}
	od
}
