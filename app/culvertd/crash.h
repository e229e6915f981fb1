// SPDX-License-Identifier: BSD-3-Clause
// A crash leaves a core with the stacks and registers of all threads and the variables of programs,
// without keys, and a line on standard error that says where.
#pragma once

// Has the signals of a crash, an abort and SIGQUIT write such a core, where limits and
// kernel.core_pattern allow one. If something of that fails there is no core. Not on processors
// other than x86, whose vector registers nobody wipes. Control thread, when all libraries are
// loaded and before workers run; a warning is logged if there will be no cores.
void crash_start(void);

// Has workers survive that a card is unplugged, whose registers they access. After crash_start().
void crash_survive_unplugging(void);
