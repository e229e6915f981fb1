// SPDX-License-Identifier: BSD-3-Clause
// Threads that run C code, the functions of lib/ themselves, in every interleaving of their atomic
// operations. The state is the memory that they share and their stacks, so a state that was reached
// before is recognised, and the search ends. The actions of the threads and the conditions that
// must hold are in the model_*.c that is linked with this; see explore.h.
c_decl {
	\#include "explore.h"
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
	atomic {
		c_expr { explore.n_running == 0 };
		c_code { model_end(now.scenario); };
		assert(c_expr { !explore.wrong })
	}
}

active [THREADS] proctype thread()
{
	begun;
	do
	:: atomic {
		c_expr { !explore.thread[Pthread->_pid - 1].done } ->
		c_code { explore_run(Pthread->_pid - 1); };
		assert(c_expr { !explore.wrong })
	}
	:: c_expr { explore.thread[Pthread->_pid - 1].done } -> break
	od
}
